// One core, one kernel at a time: nanoseconds and cycles per histogram update,
// searched bin, binned value and predicted row and tree, for every instruction set this machine can
// run, beside what a Zen 4 core could do at best or what we aim at.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include "data/binning.hpp"
#include "data/content.hpp"
#include "kernels/kernels.hpp"

namespace {

using namespace weald;

constexpr std::int64_t n_rows = 1'000'000;
constexpr int n_columns = 28;

// The least of several runs: what the machine can do when nothing else is in the way.
double best_seconds(const std::function<void()>& work, int runs = 9) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

struct Limit {
  const char* work;  // how the name of the work begins
  double cycles;
  const char* why;
};
constexpr Limit limits[] = {
    {"histogram update", 0.75, "best: 2.1 of 3 address slots a cycle (a load, a store, 1/8 load)"},
    {"searched bin", 1.5, "aim, eight columns side by side"},
    {"binned value", 6.0, "aim: eight steps of a search without branches, in vectors"},
    {"predicted row and tree", 6.0, "aim at 31 leaves: 30 questions of 64 rows at once"},
};

// Cycles a second: a chain of additions, each of which waits one cycle for the last.
double clock_rate() {
  constexpr int n = 20'000'000;
  std::uint64_t x = 0;
  const double took = best_seconds([&] {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < 8; ++j) {
        x += 1;
        asm volatile("" : "+r"(x));
      }
  });
  return 8.0 * n / took;
}

void report(const char* what, const char* instructions, double seconds, double units) {
  static const double rate = clock_rate();
  const double cycles = seconds * rate / units;
  const auto* const limit =
      std::find_if(std::begin(limits), std::end(limits), [&](const Limit& each) {
        return std::strncmp(what, each.work, std::strlen(each.work)) == 0;
      });
  std::printf("%-46s %-9s %7.3f ns %6.2f cycles", what, instructions, 1e9 * seconds / units,
              cycles);
  if (limit != std::end(limits))
    std::printf(" %6.2f limit %6.2f times it", limit->cycles, cycles / limit->cycles);
  std::printf("\n");
}

// Codes drawn evenly, or with nine of ten rows in one bin.
std::vector<Code> make_codes(bool skewed) {
  std::vector<Code> codes(static_cast<std::size_t>(Codes::bytes(n_rows, n_columns)));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::uint64_t word = mix(i);
    codes[i] = skewed && word % 10 != 0 ? Code{7} : static_cast<Code>(1 + (word >> 8) % 255);
  }
  return codes;
}

void histograms(const weald::kernels::Kernels& kernel) {
  const std::vector<std::int32_t> bins(n_columns, 255);
  std::vector<std::int64_t> words(n_rows), cells(4 * 256 * lanes);
  for (std::int64_t i = 0; i < n_rows; ++i) words[i] = static_cast<std::int64_t>(mix(i) >> 40);
  std::int64_t* groups[4];
  for (int g = 0; g < 4; ++g) groups[g] = cells.data() + g * 256 * lanes;
  for (const bool skewed : {false, true}) {
    const auto data = make_codes(skewed);
    const Codes codes{data.data(), n_rows, n_columns, bins.data()};
    const auto add = [&](const Row* rows, std::int64_t n) {
      kernel.add_packed(codes, 0, 4, words.data(), rows, 0, n, groups);
    };
    report(skewed ? "histogram update, rows in order, skewed" : "histogram update, rows in order",
           kernel.name, best_seconds([&] { add(nullptr, n_rows); }), 1.0 * n_rows * n_columns);
    for (const std::int64_t step : {3, 30}) {
      std::vector<Row> rows;
      for (std::int64_t i = 0; i < n_rows;
           i += 1 + static_cast<std::int64_t>(mix(i) % (2 * step - 1)))
        rows.push_back(static_cast<Row>(i));
      char what[64];
      std::snprintf(what, sizeof what, "histogram update, one row in %lld%s",
                    static_cast<long long>(step), skewed ? ", skewed" : "");
      const auto n = static_cast<std::int64_t>(rows.size());
      report(what, kernel.name, best_seconds([&] { add(rows.data(), n); }), 1.0 * n * n_columns);
    }
  }
}

void searches(const weald::kernels::Kernels& kernel) {
  std::vector<std::int64_t> cells(256 * lanes);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] =
        weald::kernels::pack(static_cast<std::int64_t>(mix(i) % 2001) - 1000, 100 + mix(i) % 100);
    if (i % lanes == 0) total += cells[i];
  }
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cells[i / lanes * lanes];
  for (const bool missing : {true, false}) {
    if (!missing) std::fill_n(cells.begin(), lanes, 0);
    const weald::kernels::PackedNode node{total, 0.0, 1.0, 20.0, 20.0};
    weald::kernels::LaneBests bests;
    report(missing ? "searched bin of a column, missing values" : "searched bin of a column",
           kernel.name, best_seconds([&] {
             for (int i = 0; i < 100; ++i)
               kernel.search_packed(cells.data(), nullptr, 255, node, bests);
           }),
           100.0 * 255 * lanes);
  }
}

void binning(const weald::kernels::Kernels& kernel) {
  std::vector<double> cuts(254);
  for (std::size_t i = 0; i < cuts.size(); ++i) cuts[i] = static_cast<double>(i) / 255.0;
  std::vector<float> x(4096);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(mix(i) >> 40) * 0x1p-24f;
  std::vector<double> xd(x.begin(), x.end());
  std::vector<Code> codes(x.size());
  const weald::kernels::PaddedCuts<float> padded(cuts.data(), 254);
  const weald::kernels::PaddedCuts<double> padded_double(cuts.data(), 254);
  report("binned value, float32", kernel.name,
         best_seconds([&] { kernel.encode_float(x.data(), 4096, padded, codes.data(), 1); }, 99),
         4096.0);
  report("binned value, float64", kernel.name,
         best_seconds(
             [&] { kernel.encode_double(xd.data(), 4096, padded_double, codes.data(), 1); }, 99),
         4096.0);
}

void prediction(const weald::kernels::Kernels& kernel) {
  constexpr int n_trees = 100, n_leaves = 31;
  // Balanced trees of 31 leaves in pre-order, over random columns and limits.
  std::vector<weald::kernels::MaskNode> nodes;
  const std::function<void(int, int)> grow = [&](int leaves, int tree) {
    static int leaf = 0;
    if (leaves == 1) {
      nodes.push_back({-1, 0, 0, static_cast<Code>(leaf++ % n_leaves)});
      return;
    }
    const std::size_t here = nodes.size();
    const std::uint64_t word = mix(here + 1);
    nodes.push_back(
        {static_cast<std::int32_t>(word % n_columns), 0, 1, static_cast<Code>(word >> 32)});
    grow(leaves - leaves / 2, tree);
    nodes[here].right = static_cast<std::int32_t>(nodes.size()) - tree * (2 * n_leaves - 1);
    grow(leaves / 2, tree);
  };
  for (int t = 0; t < n_trees; ++t) grow(n_leaves, t);
  std::vector<double> values(n_trees * n_leaves, 0.5);
  std::vector<weald::kernels::MaskTree> trees;
  for (int t = 0; t < n_trees; ++t)
    trees.push_back(
        {nodes.data() + t * (2 * n_leaves - 1), 2 * n_leaves - 1, values.data() + t * n_leaves, 0});
  alignas(64) static Code codes[n_columns * weald::kernels::mask_rows];
  for (std::size_t i = 0; i < sizeof codes; ++i) codes[i] = static_cast<Code>(mix(i));
  double sums[weald::kernels::mask_rows] = {};
  report("predicted row and tree of 31 leaves, coded", kernel.name,
         best_seconds([&] { kernel.add_trees(trees.data(), n_trees, 1, codes, sums); }, 99),
         1.0 * n_trees * weald::kernels::mask_rows);
}

}  // namespace

int main() {
  std::printf("one core, %lld rows of %d columns, 255 bins; the least of several runs\n",
              static_cast<long long>(n_rows), n_columns);
  std::printf("clock: %.2f GHz (a chain of additions)\n", clock_rate() / 1e9);
  for (const Limit& each : limits)
    std::printf("limit of a %s: %.2f cycles (%s)\n", each.work, each.cycles, each.why);
  for (const weald::kernels::Kernels* kernel : weald::kernels::runnable_kernels()) {
    histograms(*kernel);
    searches(*kernel);
    binning(*kernel);
    prediction(*kernel);
  }
}
