#include "forest/small_nodes.hpp"

#include "forest/small_class_rows.hpp"
#include "forest/small_grower.hpp"
#include "forest/small_pair_rows.hpp"

namespace weald::forest {

// In small_class_nodes.cpp.
extern template MakeSmallNodes make_small_nodes<MulticlassRows<criteria::GiniOfCounts>>;
extern template MakeSmallNodes make_small_nodes<MulticlassRows<criteria::EntropyOfCounts>>;

std::unique_ptr<SmallNodes> SmallNodes::made_for(const data::RankedTable& table,
                                                 ForestEngine& engine,
                                                 const target::Channels& channels,
                                                 std::int64_t max_depth) {
  const split::SplitLimits& limits = engine.limits();
  if (table.any_levels() || channels.has_weight() ||
      channels.totals()[0] >= criteria::most_counted || !limits.takes_any_gain() ||
      limits.min_child_weight > 0.0 || limits.min_samples_leaf > 1)
    return nullptr;
  const auto make = [&]<class Kind>(std::type_identity<Kind>) {
    return make_small_nodes<Kind>(table, engine.columns(), channels, max_depth);
  };
  using criteria::EntropyOfCounts, criteria::GiniOfCounts;
  if (engine.uses_scan<PairScan<false>>()) return make(std::type_identity<RegressionRows>{});
  if (engine.uses_scan<PairCounts<GiniOfCounts>>())
    return make(std::type_identity<BinaryClassRows<GiniOfCounts>>{});
  if (engine.uses_scan<PairCounts<EntropyOfCounts>>())
    return make(std::type_identity<BinaryClassRows<EntropyOfCounts>>{});
  if (engine.uses_scan<ClassScan<GiniOfCounts>>())
    return make(std::type_identity<MulticlassRows<GiniOfCounts>>{});
  if (engine.uses_scan<ClassScan<EntropyOfCounts>>())
    return make(std::type_identity<MulticlassRows<EntropyOfCounts>>{});
  return nullptr;
}

}  // namespace weald::forest
