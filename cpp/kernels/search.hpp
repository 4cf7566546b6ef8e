// Search over cells of sums of words. Part of body.hpp, which includes it inside its namespace.

inline Integers load(const std::int64_t* from) {
  Integers v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// Sums of several cells, one per lane, in packed cells; `at` counts cells.
struct PackedSums {
  static constexpr int size = 1;
  Integers both = {};

  static PackedSums of(const std::int64_t* cells, std::int64_t at) { return {load(cells + at)}; }
  // Of integers stored apart: all h, then all g; packed cells are their only ones.
  static PackedSums of_apart(const std::int64_t* first, std::int64_t) { return {load(first)}; }
  static PackedSums same(const std::int64_t* cell) { return {Integers{} + *cell}; }

  Integers g() const { return both >> 32; }
  Integers h() const { return both & 0xffffffff; }
  Integers any() const { return both; }
  PackedSums operator+(const PackedSums& other) const { return {both + other.both}; }
  Integers equal(const PackedSums& other) const { return both == other.both; }
};

// The same in cells of two integers, h and g.
struct WideSums {
  static constexpr int size = 2;
  Integers of_g = {}, of_h = {};

  template <int... i>
  static WideSums of_pairs(Integers first, Integers second, std::integer_sequence<int, i...>) {
    return {__builtin_shufflevector(first, second, (2 * i + 1)...),
            __builtin_shufflevector(first, second, (2 * i)...)};
  }
  static WideSums of(const std::int64_t* cells, std::int64_t at) {
    return of_pairs(load(cells + 2 * at), load(cells + 2 * at + vector_lanes),
                    std::make_integer_sequence<int, vector_lanes>());
  }
  static WideSums of_apart(const std::int64_t* first, std::int64_t distance) {
    return {load(first + distance), load(first)};
  }
  static WideSums same(const std::int64_t* cell) {
    return {Integers{} + cell[1], Integers{} + cell[0]};
  }

  Integers g() const { return of_g; }
  Integers h() const { return of_h; }
  Integers any() const { return of_g | of_h; }
  WideSums operator+(const WideSums& other) const { return {of_g + other.of_g, of_h + other.of_h}; }
  Integers equal(const WideSums& other) const {
    return (of_g == other.of_g) & (of_h == other.of_h);
  }
};

struct Cut {
  Doubles score;
  Integers allowed, undecided;
};

// Constants of a node as doubles: differences of integers below 2^53 are exact.
struct Whole {
  std::int64_t total[2];  // as a cell
  double g, h, l2, min_weight, sure_weight, min_count, count, l1;
  double more_l2 = 0.0;  // for sets of many levels
  Bounds bounds;

  Whole(const PackedNode& node, double total_count)
      : total{node.cell_size == 1 ? pack(node.g, node.h) : node.h, node.g},
        g(static_cast<double>(node.g)),
        h(static_cast<double>(node.h)),
        l2(node.l2),
        min_weight(std::max(node.min_weight, 1.0)),  // a child without weight is not allowed
        sure_weight(node.sure_weight),
        min_count(node.min_count),
        count(total_count),
        l1(node.l1),
        bounds(node.bounds) {}
};

// Scoring of a split: sum of two squares over h; with l1 soft-thresholding of g; or by the
// children's values, with bounds and constraints.
enum class Form { plain, shrunk, valued };

[[gnu::always_inline]] inline Doubles size_of(Doubles x) { return x < 0.0 ? -x : x; }

[[gnu::always_inline]] inline Doubles shrunk(Doubles g, double l1) {
  const Doubles size = size_of(g) - l1, some = size > 0.0 ? size : Doubles{};
  return g < 0.0 ? -some : some;
}

[[gnu::always_inline]] inline Doubles value_of(Doubles g, Doubles d, const Whole& node) {
  const Doubles best = -shrunk(g, node.l1) / d;
  const Doubles lower = node.bounds.lower - Doubles{}, upper = node.bounds.upper - Doubles{};
  const Doubles raised = best < lower ? lower : best;
  return raised > upper ? upper : raised;
}

[[gnu::always_inline]] inline Doubles score_of(Doubles g, Doubles d, Doubles w, double l1) {
  return -(2.0 * g * w + d * w * w + 2.0 * l1 * size_of(w));
}

// Both children of a split, one split per lane. One division serves both scores.
template <bool counted, Form form, bool has_more_l2 = false, class Sums>
[[gnu::always_inline]] inline Cut score_split(const Sums& left, Integers left_count,
                                              const Whole& node, Doubles direction, Integers free) {
  const Doubles gl = to_doubles(left.g()), hl = to_doubles(left.h());
  const Doubles gr = node.g - gl, hr = node.h - hl;
  Doubles dl = hl + node.l2, dr = hr + node.l2;
  if constexpr (has_more_l2) dl += node.more_l2, dr += node.more_l2;
  const Doubles lesser = hl < hr ? hl : hr;
  Integers valid = lesser >= node.min_weight;
  Cut cut;
  if constexpr (form == Form::plain) {
    cut.score = (gl * gl * dr + gr * gr * dl) / (dl * dr);
  } else if constexpr (form == Form::shrunk) {
    const Doubles sl = shrunk(gl, node.l1), sr = shrunk(gr, node.l1);
    cut.score = (sl * sl * dr + sr * sr * dl) / (dl * dr);
  } else {
    const Doubles wl = value_of(gl, dl, node), wr = value_of(gr, dr, node);
    cut.score = score_of(gl, dl, wl, node.l1) + score_of(gr, dr, wr, node.l1);
    valid &= (direction * (wr - wl) >= 0.0) | free;
  }
  if constexpr (counted) {
    const Doubles count = to_doubles(left_count);
    cut.allowed = valid & (count >= node.min_count) & (node.count - count >= node.min_count);
  } else {
    const Integers sure = lesser >= node.sure_weight;
    cut.allowed = valid & sure;
    cut.undecided = valid & ~sure;
  }
  return cut;
}

// The columns of lanes [first, first + vector_lanes) of a group.
template <class Sums, bool counted, Form form>
void search_lanes(const std::int64_t* cells, const std::int64_t* counts, const double* directions,
                  int first, int n_bins, const Whole& node, LaneBests& bests) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const Integers zero = {};
  Doubles direction = {};
  if (form == Form::valued && directions)
    std::memcpy(&direction, directions + first, sizeof direction);
  const Sums missing = Sums::of(cells, first), whole = Sums::same(node.total);
  const Integers any_missing = missing.any();
  const Integers missing_count = counted ? load(counts + first) : zero;
  // Copies reveal rows whose g and h round to zero.
  bool has_missing = false;
  for (int lane = 0; lane < vector_lanes; ++lane)
    has_missing |= (any_missing[lane] | missing_count[lane]) != 0;
  Doubles best = none - Doubles{}, best_undecided = best;
  Integers place = zero, undecided_place = zero, count = zero;
  Sums left;
  const auto note = [&](const Cut& cut, std::int64_t here) {
    const Integers better = cut.allowed & (cut.score > best);
    best = better ? cut.score : best;
    place = better ? zero + here : place;
    if (!counted) {
      const Integers more = cut.undecided & (cut.score > best_undecided);
      best_undecided = more ? cut.score : best_undecided;
      undecided_place = more ? zero + here : undecided_place;
    }
  };
  for (int bin = 1; bin <= n_bins; ++bin) {
    left = left + Sums::of(cells, bin * lanes + first);
    if (counted) count += load(counts + bin * lanes + first);
    // Splits of values from missing ones are exempt from monotonic constraints.
    const Integers free = form == Form::valued ? (left + missing).equal(whole) : zero;
    note(score_split<counted, form>(left, count, node, direction, free), 2 * bin);
    if (!has_missing) continue;
    // Only missing values on the left mirrors only missing values on the right.
    Cut cut =
        score_split<counted, form>(left + missing, count + missing_count, node, direction, zero);
    const Integers some_values = left.h() > 0;
    cut.allowed &= some_values;
    if (!counted) cut.undecided &= some_values;
    note(cut, 2 * bin + 1);
  }
  std::memcpy(bests.score + first, &best, sizeof best);
  std::memcpy(bests.place + first, &place, sizeof place);
  std::memcpy(bests.undecided + first, &best_undecided, sizeof best_undecided);
  std::memcpy(bests.undecided_place + first, &undecided_place, sizeof undecided_place);
}

// The copies of a node. Uncounted columns have none; the others have all of the node's.
inline double most_copies(const std::int64_t* counts, int n_bins) {
  std::int64_t copies[lanes] = {};
  for (int i = 0; i < (n_bins + 1) * lanes; ++i) copies[i % lanes] += counts[i];
  return static_cast<double>(*std::max_element(copies, copies + lanes));
}

template <class Sums, bool counted, Form form>
void search_group(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                  const PackedNode& node, LaneBests& bests) {
  const Whole whole(node, counted ? most_copies(counts, n_bins) : 0.0);
  for (int first = 0; first < lanes; first += vector_lanes)
    search_lanes<Sums, counted, form>(cells, counts, node.direction, first, n_bins, whole, bests);
}

template <class Sums, Form form>
void search_by(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
               const PackedNode& node, LaneBests& bests) {
  counts ? search_group<Sums, true, form>(cells, counts, n_bins, node, bests)
         : search_group<Sums, false, form>(cells, counts, n_bins, node, bests);
}

template <class Sums>
void search_sums(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                 const PackedNode& node, LaneBests& bests) {
  if (node.needs_values())
    search_by<Sums, Form::valued>(cells, counts, n_bins, node, bests);
  else if (node.l1 > 0.0)
    search_by<Sums, Form::shrunk>(cells, counts, n_bins, node, bests);
  else
    search_by<Sums, Form::plain>(cells, counts, n_bins, node, bests);
}

void search_packed(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                   const PackedNode& node, LaneBests& bests) {
  node.cell_size == 1 ? search_sums<PackedSums>(cells, counts, n_bins, node, bests)
                      : search_sums<WideSums>(cells, counts, n_bins, node, bests);
}
