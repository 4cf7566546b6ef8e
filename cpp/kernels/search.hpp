// Search over packed cells. Part of body.hpp, which includes it inside its namespace.

struct Cut {
  Doubles score;
  Integers allowed, undecided;
};

// Constants of a node as doubles: differences of integers below 2^53 are exact.
struct Whole {
  std::int64_t total;
  double g, h, l2, min_weight, sure_weight, min_count, count, l1;
  double more_l2 = 0.0;  // for sets of many levels
  Bounds bounds;

  Whole(const PackedNode& node, double total_count)
      : total(node.total),
        g(static_cast<double>(packed_g(node.total))),
        h(static_cast<double>(packed_h(node.total))),
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
template <bool counted, Form form, bool has_more_l2 = false>
[[gnu::always_inline]] inline Cut score_split(Integers left, Integers left_count, const Whole& node,
                                              Doubles direction, Integers free) {
  const Doubles gl = to_doubles(left >> 32), hl = to_doubles(left & 0xffffffff);
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

inline Integers load(const std::int64_t* from) {
  Integers v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

// The columns of lanes [first, first + vector_lanes) of a group.
template <bool counted, Form form>
void search_lanes(const std::int64_t* cells, const std::int64_t* counts, const double* directions,
                  int first, int n_bins, const Whole& node, LaneBests& bests) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const Integers zero = {};
  Doubles direction = {};
  if (form == Form::valued && directions)
    std::memcpy(&direction, directions + first, sizeof direction);
  const Integers missing = load(cells + first);
  const Integers missing_count = counted ? load(counts + first) : zero;
  // Copies reveal rows whose g and h round to zero.
  bool has_missing = false;
  for (int lane = 0; lane < vector_lanes; ++lane)
    has_missing |= (missing[lane] | missing_count[lane]) != 0;
  Doubles best = none - Doubles{}, best_undecided = best;
  Integers place = zero, undecided_place = zero, left = zero, count = zero;
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
    left += load(cells + bin * lanes + first);
    if (counted) count += load(counts + bin * lanes + first);
    // Splits of values from missing ones are exempt from monotonic constraints.
    const Integers free = form == Form::valued ? left + missing == node.total : zero;
    note(score_split<counted, form>(left, count, node, direction, free), 2 * bin);
    if (!has_missing) continue;
    // Only missing values on the left mirrors only missing values on the right.
    Cut cut =
        score_split<counted, form>(left + missing, count + missing_count, node, direction, zero);
    const Integers some_values = (left & 0xffffffff) > 0;
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

template <bool counted, Form form>
void search_group(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                  const PackedNode& node, LaneBests& bests) {
  const Whole whole(node, counted ? most_copies(counts, n_bins) : 0.0);
  for (int first = 0; first < lanes; first += vector_lanes)
    search_lanes<counted, form>(cells, counts, node.direction, first, n_bins, whole, bests);
}

template <Form form>
void search_by(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
               const PackedNode& node, LaneBests& bests) {
  counts ? search_group<true, form>(cells, counts, n_bins, node, bests)
         : search_group<false, form>(cells, counts, n_bins, node, bests);
}

void search_packed(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                   const PackedNode& node, LaneBests& bests) {
  if (node.needs_values())
    search_by<Form::valued>(cells, counts, n_bins, node, bests);
  else if (node.l1 > 0.0)
    search_by<Form::shrunk>(cells, counts, n_bins, node, bests);
  else
    search_by<Form::plain>(cells, counts, n_bins, node, bests);
}
