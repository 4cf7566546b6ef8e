// The rotation of a member: columns in blocks, and the principal axes of a sample for each block.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/draws.hpp"
#include "base/types.hpp"
#include "rotation/rotation_table.hpp"

namespace weald::rotation {

// How the rows of a member may be drawn: class after class, each in the order of content.
class RowsByClass {
 public:
  // `mass` counts each row (null: 1 each); rows of none are not there. `counts_copies`: a unit of
  // mass is a copy of the row, not only a share of what is drawn.
  RowsByClass(const std::int32_t* classes, int n_classes, const std::int64_t* mass,
              bool counts_copies, std::int64_t n_rows);

  // Draws a non-empty set of the classes that have rows, each such set with the same probability.
  std::vector<int> draw_classes(const Draws& draws) const;

  // How often each row is drawn: `fraction` of the copies in some classes, with replacement or not.
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
  void draw_again(const std::vector<int>& classes, double fraction, const Draws& draws,
                  std::int64_t* counts) const;
  void draw_once(const std::vector<int>& classes, double fraction, const Draws& draws,
                 std::int64_t* counts) const;

  std::int64_t n_rows_;
  bool counts_copies_;
  std::vector<Row> rows_;             // class by class
  std::vector<std::int64_t> first_;   // [classes + 1] of rows_
  std::vector<std::int64_t> end_of_;  // mass up to the end of each place of rows_; none: 1 each
  std::vector<int> present_;          // classes that have rows
};

struct RotationParams {
  std::uint64_t seed = 0;
  double sample_fraction = 0.75;
  bool replace = true;
  std::vector<std::int64_t> first_of_block;  // in the order of a member's columns, and the end
};

// X · R for one member: block after block, component after component. `order` are the rotated
// columns as the member lays them out; the block that begins at `first` has `loading` [size][size]
// with its columns as rows and its components as columns.
struct Rotation {
  std::vector<std::int32_t> order;
  std::vector<double> loading;
};

// What a thread needs to find a rotation.
struct RotationScratch {
  std::vector<std::int64_t> counts, drawn;  // of all rows; of those drawn
  std::vector<double> values;               // [columns][rows drawn]
};

Rotation draw_rotation(const RotationTable& table, const RowsByClass& rows,
                       const RotationParams& params, std::uint64_t member,
                       RotationScratch& scratch);

// Where the loadings of each block begin.
std::vector<std::int64_t> first_loadings(const std::vector<std::int64_t>& first_of_block);

}  // namespace weald::rotation
