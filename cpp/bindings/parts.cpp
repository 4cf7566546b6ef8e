// Trees grown on rows that lie in several parts: a part, and the grower that asks all of them.
//
// Answers are tuples of arrays that merge one by one: int64 arrays by sums, float64 arrays by
// maxima. A 128-bit sum is four integers of 32 bits, the last one signed: their sums over parts
// fit.
#include "bindings/border.hpp"
#include "bindings/grown_trees.hpp"
#include "bindings/limbs.hpp"
#include "bindings/part_answers.hpp"
#include "bindings/tree_params.hpp"
#include "criteria/criteria.hpp"
#include "engine/part.hpp"
#include "grow/grower.hpp"
#include "split/histogram_table.hpp"

namespace weald::bindings {
namespace {

target::Cells cells_named(const std::string& name) {
  require(name == "automatic" || name == "packed" || name == "wide", "unknown cells");
  return name == "automatic" ? target::Cells::automatic
         : name == "packed"  ? target::Cells::packed
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

// A division as [node, left child, column, bin, missing left, counts left, looks on].
constexpr int division_size = 7;

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

  nb::tuple look(Vector<double> gradient, std::optional<Vector<double>> hessian,
                 const std::string& cells) {
    require(static_cast<std::int64_t>(gradient.shape(0)) == part_->n_rows(),
            "gradient must have one entry per row");
    target::Target target;
    target.sums = gradient.data();
    target.weight = data_or_null(hessian, part_->n_rows(), "hessian must have one entry per row");
    gradient_ = std::move(gradient);
    hessian_ = std::move(hessian);
    is_written_ = false;
    has_target_ = true;
    target::Extremes own;
    run([&] { own = part_->look(target, cells_named(cells)); });
    const double negative = own.has_negative_weight ? 1.0 : 0.0;
    return nb::make_tuple(give(std::vector<double>{own.weight, own.sum, negative}),
                          give(Integers{own.copies}));
  }

  nb::tuple coarse_sums(Vector<double> most, std::int64_t copies) {
    Integers sums;
    run([&] {
      part_->set_scales(extremes_of(most, copies));
      const std::optional<target::Coarse> coarse = part_->coarse_sums();
      require(coarse.has_value(), "these cells cannot be packed");
      sums = {coarse->positive, coarse->negative, coarse->weight};
      add_limbs(sums, coarse->squares);
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
    std::vector<weald::Row> rows(part_->rows(), part_->rows() + part_->n_rows());
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
    const std::int64_t n_rows = part_->n_rows();
    const weald::Row* const first = rows->data();
    require(static_cast<std::int64_t>(rows->shape(0)) == n_rows &&
                *std::max_element(first, first + n_rows) < n_rows,
            "rows must be the numbers of all rows");
    std::vector<engine::Part::Range> nodes;
    for (std::size_t i = 0; i < ranges->shape(0) && ranges->shape(1) == 2; ++i)
      nodes.push_back({ranges->data()[2 * i], ranges->data()[2 * i + 1]});
    require(!nodes.empty() && nodes[0].size() == n_rows, "the first node must hold all rows");
    for (const auto& [begin, end] : nodes)
      require(begin >= 0 && begin <= end && end <= n_rows, "a node is out of range");
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
    const std::size_t n = divisions.shape(0);
    require(divisions.shape(1) == division_size && first_word.shape(0) == n + 1,
            "divisions must have the shape (nodes, 7), and first_word one entry more");
    std::vector<split::Split> splits(n);
    std::vector<tree::Division> all;
    std::int64_t n_looking = 0;
    int n_nodes = part_->n_nodes();
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t* const one = divisions.data() + i * division_size;
      splits[i] = checked_split(one, first_word, words, i);
      require(one[0] >= 0 && one[0] < n_nodes, "a division is of an unknown node");
      require(one[1] == n_nodes, "children must be numbered in the order of divisions");
      n_nodes += 2;
      all.push_back({static_cast<int>(one[0]), static_cast<int>(one[1]), &splits[i], one[5] != 0,
                     one[6] != 0});
      n_looking += one[6] != 0;
    }
    require(is_written_, "write comes before divide");
    require(part_->has_codes(), "the part has no codes");
    Integers n_left(n), cells(static_cast<std::size_t>(n_looking * part_->n_cells()), 0);
    run([&] {
      std::int64_t* to = cells.data();
      for (std::size_t i = 0; i < n; ++i) {
        n_left[i] = part_->divide(all[i], to);
        if (all[i].looks_on) to += part_->n_cells();
      }
    });
    return nb::make_tuple(give(std::move(n_left)), give(std::move(cells)));
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
    for (const int leaf : leaf_of_node) require(leaf < n_leaves, "a leaf is out of range");
    require(is_written_, "write comes before sums_of_leaves");
    std::vector<weald::Int128> sums(static_cast<std::size_t>(n_leaves) * 2, 0);
    run([&] { part_->add_sums(leaf_of_node, sums.data(), leaf_of_row.data()); });
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
      const std::int64_t* const sums = part_->write(all, way, needs_count);
      totals.assign(sums, sums + part_->cell_size());
    });
    is_written_ = true;
    return totals;
  }

  void check_node(int node) const {
    require(is_written_, "write comes before questions about nodes");
    require(node >= 0 && node < part_->n_nodes(), "unknown node");
  }

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
  bool has_target_ = false, is_written_ = false;
  std::optional<engine::Part> part_;
};

// Asks all parts by a Python function: ask(verb, *arguments) returns the merged answer.
class AskedParts : public tree::Parts {
 public:
  AskedParts(nb::object ask, bool has_weight, std::size_t n_codes)
      : ask_(std::move(ask)), has_weight_(has_weight), n_codes_(n_codes) {}
  ~AskedParts() override {
    const nb::gil_scoped_acquire hold;
    ask_.reset();
    most_.reset();
  }

  bool has_weight() const override { return has_weight_; }

  target::Extremes look() override {
    const nb::gil_scoped_acquire hold;
    const nb::tuple answer = asked("look", {});
    most_ = answer[0];
    copies_ = integers(answer, 1, 1)[0];
    return bindings::extremes_of(nb::cast<Vector<double>>(answer[0]), copies_);
  }

  target::Coarse coarse_sums(const target::Extremes&) override {
    const nb::gil_scoped_acquire hold;
    const Integers sums =
        integers(asked("coarse_sums", nb::make_tuple(most_, copies_)), 0, 3 + n_limbs);
    target::Coarse coarse;
    coarse.positive = sums[0];
    coarse.negative = sums[1];
    coarse.weight = sums[2];
    coarse.squares = of_limbs(sums.data() + 3);
    return coarse;
  }

  Integers write(const target::Extremes&, const std::optional<target::Rounding>& rounding,
                 bool needs_count) override {
    const nb::gil_scoped_acquire hold;
    const nb::tuple answer =
        asked("write", nb::make_tuple(most_, copies_, give(numbers_of(rounding)), needs_count));
    const std::size_t size = rounding ? 1 : 2 + (needs_count && has_weight_ ? 1 : 0);
    require(answer.size() == 2, "an answer of the parts has a wrong size");
    root_ = integers(answer, 1, nb::cast<Vector<std::int64_t>>(answer[1]).shape(0));
    return integers(answer, 0, size);
  }

  void add_rows(int node, std::int64_t* cells, std::int64_t n_cells) override {
    const nb::gil_scoped_acquire hold;
    const auto size = static_cast<std::size_t>(n_cells);
    const bool is_known = node == 0 && root_.size() == size;
    const Integers sums = is_known ? std::exchange(root_, {})
                                   : integers(asked("add_rows", nb::make_tuple(node)), 0, size);
    for (std::int64_t i = 0; i < n_cells; ++i) cells[i] += sums[i];
  }

  Integers divide(const std::vector<tree::Division>& divisions,
                  const std::vector<std::int64_t*>& histograms, std::int64_t n_cells) override {
    const nb::gil_scoped_acquire hold;
    Integers numbers, first_word{0};
    std::vector<std::uint64_t> words;
    for (const tree::Division& one : divisions) {
      const split::Split& split = *one.split;
      for (const int number : {one.node, one.left, split.column, split.bin, int{split.missing_left},
                               int{one.counts_left}, int{one.looks_on}})
        numbers.push_back(number);
      words.insert(words.end(), split.left_set.begin(), split.left_set.end());
      first_word.push_back(static_cast<std::int64_t>(words.size()));
    }
    const std::size_t n = divisions.size();
    const nb::tuple answer =
        asked("divide", nb::make_tuple(give(std::move(numbers), {n, std::size_t{division_size}}),
                                       give(std::move(first_word)), give(std::move(words))));
    const auto cells = checked(answer, 1, histograms.size() * static_cast<std::size_t>(n_cells));
    for (std::size_t i = 0; i < histograms.size(); ++i)
      std::copy_n(cells.data() + static_cast<std::int64_t>(i) * n_cells, n_cells, histograms[i]);
    return integers(answer, 0, n);
  }

  Integers copies_by_code(int node) override {
    const nb::gil_scoped_acquire hold;
    return integers(asked("copies_by_code", nb::make_tuple(node)), 0, n_codes_);
  }

  std::vector<weald::Int128> sums_of_leaves(const std::vector<int>& leaf_of_node,
                                            std::int64_t n_leaves) override {
    const nb::gil_scoped_acquire hold;
    const std::size_t n_sums = static_cast<std::size_t>(n_leaves) * 2;
    const Integers limbs = integers(asked("sums_of_leaves", nb::make_tuple(leaf_of_node, n_leaves)),
                                    0, n_sums * n_limbs);
    std::vector<weald::Int128> sums;
    for (std::size_t i = 0; i < n_sums; ++i) sums.push_back(of_limbs(limbs.data() + i * n_limbs));
    return sums;
  }

 private:
  nb::tuple asked(const char* verb, const nb::tuple& arguments) const {
    return nb::cast<nb::tuple>(ask_(verb, *arguments));
  }
  static Vector<std::int64_t> checked(const nb::tuple& answer, std::size_t i, std::size_t size) {
    require(answer.size() > i, "an answer of the parts is too short");
    auto array = nb::cast<Vector<std::int64_t>>(answer[i]);
    require(array.shape(0) == size, "an answer of the parts has a wrong size");
    return array;
  }
  static Integers integers(const nb::tuple& answer, std::size_t i, std::size_t size) {
    const auto array = checked(answer, i, size);
    return {array.data(), array.data() + size};
  }

  nb::object ask_;
  bool has_weight_;
  std::size_t n_codes_;  // of all columns
  Integers root_;        // the histogram of all rows
  nb::object most_;
  std::int64_t copies_ = 0;
};

// Grows trees on parts, of whose columns it knows the bins only.
class PartsGrower {
 public:
  PartsGrower(Vector<std::int32_t> n_bins, const TreeArguments& params,
              std::optional<Vector<std::uint8_t>> is_category,
              const std::vector<std::int32_t>& wide_columns,
              const std::vector<std::int32_t>& n_levels, Vector<std::uint8_t> saw_missing,
              Vector<double> cuts, Vector<std::int64_t> first)
      : params_(params),
        n_bins_(std::move(n_bins)),
        cuts_(std::move(cuts)),
        first_(std::move(first)) {
    const auto n_columns = static_cast<int>(n_bins_.shape(0));
    require(params_.criterion == criteria::Newton::name, "parts need the newton criterion");
    require(n_columns >= 1 && static_cast<int>(saw_missing.shape(0)) == n_columns,
            "saw_missing must have one entry per column");
    check_cuts(cuts_, first_, n_columns, weald::max_value_bins + 1);
    for (int c = 0; c < n_columns; ++c)
      require(first_.data()[c + 1] - first_.data()[c] == n_bins_.data()[c] - 1,
              "a column must have one cut less than bins");
    data::Categories categories;
    require(is_category.has_value() || wide_columns.empty(), "wide_columns require is_category");
    require(wide_columns.size() == n_levels.size(), "n_levels must have one entry per wide column");
    if (is_category) {
      require(static_cast<int>(is_category->shape(0)) == n_columns,
              "is_category must have one entry per column");
      categories.is_category.assign(is_category->data(), is_category->data() + n_columns);
    }
    for (std::size_t w = 0; w < wide_columns.size(); ++w) {
      require(wide_columns[w] > (w ? wide_columns[w - 1] : -1) && wide_columns[w] < n_columns &&
                  categories.is_category[wide_columns[w]] != 0 && n_levels[w] >= 1 &&
                  n_levels[w] <= weald::most_value_bins,
              "wide_columns must be categorical columns in increasing order");
      categories.wide.push_back({wide_columns[w], nullptr, n_levels[w]});
    }
    const auto& direction = params_.params.split.direction;
    for (std::size_t c = 0; c < direction.size() && c < categories.is_category.size(); ++c)
      require(direction[c] == 0.0 || categories.is_category[c] == 0,
              "categorical columns cannot have a direction");
    const weald::Codes view{nullptr, 0, n_columns, n_bins_.data()};
    const auto table = std::make_shared<const split::HistogramTable>(
        view, std::move(categories),
        std::vector<std::uint8_t>(saw_missing.data(), saw_missing.data() + n_columns));
    params_.params.n_threads = 1;
    for (int c = 0; c < n_columns; ++c) n_codes_ += static_cast<std::size_t>(n_bins_.data()[c]) + 1;
    for (std::size_t w = 0; w < wide_columns.size(); ++w)
      n_codes_ += static_cast<std::size_t>(n_levels[w] - n_bins_.data()[wide_columns[w]]);
    grower_ = std::make_unique<grow::Grower>(table, params_.criterion, params_.params);
  }

  // Grow one tree for each function ask(verb, *arguments), which asks all parts about its
  // gradients.
  GrownTrees grow(const std::vector<nb::object>& asks, bool has_hessian, std::uint64_t member) {
    std::vector<tree::Tree> trees;
    for (const nb::object& ask : asks) {
      AskedParts parts(ask, has_hessian, n_codes_);
      run([&] { trees.push_back(grower_->grow(parts, member)); });
      find_thresholds(trees.back(), cuts_.data(), first_.data());
      ++member;
    }
    return GrownTrees(std::move(trees));
  }

 private:
  TreeArguments params_;
  Vector<std::int32_t> n_bins_;
  Vector<double> cuts_;
  Vector<std::int64_t> first_;
  std::size_t n_codes_ = 0;  // of all columns
  std::unique_ptr<grow::Grower> grower_;
};

}  // namespace

void bind_parts(nb::module_& m) {
  nb::class_<Part>(m, "Part")
      .def(nb::init<std::optional<Vector<weald::Code>>, std::int64_t, Vector<std::int32_t>,
                    std::optional<Vector<std::uint8_t>>, std::vector<std::int32_t>,
                    std::vector<Vector<std::uint16_t>>, const std::vector<std::int32_t>&, int,
                    bool>(),
           nb::kw_only(), "codes"_a.none(), "n_rows"_a, "n_bins"_a, "is_category"_a.none(),
           "wide_columns"_a, "wide_codes"_a, "n_levels"_a, "n_threads"_a, "by_columns"_a = true)
      .def("saw_missing", &Part::saw_missing)
      .def("look", &Part::look, "gradient"_a, "hessian"_a.none(), "cells"_a)
      .def("coarse_sums", &Part::coarse_sums, "most"_a, "copies"_a)
      .def("write", &Part::write, "most"_a, "copies"_a, "rounding"_a, "needs_count"_a)
      .def("rows_of_nodes", &Part::rows_of_nodes)
      .def("restore", &Part::restore, "most"_a, "copies"_a, "rounding"_a, "needs_count"_a,
           "rows"_a.none(), "ranges"_a.none())
      .def("add_rows", &Part::add_rows, "node"_a)
      .def("divide", &Part::divide, "divisions"_a, "first_word"_a, "words"_a)
      .def("copies_by_code", &Part::copies_by_code, "node"_a)
      .def("sums_of_leaves", &Part::sums_of_leaves, "leaf_of_node"_a, "n_leaves"_a,
           "leaf_of_row"_a.noconvert());
  nb::class_<PartsGrower>(m, "PartsGrower")
      .def(nb::init<Vector<std::int32_t>, const TreeArguments&, std::optional<Vector<std::uint8_t>>,
                    const std::vector<std::int32_t>&, const std::vector<std::int32_t>&,
                    Vector<std::uint8_t>, Vector<double>, Vector<std::int64_t>>(),
           nb::kw_only(), "n_bins"_a, "params"_a, "is_category"_a.none(), "wide_columns"_a,
           "n_levels"_a, "saw_missing"_a, "cuts"_a, "first"_a)
      .def("grow", &PartsGrower::grow, "asks"_a, nb::kw_only(), "has_hessian"_a, "member"_a = 0);
}

}  // namespace weald::bindings
