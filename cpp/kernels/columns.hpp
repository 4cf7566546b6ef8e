// Search over packed cells column by column. Part of body.hpp, which includes it inside its
// namespace.

// Left sums of a column's splits. An empty bin gives the same split as the bin before it and is
// skipped, since ties go to the first.
struct ColumnCuts {
  // One more than the bins is written, and a whole vector is read.
  static constexpr int capacity = max_value_bins + 1 + vector_lanes;
  alignas(64) std::int64_t left[capacity];
  alignas(64) std::int64_t count[capacity];
  alignas(64) std::int64_t place[capacity];
  int n = 0;

  template <bool counted>
  void collect(const std::int64_t* cells, const std::int64_t* counts, int n_bins) {
    std::int64_t sum = 0, copies = 0;
    n = 0;
    for (int bin = 1; bin <= n_bins; ++bin) {
      const std::int64_t cell = cells[bin * lanes], more = counted ? counts[bin * lanes] : 0;
      left[n] = sum += cell;
      if (counted) count[n] = copies += more;
      place[n] = 2 * bin;
      n += (cell | more) != 0;
    }
    // Padding: an empty left side is not a split.
    for (int i = n; i < n + vector_lanes; ++i) left[i] = count[i] = place[i] = 0;
  }
};

// The best of several splits, a vector at a time.
struct Bests {
  Doubles score, undecided;
  Integers place, undecided_place;

  Bests() : score(-std::numeric_limits<double>::infinity() - Doubles{}), undecided(score) {
    place = undecided_place = Integers{};
  }
  template <bool counted>
  [[gnu::always_inline]] void note(const Cut& cut, Integers here) {
    const Integers better = cut.allowed & (cut.score > score);
    score = better ? cut.score : score;
    place = better ? here : place;
    if (counted) return;
    const Integers more = cut.undecided & (cut.score > undecided);
    undecided = more ? cut.score : undecided;
    undecided_place = more ? here : undecided_place;
  }
  // Ties go to the lowest position.
  static void take_first(Doubles scores, Integers places, double& score, std::int64_t& place) {
    score = scores[0];
    place = places[0];
    for (int i = 1; i < vector_lanes; ++i) {
      if (!(scores[i] > score) && !(scores[i] == score && places[i] < place)) continue;
      score = scores[i];
      place = places[i];
    }
  }
};

template <bool counted, Form form>
void search_column(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                   const PackedNode& node, int lane, LaneBests& bests) {
  std::int64_t copies = 0;
  for (int bin = 0; counted && bin <= n_bins; ++bin) copies += counts[bin * lanes];
  const Whole whole(node, static_cast<double>(copies));
  ColumnCuts cuts;
  cuts.collect<counted>(cells, counts, n_bins);
  const Integers zero = {}, missing = zero + cells[0];
  const Integers missing_count = zero + (counted ? counts[0] : 0);
  const bool has_missing = (cells[0] | (counted ? counts[0] : 0)) != 0;
  const Doubles direction =
      (form == Form::valued && node.direction ? node.direction[lane] : 0.0) - Doubles{};
  Bests best;
  for (int i = 0; i < cuts.n; i += vector_lanes) {
    const Integers left = load(cuts.left + i), count = counted ? load(cuts.count + i) : zero;
    const Integers place = load(cuts.place + i);
    const Integers free = form == Form::valued ? left + missing == whole.total : zero;
    best.note<counted>(score_split<counted, form>(left, count, whole, direction, free), place);
    if (!has_missing) continue;
    Cut cut =
        score_split<counted, form>(left + missing, count + missing_count, whole, direction, zero);
    const Integers some_values = (left & 0xffffffff) > 0;
    cut.allowed &= some_values;
    if (!counted) cut.undecided &= some_values;
    best.note<counted>(cut, place + 1);
  }
  Bests::take_first(best.score, best.place, bests.score[lane], bests.place[lane]);
  Bests::take_first(best.undecided, best.undecided_place, bests.undecided[lane],
                    bests.undecided_place[lane]);
}

template <Form form>
void search_columns_by(const std::int64_t* cells, const std::int64_t* counts, const int* n_bins,
                       const PackedNode& node, LaneBests& bests) {
  for (int lane = 0; lane < lanes; ++lane) {
    if (n_bins[lane] == 0) continue;
    counts ? search_column<true, form>(cells + lane, counts + lane, n_bins[lane], node, lane, bests)
           : search_column<false, form>(cells + lane, nullptr, n_bins[lane], node, lane, bests);
  }
}

void search_columns(const std::int64_t* cells, const std::int64_t* counts, const int* n_bins,
                    const PackedNode& node, LaneBests& bests) {
  if (node.needs_values())
    search_columns_by<Form::valued>(cells, counts, n_bins, node, bests);
  else if (node.l1 > 0.0)
    search_columns_by<Form::shrunk>(cells, counts, n_bins, node, bests);
  else
    search_columns_by<Form::plain>(cells, counts, n_bins, node, bests);
}
