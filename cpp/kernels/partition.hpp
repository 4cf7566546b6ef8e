// Partition of a node's rows. Part of body.hpp, which includes it inside its namespace.

#ifdef __AVX512F__
constexpr std::int64_t codes_at_once = 512;  // buffered in the first-level cache

// Gather the codes of rows from a contiguous column. Rows ascend: if the last minus the first
// equals their number, the codes are already contiguous.
void read_codes(const Code* codes, const Row* rows, std::int64_t n, Code* near) {
  if (rows[n - 1] - rows[0] == n - 1) {
    std::memcpy(near, codes + rows[0], static_cast<std::size_t>(n));
    return;
  }
  // Eight codes are stored as one word: single stores would take longer than the loads.
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t eight = 0;
    for (int k = 0; k < 8; ++k) eight |= std::uint64_t{codes[rows[i + k]]} << (8 * k);
    std::memcpy(near + i, &eight, 8);
  }
  for (; i < n; ++i) near[i] = codes[rows[i]];
}

// The same for a strided column, with prefetching of scattered lines.
void read_codes_apart(const Code* codes, std::int64_t stride, const Row* rows, std::int64_t n,
                      std::int64_t n_after, Code* near) {
  constexpr std::int64_t ahead = 48;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i + ahead < n + n_after) __builtin_prefetch(codes + rows[i + ahead] * stride);
    near[i] = codes[rows[i] * stride];
  }
}

// Sixteen rows at a time are compressed in a register.
std::int64_t partition(const Code* codes, std::int64_t stride, Code offset, Code limit,
                       const Row* rows, std::int64_t n, Row* sent) {
  constexpr std::int64_t sixteen = 16;
  alignas(64) Code near[codes_at_once] = {};
  const __m128i least = _mm_set1_epi8(static_cast<char>(offset));
  const __m128i most = _mm_set1_epi8(static_cast<char>(limit));
  const __m512i turned = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  Row* left = sent;
  Row* right = sent + n;
  for (std::int64_t begin = 0; begin < n; begin += codes_at_once) {
    const std::int64_t size = std::min(codes_at_once, n - begin);
    const Row* const here = rows + begin;
    if (stride == 1)
      read_codes(codes, here, size, near);
    else
      read_codes_apart(codes, stride, here, size, n - begin - size, near);
    for (std::int64_t i = 0; i < size; i += sixteen) {
      const unsigned present = size - i >= sixteen ? 0xffff : (1u << (size - i)) - 1;
      const __m128i code = _mm_load_si128(reinterpret_cast<const __m128i*>(near + i));
      const unsigned is_left = _mm_cmple_epu8_mask(_mm_sub_epi8(code, least), most);
      const auto lefts = static_cast<__mmask16>(is_left & present);
      const auto rights = static_cast<__mmask16>(~is_left & present);
      const __m512i some = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(present), here + i);
      const int n_left = std::popcount(lefts), n_right = std::popcount(rights);
      _mm512_mask_storeu_epi32(left, static_cast<__mmask16>((1u << n_left) - 1),
                               _mm512_maskz_compress_epi32(lefts, some));
      _mm512_mask_storeu_epi32(right - sixteen,
                               static_cast<__mmask16>(0xffffu << (sixteen - n_right)),
                               _mm512_maskz_permutexvar_epi32(
                                   0xffff, turned, _mm512_maskz_compress_epi32(rights, some)));
      left += n_left;
      right -= n_right;
    }
  }
  return left - sent;
}
#else
template <bool prefetches>
std::int64_t part_rows(const Code* codes, std::int64_t stride, Code offset, Code limit,
                       const Row* rows, std::int64_t n, Row* sent) {
  constexpr std::int64_t ahead = 48;
  Row* left = sent;
  Row* right = sent + n - 1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (prefetches && i + ahead < n) __builtin_prefetch(codes + rows[i + ahead] * stride);
    const Row row = rows[i];
    const Code code = codes[row * stride];
    const bool goes_left = static_cast<Code>(code - offset) <= limit;
    // Both sides are written, one advances: a branch would be mispredicted half of the time.
    *left = row;
    *right = row;
    left += goes_left;
    right -= !goes_left;
  }
  return left - sent;
}

std::int64_t partition(const Code* codes, std::int64_t stride, Code offset, Code limit,
                       const Row* rows, std::int64_t n, Row* sent) {
  const bool prefetches = n > 0 && (std::int64_t{rows[n - 1]} - rows[0]) * stride > near_codes;
  return (prefetches ? part_rows<true> : part_rows<false>)(codes, stride, offset, limit, rows, n,
                                                           sent);
}
#endif
