// Runs every part of the core on tables made by integer arithmetic and prints, for each part, its
// name and a hash of all it answered. Every compiler, machine and instruction set must print the
// same lines: `make portable`.
//
//   driver                  the lines, with the instructions that WEALD_INSTRUCTIONS names
//   driver --instructions   the names it may have here
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/elementary.hpp"
#include "criteria/criteria.hpp"
#include "data/binning.hpp"
#include "data/content.hpp"
#include "grow/grower.hpp"
#include "kernels/kernels.hpp"
#include "loss_targets.hpp"
#include "losses/losses.hpp"
#include "predict/predictor.hpp"
#include "settings.hpp"
#include "tables.hpp"
#include "target/gradients.hpp"
#include "tree/forest.hpp"
#include "trees.hpp"

namespace {

using namespace weald;
using namespace weald::portable;

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "driver: %s\n", what.c_str());
  std::exit(1);
}

// ---- hashes and parts ----

// Of values, not of bytes: one zero, one NaN, and no matter how wide the integers are.
class Hash {
 public:
  template <class T>
  void add(T x) {
    if constexpr (std::is_floating_point_v<T>)
      absorb(state_, weald::data::canonical_bits(static_cast<double>(x)));
    else
      absorb(state_, static_cast<std::uint64_t>(x));
  }
  template <class T, class Allocator>
  void add(const std::vector<T, Allocator>& all) {
    add(all.size());
    for (const T x : all) add(x);
  }
  std::uint64_t word() const { return mix(state_.low ^ mix(state_.high)); }

 private:
  weald::Hash128 state_{1, 2};
};

// Prints the hash of what `work(n_threads, hash)` answers, which any number of threads answers.
void part(const std::string& name, const std::function<void(int, Hash&)>& work) {
  Hash alone, together;
  work(1, alone);
  work(3, together);
  require(alone.word() == together.word(), name + ": three threads answer otherwise than one");
  std::printf("%-72s %016" PRIx64 "\n", name.c_str(), alone.word());
  std::fflush(stdout);
}

// ---- trees ----

void add_tree(const weald::tree::Tree& tree, const std::vector<std::int32_t>& leaf_of_row,
              Hash& hash) {
  hash.add(tree.feature);
  hash.add(tree.code);
  hash.add(tree.category_set);
  hash.add(tree.words);
  hash.add(tree.right);
  hash.add(tree.missing_left);
  hash.add(tree.weight);
  hash.add(tree.gain);
  hash.add(tree.value);
  hash.add(leaf_of_row);
}

// Both engines, and rows one by one, must answer the same.
template <class T>
std::vector<double> predict(const Trees& trees, const weald::data::Table<T>& table, int n_threads,
                            Hash& hash) {
  const weald::tree::Forest forest = trees.view();
  require(is_sound(forest, table.n_columns), "a forest is not sound");
  const weald::predict::Predictor predictor(forest, table.n_columns);
  const auto n_outputs = static_cast<std::size_t>(forest.n_outputs);
  std::vector<double> walked(static_cast<std::size_t>(table.n_rows) * n_outputs);
  std::vector<double> masked(walked.size()), row_scores(n_outputs);
  predictor.predict(table, walked.data(), n_threads, weald::predict::Predictor::Engine::walk);
  if (predictor.has_masks()) {
    predictor.predict(table, masked.data(), n_threads, weald::predict::Predictor::Engine::masks);
    require(masked == walked, "masks answer otherwise than walking");
  }
  for (std::int64_t row = 0; row < 20; ++row) {
    weald::data::Table<T> one = table;
    one.data += row * table.row_stride;
    one.n_rows = 1;
    predictor.predict(one, row_scores.data(), n_threads);
    for (std::size_t k = 0; k < n_outputs; ++k)
      require(row_scores[k] == walked[row * n_outputs + k], "a row alone is answered otherwise");
  }
  std::vector<std::int32_t> leaves(static_cast<std::size_t>(table.n_rows * forest.n_trees));
  predictor.apply(table, leaves.data(), n_threads);
  hash.add(predictor.has_masks());
  hash.add(walked);
  hash.add(leaves);
  return walked;
}

// ---- learning ----

// One table of one type, and what its rows teach.
template <class T>
class Subject {
 public:
  Subject(std::string name, std::int64_t n_rows, std::int64_t n_columns)
      : name_(std::move(name)),
        n_(n_rows),
        data_(0, n_rows, n_columns),
        fresh_(n_rows, 777, n_columns) {
    for (std::int64_t row = 0; row < n_; ++row) {
      weight_.push_back(static_cast<double>(1 + below(word_of(row, 1000), 1000)) * 0x1p-9);
      copies_.push_back(below(word_of(row, 1001), 4));
    }
  }

  void run(const std::vector<Setting>& settings) const {
    look_at_content();
    look_at_bins();
    look_at_losses();
    look_at_sorted_rows();
    for (const Setting& setting : settings) {
      weald::criteria::AllCriteria::for_each([&]<weald::criteria::Criterion C>(C) {
        if (std::string_view(C::name) == weald::criteria::Newton::name)
          for (const weald::target::Cells cells : setting.cells) boost_all(setting, cells);
        else if (setting.params.split.direction.empty())  // only newton's trees have directions
          average(setting, C::name);
      });
    }
  }

 private:
  void look_at_content() const {
    part(name_ + ", rows' hashes and draws", [&](int n_threads, Hash& hash) {
      std::vector<weald::Hash128> hashes(static_cast<std::size_t>(n_));
      hash_rows(data_.table, weight_.data(), hashes.data(), n_threads);
      for (const weald::Hash128& row : hashes) hash.add(weald::DrawKey{7, 8, 9}(row));
    });
  }

  void look_at_bins() const {
    for (const int max_bins : {255, 16, 2})
      for (const bool by_mass : {false, true})
        part(name_ + ", bins: " + std::to_string(max_bins) + (by_mass ? ", by mass" : ""),
             [&](int n_threads, Hash& hash) {
               const Binned binned(data_.table, by_mass ? copies_.data() : nullptr, max_bins,
                                   n_threads);
               hash.add(binned.cuts.values);
               hash.add(binned.cuts.first);
               hash.add(binned.codes);
             });
  }

  // Trees from sorted rows: cut between all values, or into many bins.
  void look_at_sorted_rows() const {
    for (const bool is_exact : {true, false})
      part(name_ + (is_exact ? ", exact" : ", many bins"), [&](int n_threads, Hash& hash) {
        const weald::data::Cuts cuts = find_cuts(data_.table, copies_.data(), 1000, n_threads);
        const weald::engine::CutsView where =
            is_exact ? weald::engine::CutsView{}
                     : weald::engine::CutsView{cuts.values.data(), cuts.first.data()};
        weald::tree::TreeParams params = bounded().params;
        params.n_threads = n_threads;
        weald::grow::Grower grower(data_.table, where, weald::criteria::Newton::name, params);
        const std::vector<double> y = targets(false, 0);
        weald::target::Target target;
        target.sums = y.data();
        target.weight = weight_.data();
        target.copies = copies_.data();
        std::vector<std::int32_t> leaf_of_row(static_cast<std::size_t>(n_));
        const weald::tree::Tree tree = grower.grow(target, leaf_of_row.data());
        hash.add(tree.threshold);
        add_tree(tree, leaf_of_row, hash);
      });
  }

  // At scores of all sizes; trees know only as many as they have leaves.
  void look_at_losses() const {
    weald::losses::AllLosses::for_each([&]<weald::losses::Loss L>(L) {
      for (const int n_scores : {1, 3}) {
        if (n_scores > 1 && !L::has_many_scores) continue;
        part(name_ + ", " + L::name + " of " + std::to_string(n_scores), [&](int n_threads,
                                                                             Hash& hash) {
          const std::vector<double> y = targets_of<L>(n_scores);
          std::vector<double> scores, gradient, hessian;
          for (std::int64_t i = 0; i < n_ * n_scores; ++i)
            scores.push_back(even_draw(word_of(i, 1002)) *
                             power_of_two(static_cast<int>(i % 11) - 4));
          gradient.resize(scores.size());
          hessian.resize(scores.size());
          const weald::losses::Scored rows{y.data(), scores.data(), weight_.data(), copies_.data(),
                                           n_,       n_scores,      parameter_of<L>};
          weald::target::gradients(L::name, rows, gradient.data(), hessian.data(), n_threads);
          hash.add(gradient);
          hash.add(hessian);
          hash.add(weald::target::mean_loss(L::name, rows, n_threads));
          hash.add(predicted<L>(scores, n_scores, n_threads));
        });
      }
    });
  }

  template <weald::losses::Loss L>
  static std::vector<double> predicted(const std::vector<double>& scores, int n_scores,
                                       int n_threads) {
    const int n_outputs = is_of_classes<L> && n_scores == 1 ? 2 : n_scores;
    const std::int64_t n_rows = static_cast<std::int64_t>(scores.size()) / n_scores;
    std::vector<double> out(static_cast<std::size_t>(n_rows * n_outputs));
    weald::target::predictions(L::name, scores.data(), n_rows, n_scores, n_outputs, out.data(),
                               n_threads);
    return out;
  }

  std::string title(const Setting& setting, std::string_view what) const {
    return name_ + ", " + std::string(what) + ", " + setting.name;
  }

  void boost_all(const Setting& setting, weald::target::Cells cells) const {
    weald::losses::AllLosses::for_each([&]<weald::losses::Loss L>(L) {
      for (const int n_scores : {1, 3}) {
        if (n_scores > 1 && !L::has_many_scores) continue;
        const std::string what = "newton, " + std::string(L::name) + " of " +
                                 std::to_string(n_scores) + ", " + std::string(name_of(cells));
        part(title(setting, what), [&](int n_threads, Hash& hash) {
          boost<L>(setting, cells, n_scores, n_threads, hash);
        });
      }
    });
  }

  // Rounds of boosting; the scores of the training rows are what the forest predicts for them.
  template <weald::losses::Loss L>
  void boost(const Setting& setting, weald::target::Cells cells, int n_scores, int n_threads,
             Hash& hash) const {
    constexpr int n_rounds = 2;
    constexpr double rate = 0.3;
    const auto size = static_cast<std::size_t>(n_ * n_scores);
    const std::vector<double> y = targets_of<L>(n_scores);
    std::vector<double> scores(size), gradient(size), hessian(size);
    weald::losses::Scored rows{y.data(),
                               scores.data(),
                               setting.weighted ? weight_.data() : nullptr,
                               setting.copied ? copies_.data() : nullptr,
                               n_,
                               n_scores,
                               parameter_of<L>};
    Trees trees;
    trees.base_score.resize(static_cast<std::size_t>(n_scores));
    weald::target::base_scores(L::name, rows, trees.base_score.data());
    for (std::int64_t i = 0; i < n_ * n_scores; ++i) scores[i] = trees.base_score[i / n_];

    const Binned binned(data_.table, rows.copies, 255, n_threads);
    weald::tree::TreeParams params = setting.params;
    params.cells = cells;
    params.n_threads = n_threads;
    const auto table = std::make_shared<weald::split::HistogramTable>(
        binned.view(), setting.categories(binned), params.n_threads);
    weald::grow::Grower grower(table, weald::criteria::Newton::name, params);
    std::vector<std::int32_t> leaf_of_row(static_cast<std::size_t>(n_));
    for (int round = 0; round < n_rounds; ++round) {
      const bool has_hessian =
          weald::target::gradients(L::name, rows, gradient.data(), hessian.data(), n_threads);
      for (int k = 0; k < n_scores; ++k) {
        weald::target::Target target;
        target.sums = gradient.data() + k * n_;
        target.weight = has_hessian ? hessian.data() + k * n_ : nullptr;
        target.copies = rows.copies;
        weald::tree::Tree tree = grower.grow(target, leaf_of_row.data());
        finish_leaves<L>(rows, leaf_of_row, rate, n_threads, tree);
        add_tree(tree, leaf_of_row, hash);
        trees.add(tree, binned, k, rate);
        for (double& value : tree.value) value *= rate;
        require(weald::target::add_leaf_values(
                    scores.data() + k * n_, leaf_of_row.data(), n_, tree.value.data(),
                    static_cast<std::int64_t>(tree.value.size()), 1, n_threads),
                "a row fell into no leaf");
      }
      hash.add(gradient);
      if (has_hessian) hash.add(hessian);
      hash.add(weald::target::mean_loss(L::name, rows, n_threads));
    }
    require_fitted(predict(trees, data_.table, n_threads, hash), scores, n_scores);
    const std::vector<double> fresh = predict(trees, fresh_.table, n_threads, hash);
    hash.add(predicted<L>(fresh, n_scores, n_threads));
  }

  // Replaces the leaf values by the loss's best constants, or caps them.
  template <weald::losses::Loss L>
  void finish_leaves(const weald::losses::Scored& rows,
                     const std::vector<std::int32_t>& leaf_of_row, double rate, int n_threads,
                     weald::tree::Tree& tree) const {
    const weald::target::Leaves leaves{leaf_of_row.data(), n_,
                                       static_cast<std::int64_t>(tree.value.size())};
    if constexpr (L::best_constant != weald::losses::BestConstant::of_mean)
      leaf_constants(L::name, rows, leaves, tree.value.data(), n_threads);
    else
      weald::target::cap_steps(L::name, parameter_of<L>, rate, tree.value.data(), leaves.n_leaves);
  }

  // Predictions [row][score] of the training rows must equal the scores [score][row] of the fit.
  void require_fitted(const std::vector<double>& fitted, const std::vector<double>& scores,
                      int n_scores) const {
    for (std::int64_t row = 0; row < n_; ++row)
      for (int k = 0; k < n_scores; ++k)
        require(fitted[row * n_scores + k] == scores[k * n_ + row],
                "a training row is predicted otherwise than it was fitted");
  }

  // Trees that are each fitted to the targets: two outputs at once, or the classes.
  void average(const Setting& setting, std::string_view criterion) const {
    part(title(setting, criterion), [&](int n_threads, Hash& hash) {
      const bool classifies = criterion != weald::criteria::Variance::name;
      const int n_channels = classifies ? 4 : 2;
      const Binned binned(data_.table, setting.copied ? copies_.data() : nullptr, 255, n_threads);
      weald::tree::TreeParams params = setting.params;
      params.n_threads = n_threads;
      const auto table = std::make_shared<weald::split::HistogramTable>(
          binned.view(), setting.categories(binned), params.n_threads);
      weald::grow::Grower grower(table, criterion, params);
      Trees trees;
      trees.base_score.assign(static_cast<std::size_t>(n_channels), 0.0);
      std::vector<std::int32_t> leaf_of_row(static_cast<std::size_t>(n_));
      for (int member = 0; member < 2; ++member) {
        std::vector<double> sums;
        std::vector<std::int32_t> classes;
        for (int k = 0; k < (classifies ? 1 : n_channels); ++k)
          for (const double y : targets(classifies, n_channels, 2 * member + k)) {
            if (classifies)
              classes.push_back(static_cast<std::int32_t>(y));
            else
              sums.push_back(y);
          }
        weald::target::Target target;
        target.n_channels = n_channels;
        target.sums_per_weight = true;
        target.weight = setting.weighted ? weight_.data() : nullptr;
        target.copies = setting.copied ? copies_.data() : nullptr;
        if (classifies)
          target.classes = classes.data();
        else
          target.sums = sums.data();
        const weald::tree::Tree tree = grower.grow(target, leaf_of_row.data());
        add_tree(tree, leaf_of_row, hash);
        trees.add(tree, binned, -1, 0.5);
      }
      predict(trees, data_.table, n_threads, hash);
      predict(trees, fresh_.table, n_threads, hash);
    });
  }

  std::vector<double> targets(bool classifies, int n_classes, int member = 0) const {
    std::vector<double> y;
    for (std::int64_t row = 0; row < n_; ++row) {
      const std::int64_t s = signal(row, member);
      if (!classifies)
        y.push_back(static_cast<double>(s) * 0x1p-20);
      else if (n_classes == 2)
        y.push_back(s > 0 ? 1.0 : 0.0);
      else
        y.push_back(static_cast<double>((s + (std::int64_t{1} << 23)) / 500'000 % n_classes));
    }
    return y;
  }

  template <weald::losses::Loss L>
  std::vector<double> targets_of(int n_scores) const {
    return suited<L>(targets(is_of_classes<L>, n_scores > 1 ? n_scores : 2), n_scores);
  }

  std::string name_;
  std::int64_t n_;
  Data<T> data_, fresh_;
  std::vector<double> weight_;
  std::vector<std::int64_t> copies_;
};

template <auto function>
void look_at(const char* name) {
  part(name, [](int, Hash& hash) {
    std::vector<double> x, y;
    for (std::int64_t i = 0; i < 50'000; ++i) {
      const std::uint64_t word = word_of(i, 0);
      x.push_back(from_bits(word));            // any double
      x.push_back(700.0 * even_draw(word));    // where exp is finite
      x.push_back(0x1p-10 * even_draw(word));  // near 0
    }
    for (const double edge : {0.0, -0.0, -1.0, 1.0, infinity, -infinity, missing})
      x.push_back(edge);
    y.resize(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = function(x[i]);
    hash.add(y);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--instructions") {
    for (const weald::kernels::Kernels* one : weald::kernels::runnable_kernels())
      std::printf("%s\n", one->name);
    return 0;
  }
  if (const char* wanted = std::getenv("WEALD_INSTRUCTIONS"))
    require(std::string_view(weald::kernels::active().name) == wanted,
            std::string(wanted) + " cannot run here");
  look_at<elementary::exp>("exp");
  look_at<elementary::log>("log");
  look_at<elementary::log2>("log2");
  look_at<elementary::log1p>("log1p");
  look_at<elementary::sigmoid>("sigmoid");
  // Enough rows for several threads in every loop; then more columns than a tile has.
  Subject<float>("long float", 34'000, 14).run({plain(), bounded(), large(), with_levels(plain())});
  Subject<double>("long double", 34'000, 14)
      .run({bounded(), symmetric(), constrained(), with_levels(bounded())});
  Subject<float>("wide float", 300, 75).run({plain(), symmetric()});
  Subject<double>("wide double", 300, 75).run({plain(), bounded(), large()});
  return 0;
}
