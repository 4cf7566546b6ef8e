// Small nodes with several classes. A translation unit of its own: in one with the other targets
// the compiler inlines less, which costs regression forests about 3 %.
#include "forest/small_class_rows.hpp"
#include "forest/small_grower.hpp"

namespace weald::forest {

template MakeSmallNodes make_small_nodes<MulticlassRows<criteria::GiniOfCounts>>;
template MakeSmallNodes make_small_nodes<MulticlassRows<criteria::EntropyOfCounts>>;

}  // namespace weald::forest
