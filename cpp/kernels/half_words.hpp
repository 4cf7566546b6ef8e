// Search over cells of half words (target/half_words.hpp). Part of body.hpp, which includes it
// inside its namespace.

typedef std::int64_t TwoWords __attribute__((vector_size(16)));
typedef std::int64_t FourWords __attribute__((vector_size(32)));

[[gnu::always_inline]] inline TwoWords load_two(const std::int64_t* from) {
  TwoWords two;
  std::memcpy(&two, from, sizeof two);
  return two;
}

// Two adjacent words of the cells of vector_lanes columns, one vector for each word; cells are
// `step` words apart.
[[gnu::always_inline]] inline void load_columns(const std::int64_t* from, std::int64_t step,
                                                Integers& first, Integers& second) {
#if defined(__AVX512F__)
  const auto four = [&](int lane) {  // of this lane and the next but one
    return __builtin_shufflevector(load_two(from + lane * step), load_two(from + (lane + 2) * step),
                                   0, 1, 2, 3);
  };
  const Integers even = __builtin_shufflevector(four(0), four(4), 0, 1, 2, 3, 4, 5, 6, 7);
  const Integers odd = __builtin_shufflevector(four(1), four(5), 0, 1, 2, 3, 4, 5, 6, 7);
  first = __builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14);
  second = __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15);
#elif defined(__AVX2__)
  const Integers even =
      __builtin_shufflevector(load_two(from), load_two(from + 2 * step), 0, 1, 2, 3);
  const Integers odd =
      __builtin_shufflevector(load_two(from + step), load_two(from + 3 * step), 0, 1, 2, 3);
  first = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
  second = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
#else
  const Integers even = load_two(from), odd = load_two(from + step);
  first = __builtin_shufflevector(even, odd, 0, 2);
  second = __builtin_shufflevector(even, odd, 1, 3);
#endif
}

// Halves as doubles: the low bits of doubles whose spacing is 1. Signed halves have 2^31 added.
constexpr std::int64_t half_bias = std::int64_t{1} << 31, low_half = 0xffffffff;
constexpr std::int64_t both_biases = half_bias + static_cast<std::int64_t>(std::uint64_t{1} << 63);

[[gnu::always_inline]] inline Doubles unsigned_half(Integers half) {
  constexpr double spacing_1 = 0x1p52;
  return reinterpret_cast<Doubles>(half | std::bit_cast<std::int64_t>(spacing_1)) - spacing_1;
}
[[gnu::always_inline]] inline Doubles signed_half(Integers half) {
  constexpr double spacing_1 = 0x1p52;
  return reinterpret_cast<Doubles>(half | std::bit_cast<std::int64_t>(spacing_1)) -
         (spacing_1 + 0x1p31);
}
[[gnu::always_inline]] inline Integers low_of(Integers word) { return word & low_half; }
[[gnu::always_inline]] inline Integers high_of(Integers word) {
  return reinterpret_cast<Integers>(reinterpret_cast<Words>(word) >> 32);
}

// Words with biases may wrap, which signed integers must not.
[[gnu::always_inline]] inline Integers wrapped_sum(Integers a, Integers b) {
  return reinterpret_cast<Integers>(reinterpret_cast<Words>(a) + reinterpret_cast<Words>(b));
}

// The splits of vector_lanes columns of a group. `fixed` channels, known to the compiler; 0: any.
template <int fixed, bool counted>
class HalfWordLanes {
 public:
  HalfWordLanes(const HalfWordNode& node)
      : node_(node), n_channels_(fixed > 0 ? fixed : node.n_channels) {
    for (int f = 0; f < n_sums(); ++f) totals_[f] = static_cast<double>(node.totals[f]);
  }

  // The columns from lane `first` on.
  void search(const std::int64_t* cells, int n_bins, int first, LaneBests& bests) {
    const std::int64_t cell_step = node_.n_words, bin_step = lanes * cell_step;
    const std::int64_t* cell = cells + first * cell_step;
    load(cell, missing_);
    bool has_missing = false;
    for (int j = 0; j < n_words(); ++j) {
      for (int lane = 0; lane < vector_lanes; ++lane) has_missing |= missing_[j][lane] != 0;
      left_[j] = Integers{} + both_biases - (j == 0 ? half_bias : 0);
    }
    for (int bin = 1; bin <= n_bins; ++bin) {
      Integers here[most_words];
      load(cell += bin_step, here);
      for (int j = 0; j < n_words(); ++j) left_[j] = wrapped_sum(left_[j], here[j]);
      note(left_, Integers{} - 1, 2 * bin);
      if (!has_missing) continue;
      // Only missing values on the left mirrors only missing values on the right.
      for (int j = 0; j < n_words(); ++j) here[j] = wrapped_sum(left_[j], missing_[j]);
      note(here, low_of(left_[0]) > 0, 2 * bin + 1);
    }
    std::memcpy(bests.score + first, &best_, sizeof best_);
    std::memcpy(bests.place + first, &place_, sizeof place_);
  }

 private:
  static constexpr int most_words = fixed > 0 ? (fixed + counted + 4) / 4 * 2 : most_half_words;

  int n_sums() const { return 1 + (fixed > 0 ? fixed : n_channels_) + counted; }
  int n_words() const { return (n_sums() + 1) / 2; }

  void load(const std::int64_t* from, Integers* words) const {
    for (int j = 0; j < n_words(); j += 2)
      load_columns(from + j, node_.n_words, words[j], words[j + 1]);
  }

  // Sum f of the cells, f > 0.
  [[gnu::always_inline]] static Doubles half(const Integers* words, int f) {
    return signed_half(f % 2 == 0 ? low_of(words[f / 2]) : high_of(words[f / 2]));
  }

  // The operations of SplitEvaluator, in its order.
  [[gnu::always_inline]] void note(const Integers* left, Integers valid, std::int64_t here) {
    const Doubles weight = unsigned_half(low_of(left[0])), rest = totals_[0] - weight;
    Doubles of_left{}, of_right{};
#pragma GCC unroll 16
    for (int k = 0; k < (fixed > 0 ? fixed : n_channels_); ++k) {
      const Doubles l = half(left, 1 + k), r = totals_[1 + k] - l;
      of_left += l * l;
      of_right += r * r;
    }
    const Doubles score = of_left / (weight + node_.l2) + of_right / (rest + node_.l2);
    valid &= (weight >= node_.min_weight) & (rest >= node_.min_weight);
    if constexpr (counted) {
      const int f = 1 + (fixed > 0 ? fixed : n_channels_);
      const Doubles count = half(left, f), others = totals_[f] - count;
      valid &= (count >= node_.min_count) & (others >= node_.min_count);
    }
    const Integers better = valid & (score > best_);
    best_ = better ? score : best_;
    place_ = better ? Integers{} + here : place_;
  }

  const HalfWordNode node_;  // a copy: cells might alias the original
  const int n_channels_;
  double totals_[2 * most_words];
  Integers left_[most_words], missing_[most_words];
  Doubles best_ = Doubles{} - std::numeric_limits<double>::infinity();
  Integers place_{};
};

template <int fixed, bool counted>
void search_half_word_group(const std::int64_t* cells, int n_bins, const HalfWordNode& node,
                            LaneBests& bests) {
  for (int first = 0; first < lanes; first += vector_lanes)
    HalfWordLanes<fixed, counted>(node).search(cells, n_bins, first, bests);
}

template <bool counted>
void search_half_words_by(const std::int64_t* cells, int n_bins, const HalfWordNode& node,
                          LaneBests& bests) {
  using Search = void (*)(const std::int64_t*, int, const HalfWordNode&, LaneBests&);
  constexpr Search search_of[] = {
      search_half_word_group<0, counted>, nullptr,
      search_half_word_group<2, counted>, search_half_word_group<3, counted>,
      search_half_word_group<4, counted>, search_half_word_group<5, counted>,
      search_half_word_group<6, counted>, search_half_word_group<7, counted>,
      search_half_word_group<8, counted>};
  const bool is_fixed = node.n_channels < static_cast<int>(std::size(search_of));
  search_of[is_fixed ? node.n_channels : 0](cells, n_bins, node, bests);
}

void search_half_words(const std::int64_t* cells, int n_bins, const HalfWordNode& node,
                       LaneBests& bests) {
  node.min_count > 0.0 ? search_half_words_by<true>(cells, n_bins, node, bests)
                       : search_half_words_by<false>(cells, n_bins, node, bests);
}
