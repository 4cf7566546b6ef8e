#include "split/word_blocks.hpp"

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace weald::split {

void WordBlocks::start(const Codes& codes, const data::Categories& categories,
                       std::int64_t rows_of_block, int n_threads) {
  rows_of_block_ = rows_of_block;
  if (!are_used()) return blocks_.clear();
  if (!layout_) layout_.emplace(codes, categories, 1);
  blocks_.resize(static_cast<std::size_t>(n_threads));
  for (Block& block : blocks_)  // the last tree may have failed
    if (block.wide) block = {};
}

void WordBlocks::empty(Block& block) const {
  if (block.n_rows == 0) return;
  kernels::active().unpack_cells(block.packed.data(), layout_->size(), block.wide);
  block.n_rows = 0;
}

void WordBlocks::finish() {
  const auto n = static_cast<std::int64_t>(blocks_.size());
  parallel_for(n, inside_a_loop() ? 1 : static_cast<int>(n), [&](std::int64_t i, int) {
    empty(blocks_[i]);
    blocks_[i].wide = nullptr;
  });
}

}  // namespace weald::split
