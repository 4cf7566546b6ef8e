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
    {range_of_floats, add_words<float>, add_counts<float>, part_rows<float>, part_words<float>},
    {range_of_doubles, add_words<double>, add_counts<double>, part_rows<double>,
     part_words<double>}};
constexpr const DrawnKernels* drawn_kernels = &all_drawn_kernels;
#else
constexpr const DrawnKernels* drawn_kernels = nullptr;
#endif
