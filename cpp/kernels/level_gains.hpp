// Gains of splits that several nodes share (symmetric trees), over cells of sums of words.
// Part of body.hpp, which includes it inside its namespace.

// Adds a node's gain of one split per lane where it is allowed. An undecided gain is added if it is
// positive, so that the sum is an upper bound. Returns where something was added.
template <bool counted>
[[gnu::always_inline]] inline Integers add_gain(const Cut& cut, double parent, double* to) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  Doubles before;
  std::memcpy(&before, to, sizeof before);
  Doubles gain = cut.score - parent;
  Integers takes = cut.allowed;
  if constexpr (!counted) {
    gain = cut.undecided & (gain < 0.0) ? Doubles{} : gain;
    takes |= cut.undecided;
  }
  const Doubles sum = (before == none ? Doubles{} : before) + gain;
  const Doubles after = takes ? sum : before;
  std::memcpy(to, &after, sizeof after);
  return takes;
}

// The columns of lanes [first, first + vector_lanes) of a group.
template <class Sums, bool counted, Form form>
void add_gains_of_lanes(const std::int64_t* cells, const std::int64_t* counts, int first,
                        int n_bins, const PackedNode& node, const Whole& whole, double parent,
                        GroupGains to) {
  const Integers zero = {};
  Doubles direction = {};
  if (form == Form::valued && node.direction)
    std::memcpy(&direction, node.direction + first, sizeof direction);
  const Sums missing = Sums::of(cells, first);
  const Integers any_missing = missing.any();
  const Integers missing_count = counted ? load(counts + first) : zero;
  bool has_missing = false;
  for (int lane = 0; lane < vector_lanes; ++lane)
    has_missing |= (any_missing[lane] | missing_count[lane]) != 0;
  Integers count = zero;
  Sums left;
  double* gain = to.gain + first;
  for (int bin = 1; bin <= n_bins; ++bin) {
    left = left + Sums::of(cells, bin * lanes + first);
    if (counted) count += load(counts + bin * lanes + first);
    Cut cut = score_split<counted, form>(left, count, whole, direction, zero);
    gain += 2 * lanes;
    add_gain<counted>(cut, parent, gain);
    if (!to.has_values_left) continue;
    if (has_missing)
      cut =
          score_split<counted, form>(left + missing, count + missing_count, whole, direction, zero);
    const Integers takes = add_gain<counted>(cut, parent, gain + lanes);
    std::int64_t* const has_values = to.has_values_left + bin * lanes + first;
    const Integers after = load(has_values) | (takes & (left.h() > 0));
    std::memcpy(has_values, &after, sizeof after);
  }
}

template <class Sums, bool counted, Form form>
void add_gains_of_group(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                        const PackedNode& node, double parent, GroupGains to) {
  const Whole whole(node, counted ? most_copies(counts, n_bins) : 0.0);
  for (int first = 0; first < lanes; first += vector_lanes)
    add_gains_of_lanes<Sums, counted, form>(cells, counts, first, n_bins, node, whole, parent, to);
}

template <class Sums, Form form>
void add_gains_by(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                  const PackedNode& node, double parent, GroupGains to) {
  counts ? add_gains_of_group<Sums, true, form>(cells, counts, n_bins, node, parent, to)
         : add_gains_of_group<Sums, false, form>(cells, counts, n_bins, node, parent, to);
}

template <class Sums>
void add_gains_of_sums(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                       const PackedNode& node, double parent, GroupGains to) {
  if (node.needs_values())
    add_gains_by<Sums, Form::valued>(cells, counts, n_bins, node, parent, to);
  else if (node.l1 > 0.0)
    add_gains_by<Sums, Form::shrunk>(cells, counts, n_bins, node, parent, to);
  else
    add_gains_by<Sums, Form::plain>(cells, counts, n_bins, node, parent, to);
}

void add_gains(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
               const PackedNode& node, double parent, GroupGains to) {
  node.cell_size == 1 ? add_gains_of_sums<PackedSums>(cells, counts, n_bins, node, parent, to)
                      : add_gains_of_sums<WideSums>(cells, counts, n_bins, node, parent, to);
}
