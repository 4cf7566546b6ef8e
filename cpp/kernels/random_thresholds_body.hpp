// Random thresholds of a node. Part of body.hpp, which includes it inside its namespace.

// Values of rows of a node, as many as a vector holds, and integers as wide.
template <class T>
struct ValueLanes {
  using Whole = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Values __attribute__((vector_size(vector_bytes)));
  typedef Whole Wholes __attribute__((vector_size(vector_bytes)));
  typedef std::int32_t Rows __attribute__((vector_size(vector_bytes * 4 / sizeof(T))));
  static constexpr int n = vector_bytes / static_cast<int>(sizeof(T));
  // Rows whose two words fill a vector, and the number of such vectors.
  static constexpr int rows_of_words = vector_lanes / 2, n_words = n / rows_of_words;

  static Values load(const T* x) {
    Values values;
    std::memcpy(&values, x, sizeof values);
    return values;
  }
  [[gnu::always_inline]] static Wholes left_of(const T* x, RandomThresholdTest<T> test) {
    const Values some = load(x);
    Wholes left = some <= test.cut;
    if (test.missing_left) left |= some != some;
    return left;
  }
  // The mask of the words of the rows of one such vector.
  template <int vector, int... k>
  [[gnu::always_inline]] static Integers of_words(Wholes left, std::integer_sequence<int, k...>) {
    const auto narrow = reinterpret_cast<Signed>(left);
    constexpr int size = sizeof(T) / 4;
    return reinterpret_cast<Integers>(
        __builtin_shufflevector(narrow, narrow, ((vector * rows_of_words + k / 4) * size)...));
  }
};

// Loops read whole vectors: values, words and rows are padded to multiples of sixteen.
template <class T>
void range(const T* x, std::int64_t n, T* least, T* most) {
  using L = ValueLanes<T>;
  constexpr int together = 16 / L::n;
  typename L::Values low[together], high[together];
  for (int v = 0; v < together; ++v) low[v] = high[v] = L::load(x + v * L::n);
  for (std::int64_t i = 16; i < n; i += 16)
    for (int v = 0; v < together; ++v) {
      const typename L::Values some = L::load(x + i + v * L::n);
      low[v] = some < low[v] ? some : low[v];
      high[v] = some > high[v] ? some : high[v];
    }
  T lows[16], highs[16];
  std::memcpy(lows, low, sizeof lows);
  std::memcpy(highs, high, sizeof highs);
  *least = *std::min_element(lows, lows + 16);
  *most = *std::max_element(highs, highs + 16);
}

template <class T>
void add_words(const T* x, std::int64_t n, RandomThresholdTest<T> test, const std::int64_t* words,
               std::int64_t* sums) {
  using L = ValueLanes<T>;
  Integers sum[2] = {};
  for (std::int64_t i = 0; i < n; i += L::n) {
    const typename L::Wholes left = L::left_of(x + i, test);
    [&]<int... v>(std::integer_sequence<int, v...>) {
      ((sum[v % 2] +=
        load(words + 2 * i + v * vector_lanes) &
        L::template of_words<v>(left, std::make_integer_sequence<int, vector_bytes / 4>{})),
       ...);
    }(std::make_integer_sequence<int, L::n_words>{});
  }
  const Integers both = sum[0] + sum[1];
  for (int lane = 0; lane < vector_lanes; ++lane) sums[lane % 2] += both[lane];
}

template <class T>
void add_counts(const T* x, std::int64_t n, RandomThresholdTest<T> test, const std::int32_t* rows,
                criteria::PairLeft* left) {
  using L = ValueLanes<T>;
  typename L::Wholes w{}, s{};
  for (std::int64_t i = 0; i < n; i += L::n) {
    typename L::Rows some;
    std::memcpy(&some, rows + i, sizeof some);
    const auto row = __builtin_convertvector(some, typename L::Wholes);
    const typename L::Wholes copies = (row >> 1) & L::left_of(x + i, test);
    w += copies;
    s += copies & -(row & 1);
  }
  for (int lane = 0; lane < L::n; ++lane) {
    left->w += w[lane];
    left->s += s[lane];
  }
}

#ifdef __AVX512F__
// Mask of the first n of sixteen values; below: bit masks of those that go left.
[[gnu::always_inline]] inline unsigned first_of_sixteen(std::int64_t n) {
  return n >= 16 ? 0xffff : (1u << n) - 1;
}
[[gnu::always_inline]] inline unsigned left_of(const float* x, unsigned present,
                                               RandomThresholdTest<float> test) {
  const auto rows = static_cast<__mmask16>(present);
  const __m512 some = _mm512_maskz_loadu_ps(rows, x);
  unsigned left = _mm512_mask_cmp_ps_mask(rows, some, _mm512_set1_ps(test.cut), _CMP_LE_OQ);
  if (test.missing_left) left |= _mm512_mask_cmp_ps_mask(rows, some, some, _CMP_UNORD_Q);
  return left;
}
[[gnu::always_inline]] inline unsigned left_of_eight(const double* x, unsigned present,
                                                     RandomThresholdTest<double> test) {
  const auto rows = static_cast<__mmask8>(present);
  const __m512d some = _mm512_maskz_loadu_pd(rows, x);
  unsigned left = _mm512_mask_cmp_pd_mask(rows, some, _mm512_set1_pd(test.cut), _CMP_LE_OQ);
  if (test.missing_left) left |= _mm512_mask_cmp_pd_mask(rows, some, some, _CMP_UNORD_Q);
  return left;
}
[[gnu::always_inline]] inline unsigned left_of(const double* x, unsigned present,
                                               RandomThresholdTest<double> test) {
  return left_of_eight(x, present, test) | left_of_eight(x + 8, present >> 8, test) << 8;
}

// Bits of four rows, doubled, for two words per row.
[[gnu::always_inline]] inline __mmask8 of_words(unsigned four) {
  return static_cast<__mmask8>(3 * _pdep_u32(four, 0x55));
}
[[gnu::always_inline]] inline __m512i load_words(const void* from, __mmask8 which) {
  return _mm512_maskz_loadu_epi64(which, from);
}

template <class T>
std::int64_t part_rows(const T* x, std::int64_t n, RandomThresholdTest<T> test, Row* rows,
                       Row* spare) {
  std::int64_t n_left = 0, n_right = 0;
  for (std::int64_t i = 0; i < n; i += 16) {
    const unsigned present = first_of_sixteen(n - i);
    const unsigned left = left_of(x + i, present, test), right = present & ~left;
    const __m512i some = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(present), rows + i);
    const __m512i lefts = _mm512_maskz_compress_epi32(static_cast<__mmask16>(left), some);
    const __m512i rights = _mm512_maskz_compress_epi32(static_cast<__mmask16>(right), some);
    // Entries behind the valid ones were already read, or are overwritten later.
    _mm512_mask_storeu_epi32(rows + n_left, static_cast<__mmask16>(present), lefts);
    _mm512_mask_storeu_epi32(spare + n_right, static_cast<__mmask16>(present), rights);
    n_left += std::popcount(left);
    n_right += std::popcount(right);
  }
  std::memcpy(rows + n_left, spare, static_cast<std::size_t>(n_right) * sizeof(Row));
  return n_left;
}

template <class T>
std::int64_t part_words(const T* x, std::int64_t n, RandomThresholdTest<T> test,
                        std::uint64_t* words, std::uint64_t* spare) {
  std::uint64_t *left_end = words, *right_end = spare;
  for (std::int64_t i = 0; i < n; i += 16) {
    const unsigned present = first_of_sixteen(n - i), left = left_of(x + i, present, test);
    for (int four = 0; four < 4; ++four) {
      const __mmask8 all = of_words(present >> (4 * four) & 0xf);
      const __mmask8 lefts = of_words(left >> (4 * four) & 0xf);
      const auto rights = static_cast<__mmask8>(all & ~lefts);
      const __m512i some = load_words(words + 2 * (i + 4 * four), all);
      _mm512_mask_storeu_epi64(left_end, all, _mm512_maskz_compress_epi64(lefts, some));
      _mm512_mask_storeu_epi64(right_end, all, _mm512_maskz_compress_epi64(rights, some));
      left_end += std::popcount(lefts);
      right_end += std::popcount(rights);
    }
  }
  std::memcpy(left_end, spare, static_cast<std::size_t>(right_end - spare) * 8);
  return (left_end - words) / 2;
}

// The values of a row in eight columns. A narrow row (at most two vectors) is loaded whole.
template <class T>
constexpr std::int64_t most_narrow = 128 / sizeof(T);

struct EightColumns {
  __m256i which;
  __mmask16 first, second;  // valid lanes of each vector of a narrow row

  // Column bytes are one number, available before the wide array is written.
  EightColumns(const RandomThresholds& cuts, bool is_narrow, std::int64_t stride,
               std::int64_t vector)
      : which(is_narrow ? _mm256_cvtepu8_epi32(
                              _mm_cvtsi64_si128(static_cast<std::int64_t>(cuts.columns_as_bytes)))
                        : _mm256_loadu_si256(reinterpret_cast<const __m256i*>(cuts.column))),
        first(static_cast<__mmask16>(first_of_sixteen(std::min(stride, vector)))),
        second(
            static_cast<__mmask16>(first_of_sixteen(std::max<std::int64_t>(0, stride - vector)))) {}

  template <bool is_narrow>
  [[gnu::always_inline]] __m512d of(const float* row) const {
    if constexpr (!is_narrow)
      return _mm512_maskz_cvtps_pd(0xff, _mm256_i32gather_ps(row, which, sizeof(float)));
    const __m512i all = _mm512_maskz_broadcast_i64x4(0xff, which);
    const __m512 some = _mm512_permutex2var_ps(_mm512_maskz_loadu_ps(first, row), all,
                                               _mm512_maskz_loadu_ps(second, row + 16));
    return _mm512_maskz_cvtps_pd(0xff, _mm512_maskz_extractf32x8_ps(0xff, some, 0));
  }
  template <bool is_narrow>
  [[gnu::always_inline]] __m512d of(const double* row) const {
    if constexpr (!is_narrow)
      return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), 0xff, which, row, sizeof(double));
    const auto lower = static_cast<__mmask8>(first), upper = static_cast<__mmask8>(second);
    return _mm512_permutex2var_pd(_mm512_maskz_loadu_pd(lower, row),
                                  _mm512_maskz_cvtepi32_epi64(0xff, which),
                                  _mm512_maskz_loadu_pd(upper, row + 8));
  }
};

// Add the words of each row to the sums of the lanes given by `lanes_of`.
template <class LanesOf>
[[gnu::always_inline]] inline void add_to_lanes(const std::uint64_t* rows, std::int64_t n,
                                                std::uint64_t (*sums)[RandomThresholds::most],
                                                LanesOf lanes_of) {
  __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::int64_t i = 0; i < n; ++i) {
    const __mmask8 lanes = lanes_of(i);
    for (int word = 0; word < 2; ++word)
      sum[word] =
          _mm512_mask_add_epi64(sum[word], lanes, sum[word],
                                _mm512_set1_epi64(static_cast<std::int64_t>(rows[2 * i + word])));
  }
  for (int word = 0; word < 2; ++word) _mm512_store_si512(sums[word], sum[word]);
}

// share_drawn for eight columns.
typedef std::uint64_t EightWords __attribute__((vector_size(64)));
[[gnu::always_inline]] inline __m512d shares_drawn(std::uint64_t key, __m256i columns) {
  const auto wide = reinterpret_cast<EightWords>(_mm512_maskz_cvtepu32_epi64(0xff, columns));
  const EightWords word = random_word(key, wide + first_share);
  return _mm512_maskz_cvtepu64_pd(0xff, reinterpret_cast<__m512i>(word >> uniform_shift)) *
         uniform_step;
}

template <bool is_narrow, class T>
void cut_eight(const T* values, std::int64_t stride, const std::uint64_t* rows, std::int64_t n,
               RandomThresholds* cuts, double* buffer) {
  const EightColumns columns(*cuts, is_narrow, stride, most_narrow<T> / 2);
  const __m512d infinite = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  __m512d low = infinite, high = -infinite;
  __mmask8 missing = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::int64_t>(rows[2 * i] >> 32);
    const __m512d x = columns.of<is_narrow>(values + row * stride);
    _mm512_store_pd(buffer + 8 * i, x);
    low = _mm512_maskz_min_pd(0xff, x, low);  // returns the second operand if the first is NaN
    high = _mm512_maskz_max_pd(0xff, x, high);
    missing = static_cast<__mmask8>(missing | _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q));
  }
  const __m512d between = number_between(low, high, shares_drawn(cuts->key, columns.which));
  const __mmask8 vary = _mm512_cmp_pd_mask(low, high, _CMP_LT_OQ);
  const __m512d cut = _mm512_mask_mov_pd(infinite, vary, between);
  const auto x_of = [&](std::int64_t i) { return _mm512_load_pd(buffer + 8 * i); };
  add_to_lanes(rows, n, cuts->left,
               [&](std::int64_t i) { return _mm512_cmp_pd_mask(x_of(i), cut, _CMP_LE_OQ); });
  if (missing != 0)
    add_to_lanes(rows, n, cuts->missing, [&](std::int64_t i) {
      return _mm512_cmp_pd_mask(x_of(i), x_of(i), _CMP_UNORD_Q);
    });
  _mm512_store_pd(cuts->least, low);
  _mm512_store_pd(cuts->largest, high);
  _mm512_store_pd(cuts->cut, cut);
  cuts->vary = vary;
  cuts->miss_some = missing;
}

template <class T>
void cut_columns(const T* values, std::int64_t stride, const std::uint64_t* rows, std::int64_t n,
                 int n_cuts, RandomThresholds* cuts, double* buffer) {
  if (stride <= most_narrow<T>) return cut_eight<true>(values, stride, rows, n, cuts, buffer);
  std::fill(cuts->column + n_cuts, cuts->column + RandomThresholds::most, cuts->column[0]);
  cut_eight<false>(values, stride, rows, n, cuts, buffer);
}
#endif

template <class T>
constexpr RandomThresholdKernelsOf<T> random_threshold_kernels_of() {
  return {.range = range,
          .add_words = add_words,
          .add_counts = add_counts,
#ifdef __AVX512F__
          .part_rows = part_rows<T>,
          .part_words = part_words<T>,
          .cut_columns = cut_columns<T>
#endif
  };
}
constexpr RandomThresholdKernels random_threshold_kernels = {
    .floats = random_threshold_kernels_of<float>(),
    .doubles = random_threshold_kernels_of<double>()};
