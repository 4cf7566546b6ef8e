// One part of the rows on which trees are grown (part_answers.hpp says how answers merge).
#include "engine/part.hpp"

#include "bindings/border.hpp"
#include "bindings/limbs.hpp"
#include "bindings/part_answers.hpp"
#include "split/histogram_table.hpp"

namespace weald::bindings {
namespace {

target::Cells cells_named(const std::string& name) {
  require(name == "automatic" || name == "packed" || name == "blocks" || name == "wide",
          "unknown cells");
  return name == "automatic" ? target::Cells::automatic
         : name == "packed"  ? target::Cells::packed
         : name == "blocks"  ? target::Cells::blocks
                             : target::Cells::wide;
}

// Levels of the wide columns, which a part knows from the plan only: it may lack some of them.
data::Categories with_levels(data::Categories categories,
                             const std::vector<std::int32_t>& n_levels) {
  require(n_levels.size() == categories.wide.size(),
          "n_levels must have one entry per wide column");
  for (std::size_t w = 0; w < n_levels.size(); ++w) {
    require(n_levels[w] >= categories.wide[w].n_levels && n_levels[w] <= weald::most_value_bins,
            "wide codes must not exceed the levels of their column");
    categories.wide[w].n_levels = n_levels[w];
  }
  return categories;
}

class Part {
 public:
  Part(std::optional<Vector<weald::Code>> codes, std::int64_t n_rows, Vector<std::int32_t> n_bins,
       std::optional<Vector<std::uint8_t>> is_category, std::vector<std::int32_t> wide_columns,
       std::vector<Vector<std::uint16_t>> wide_codes, const std::vector<std::int32_t>& n_levels,
       int n_threads, bool by_columns)
      : codes_(std::move(codes)), n_bins_(std::move(n_bins)), wide_codes_(std::move(wide_codes)) {
    const auto n_columns = static_cast<std::int64_t>(n_bins_.shape(0));
    require(n_rows >= 1 && n_rows < std::numeric_limits<weald::Row>::max(),
            "a part must have between 1 and 2^32 - 2 rows");
    require(n_columns >= 1, "a part must have a column");
    weald::Codes view{nullptr, n_rows, static_cast<int>(n_columns), n_bins_.data()};
    if (!codes_) {
      run([&] { part_.emplace(view, data::Categories(), checked_threads(n_threads)); });
      return;
    }
    require(static_cast<std::int64_t>(codes_->shape(0)) == weald::Codes::bytes(n_rows, n_columns),
            "codes must have one byte per row and column plus seven bytes of padding");
    view.data = codes_->data();
    saw_missing_ = check_codes(view, checked_threads(n_threads));
    data::Categories categories =
        with_levels(checked_categories(view, is_category, wide_columns, wide_codes_), n_levels);
    for (const data::WideColumn& wide : categories.wide)
      saw_missing_[wide.column] =
          std::find(wide.codes, wide.codes + n_rows, 0) != wide.codes + n_rows;
    is_category_ = categories.is_category;
    run([&] { part_.emplace(view, std::move(categories), n_threads, by_columns); });
  }

  auto saw_missing() const { return give(std::vector<std::uint8_t>(saw_missing_)); }

  // Rows without copies (None: each row occurs once) are in no node; they only get leaves.
  nb::tuple look(Vector<double> gradient, std::optional<Vector<double>> hessian,
                 const std::string& cells, std::optional<Vector<std::int64_t>> copies) {
    require(static_cast<std::int64_t>(gradient.shape(0)) == part_->n_rows(),
            "gradient must have one entry per row");
    target::Target target;
    target.sums = gradient.data();
    target.weight = data_or_null(hessian, part_->n_rows(), "hessian must have one entry per row");
    target.copies = data_or_null(copies, part_->n_rows(), "copies must have one entry per row");
    require(!copies || std::all_of(target.copies, target.copies + part_->n_rows(),
                                   [](auto one) { return one >= 0 && one <= most_copies; }),
            "copies must be in [0, 2^36]");
    gradient_ = std::move(gradient);
    copies_ = std::move(copies);
    hessian_ = std::move(hessian);
    is_written_ = false;
    has_target_ = true;
    run([&] { own_ = part_->look(target, cells_named(cells)); });
    return nb::make_tuple(give(numbers_of(own_)), give(Integers{own_.copies}));
  }

  // After `look`: the answers to `coarse_sums` and `write`, if scales and rounding of all parts
  // will be these, and in how many parts they cannot be used: own values may be too large for that.
  nb::tuple expect(Vector<double> most, std::int64_t copies, Vector<std::int64_t> rounding,
                   bool needs_count) {
    require(has_target_, "look comes before expect");
    target::Extremes all = extremes_of(most, copies);
    all.take(own_);
    all.copies = std::max(copies, own_.copies);
    std::optional<target::Rounding> way = rounding_of(rounding);
    if (way) {
      way->sum_exponent = std::max(way->sum_exponent, weald::exponent_above(own_.sum));
      way->weight_exponent = std::max(way->weight_exponent, weald::exponent_above(own_.weight));
    }
    Integers sums, totals;
    bool is_of_use = true;
    run([&] {
      part_->set_scales(all);
      const std::optional<target::Coarse> coarse = part_->coarse_sums();
      require(coarse || !way, "these cells cannot be packed");
      const target::Coarse own = coarse.value_or(target::Coarse{});
      sums = numbers_of(own);
      is_of_use = part_->write_expected(all, way, own, needs_count);
      totals.assign(part_->totals(), part_->totals() + part_->cell_size());
    });
    is_written_ = true;
    return nb::make_tuple(give(std::move(sums)), give(std::move(totals)), add_rows(0)[0],
                          give(Integers{is_of_use ? 0 : 1}));
  }

  nb::tuple coarse_sums(Vector<double> most, std::int64_t copies) {
    Integers sums;
    run([&] {
      part_->set_scales(extremes_of(most, copies));
      const std::optional<target::Coarse> coarse = part_->coarse_sums();
      require(coarse.has_value(), "these cells cannot be packed");
      sums = numbers_of(*coarse);
    });
    return nb::make_tuple(give(std::move(sums)));
  }

  // Returns the histogram of all rows, too, which is wanted next.
  nb::tuple write(Vector<double> most, std::int64_t copies, Vector<std::int64_t> rounding,
                  bool needs_count) {
    Integers totals = written(most, copies, rounding, needs_count);
    return nb::make_tuple(give(std::move(totals)), add_rows(0)[0]);
  }

  // What divisions made of the part: its rows node by node, and where each node begins and ends.
  nb::tuple rows_of_nodes() const {
    require(is_written_, "write comes before rows_of_nodes");
    std::vector<weald::Row> rows(part_->rows(), part_->rows() + part_->n_used());
    Integers ranges;
    for (const auto& [begin, end] : part_->nodes()) ranges.insert(ranges.end(), {begin, end});
    return nb::make_tuple(give(std::move(rows)), give(std::move(ranges), {ranges.size() / 2, 2}));
  }

  // After `look`, as `write`, and with the rows of nodes that another part of the same rows had.
  void restore(Vector<double> most, std::int64_t copies, Vector<std::int64_t> rounding,
               bool needs_count, std::optional<Vector<weald::Row>> rows,
               std::optional<Matrix<std::int64_t>> ranges) {
    require(rows.has_value() == ranges.has_value(), "rows and ranges are given together");
    written(most, copies, rounding, needs_count);
    if (!rows) return;
    const std::int64_t n_used = part_->n_used();
    const weald::Row* const first = rows->data();
    require(static_cast<std::int64_t>(rows->shape(0)) == n_used &&
                std::all_of(first, first + n_used,
                            [&](weald::Row row) { return row < part_->n_rows(); }),
            "rows must be the numbers of all rows that are used");
    std::vector<engine::Part::Range> nodes;
    for (std::size_t i = 0; i < ranges->shape(0) && ranges->shape(1) == 2; ++i)
      nodes.push_back({ranges->data()[2 * i], ranges->data()[2 * i + 1]});
    require(!nodes.empty() && nodes[0].size() == n_used, "the first node must hold all rows");
    for (const auto& [begin, end] : nodes)
      require(begin >= 0 && begin <= end && end <= n_used, "a node is out of range");
    run([&] { part_->restore(first, std::move(nodes)); });
  }

  nb::tuple add_rows(int node) {
    check_node(node);
    require(part_->has_codes(), "the part has no codes");
    Integers cells(static_cast<std::size_t>(part_->n_cells()), 0);
    run([&] { part_->add_rows(node, cells.data()); });
    return nb::make_tuple(give(std::move(cells)));
  }

  // `first_word[i]` is where the set of division i begins in `words`; none if it is empty.
  nb::tuple divide(Matrix<std::int64_t> divisions, Vector<std::int64_t> first_word,
                   Vector<std::uint64_t> words) {
    const Divisions all(*this, divisions, first_word, words, part_->n_nodes());
    std::int64_t n_looking = 0;
    for (const tree::Division& one : all.each) n_looking += one.looks_on;
    Integers n_left(all.each.size()),
        cells(static_cast<std::size_t>(n_looking * part_->n_cells()), 0);
    run([&] {
      std::int64_t* to = cells.data();
      for (std::size_t i = 0; i < all.each.size(); ++i) {
        n_left[i] = part_->divide(all.each[i], to);
        if (all.each[i].looks_on) to += part_->n_cells();
      }
    });
    return nb::make_tuple(give(std::move(n_left)), give(std::move(cells)));
  }

  // After `restore`: the divisions that the other part made, in their order, by which rows without
  // copies descend.
  void remember(Matrix<std::int64_t> divisions, Vector<std::int64_t> first_word,
                Vector<std::uint64_t> words) {
    const Divisions all(*this, divisions, first_word, words, part_->next_remembered());
    for (const tree::Division& one : all.each) {
      require(one.left + 1 < part_->n_nodes(), "a division is of an unknown node");
      part_->remember(one);
    }
  }

  nb::tuple copies_by_code(int node) {
    check_node(node);
    require(part_->has_codes(), "the part has no codes");
    Integers counts(static_cast<std::size_t>(part_->n_codes()), 0);
    run([&] { part_->add_copies(node, counts.data()); });
    return nb::make_tuple(give(std::move(counts)));
  }

  nb::tuple sums_of_leaves(std::vector<int> leaf_of_node, int n_leaves,
                           OutVector<std::int32_t> leaf_of_row) {
    require(static_cast<std::int64_t>(leaf_of_row.shape(0)) == part_->n_rows(),
            "leaf_of_row must have one entry per row");
    require(n_leaves >= 0, "n_leaves must not be negative");
    for (const int leaf : leaf_of_node) require(leaf < n_leaves, "a leaf is out of range");
    require(is_written_, "write comes before sums_of_leaves");
    std::vector<weald::Int128> sums(static_cast<std::size_t>(n_leaves) * 2, 0);
    run([&] { part_->add_sums(leaf_of_node, n_leaves, sums.data(), leaf_of_row.data()); });
    Integers limbs;
    for (const weald::Int128 sum : sums) add_limbs(limbs, sum);
    return nb::make_tuple(give(std::move(limbs)));
  }

 private:
  // Write the integers of the rows; returns their sums.
  Integers written(const Vector<double>& most, std::int64_t copies,
                   const Vector<std::int64_t>& rounding, bool needs_count) {
    require(has_target_, "look comes before write");
    Integers totals;
    const target::Extremes all = extremes_of(most, copies);
    const std::optional<target::Rounding> way = rounding_of(rounding);
    run([&] {
      part_->set_scales(all);
      part_->write(all, way, needs_count);
      totals.assign(part_->totals(), part_->totals() + part_->cell_size());
    });
    is_written_ = true;
    return totals;
  }

  void check_node(int node) const {
    require(is_written_, "write comes before questions about nodes");
    require(node >= 0 && node < part_->n_nodes(), "unknown node");
  }

  // Divisions from outside; the first of their children has the number `next_child`.
  struct Divisions {
    std::vector<split::Split> splits;
    std::vector<tree::Division> each;

    Divisions(const Part& part, const Matrix<std::int64_t>& divisions,
              const Vector<std::int64_t>& first_word, const Vector<std::uint64_t>& words,
              int next_child)
        : splits(divisions.shape(0)) {
      require(divisions.shape(1) == division_size && first_word.shape(0) == splits.size() + 1,
              "divisions must have the shape (nodes, 7), and first_word one entry more");
      require(part.is_written_, "write comes before divide");
      require(part.part_->has_codes(), "the part has no codes");
      for (std::size_t i = 0; i < splits.size(); ++i) {
        const std::int64_t* const one = divisions.data() + i * division_size;
        splits[i] = part.checked_split(one, first_word, words, i);
        require(one[0] >= 0 && one[0] < next_child, "a division is of an unknown node");
        require(one[1] == next_child, "children must be numbered in the order of divisions");
        next_child += 2;
        each.push_back({static_cast<int>(one[0]), static_cast<int>(one[1]), &splits[i], one[5] != 0,
                        one[6] != 0});
      }
    }
  };

  split::Split checked_split(const std::int64_t* one, const Vector<std::int64_t>& first_word,
                             const Vector<std::uint64_t>& words, std::size_t i) const {
    split::Split split;
    require(one[2] >= 0 && one[2] < part_->n_columns(), "unknown column");
    split.column = static_cast<int>(one[2]);
    const int n_codes = part_->n_codes(split.column);
    require(one[3] >= 0 && one[3] < n_codes, "a bin is out of range");
    split.bin = static_cast<int>(one[3]);
    split.missing_left = one[4] != 0;
    const std::int64_t begin = first_word.data()[i], end = first_word.data()[i + 1];
    require(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(words.shape(0)),
            "first_word must rise within words");
    split.left_set.assign(words.data() + begin, words.data() + end);
    const bool is_category = !is_category_.empty() && is_category_[split.column] != 0;
    require(split.left_set.empty() != is_category ||
                static_cast<int>(split.left_set.size()) * 64 >= n_codes - 1,
            "a categorical column is divided by a set of all its levels");
    require(is_category == !split.left_set.empty(), "only categorical columns are divided by sets");
    return split;
  }

  std::optional<Vector<weald::Code>> codes_;
  Vector<std::int32_t> n_bins_;
  std::vector<Vector<std::uint16_t>> wide_codes_;
  std::vector<std::uint8_t> saw_missing_, is_category_;
  Vector<double> gradient_;
  std::optional<Vector<double>> hessian_;
  std::optional<Vector<std::int64_t>> copies_;
  target::Extremes own_;
  bool has_target_ = false, is_written_ = false;
  std::optional<engine::Part> part_;
};

}  // namespace

void bind_part(nb::module_& m) {
  nb::class_<Part>(m, "Part")
      .def(nb::init<std::optional<Vector<weald::Code>>, std::int64_t, Vector<std::int32_t>,
                    std::optional<Vector<std::uint8_t>>, std::vector<std::int32_t>,
                    std::vector<Vector<std::uint16_t>>, const std::vector<std::int32_t>&, int,
                    bool>(),
           nb::kw_only(), "codes"_a.none(), "n_rows"_a, "n_bins"_a, "is_category"_a.none(),
           "wide_columns"_a, "wide_codes"_a, "n_levels"_a, "n_threads"_a, "by_columns"_a = true)
      .def("saw_missing", &Part::saw_missing)
      .def("look", &Part::look, "gradient"_a, "hessian"_a.none(), "cells"_a,
           "copies"_a.none() = nb::none())
      .def("expect", &Part::expect, "most"_a, "copies"_a, "rounding"_a, "needs_count"_a)
      .def("coarse_sums", &Part::coarse_sums, "most"_a, "copies"_a)
      .def("write", &Part::write, "most"_a, "copies"_a, "rounding"_a, "needs_count"_a)
      .def("rows_of_nodes", &Part::rows_of_nodes)
      .def("restore", &Part::restore, "most"_a, "copies"_a, "rounding"_a, "needs_count"_a,
           "rows"_a.none(), "ranges"_a.none())
      .def("remember", &Part::remember, "divisions"_a, "first_word"_a, "words"_a)
      .def("add_rows", &Part::add_rows, "node"_a)
      .def("divide", &Part::divide, "divisions"_a, "first_word"_a, "words"_a)
      .def("copies_by_code", &Part::copies_by_code, "node"_a)
      .def("sums_of_leaves", &Part::sums_of_leaves, "leaf_of_node"_a, "n_leaves"_a,
           "leaf_of_row"_a.noconvert());
}

}  // namespace weald::bindings
