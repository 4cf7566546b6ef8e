// Gains of splits that several nodes share (symmetric trees), over packed cells. Part of body.hpp,
// which includes it inside its namespace.

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
template <bool counted, Form form>
void add_gains_of_lanes(const std::int64_t* cells, const std::int64_t* counts, int first,
                        int n_bins, const PackedNode& node, const Whole& whole, double parent,
                        GroupGains to) {
  const Integers zero = {};
  Doubles direction = {};
  if (form == Form::valued && node.direction)
    std::memcpy(&direction, node.direction + first, sizeof direction);
  const Integers missing = load(cells + first);
  const Integers missing_count = counted ? load(counts + first) : zero;
  bool has_missing = false;
  for (int lane = 0; lane < vector_lanes; ++lane)
    has_missing |= (missing[lane] | missing_count[lane]) != 0;
  Integers left = zero, count = zero;
  double* gain = to.gain + first;
  for (int bin = 1; bin <= n_bins; ++bin) {
    left += load(cells + bin * lanes + first);
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
    const Integers after = load(has_values) | (takes & ((left & 0xffffffff) > 0));
    std::memcpy(has_values, &after, sizeof after);
  }
}

template <bool counted, Form form>
void add_gains_of_group(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                        const PackedNode& node, double parent, GroupGains to) {
  const Whole whole(node, counted ? most_copies(counts, n_bins) : 0.0);
  for (int first = 0; first < lanes; first += vector_lanes)
    add_gains_of_lanes<counted, form>(cells, counts, first, n_bins, node, whole, parent, to);
}

template <Form form>
void add_gains_by(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
                  const PackedNode& node, double parent, GroupGains to) {
  counts ? add_gains_of_group<true, form>(cells, counts, n_bins, node, parent, to)
         : add_gains_of_group<false, form>(cells, counts, n_bins, node, parent, to);
}

void add_gains(const std::int64_t* cells, const std::int64_t* counts, int n_bins,
               const PackedNode& node, double parent, GroupGains to) {
  if (node.needs_values())
    add_gains_by<Form::valued>(cells, counts, n_bins, node, parent, to);
  else if (node.l1 > 0.0)
    add_gains_by<Form::shrunk>(cells, counts, n_bins, node, parent, to);
  else
    add_gains_by<Form::plain>(cells, counts, n_bins, node, parent, to);
}
