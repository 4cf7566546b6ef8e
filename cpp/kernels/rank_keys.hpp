// Sort keys of the rows of a small node. Part of body.hpp, which includes it inside its namespace.

#ifdef __AVX512F__
// Sixteen rows at once: extract the halves of their first words, gather the ranks.
KeyRange write_rank_keys(const std::uint16_t* ranks, std::int64_t stride, const std::uint64_t* rows,
                         std::int64_t n, bool are_numbered, std::uint32_t* keys) {
  const __m512i halves =
      _mm512_setr_epi32(1, 5, 9, 13, 17, 21, 25, 29, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512i a_row = _mm512_set1_epi32(static_cast<int>(stride));
  __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i low = _mm512_set1_epi32(0x7fffffff), high = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < n; i += 16) {
    const auto some = static_cast<__mmask16>(first_of_sixteen(n - i));
    const std::uint64_t* const words = rows + 2 * i;
    const __m512i first =
        _mm512_permutex2var_epi32(_mm512_loadu_si512(words), halves, _mm512_loadu_si512(words + 8));
    const __m512i second = _mm512_permutex2var_epi32(_mm512_loadu_si512(words + 16), halves,
                                                     _mm512_loadu_si512(words + 24));
    const __m512i row = _mm512_maskz_shuffle_i64x2(0xff, first, second, 0x44);
    const __m512i payload =
        are_numbered ? number : _mm512_maskz_shuffle_i64x2(0xff, first, second, 0xee);
    // Gathers 32 bits; a rank is half of that.
    const __m512i wide = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), some,
                                                     _mm512_mullo_epi32(row, a_row), ranks, 2);
    const __m512i rank = _mm512_and_si512(wide, _mm512_set1_epi32(0xffff));
    const __m512i key = _mm512_or_si512(_mm512_maskz_slli_epi32(some, rank, 15), payload);
    _mm512_storeu_si512(keys + i, key);
    low = _mm512_mask_min_epi32(low, some, low, key);
    high = _mm512_mask_max_epi32(high, some, high, key);
    number = _mm512_add_epi32(number, _mm512_set1_epi32(16));
  }
  std::int32_t lows[16], highs[16];
  _mm512_storeu_si512(lows, low);
  _mm512_storeu_si512(highs, high);
  const std::int32_t least = *std::min_element(lows, lows + 16);
  const std::int32_t most = *std::max_element(highs, highs + 16);
  return {static_cast<std::uint32_t>(least) >> 15, static_cast<std::uint32_t>(most) >> 15};
}
constexpr auto rank_keys = write_rank_keys;
#else
constexpr KeyRange (*rank_keys)(const std::uint16_t*, std::int64_t, const std::uint64_t*,
                                std::int64_t, bool, std::uint32_t*) = nullptr;
#endif
