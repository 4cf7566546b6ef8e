// Shared by all bindings: array types, checks, and conversion of vectors to arrays. For releasing
// the GIL see gil.hpp.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/types.hpp"
#include "bindings/gil.hpp"
#include "data/categories.hpp"
#include "data/table.hpp"
#include "target/loss_at.hpp"

namespace weald::bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using AnyTable = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

inline void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Validate a number of threads.
inline int checked_threads(int n_threads) {
  require(n_threads >= 1 && n_threads <= kMaxThreads, "n_threads must be in [1, 1024]");
  return n_threads;
}

template <class T>
data::Table<T> table_of(const AnyTable<T>& array) {
  require(array.shape(0) < std::numeric_limits<weald::Row>::max(),
          "a table has too many rows: at most 2^32 - 2 are supported");
  return {array.data(), static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1)), array.stride(0), array.stride(1)};
}

// A new NumPy array that takes ownership of a vector.
template <class T, class Allocator>
nb::ndarray<nb::numpy, T> give(std::vector<T, Allocator> values,
                               std::initializer_list<std::size_t> shape) {
  using Vector = std::vector<T, Allocator>;
  auto owned = std::make_unique<Vector>(std::move(values));
  T* const data = owned->data();
  nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}
template <class T, class Allocator>
nb::ndarray<nb::numpy, T> give(std::vector<T, Allocator> values) {
  const std::size_t n = values.size();
  return give(std::move(values), {n});
}

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array, std::int64_t n, const char* what) {
  if (!array) return nullptr;
  require(static_cast<std::int64_t>(array->shape(0)) == n, what);
  return array->data();
}

// Validate the labels of several outputs, (rows, outputs): those of output j are in [first[j],
// first[j + 1]).
inline const std::int32_t* checked_labels(const Matrix<std::int32_t>& labels, std::int64_t n_rows,
                                          const std::vector<int>& first) {
  require(static_cast<std::int64_t>(labels.shape(0)) == n_rows && labels.shape(1) >= 1,
          "labels must have the shape (rows, outputs)");
  require(first.size() == labels.shape(1) + 1 && first[0] == 0,
          "first_class must contain the first class of every output and their total number");
  const std::int32_t* label = labels.data();
  for (std::int64_t row = 0; row < n_rows; ++row)
    for (std::size_t j = 0; j + 1 < first.size(); ++j, ++label)
      require(*label >= first[j] && *label < first[j + 1],
              "labels must be in [first_class[j], first_class[j + 1])");
  return labels.data();
}

// Whether there is an array and all its entries are non-negative.
template <class Array>
bool is_not_negative(const std::optional<Array>& array) {
  return array && std::all_of(array->data(), array->data() + array->size(),
                              [](double one) { return one >= 0.0; });
}

// Validate the cuts of a table's columns: at most `most_bins` - 1 each, strictly increasing.
inline void check_cuts(const Vector<double>& cuts, const Vector<std::int64_t>& first,
                       std::int64_t n_columns, std::int64_t most_bins) {
  const std::int64_t* const begin = first.data();
  require(static_cast<std::int64_t>(first.shape(0)) == n_columns + 1 && begin[0] == 0 &&
              begin[n_columns] == static_cast<std::int64_t>(cuts.shape(0)),
          "first must contain the start of every column's cuts and their total number");
  for (std::int64_t c = 0; c < n_columns; ++c)
    require(begin[c + 1] >= begin[c] && begin[c + 1] - begin[c] < most_bins,
            "first must not decrease, and a column must have fewer cuts than bins");
  for (std::int64_t c = 0; c < n_columns; ++c)
    for (std::int64_t i = begin[c] + 1; i < begin[c + 1]; ++i)
      require(cuts.data()[i - 1] < cuts.data()[i],
              "the cuts of a column must be strictly increasing");
}

// Validate categorical columns: levels 0, 1, ... or NaN; n_levels is 0 for numerical columns.
template <class T>
void check_levels(const data::Table<T>& table, const Vector<std::int32_t>& n_levels) {
  require(static_cast<std::int64_t>(n_levels.shape(0)) == table.n_columns,
          "n_levels must have one entry per column");
  for (std::int64_t column = 0; column < table.n_columns; ++column) {
    const std::int32_t n = n_levels.data()[column];
    require(n >= 0 && n < 65536, "a column must have at most 65535 levels");
    for (std::int64_t row = 0; n > 0 && row < table.n_rows; ++row) {
      const T x = table.at(row, column);
      require(x != x || (x >= T{0} && x < static_cast<T>(n) &&
                         static_cast<T>(static_cast<std::int32_t>(x)) == x),
              "levels must be integers in [0, n_levels) or NaN");
    }
  }
}

// A code past a column's bins would write outside its histogram. Returns which columns have code 0.
std::vector<std::uint8_t> check_codes(const weald::Codes& codes, int n_threads);

// The categorical columns, and columns with wide codes (16 bits), which are separate arrays. Their
// maximum is the number of levels; that of numbers may be larger.
data::Categories checked_categories(const weald::Codes& codes,
                                    const std::optional<Vector<std::uint8_t>>& is_category,
                                    const std::vector<std::int32_t>& wide_columns,
                                    const std::vector<Vector<std::uint16_t>>& wide_codes);

// Reject unknown losses and parameters out of range.
void check_parameter(const std::string& loss, double parameter);

// Number of predictions of a loss per row; rejects an unsupported number of scores.
int predictions_per_row(const std::string& loss, int n_scores);

// A loss of one score at the scores of rows, which must stay alive. Labels of two classes may be
// bytes.
template <class T>
target::LossAt checked_loss(const std::string& loss, double parameter, const Vector<T>& y,
                            const Vector<double>& scores,
                            const std::optional<Vector<double>>& weight, double base,
                            double base_slope);

// Validate the start of each block of rotated columns, and the end of the last.
std::vector<std::int64_t> checked_blocks(const Vector<std::int64_t>& first_of_block,
                                         std::int64_t n_rotated);

void bind_data(nb::module_& m);
void bind_explain(nb::module_& m);
void bind_forests(nb::module_& m);
void bind_ranked_table(nb::module_& m);
void bind_grown_trees(nb::module_& m);
void bind_isolation(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_rotation(nb::module_& m);
void bind_row_sums(nb::module_& m);
void bind_options(nb::module_& m);
void bind_part(nb::module_& m);
void bind_parts_grower(nb::module_& m);
void bind_stumps(nb::module_& m);
void bind_survival(nb::module_& m);
void bind_predictor(nb::module_& m);
void bind_trees(nb::module_& m);

}  // namespace weald::bindings
