// The rotation of one tree: blocks of columns, each rotated to the principal axes of a sample.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/draws.hpp"
#include "base/types.hpp"
#include "rotation/rotation_table.hpp"

namespace weald::rotation {

// Rows grouped by class, to draw samples from.
class RowsByClass {
 public:
  // `mass` is the weight of each row (null: 1); rows of mass 0 are left out. `counts_copies`: mass
  // counts copies of a row, which are drawn one by one.
  RowsByClass(const std::int32_t* classes, int n_classes, const std::int64_t* mass,
              bool counts_copies, std::int64_t n_rows);

  // Draws a non-empty subset of the classes present, uniformly.
  std::vector<int> draw_classes(const Draws& draws) const;

  // Draws `fraction` of the copies in some classes, with or without replacement; writes the count
  // of each row.
  void draw(const std::vector<int>& classes, double fraction, bool replace, const Draws& draws,
            std::int64_t* counts) const;

  const std::vector<int>& present() const { return present_; }

 private:
  std::int64_t mass_at(std::int64_t place) const {
    return end_of_.empty() ? 1 : end_of_[place] - (place == 0 ? 0 : end_of_[place - 1]);
  }
  std::int64_t mass_before(std::int64_t place) const {
    return end_of_.empty() ? place : (place == 0 ? 0 : end_of_[place - 1]);
  }
  void draw_with_replacement(const std::vector<int>& classes, double fraction, const Draws& draws,
                             std::int64_t* counts) const;
  void draw_without_replacement(const std::vector<int>& classes, double fraction,
                                const Draws& draws, std::int64_t* counts) const;

  std::int64_t n_rows_;
  bool counts_copies_;
  std::vector<Row> rows_;             // sorted by class
  std::vector<std::int64_t> first_;   // [class + 1] offsets in rows_
  std::vector<std::int64_t> end_of_;  // cumulative mass of rows_; empty: 1 each
  std::vector<int> present_;          // classes with rows
};

struct RotationParams {
  std::uint64_t seed = 0;
  double sample_fraction = 0.75;
  bool replace = true;
  std::vector<std::int64_t> first_of_block;  // in `order`, and the end
};

// X * R for one tree: block after block, component after component. `order` is the order of the
// rotated columns; the block that begins at `first` has `loading` [size][size], with columns as
// rows and components as columns.
struct Rotation {
  std::vector<std::int32_t> order;
  std::vector<double> loading;
};

// Buffers of a thread.
struct RotationScratch {
  std::vector<std::int64_t> counts, drawn;  // of all rows; of the drawn rows
  std::vector<double> values;               // [column][drawn row]
};

Rotation draw_rotation(const RotationTable& table, const RowsByClass& rows,
                       const RotationParams& params, std::uint64_t member,
                       RotationScratch& scratch);

// Offsets of the loadings of each block.
std::vector<std::int64_t> first_loadings(const std::vector<std::int64_t>& first_of_block);

}  // namespace weald::rotation
