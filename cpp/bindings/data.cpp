// Binning, row hashes, random draws, and the elementary functions.
#include <algorithm>

#include "base/elementary.hpp"
#include "bindings/border.hpp"
#include "data/binning.hpp"
#include "data/content.hpp"
#include "data/numbered_rows.hpp"
#include "data/sparse_binning.hpp"
#include "data/subsample.hpp"
#include "data/value_words.hpp"

namespace weald::bindings {
namespace {

template <class T>
auto find_cuts(AnyTable<T> table, std::optional<Vector<std::int64_t>> mass, int max_bins,
               int n_threads) {
  require(max_bins >= 2 && max_bins <= weald::most_value_bins, "max_bins must be in [2, 65535]");
  const auto view = table_of(table);
  const auto* masses = data_or_null(mass, view.n_rows, "mass must have one entry per row");
  data::Cuts cuts;
  run([&] { cuts = data::find_cuts(view, masses, max_bins, checked_threads(n_threads)); });
  return nb::make_tuple(give(std::move(cuts.values)), give(std::move(cuts.first)));
}

template <class T>
auto apply_cuts(AnyTable<T> table, Vector<double> cuts, Vector<std::int64_t> first, int n_threads) {
  const auto view = table_of(table);
  check_cuts(cuts, first, view.n_columns, weald::max_value_bins);
  LargeVector<weald::Code> codes(
      static_cast<std::size_t>(weald::Codes::bytes(view.n_rows, view.n_columns)));
  run([&] {
    data::apply_cuts(view, cuts.data(), first.data(), codes.data(), view.n_columns, 0,
                     checked_threads(n_threads));
  });
  return give(std::move(codes));
}

template <class T>
auto apply_many_cuts(AnyTable<T> table, std::int64_t column, Vector<double> cuts, int n_threads) {
  const auto view = table_of(table);
  const auto n_cuts = static_cast<std::int64_t>(cuts.shape(0));
  require(column >= 0 && column < view.n_columns, "column must be within the table");
  require(n_cuts < weald::most_value_bins && std::is_sorted(cuts.data(), cuts.data() + n_cuts),
          "cuts must be at most 65534 sorted numbers");
  LargeVector<std::uint16_t> codes(static_cast<std::size_t>(view.n_rows));
  run([&] {
    data::apply_many_cuts(view, cuts.data(), n_cuts, column, codes.data(),
                          checked_threads(n_threads));
  });
  return give(std::move(codes));
}

// The stored values of a sparse table by column. Rows are not checked here.
template <class T>
data::SparseTable<T> sparse_table_of(const Vector<T>& values, const Vector<weald::Row>& rows,
                                     const Vector<std::int64_t>& begins, std::int64_t n_rows) {
  const auto n_entries = static_cast<std::int64_t>(values.shape(0));
  const auto n_columns = static_cast<std::int64_t>(begins.shape(0)) - 1;
  require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
          "a table must have between 1 and 2^32 - 2 rows");
  require(static_cast<std::int64_t>(rows.shape(0)) == n_entries && n_columns >= 1 &&
              begins.data()[0] == 0 && begins.data()[n_columns] == n_entries &&
              std::is_sorted(begins.data(), begins.data() + n_columns + 1),
          "begins must contain the start of every column's values and their total number");
  return {values.data(), rows.data(), begins.data(), n_rows, n_columns};
}

// Cuts of a sparse table (data/sparse_binning.hpp) by its first n_learn rows, the codes of its
// stored values and that of 0 in each column.
template <class T>
auto bin_sparse(Vector<T> values, Vector<weald::Row> rows, Vector<std::int64_t> begins,
                std::int64_t n_rows, std::int64_t n_learn, std::optional<Vector<std::int64_t>> mass,
                int max_bins, int n_threads) {
  require(max_bins >= 2 && max_bins <= weald::max_value_bins, "max_bins must be in [2, 255]");
  const auto table = sparse_table_of(values, rows, begins, n_rows);
  require(n_learn >= 0 && n_learn <= n_rows, "n_learn must be in [0, rows]");
  const auto* masses = data_or_null(mass, n_learn, "mass must have one entry per row");
  data::Cuts cuts;
  std::vector<weald::Code> codes(values.shape(0));
  std::vector<weald::Code> usual(static_cast<std::size_t>(table.n_columns));
  run([&] {
    cuts = data::find_cuts(table, n_learn, masses, max_bins, checked_threads(n_threads));
    data::apply_cuts(table, cuts, codes.data(), usual.data(), n_threads);
  });
  return nb::make_tuple(give(std::move(cuts.values)), give(std::move(cuts.first)),
                        give(std::move(codes)), give(std::move(usual)));
}

// Codes for a table whose columns are encoded a few at a time.
auto empty_codes(std::int64_t n_rows, std::int64_t n_columns) {
  require(n_rows >= 1 && n_columns >= 1 && n_rows < std::numeric_limits<weald::Row>::max() &&
              n_columns <= std::numeric_limits<std::int32_t>::max(),
          "a table must have between 1 and 2^32 - 2 rows, and columns");
  return give(
      LargeVector<weald::Code>(static_cast<std::size_t>(weald::Codes::bytes(n_rows, n_columns))));
}

template <class T>
void apply_cuts_into(AnyTable<T> table, Vector<double> cuts, Vector<std::int64_t> first,
                     OutVector<weald::Code> codes, std::int64_t n_columns, std::int64_t begin,
                     int n_threads) {
  const auto view = table_of(table);
  check_cuts(cuts, first, view.n_columns, weald::max_value_bins);
  require(view.n_columns >= 1 && begin >= 0 && begin <= n_columns - view.n_columns &&
              n_columns <= std::numeric_limits<std::int32_t>::max(),
          "columns must be within the table");
  require(static_cast<std::int64_t>(codes.shape(0)) == weald::Codes::bytes(view.n_rows, n_columns),
          "codes must have one byte per row and column plus seven bytes of padding");
  run([&] {
    data::apply_cuts(view, cuts.data(), first.data(), codes.data(), n_columns, begin,
                     checked_threads(n_threads));
  });
}

template <class T>
void hash_more(AnyTable<T> table, OutMatrix<std::uint64_t> hashes, int n_threads) {
  const auto view = table_of(table);
  require(static_cast<std::int64_t>(hashes.shape(0)) == view.n_rows && hashes.shape(1) == 2,
          "hashes must have two words per row");
  run([&] {
    data::hash_more(view, reinterpret_cast<Hash128*>(hashes.data()), checked_threads(n_threads));
  });
}

template <class T>
void add_words(AnyTable<T> table, std::int64_t first, OutVector<std::uint64_t> words,
               int n_threads) {
  const auto view = table_of(table);
  require(static_cast<std::int64_t>(words.shape(0)) == view.n_rows && first >= 0,
          "words must have one entry per row");
  run([&] { data::add_words(view, first, words.data(), checked_threads(n_threads)); });
}

template <class T>
void add_sparse_words(Vector<T> values, Vector<weald::Row> rows, Vector<std::int64_t> begins,
                      OutVector<std::uint64_t> words) {
  const auto n_rows = static_cast<std::int64_t>(words.shape(0));
  const auto table = sparse_table_of(values, rows, begins, n_rows);
  require(std::all_of(rows.data(), rows.data() + rows.shape(0),
                      [n_rows](weald::Row row) { return row < n_rows; }),
          "rows must be within the table");
  run([&] { data::add_words(table, words.data()); });
}

template <class T>
auto hash_rows(AnyTable<T> table, Vector<double> target, int n_threads) {
  const auto view = table_of(table);
  require(static_cast<std::int64_t>(target.shape(0)) == view.n_rows,
          "target must have one entry per row");
  weald::RawVector<std::uint64_t> words(static_cast<std::size_t>(view.n_rows) * 2);
  static_assert(sizeof(Hash128) == 2 * sizeof(std::uint64_t));
  run([&] {
    data::hash_rows(view, target.data(), reinterpret_cast<Hash128*>(words.data()),
                    checked_threads(n_threads));
  });
  return give(std::move(words), {static_cast<std::size_t>(view.n_rows), std::size_t{2}});
}

// Rows in the order of their content, and the key of each position: see numbered_rows.hpp.
auto numbered_rows(Matrix<std::uint64_t> hashes, std::optional<Vector<double>> weight) {
  require(hashes.shape(1) == 2, "hashes must have two words per row");
  require(hashes.shape(0) < std::numeric_limits<weald::Row>::max(),
          "a table must have at most 2^32 - 2 rows");
  const auto n = static_cast<std::int64_t>(hashes.shape(0));
  const double* const weights = data_or_null(weight, n, "weight must have one entry per row");
  for (std::int64_t row = 0; weights && row < n; ++row)
    require(weights[row] == weights[row], "weight must not be NaN");
  data::NumberedRows all;
  run([&] {
    all = data::numbered_rows(reinterpret_cast<const Hash128*>(hashes.data()), weights, n);
  });
  return nb::make_tuple(give(std::move(all.order)),
                        give(std::move(all.keys), {hashes.shape(0), std::size_t{2}}));
}

auto draw(Matrix<std::uint64_t> hashes, std::uint64_t seed, std::uint64_t member,
          std::uint64_t purpose) {
  require(hashes.shape(1) == 2, "hashes must have two words per row");
  const DrawKey key{seed, member, purpose};
  std::vector<std::uint64_t> words(hashes.shape(0));
  for (std::size_t row = 0; row < words.size(); ++row)
    words[row] = key({hashes.data()[2 * row], hashes.data()[2 * row + 1]});
  return give(std::move(words));
}

// The key of each row by its number among equal rows: see numbered_rows.hpp.
auto keys_of_copies(Matrix<std::uint64_t> hashes, Vector<std::int64_t> numbers) {
  require(hashes.shape(1) == 2 && numbers.shape(0) == hashes.shape(0),
          "hashes must have two words per row, and numbers one entry");
  const auto* const rows = reinterpret_cast<const Hash128*>(hashes.data());
  weald::RawVector<std::uint64_t> keys(hashes.size());
  bool sound = true;
  for (std::size_t row = 0; row < numbers.shape(0); ++row) {
    const std::int64_t number = numbers.data()[row];
    sound &= number >= 0;
    const Hash128 key = data::key_of_copy(rows[row], static_cast<std::uint64_t>(number));
    keys[2 * row] = key.low;
    keys[2 * row + 1] = key.high;
  }
  require(sound, "numbers must not be negative");
  return give(std::move(keys), {hashes.shape(0), std::size_t{2}});
}

// Whether each row is drawn with probability `fraction`; perhaps none is: see subsample.hpp.
auto draw_rows(Matrix<std::uint64_t> hashes, double fraction, std::uint64_t seed,
               std::uint64_t member, std::uint64_t purpose) {
  require(hashes.shape(1) == 2, "hashes must have two words per row");
  require(fraction > 0.0 && fraction <= 1.0, "fraction must be in (0, 1]");
  std::vector<std::int64_t> times(hashes.shape(0));
  std::vector<std::uint8_t> drawn(hashes.shape(0));
  run(hashes.size(), [&] {
    data::draw_rows(reinterpret_cast<const Hash128*>(hashes.data()), nullptr,
                    static_cast<std::int64_t>(times.size()), fraction, {seed, member, purpose},
                    times.data());
    for (std::size_t row = 0; row < times.size(); ++row) drawn[row] = times[row] != 0;
  });
  return give(std::move(drawn));
}

// How often each row that is not held out is drawn, and which of all rows are: see subsample.hpp.
auto subsample(Matrix<std::uint64_t> hashes, std::optional<Vector<std::int64_t>> copies,
               std::optional<Vector<bool>> held_out, double fraction, std::uint64_t seed,
               std::uint64_t member, std::uint64_t purpose) {
  require(hashes.shape(1) == 2, "hashes must have two words per row");
  const auto n_rows = static_cast<std::int64_t>(hashes.shape(0));
  const std::int64_t* const times =
      data_or_null(copies, n_rows, "copies must have one entry per row");
  const bool* const held = data_or_null(held_out, n_rows, "held_out must have one entry per row");
  std::vector<std::int64_t> drawn(hashes.shape(0));
  std::vector<std::uint8_t> of_all(hashes.shape(0));
  run(hashes.size(), [&] {
    data::subsample(reinterpret_cast<const Hash128*>(hashes.data()), times, held, n_rows, fraction,
                    {seed, member, purpose}, drawn.data(), of_all.data());
  });
  return nb::make_tuple(give(std::move(drawn)), give(std::move(of_all)));
}

template <auto function>
auto map(Vector<double> x) {
  std::vector<double> y(x.shape(0));
  const double* const in = x.data();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(in[i]);
  return give(std::move(y));
}

}  // namespace

void bind_data(nb::module_& m) {
  m.def("exp", &map<weald::elementary::exp>, "x"_a);
  m.def("log", &map<weald::elementary::log>, "x"_a);
  m.def("log2", &map<weald::elementary::log2>, "x"_a);
  m.def("log1p", &map<weald::elementary::log1p>, "x"_a);
  m.def("sigmoid", &map<weald::elementary::sigmoid>, "x"_a);

  m.def("find_cuts", &find_cuts<float>, "table"_a.noconvert(), "mass"_a.none(), "max_bins"_a,
        "n_threads"_a);
  m.def("find_cuts", &find_cuts<double>, "table"_a.noconvert(), "mass"_a.none(), "max_bins"_a,
        "n_threads"_a);
  m.def("apply_cuts", &apply_cuts<float>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "n_threads"_a);
  m.def("apply_cuts", &apply_cuts<double>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "n_threads"_a);
  m.def("apply_many_cuts", &apply_many_cuts<float>, "table"_a.noconvert(), "column"_a, "cuts"_a,
        "n_threads"_a);
  m.def("apply_many_cuts", &apply_many_cuts<double>, "table"_a.noconvert(), "column"_a, "cuts"_a,
        "n_threads"_a);
  m.def("bin_sparse", &bin_sparse<float>, "values"_a.noconvert(), "rows"_a.noconvert(), "begins"_a,
        "n_rows"_a, "n_learn"_a, "mass"_a.none(), "max_bins"_a, "n_threads"_a);
  m.def("bin_sparse", &bin_sparse<double>, "values"_a.noconvert(), "rows"_a.noconvert(), "begins"_a,
        "n_rows"_a, "n_learn"_a, "mass"_a.none(), "max_bins"_a, "n_threads"_a);
  m.def("empty_codes", &empty_codes, "n_rows"_a, "n_columns"_a);
  m.def("apply_cuts_into", &apply_cuts_into<float>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "codes"_a.noconvert(), "n_columns"_a, "begin"_a, "n_threads"_a);
  m.def("apply_cuts_into", &apply_cuts_into<double>, "table"_a.noconvert(), "cuts"_a, "first"_a,
        "codes"_a.noconvert(), "n_columns"_a, "begin"_a, "n_threads"_a);
  m.def("add_words", &add_words<float>, "table"_a.noconvert(), "first"_a, "words"_a.noconvert(),
        "n_threads"_a);
  m.def("add_words", &add_words<double>, "table"_a.noconvert(), "first"_a, "words"_a.noconvert(),
        "n_threads"_a);
  m.def("add_sparse_words", &add_sparse_words<float>, "values"_a.noconvert(), "rows"_a.noconvert(),
        "begins"_a, "words"_a.noconvert());
  m.def("add_sparse_words", &add_sparse_words<double>, "values"_a.noconvert(), "rows"_a.noconvert(),
        "begins"_a, "words"_a.noconvert());
  m.def("hash_rows", &hash_rows<float>, "table"_a.noconvert(), "target"_a, "n_threads"_a);
  m.def("hash_rows", &hash_rows<double>, "table"_a.noconvert(), "target"_a, "n_threads"_a);
  m.def("hash_more", &hash_more<float>, "table"_a.noconvert(), "hashes"_a.noconvert(),
        "n_threads"_a);
  m.def("hash_more", &hash_more<double>, "table"_a.noconvert(), "hashes"_a.noconvert(),
        "n_threads"_a);
  m.def("numbered_rows", &numbered_rows, "hashes"_a, "weight"_a.none() = nb::none());
  m.def("draw", &draw, "hashes"_a, "seed"_a, "member"_a, "purpose"_a);
  m.def("keys_of_copies", &keys_of_copies, "hashes"_a, "numbers"_a);
  m.def("draw_rows", &draw_rows, "hashes"_a, "fraction"_a, "seed"_a, "member"_a, "purpose"_a);
  m.def("subsample", &subsample, "hashes"_a, "copies"_a.none(), "held_out"_a.none(), "fraction"_a,
        "seed"_a, "member"_a, "purpose"_a);
}

}  // namespace weald::bindings
