#include "forest/small_class_nodes.hpp"

#include "forest/small_class_rows.hpp"
#include "forest/small_grower.hpp"

namespace weald::forest {

template <class Impurity>
std::unique_ptr<SmallNodes> make_small_class_nodes(const data::RankedTable& table,
                                                   data::ColumnSampler& columns,
                                                   const target::Channels& channels,
                                                   std::int64_t max_depth) {
  using Kind = MulticlassRows<Impurity>;
  constexpr std::int64_t least_copies = 64;  // that must fit to be worth it
  const std::int64_t most = ClassLayout<Kind::most_words>(channels.n_channels()).most_copies();
  if (most < least_copies) return nullptr;
  return make_small_nodes<Kind>(table, columns, channels, most, max_depth);
}
template std::unique_ptr<SmallNodes> make_small_class_nodes<criteria::GiniOfCounts>(
    const data::RankedTable&, data::ColumnSampler&, const target::Channels&, std::int64_t);
template std::unique_ptr<SmallNodes> make_small_class_nodes<criteria::EntropyOfCounts>(
    const data::RankedTable&, data::ColumnSampler&, const target::Channels&, std::int64_t);

}  // namespace weald::forest
