// Cuts drawn between the values of a node. Part of body.hpp, which includes it inside its
// namespace.

#ifdef __AVX512F__
// Sixteen values, the first n of them present: a bit for each that goes left.
[[gnu::always_inline]] inline unsigned first_of_sixteen(std::int64_t n) {
  return n >= 16 ? 0xffff : (1u << n) - 1;
}
[[gnu::always_inline]] inline unsigned left_of(const float* x, unsigned present,
                                               DrawnTest<float> test) {
  const auto rows = static_cast<__mmask16>(present);
  const __m512 some = _mm512_maskz_loadu_ps(rows, x);
  unsigned left = _mm512_mask_cmp_ps_mask(rows, some, _mm512_set1_ps(test.cut), _CMP_LE_OQ);
  if (test.missing_left) left |= _mm512_mask_cmp_ps_mask(rows, some, some, _CMP_UNORD_Q);
  return left;
}
[[gnu::always_inline]] inline unsigned left_of_eight(const double* x, unsigned present,
                                                     DrawnTest<double> test) {
  const auto rows = static_cast<__mmask8>(present);
  const __m512d some = _mm512_maskz_loadu_pd(rows, x);
  unsigned left = _mm512_mask_cmp_pd_mask(rows, some, _mm512_set1_pd(test.cut), _CMP_LE_OQ);
  if (test.missing_left) left |= _mm512_mask_cmp_pd_mask(rows, some, some, _CMP_UNORD_Q);
  return left;
}
[[gnu::always_inline]] inline unsigned left_of(const double* x, unsigned present,
                                               DrawnTest<double> test) {
  return left_of_eight(x, present, test) | left_of_eight(x + 8, present >> 8, test) << 8;
}

// Bits of four rows, twice each: for their words.
[[gnu::always_inline]] inline __mmask8 of_words(unsigned four) {
  return static_cast<__mmask8>(3 * _pdep_u32(four, 0x55));
}
[[gnu::always_inline]] inline __m512i load_words(const void* from, __mmask8 which) {
  return _mm512_maskz_loadu_epi64(which, from);
}

template <class T>
void add_words(const T* x, std::int64_t n, DrawnTest<T> test, const std::int64_t* words,
               std::int64_t* sums) {
  __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::int64_t i = 0; i < n; i += 16) {
    const unsigned left = left_of(x + i, first_of_sixteen(n - i), test);
    for (int four = 0; four < 4; ++four)
      sum[four % 2] = _mm512_add_epi64(
          sum[four % 2],
          load_words(words + 2 * (i + 4 * four), of_words(left >> (4 * four) & 0xf)));
  }
  std::int64_t lanes[8];
  _mm512_storeu_si512(lanes, _mm512_add_epi64(sum[0], sum[1]));
  for (int word = 0; word < 2; ++word)
    sums[word] += lanes[word] + lanes[word + 2] + lanes[word + 4] + lanes[word + 6];
}

template <class T>
void add_counts(const T* x, std::int64_t n, DrawnTest<T> test, const std::int32_t* rows,
                PairLeft* left) {
  const __m512i one = _mm512_set1_epi32(1);
  __m512i w = _mm512_setzero_si512(), s = w;
  for (std::int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(left_of(x + i, first_of_sixteen(n - i), test));
    const __m512i some = _mm512_maskz_loadu_epi32(mask, rows + i);
    const __m512i copies = _mm512_maskz_srli_epi32(0xffff, some, 1);
    w = _mm512_add_epi32(w, copies);
    s = _mm512_mask_add_epi32(s, _mm512_test_epi32_mask(some, one), s, copies);
  }
  std::int32_t of_w[16], of_s[16];
  _mm512_storeu_si512(of_w, w);
  _mm512_storeu_si512(of_s, s);
  for (int lane = 0; lane < 16; ++lane) {
    left->w += of_w[lane];
    left->s += of_s[lane];
  }
}

template <class T>
std::int64_t part_rows(const T* x, std::int64_t n, DrawnTest<T> test, Row* rows, Row* spare) {
  std::int64_t n_left = 0, n_right = 0;
  for (std::int64_t i = 0; i < n; i += 16) {
    const unsigned present = first_of_sixteen(n - i);
    const unsigned left = left_of(x + i, present, test), right = present & ~left;
    const __m512i some = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(present), rows + i);
    const __m512i lefts = _mm512_maskz_compress_epi32(static_cast<__mmask16>(left), some);
    const __m512i rights = _mm512_maskz_compress_epi32(static_cast<__mmask16>(right), some);
    // What is written behind those that count was read, or is written again.
    _mm512_mask_storeu_epi32(rows + n_left, static_cast<__mmask16>(present), lefts);
    _mm512_mask_storeu_epi32(spare + n_right, static_cast<__mmask16>(present), rights);
    n_left += std::popcount(left);
    n_right += std::popcount(right);
  }
  std::memcpy(rows + n_left, spare, static_cast<std::size_t>(n_right) * sizeof(Row));
  return n_left;
}

template <class T>
std::int64_t part_words(const T* x, std::int64_t n, DrawnTest<T> test, std::uint64_t* words,
                        std::uint64_t* spare) {
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

// The values of a row in eight columns. A narrow row, of two vectors at most, is read whole.
template <class T>
constexpr std::int64_t most_narrow = 128 / sizeof(T);

struct EightColumns {
  __m256i which;
  __mmask16 first, second;  // what a narrow row has of each vector

  // Bytes are one number, which need not wait until all columns are written.
  EightColumns(const DrawnCuts& cuts, bool is_narrow, std::int64_t stride, std::int64_t vector)
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

// Adds the words of each row to the sums of those lanes that `lanes_of` tells of it.
template <class LanesOf>
[[gnu::always_inline]] inline void add_to_lanes(const std::uint64_t* rows, std::int64_t n,
                                                std::uint64_t (*sums)[DrawnCuts::most],
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

// share_drawn of eight columns.
typedef std::uint64_t EightWords __attribute__((vector_size(64)));
[[gnu::always_inline]] inline __m512d shares_drawn(std::uint64_t key, __m256i columns) {
  const auto wide = reinterpret_cast<EightWords>(_mm512_maskz_cvtepu32_epi64(0xff, columns));
  const auto mixed = [](EightWords x) { return (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL; };
  EightWords word = mixed(mixed(key + (wide + (first_share + 1)) * 0x9e3779b97f4a7c15ULL));
  word ^= word >> 32;
  return _mm512_maskz_cvtepu64_pd(0xff, reinterpret_cast<__m512i>(word >> 11)) * 0x1p-53;
}

int clear_best(const DrawnCuts& cuts, int n_cuts, double weight, std::int64_t sum) {
  const __m512i copies = _mm512_load_si512(cuts.left[0]) & _mm512_set1_epi64(0xffffffff);
  const __m512d wl = _mm512_maskz_cvtepi64_pd(0xff, copies), wr = weight - wl;
  const __m512i s = _mm512_load_si512(cuts.left[1]), of_right = _mm512_set1_epi64(sum) - s;
  const __m512d d =
      _mm512_maskz_cvtepi64_pd(0xff, s) * wr - _mm512_maskz_cvtepi64_pd(0xff, of_right) * wl;
  const auto varying = static_cast<__mmask8>(cuts.vary & ((1u << n_cuts) - 1));
  const __m512d score = _mm512_mask_div_pd(_mm512_setzero_pd(), varying, d * d, wl * wr);
  __m512d most = score;
  most = _mm512_maskz_max_pd(0xff, most, _mm512_maskz_permute_pd(0xff, most, 0x55));
  most = _mm512_maskz_max_pd(0xff, most, _mm512_maskz_permutex_pd(0xff, most, 0x4e));
  most = _mm512_maskz_max_pd(0xff, most, _mm512_maskz_shuffle_f64x2(0xff, most, most, 0x4e));
  const unsigned near = _mm512_cmp_pd_mask(score, most * (1.0 - 1e-9), _CMP_GE_OQ);
  return std::popcount(near) == 1 ? std::countr_zero(near) : -1;
}

template <bool is_narrow, class T>
void cut_eight(const T* values, std::int64_t stride, const std::uint64_t* rows, std::int64_t n,
               DrawnCuts* cuts, double* room) {
  const EightColumns columns(*cuts, is_narrow, stride, most_narrow<T> / 2);
  const __m512d infinite = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  __m512d low = infinite, high = -infinite;
  __mmask8 missing = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::int64_t>(rows[2 * i] >> 32);
    const __m512d x = columns.of<is_narrow>(values + row * stride);
    _mm512_store_pd(room + 8 * i, x);
    low = _mm512_maskz_min_pd(0xff, x, low);  // the second one, if the first is missing
    high = _mm512_maskz_max_pd(0xff, x, high);
    missing = static_cast<__mmask8>(missing | _mm512_cmp_pd_mask(x, x, _CMP_UNORD_Q));
  }
  // As draw_cut.
  const __m512d half = _mm512_set1_pd(0.5), half_low = low * half, half_high = high * half;
  const __m512d share = shares_drawn(cuts->key, columns.which);
  const __m512d drawn = _mm512_set1_pd(2.0) * (half_low + share * (half_high - half_low));
  const auto is_between = static_cast<__mmask8>(_mm512_cmp_pd_mask(drawn, low, _CMP_GE_OQ) &
                                                _mm512_cmp_pd_mask(drawn, high, _CMP_LT_OQ));
  const __mmask8 vary = _mm512_cmp_pd_mask(low, high, _CMP_LT_OQ);
  const __m512d cut =
      _mm512_mask_mov_pd(infinite, vary, _mm512_mask_mov_pd(low, is_between, drawn));
  const auto x_of = [&](std::int64_t i) { return _mm512_load_pd(room + 8 * i); };
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
                 int n_cuts, DrawnCuts* cuts, double* room) {
  if (stride <= most_narrow<T>) return cut_eight<true>(values, stride, rows, n, cuts, room);
  std::fill(cuts->column + n_cuts, cuts->column + DrawnCuts::most, cuts->column[0]);
  cut_eight<false>(values, stride, rows, n, cuts, room);
}

// Two columns of four rows side by side: row i in lanes 2 * i and 2 * i + 1, as its two words.
typedef double FourPairs __attribute__((vector_size(64)));

template <class T>
[[gnu::always_inline]] inline __m512d pairs_of_four(const T* first, const T* second,
                                                    std::int64_t stride,
                                                    const std::uint64_t* rows) {
  const T *a[4], *b[4];
  for (int k = 0; k < 4; ++k) {
    const std::int64_t at = static_cast<std::int64_t>(rows[2 * k] >> 32) * stride;
    a[k] = first + at;
    b[k] = second + at;
  }
  return reinterpret_cast<__m512d>(
      FourPairs{static_cast<double>(*a[0]), static_cast<double>(*b[0]), static_cast<double>(*a[1]),
                static_cast<double>(*b[1]), static_cast<double>(*a[2]), static_cast<double>(*b[2]),
                static_cast<double>(*a[3]), static_cast<double>(*b[3])});
}
// Those of the first n of four.
[[gnu::always_inline]] inline __mmask8 words_of_four(std::int64_t n) {
  return static_cast<__mmask8>(n >= 4 ? 0xff : (1u << (2 * n)) - 1);
}
// What `join` makes of each column, in all lanes of the column.
template <class Join>
[[gnu::always_inline]] inline __m512d of_all_pairs(__m512d x, Join join) {
  x = join(x, _mm512_maskz_shuffle_f64x2(0xff, x, x, 0x4e));
  return join(x, _mm512_maskz_shuffle_f64x2(0xff, x, x, 0xb1));
}
// Of what four rows of two words have been added up to, the sums of both words.
[[gnu::always_inline]] inline __m128i sums_of_words(__m512i x) {
  x = _mm512_add_epi64(x, _mm512_maskz_shuffle_i64x2(0xff, x, x, 0x4e));
  x = _mm512_add_epi64(x, _mm512_maskz_shuffle_i64x2(0xff, x, x, 0xb1));
  return _mm512_maskz_extracti64x2_epi64(3, x, 0);
}

struct PairRange {
  __m512d low = _mm512_set1_pd(std::numeric_limits<double>::infinity()), high = -low;
  __mmask8 missing = 0;

  [[gnu::always_inline]] void add(__m512d x, __mmask8 present) {
    low = _mm512_mask_min_pd(low, present, x, low);  // the second one, if the first is missing
    high = _mm512_mask_max_pd(high, present, x, high);
    missing = static_cast<__mmask8>(missing | _mm512_mask_cmp_pd_mask(present, x, x, _CMP_UNORD_Q));
  }
  [[gnu::always_inline]] void join_rows() {
    low = of_all_pairs(low, [](__m512d a, __m512d b) { return _mm512_maskz_min_pd(0xff, a, b); });
    high = of_all_pairs(high, [](__m512d a, __m512d b) { return _mm512_maskz_max_pd(0xff, a, b); });
    missing = static_cast<__mmask8>(missing | missing >> 4);
    missing = static_cast<__mmask8>((missing | missing >> 2) & 3);
  }
};

// Sums of the words of rows, of those that each column tells of every four.
template <class LanesOf>
[[gnu::always_inline]] inline void add_to_pairs(const std::uint64_t* rows, std::int64_t n,
                                                std::uint64_t (*sums)[DrawnCuts::most],
                                                LanesOf lanes_of) {
  __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (std::int64_t i = 0; i < n; i += 4) {
    const __mmask8 present = words_of_four(n - i);
    const __m512i words = load_words(rows + 2 * i, present);
    for (int column = 0; column < 2; ++column)
      sum[column] =
          _mm512_mask_add_epi64(sum[column], lanes_of(i, present, column), sum[column], words);
  }
  const __m128i a = sums_of_words(sum[0]), b = sums_of_words(sum[1]);
  _mm_store_si128(reinterpret_cast<__m128i*>(sums[0]), _mm_unpacklo_epi64(a, b));
  _mm_store_si128(reinterpret_cast<__m128i*>(sums[1]), _mm_unpackhi_epi64(a, b));
}

// One of the two columns, in both lanes of each row.
[[gnu::always_inline]] inline __m512d of_column(__m512d x, int column) {
  return column == 0 ? _mm512_maskz_unpacklo_pd(0xff, x, x) : _mm512_maskz_unpackhi_pd(0xff, x, x);
}

// When the range is known; x_of(i): the pairs from row i on.
template <class XOf>
[[gnu::always_inline]] inline bool cut_pairs(const PairRange& range, const std::uint64_t* rows,
                                             std::int64_t n, DrawnCuts* cuts,
                                             std::uint8_t (*left)[2], XOf x_of) {
  // As draw_cut.
  const __m512d low = range.low, high = range.high, half = _mm512_set1_pd(0.5);
  const __m512d half_low = low * half, half_high = high * half;
  const auto columns = std::uint64_t(cuts->column[1]) << 32 | std::uint32_t(cuts->column[0]);
  const __m512d share =
      shares_drawn(cuts->key, _mm256_set1_epi64x(static_cast<std::int64_t>(columns)));
  const __m512d drawn = _mm512_set1_pd(2.0) * (half_low + share * (half_high - half_low));
  const auto is_between = static_cast<__mmask8>(_mm512_cmp_pd_mask(drawn, low, _CMP_GE_OQ) &
                                                _mm512_cmp_pd_mask(drawn, high, _CMP_LT_OQ));
  const __mmask8 vary = _mm512_cmp_pd_mask(low, high, _CMP_LT_OQ);
  const __m512d infinite = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  const __m512d cut =
      _mm512_mask_mov_pd(infinite, vary, _mm512_mask_mov_pd(low, is_between, drawn));
  const __m512d cut_of[2] = {of_column(cut, 0), of_column(cut, 1)};
  add_to_pairs(rows, n, cuts->left, [&](std::int64_t i, __mmask8 present, int column) {
    return left[i / 4][column] = _mm512_mask_cmp_pd_mask(present, of_column(x_of(i), column),
                                                         cut_of[column], _CMP_LE_OQ);
  });
  cuts->vary = vary & 3;
  cuts->miss_some = range.missing;
  _mm_store_pd(cuts->least, _mm512_maskz_extractf64x2_pd(3, low, 0));
  _mm_store_pd(cuts->largest, _mm512_maskz_extractf64x2_pd(3, high, 0));
  _mm_store_pd(cuts->cut, _mm512_maskz_extractf64x2_pd(3, cut, 0));
  if (range.missing == 0) return cuts->vary == 3;
  add_to_pairs(rows, n, cuts->missing, [&](std::int64_t i, __mmask8 present, int column) {
    const __m512d x = of_column(x_of(i), column);
    return _mm512_mask_cmp_pd_mask(present, x, x, _CMP_UNORD_Q);
  });
  return false;
}

template <class T>
bool cut_two(const T* values, std::int64_t stride, const std::uint64_t* rows, std::int64_t n,
             DrawnCuts* cuts, double* room, std::uint8_t (*left)[2]) {
  const T *const first = values + cuts->column[0], *const second = values + cuts->column[1];
  PairRange range;
  for (std::int64_t i = 0; i < n; i += 4) {
    const __m512d x = pairs_of_four(first, second, stride, rows + 2 * i);
    _mm512_store_pd(room + 2 * i, x);
    range.add(x, words_of_four(n - i));
  }
  range.join_rows();
  return cut_pairs(range, rows, n, cuts, left,
                   [&](std::int64_t i) { return _mm512_load_pd(room + 2 * i); });
}

std::int64_t part_by_lane(const std::uint8_t (*left)[2], int column, std::int64_t n,
                          std::uint64_t* words, std::uint64_t* spare) {
  if (n <= 4) {
    const __mmask8 all = words_of_four(n), lefts = left[0][column];
    const int n_left = std::popcount(lefts);
    const __m512i some = load_words(words, all);
    const auto behind = static_cast<__mmask8>(0xff << n_left);
    const auto rights = static_cast<__mmask8>(all & ~lefts);
    _mm512_mask_storeu_epi64(
        words, all,
        _mm512_mask_expand_epi64(_mm512_maskz_compress_epi64(lefts, some), behind,
                                 _mm512_maskz_compress_epi64(rights, some)));
    return n_left / 2;
  }
  std::uint64_t *left_end = words, *right_end = spare;
  for (std::int64_t i = 0; i < n; i += 4) {
    const __mmask8 all = words_of_four(n - i), lefts = left[i / 4][column];
    const auto rights = static_cast<__mmask8>(all & ~lefts);
    const __m512i some = load_words(words + 2 * i, all);
    _mm512_mask_storeu_epi64(left_end, all, _mm512_maskz_compress_epi64(lefts, some));
    _mm512_mask_storeu_epi64(right_end, all, _mm512_maskz_compress_epi64(rights, some));
    left_end += std::popcount(lefts);
    right_end += std::popcount(rights);
  }
  for (std::uint64_t *from = spare, *to = left_end; from < right_end; from += 8, to += 8) {
    const auto rest = right_end - from;
    const auto all = static_cast<__mmask8>(rest >= 8 ? 0xff : (1u << rest) - 1);
    _mm512_mask_storeu_epi64(to, all, _mm512_maskz_loadu_epi64(all, from));
  }
  return (left_end - words) / 2;
}

void range_of_floats(const float* x, std::int64_t n, float* least, float* most) {
  __m512 low = _mm512_loadu_ps(x), high = low;
  for (std::int64_t i = 16; i < n; i += 16) {
    const __m512 some = _mm512_loadu_ps(x + i);
    low = _mm512_maskz_min_ps(0xffff, low, some);
    high = _mm512_maskz_max_ps(0xffff, high, some);
  }
  float lows[16], highs[16];
  _mm512_storeu_ps(lows, low);
  _mm512_storeu_ps(highs, high);
  *least = *std::min_element(lows, lows + 16);
  *most = *std::max_element(highs, highs + 16);
}
void range_of_doubles(const double* x, std::int64_t n, double* least, double* most) {
  __m512d low[2] = {_mm512_loadu_pd(x), _mm512_loadu_pd(x + 8)}, high[2] = {low[0], low[1]};
  for (std::int64_t i = 16; i < n; i += 16)
    for (int half = 0; half < 2; ++half) {
      const __m512d some = _mm512_loadu_pd(x + i + 8 * half);
      low[half] = _mm512_maskz_min_pd(0xff, low[half], some);
      high[half] = _mm512_maskz_max_pd(0xff, high[half], some);
    }
  double lows[16], highs[16];
  for (int half = 0; half < 2; ++half) {
    _mm512_storeu_pd(lows + 8 * half, low[half]);
    _mm512_storeu_pd(highs + 8 * half, high[half]);
  }
  *least = *std::min_element(lows, lows + 16);
  *most = *std::max_element(highs, highs + 16);
}

constexpr DrawnKernels all_drawn_kernels = {
    clear_best,
    part_by_lane,
    {range_of_floats, add_words<float>, add_counts<float>, part_rows<float>, part_words<float>,
     cut_columns<float>, cut_two<float>},
    {range_of_doubles, add_words<double>, add_counts<double>, part_rows<double>, part_words<double>,
     cut_columns<double>, cut_two<double>}};
constexpr const DrawnKernels* drawn_kernels = &all_drawn_kernels;
#else
constexpr const DrawnKernels* drawn_kernels = nullptr;
#endif
