// Sorting networks for few keys, vector by vector. Part of body.hpp, which includes it inside its
// namespace.

#if defined(__AVX2__)
// Keys below 2^31: unsigned comparison is slower on some machines.
struct SortVector {
  typedef Signed Anywhere __attribute__((aligned(4), may_alias));
  static constexpr int width = vector_bytes / 4;
  Signed keys;

  static SortVector load(const std::uint32_t* from) {
    return {*reinterpret_cast<const Anywhere*>(from)};
  }
  // Load n keys; the rest are the largest possible value.
  static SortVector load_some(const std::uint32_t* from, int n) {
    const Signed numbers = numbered(std::make_integer_sequence<int, width>{});
    return {numbers < n ? load(from).keys : Signed{} + 0x7fffffff};
  }
  void store(std::uint32_t* to) const { *reinterpret_cast<Anywhere*>(to) = keys; }

  // In every run of 2 * distance keys, the second half moved (or reversed) to face the first.
  template <int distance>
  SortVector moved() const {
    return shuffled<distance>(std::make_integer_sequence<int, width>{});
  }
  template <int distance>
  SortVector turned() const {
    return shuffled<2 * distance - 1>(std::make_integer_sequence<int, width>{});
  }

  static SortVector smaller(SortVector a, SortVector b) {
    return {a.keys < b.keys ? a.keys : b.keys};
  }
  static SortVector larger(SortVector a, SortVector b) {
    return {a.keys > b.keys ? a.keys : b.keys};
  }
  // Minima in the first half of every run, maxima in the second.
  template <int distance>
  static SortVector smaller_first(SortVector a, SortVector b) {
    return {blended<distance>(smaller(a, b).keys, larger(a, b).keys,
                              std::make_integer_sequence<int, width>{})};
  }

 private:
  template <int... i>
  static constexpr Signed numbered(std::integer_sequence<int, i...>) {
    return Signed{i...};
  }
  template <int other, int... i>
  SortVector shuffled(std::integer_sequence<int, i...>) const {
    return {__builtin_shufflevector(keys, keys, (i ^ other)...)};
  }
  template <int distance, int... i>
  static Signed blended(Signed first, Signed second, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(first, second, (i + ((i & distance) != 0 ? width : 0))...);
  }
};

// Bitonic sort: two sorted runs, the second reversed, are compared elementwise; then recursively
// the halves of the result. Padding keys are larger than all others, so comparisons with them are
// no-ops, and the first of two runs is always complete.
constexpr int sort_half = SortVector::width / 2;

// Sort keys whose halves were already compared across vectors.
template <int distance = sort_half>
[[gnu::always_inline]] inline SortVector settled(SortVector v) {
  if constexpr (distance == 0) {
    return v;
  } else {
    v = SortVector::smaller_first<distance>(v, v.template moved<distance>());
    return settled<distance / 2>(v);
  }
}
template <int distance = sort_half>
[[gnu::always_inline]] inline SortVector sorted(SortVector v) {
  if constexpr (distance == 0) {
    return v;
  } else {
    v = sorted<distance / 2>(v);
    v = SortVector::smaller_first<distance>(v, v.template turned<distance>());
    return settled<distance / 2>(v);
  }
}
[[gnu::always_inline]] inline void part(SortVector& low, SortVector& high) {
  const SortVector other = high;
  high = SortVector::larger(low, other);
  low = SortVector::smaller(low, other);
}
[[gnu::always_inline]] inline void part_turned(SortVector& low, SortVector& high) {
  high = high.turned<sort_half>();
  part(low, high);
  high = high.turned<sort_half>();
}

// Start of the second of two runs of n vectors.
constexpr int second_run(int n) {
  int first = 1;
  while (2 * first < n) first *= 2;
  return first;
}

// A few vectors, in registers.
template <int n>
[[gnu::always_inline]] inline void settle(SortVector* v) {
  if constexpr (n == 1) {
    *v = settled(*v);
  } else {
    constexpr int first = second_run(n);
    for (int i = 0; i < n - first; ++i) part(v[i], v[first + i]);
    settle<first>(v);
    settle<n - first>(v + first);
  }
}
template <int n>
[[gnu::always_inline]] inline void sort(SortVector* v) {
  if constexpr (n == 1) {
    *v = sorted(*v);
  } else {
    constexpr int first = second_run(n);
    sort<first>(v);
    sort<n - first>(v + first);
    for (int i = 0; i < n - first; ++i) part_turned(v[first - 1 - i], v[first + i]);
    settle<first>(v);
    settle<n - first>(v + first);
  }
}
// Do work(v) for up to four vectors; the last may be partial.
template <class Work>
[[gnu::always_inline]] inline void in_registers(std::uint32_t* keys, std::int64_t n, Work work) {
  constexpr int width = SortVector::width;
  const auto with = [&]<int n_vectors>(std::integral_constant<int, n_vectors>) {
    SortVector v[n_vectors];
    for (int i = 0; i + 1 < n_vectors; ++i) v[i] = SortVector::load(keys + i * width);
    v[n_vectors - 1] = SortVector::load_some(keys + (n_vectors - 1) * width,
                                             static_cast<int>(n) - (n_vectors - 1) * width);
    work.template operator()<n_vectors>(v);
    for (int i = 0; i < n_vectors; ++i) v[i].store(keys + i * width);
  };
  switch ((n - 1) / width) {
    case 0:
      return with(std::integral_constant<int, 1>{});
    case 1:
      return with(std::integral_constant<int, 2>{});
    case 2:
      return with(std::integral_constant<int, 3>{});
    default:
      return with(std::integral_constant<int, 4>{});
  }
}

// More vectors, in memory.
constexpr std::int64_t most_in_registers = 4 * SortVector::width;

template <auto compare>
[[gnu::always_inline]] inline void compare_in_memory(std::uint32_t* low, std::uint32_t* high) {
  SortVector a = SortVector::load(low), b = SortVector::load(high);
  compare(a, b);
  a.store(low);
  b.store(high);
}
void settle_many(std::uint32_t* keys, std::int64_t n) {
  if (n <= most_in_registers)
    return in_registers(keys, n, []<int n_vectors>(SortVector* v) { settle<n_vectors>(v); });
  constexpr int width = SortVector::width;
  const std::int64_t first = width * second_run(static_cast<int>((n + width - 1) / width));
  for (std::int64_t i = 0; i < n - first; i += width)
    compare_in_memory<part>(keys + i, keys + first + i);
  settle_many(keys, first);
  settle_many(keys + first, n - first);
}
void sort_many(std::uint32_t* keys, std::int64_t n) {
  if (n <= most_in_registers)
    return in_registers(keys, n, []<int n_vectors>(SortVector* v) { sort<n_vectors>(v); });
  constexpr int width = SortVector::width;
  const std::int64_t first = width * second_run(static_cast<int>((n + width - 1) / width));
  sort_many(keys, first);
  sort_many(keys + first, n - first);
  for (std::int64_t i = 0; i < n - first; i += width)
    compare_in_memory<part_turned>(keys + first - width - i, keys + first + i);
  settle_many(keys, first);
  settle_many(keys + first, n - first);
}
constexpr auto sort_keys = sort_many;
#else
constexpr void (*sort_keys)(std::uint32_t*, std::int64_t) = nullptr;
#endif
