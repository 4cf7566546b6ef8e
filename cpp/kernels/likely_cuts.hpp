// The cuts of a sorted column that might be the best. Part of body.hpp, which includes it inside
// its namespace.

#if defined(__AVX2__)
// Sums over a vector's lanes up to each, by doubling runs: the second half of each run takes what
// the first adds up to.
template <int distance, int... i>
[[gnu::always_inline]] inline Unsigned with_first_halves(Unsigned x,
                                                         std::integer_sequence<int, i...>) {
  constexpr auto last_before = [](int lane) {
    return (lane & distance) == 0 ? float_lanes : (lane & -2 * distance) + distance - 1;
  };
  return x + __builtin_shufflevector(x, Unsigned{}, last_before(i)...);
}
template <int distance = 1>
[[gnu::always_inline]] inline Unsigned added_up(Unsigned x) {
  x = with_first_halves<distance>(x, std::make_integer_sequence<int, float_lanes>{});
  if constexpr (2 * distance < float_lanes) return added_up<2 * distance>(x);
  return x;
}
template <int... i>
[[gnu::always_inline]] inline Unsigned last_of_all(Unsigned x, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(x, x, (i - i + float_lanes - 1)...);
}

template <int... i>
[[gnu::always_inline]] inline Signed numbers_of_lanes(std::integer_sequence<int, i...>) {
  return Signed{i...};
}

struct ClassColumn {
  alignas(64) std::uint32_t left[most_likely + float_lanes];  // copies, and those of the second
  alignas(64) float score[most_likely + float_lanes];

  LikelyCut cut_at(std::int64_t i) const { return {i, left[i] >> 16, left[i] & 0xffff}; }

  // Notes what lies left of every cut and its gain, d^2 / (W_l W_r); less than 0 where there is
  // none. Five roundings: the error is below 2^-21. Returns the largest.
  float rate(const std::uint32_t* keys, std::int64_t n, std::uint32_t copies,
             std::uint32_t of_second) {
    const Signed numbers = numbers_of_lanes(std::make_integer_sequence<int, float_lanes>{});
    const Floats none = Floats{} - 1.0f;
    Unsigned before{};
    Floats top = none;
    for (std::int64_t i = 0; i < n - 1; i += float_lanes) {
      Unsigned key, next;
      std::memcpy(&key, keys + i, sizeof key);
      std::memcpy(&next, keys + i + 1, sizeof next);
      const Unsigned here = (key & 0x7fff) >> 1;
      const Unsigned both = before + added_up((here << 16) + (here & -(key & 1)));
      before = last_of_all(both, std::make_integer_sequence<int, float_lanes>{});
      const Unsigned w = both >> 16, d = (both & 0xffff) * copies - w * of_second;
      const Floats difference = __builtin_convertvector(reinterpret_cast<Signed>(d), Floats);
      const Floats below =
          __builtin_convertvector(reinterpret_cast<Signed>(w * (copies - w)), Floats);
      const Signed is_cut = ((key ^ next) > 0x7fffu) & (numbers < static_cast<int>(n - 1 - i));
      const Floats gain = is_cut ? difference * difference / below : none;
      std::memcpy(left + i, &both, sizeof both);
      std::memcpy(score + i, &gain, sizeof gain);
      top = gain > top ? gain : top;
    }
    float largest = -1.0f;
    for (int lane = 0; lane < float_lanes; ++lane) largest = std::max(largest, top[lane]);
    return largest;
  }
};

// Does one of a vector of scores reach as much?
[[gnu::always_inline]] inline bool any_reaches(const float* scores, float enough) {
  Floats some;
  std::memcpy(&some, scores, sizeof some);
  return any(some >= enough);
}
[[gnu::always_inline]] inline bool any_reaches(const double* scores, double enough) {
  Doubles some;
  std::memcpy(&some, scores, sizeof some);
  return any(reinterpret_cast<Integers>(some >= enough));
}

// Cuts that score enough.
template <class Column, class Score>
[[gnu::always_inline]] inline std::int64_t list_cuts(const Column& column, std::int64_t n,
                                                     Score enough, LikelyCut* cuts) {
  constexpr int width = vector_bytes / static_cast<int>(sizeof(Score));
  std::int64_t n_cuts = 0;
  for (std::int64_t i = 0; i < n - 1; i += width) {
    if (!any_reaches(column.score + i, enough)) continue;
    for (int lane = 0; lane < width; ++lane)
      if (column.score[i + lane] >= enough) cuts[n_cuts++] = column.cut_at(i + lane);
  }
  return n_cuts;
}

// Of a column whose scores are known up to a share that is small beside `close`. Cuts that do not
// come close to the best one need no judge: if the first of those that do is clearly above them, it
// is taken or not whichever of them were taken before, and none of them is taken after it. If it is
// not, all that might beat the bar have to be judged.
template <class Column, class Score>
[[gnu::always_inline]] inline std::int64_t likely_cuts(const Column& column, std::int64_t n,
                                                       Score largest, double bar, double close,
                                                       LikelyCut* cuts) {
  const auto least = static_cast<Score>(std::max(bar * (1.0 - close), 0.0));
  if (!(largest >= least)) return 0;
  const auto enough = std::max(least, static_cast<Score>(largest * (1.0 - close)));
  const std::int64_t n_cuts = list_cuts(column, n, enough, cuts);
  const auto clearly = static_cast<Score>(enough * (1.0 + close / 2));
  return column.score[cuts[0].place] >= clearly ? n_cuts : list_cuts(column, n, least, cuts);
}

std::int64_t list_class_cuts(const std::uint32_t* keys, std::int64_t n, std::uint32_t copies,
                             std::uint32_t of_second, double bar, LikelyCut* cuts) {
  ClassColumn column;
  const float largest = column.rate(keys, n, copies, of_second);
  return likely_cuts(column, n, largest, bar, 0x1p-16, cuts);
}
constexpr auto class_cuts = list_class_cuts;
#else
constexpr std::int64_t (*class_cuts)(const std::uint32_t*, std::int64_t, std::uint32_t,
                                     std::uint32_t, double, LikelyCut*) = nullptr;
#endif

#ifdef __AVX512F__
struct NumberColumn {
  typedef std::uint64_t Words __attribute__((vector_size(16)));
  // Of the rows up to each, the sums of both words: of the first one only the lower half counts.
  alignas(64) std::uint64_t left[2 * (most_likely + vector_lanes)];
  alignas(64) double score[most_likely + vector_lanes];

  LikelyCut cut_at(std::int64_t i) const {
    return {i, static_cast<std::uint32_t>(left[2 * i]), static_cast<std::int64_t>(left[2 * i + 1])};
  }

  void add_up(const std::uint32_t* keys, std::int64_t n, const std::uint64_t* rows) {
    Words sum{};
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < n - 1; ++i) {
      Words more;
      std::memcpy(&more, rows + 2 * (keys[i] & 0x7fff), sizeof more);
      sum += more;
      std::memcpy(left + 2 * i, &sum, sizeof sum);
    }
  }
  // The same operations as SquaresOfPair has them; less than 0 where there is no cut. Returns the
  // largest.
  double rate(const std::uint32_t* keys, std::int64_t n, double weight, std::int64_t sum) {
    const __m512i evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odds = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512d top = _mm512_set1_pd(-1.0);
    for (std::int64_t i = 0; i < n - 1; i += vector_lanes) {
      const __m512i one = _mm512_load_si512(left + 2 * i),
                    two = _mm512_load_si512(left + 2 * i + 8);
      const __m512i copies = _mm512_and_si512(_mm512_permutex2var_epi64(one, evens, two),
                                              _mm512_set1_epi64(0xffffffff));
      const __m512d wl = _mm512_cvtepi64_pd(copies), wr = _mm512_set1_pd(weight) - wl;
      const __m512i s = _mm512_permutex2var_epi64(one, odds, two);
      const __m512i of_right = _mm512_sub_epi64(_mm512_set1_epi64(sum), s);
      const __m512d d = _mm512_cvtepi64_pd(s) * wr - _mm512_cvtepi64_pd(of_right) * wl;
      const __m256i key = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + i));
      const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(keys + i + 1));
      const auto is_cut = static_cast<__mmask8>(
          _mm256_cmpgt_epu32_mask(_mm256_xor_si256(key, next), _mm256_set1_epi32(0x7fff)) &
          first_of_sixteen(n - 1 - i));
      const __m512d gain = _mm512_mask_div_pd(_mm512_set1_pd(-1.0), is_cut, d * d, wl * wr);
      _mm512_store_pd(score + i, gain);
      top = _mm512_maskz_max_pd(0xff, top, gain);
    }
    double tops[8];
    _mm512_storeu_pd(tops, top);
    return *std::max_element(tops, tops + 8);
  }
};

std::int64_t list_number_cuts(const std::uint32_t* keys, std::int64_t n, const std::uint64_t* rows,
                              double weight, std::int64_t sum, double bar, LikelyCut* cuts) {
  NumberColumn column;
  column.add_up(keys, n, rows);
  const double largest = column.rate(keys, n, weight, sum);
  return likely_cuts(column, n, largest, bar, 0x1p-30, cuts);
}
constexpr auto number_cuts = list_number_cuts;
#else
constexpr std::int64_t (*number_cuts)(const std::uint32_t*, std::int64_t, const std::uint64_t*,
                                      double, std::int64_t, double, LikelyCut*) = nullptr;
#endif
