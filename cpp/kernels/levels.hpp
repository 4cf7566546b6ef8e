// Search for two sets of levels over cells of sums of words. Part of body.hpp, which includes it
// inside its namespace.
//
// With CategorySearch instead, which finds the same sets, BoostedTreesClassifier on 20,000 rows of
// five categorical and four numerical columns takes 1.2 times the processor time; benchmark row
// `adult`: 1.13 times.

// The best scores, a vector at a time.
struct Bests {
  Doubles score, undecided;

  Bests() : score(-std::numeric_limits<double>::infinity() - Doubles{}), undecided(score) {}
  template <bool counted>
  [[gnu::always_inline]] void note(const Cut& cut) {
    score = cut.allowed & (cut.score > score) ? cut.score : score;
    if (!counted) undecided = cut.undecided & (cut.score > undecided) ? cut.score : undecided;
  }
};

inline Integers lane_numbers() {
  Integers numbers;
  for (int lane = 0; lane < vector_lanes; ++lane) numbers[lane] = lane;
  return numbers;
}

// The frequent levels of a column, and the sum of the others and of missing values.
template <class Sums>
struct FrequentLevels {
  static constexpr int capacity = max_value_bins + 1 + vector_lanes, size = Sums::size;
  alignas(64) std::int64_t cell[size][capacity];  // the integers of cells apart
  alignas(64) std::int64_t count[capacity];
  alignas(64) double key[capacity];
  alignas(64) std::int64_t rank[capacity];
  int n = 0;
  std::int64_t others[size], others_count = 0;
  bool has_others = false;

  Sums sums(int i) const { return Sums::of_apart(cell[0] + i, capacity); }

  template <bool counted>
  void separate_rare(const LevelCells& column, double least) {
    others_count = counted ? column.counts[0] : 0;
    std::int64_t bits = others_count;
    for (int c = 0; c < size; ++c) bits |= others[c] = column.cells[c];
    for (int level = 1; level <= column.n_levels; ++level) {
      const std::int64_t* const one = column.cells + level * column.stride;
      const std::int64_t copies = counted ? column.counts[level * column.count_stride] : 0;
      std::int64_t any = copies;
      for (int c = 0; c < size; ++c) any |= cell[c][n] = one[c];
      const bool is_frequent = (any != 0) & (static_cast<double>(h_of(one, size)) >= least);
      if (counted) count[n] = copies;
      n += is_frequent;
      const std::int64_t if_other = is_frequent ? 0 : -1;
      for (int c = 0; c < size; ++c) others[c] += one[c] & if_other;
      others_count += copies & if_other;
      bits |= any & if_other;
    }
    has_others = bits != 0;
    for (int c = 0; c < size; ++c) std::fill_n(cell[c] + n, vector_lanes, 0);
    std::fill_n(count + n, vector_lanes, 0);
  }

  // Sort by smoothed mean; stable.
  template <bool counted>
  void put_in_order(double smooth) {
    for (int i = 0; i < n; i += vector_lanes) {
      const Sums here = sums(i);
      const Doubles keys = smoothed_mean(to_doubles(here.g()), to_doubles(here.h()), smooth, 0.0);
      std::memcpy(key + i, &keys, sizeof keys);
    }
    rank_by_sort();
    for (int c = 0; c < size; ++c) reorder(cell[c]);
    if (counted) reorder(count);
  }
  void add_up(std::int64_t* of_levels) const {
    for (int i = 1; i < n; ++i) of_levels[i] += of_levels[i - 1];
  }

 private:
  void reorder(std::int64_t* of_levels) const {
    std::int64_t in_order[capacity];
    for (int i = 0; i < n; ++i) in_order[rank[i]] = of_levels[i];
    std::copy_n(in_order, n, of_levels);
  }
  void rank_by_sort() {
    struct Keyed {
      double key;
      int place;
    };
    Keyed keyed[capacity];
    for (int i = 0; i < n; ++i) keyed[i] = {key[i], i};
    std::sort(keyed, keyed + n, [](const Keyed& a, const Keyed& b) {
      return a.key != b.key ? a.key < b.key : a.place < b.place;
    });
    for (int i = 0; i < n; ++i) rank[keyed[i].place] = i;
  }
};

template <class Sums, bool counted, Form form>
LevelScores search_sets(const LevelCells& column, const LevelRules& rules, const PackedNode& node) {
  double copies = 0.0;
  for (int code = 0; counted && code <= column.n_levels; ++code)
    copies += static_cast<double>(column.counts[code * column.count_stride]);
  Whole whole(node, copies);
  FrequentLevels<Sums> frequent;
  frequent.template separate_rare<counted>(column, rules.least);
  const bool few = frequent.n <= rules.few;
  if (!few) whole.more_l2 = rules.more_l2;
  Bests best;
  // A side with the whole node leaves the other without weight: such pairs are not allowed.
  const auto score_all = [&] {
    const Integers zero = {};
    const Doubles free = {};
    for (int i = 0; i < frequent.n; i += vector_lanes) {
      const Sums left = frequent.sums(i);
      const Integers count = counted ? load(frequent.count + i) : zero;
      best.note<counted>(score_split<counted, form, true>(left, count, whole, free, zero));
      if (!frequent.has_others) continue;
      // The padding lanes of the last vector hold no set.
      Cut cut = score_split<counted, form, true>(left + Sums::same(frequent.others),
                                                 count + frequent.others_count, whole, free, zero);
      const Integers some = lane_numbers() + std::int64_t{i} < zero + std::int64_t{frequent.n};
      cut.allowed &= some;
      if (!counted) cut.undecided &= some;
      best.note<counted>(cut);
    }
  };
  if (few) score_all();
  frequent.template put_in_order<counted>(few ? 0.0 : rules.smooth);
  for (int c = 0; c < Sums::size; ++c) frequent.add_up(frequent.cell[c]);
  if (counted) frequent.add_up(frequent.count);
  score_all();
  LevelScores scores;
  for (int lane = 0; lane < vector_lanes; ++lane) {
    scores.score = std::max(scores.score, best.score[lane]);
    scores.undecided = std::max(scores.undecided, best.undecided[lane]);
  }
  return scores;
}

template <class Sums>
LevelScores search_sets_of(const LevelCells& column, const LevelRules& rules,
                           const PackedNode& node) {
  if (node.l1 > 0.0)
    return column.counts ? search_sets<Sums, true, Form::shrunk>(column, rules, node)
                         : search_sets<Sums, false, Form::shrunk>(column, rules, node);
  return column.counts ? search_sets<Sums, true, Form::plain>(column, rules, node)
                       : search_sets<Sums, false, Form::plain>(column, rules, node);
}

LevelScores search_levels(const LevelCells& column, const LevelRules& rules,
                          const PackedNode& node) {
  return node.cell_size == 1 ? search_sets_of<PackedSums>(column, rules, node)
                             : search_sets_of<WideSums>(column, rules, node);
}
