// The grower of trees on rows that lie in several parts: it asks all of them.
#include "bindings/border.hpp"
#include "bindings/grown_trees.hpp"
#include "bindings/limbs.hpp"
#include "bindings/part_answers.hpp"
#include "bindings/tree_params.hpp"
#include "criteria/criteria.hpp"
#include "grow/grower.hpp"
#include "split/histogram_table.hpp"

namespace weald::bindings {
namespace {

// How the integers of a tree were written: those of the next one usually are, too, so that three
// questions about it are asked at once. Scales are powers of two, which change seldom.
struct Written {
  target::Extremes all;
  std::optional<target::Rounding> rounding;
  bool needs_count = false;

  // Whether the integers of rows with these extremes have the same scales.
  bool suits(const target::Extremes& other) const {
    return weald::exponent_above(all.sum) == weald::exponent_above(other.sum) &&
           weald::exponent_above(all.weight) == weald::exponent_above(other.weight) &&
           (rounding || all.copies == other.copies);
  }
  bool is_by(const std::optional<target::Rounding>& other) const {
    return numbers_of(rounding) == numbers_of(other);
  }
  nb::tuple arguments() const {
    return nb::make_tuple(give(numbers_of(all)), all.copies, give(numbers_of(rounding)),
                          needs_count);
  }
};

// Asks all parts by a Python function: ask(verb, *arguments) returns the merged answer. `written`
// is of the last such tree, and becomes that of this one.
class AskedParts : public tree::Parts {
 public:
  AskedParts(nb::object ask, bool has_weight, std::size_t n_codes, std::optional<Written>& written)
      : ask_(std::move(ask)), has_weight_(has_weight), n_codes_(n_codes), written_(written) {}
  ~AskedParts() override {
    const nb::gil_scoped_acquire hold;
    ask_.reset();
  }

  bool has_weight() const override { return has_weight_; }

  target::Extremes look() override {
    const nb::gil_scoped_acquire hold;
    const nb::tuple answer = asked("look", written_ ? written_->arguments() : nb::tuple());
    target::Extremes all =
        extremes_of(nb::cast<Vector<double>>(answer[0]), integers(answer, 1, 1)[0]);
    if (written_ && written_->suits(all)) {
      coarse_ = integers(answer, 2, n_coarse);
      totals_ = integers(answer, 3);
      root_ = integers(answer, 4);
      is_written_ = integers(answer, 5, 1)[0] == 0;
    }
    return all;
  }

  target::Coarse coarse_sums(const target::Extremes& all) override {
    if (!coarse_.empty()) return coarse_of(coarse_);
    const nb::gil_scoped_acquire hold;
    const nb::tuple scales = Written{all, std::nullopt, false}.arguments();
    return coarse_of(
        integers(asked("coarse_sums", nb::make_tuple(scales[0], scales[1])), 0, n_coarse));
  }

  Integers write(const target::Extremes& all, const std::optional<target::Rounding>& rounding,
                 bool needs_count) override {
    const bool is_known = is_written_ && written_->is_by(rounding);
    written_ = Written{all, rounding, needs_count};
    if (!is_known) {
      const nb::gil_scoped_acquire hold;
      const nb::tuple answer = asked("write", written_->arguments());
      totals_ = integers(answer, 0);
      root_ = integers(answer, 1);
    }
    std::size_t size = 2 + (!rounding && needs_count && has_weight_ ? 1 : 0);
    if (rounding && rounding->rows_of_block == 0) size = 1;
    require(totals_.size() == size, "an answer of the parts has a wrong size");
    return totals_;
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
  static Vector<std::int64_t> array_of(const nb::tuple& answer, std::size_t i) {
    require(answer.size() > i, "an answer of the parts is too short");
    return nb::cast<Vector<std::int64_t>>(answer[i]);
  }
  static Vector<std::int64_t> checked(const nb::tuple& answer, std::size_t i, std::size_t size) {
    auto array = array_of(answer, i);
    require(array.shape(0) == size, "an answer of the parts has a wrong size");
    return array;
  }
  static Integers integers(const nb::tuple& answer, std::size_t i, std::size_t size) {
    const auto array = checked(answer, i, size);
    return {array.data(), array.data() + size};
  }
  static Integers integers(const nb::tuple& answer, std::size_t i) {
    return integers(answer, i, array_of(answer, i).shape(0));
  }

  nb::object ask_;
  bool has_weight_;
  std::size_t n_codes_;  // of all columns
  std::optional<Written>& written_;
  // What is known before it is asked for; `root` is the histogram of all rows.
  Integers coarse_, totals_, root_;
  bool is_written_ = false;
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
    written_.resize(asks.size());
    for (std::size_t i = 0; i < asks.size(); ++i) {
      AskedParts parts(asks[i], has_hessian, n_codes_, written_[i]);
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
  std::vector<std::optional<Written>> written_;  // by the tree's number in its round
};

}  // namespace

void bind_parts_grower(nb::module_& m) {
  nb::class_<PartsGrower>(m, "PartsGrower")
      .def(nb::init<Vector<std::int32_t>, const TreeArguments&, std::optional<Vector<std::uint8_t>>,
                    const std::vector<std::int32_t>&, const std::vector<std::int32_t>&,
                    Vector<std::uint8_t>, Vector<double>, Vector<std::int64_t>>(),
           nb::kw_only(), "n_bins"_a, "params"_a, "is_category"_a.none(), "wide_columns"_a,
           "n_levels"_a, "saw_missing"_a, "cuts"_a, "first"_a)
      .def("grow", &PartsGrower::grow, "asks"_a, nb::kw_only(), "has_hessian"_a, "member"_a = 0);
}

}  // namespace weald::bindings
