// Search among the sorted rows of a small table. Part of body.hpp, which includes it inside its
// namespace.

typedef std::uint32_t Halves __attribute__((vector_size(vector_bytes / 2)));

// Codes and rows of vector_lanes entries.
[[gnu::always_inline]] inline Integers widened(const Ordered* rows) {
  Halves some;
  std::memcpy(&some, rows, sizeof some);
  return __builtin_convertvector(some, Integers);
}

// The same operations as `score_split` of the search over cells.
[[gnu::always_inline]] inline Doubles ordered_scores(Integers left, const OrderedNode& node,
                                                     Integers& allowed) {
  const Doubles gl = to_doubles(left >> 32), hl = to_doubles(left & 0xffffffff);
  const Doubles gr = static_cast<double>(packed_g(node.total)) - gl;
  const Doubles hr = static_cast<double>(packed_h(node.total)) - hl;
  const Doubles dl = hl + node.l2, dr = hr + node.l2;
  allowed &= (hl >= node.min_weight) & (hr >= node.min_weight);
  return (gl * gl * dr + gr * gr * dl) / (dl * dr);
}

bool search_ordered(const Ordered* rows, const std::int64_t* words, const OrderedNode& node,
                    OrderedCut& best) {
  // Sums after each position; past the last one an empty left side, which is not a split.
  alignas(64) std::int64_t sums[most_ordered + vector_lanes];
  std::int64_t sum = 0;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < node.last; ++i) sums[i] = sum += words[row_of_ordered(rows[i])];
  std::fill_n(sums + node.last, vector_lanes, 0);
  bool is_better = false;
  for (std::int64_t i = node.first; i < node.last; i += vector_lanes) {
    Integers better = (widened(rows + i) ^ widened(rows + i + 1)) > 0xffff;
    const Doubles score = ordered_scores(load(sums + i), node, better);
    better &= score > best.score;
    bool any = false;
    for (int lane = 0; lane < vector_lanes; ++lane) any |= better[lane] != 0;
    for (int lane = 0; any && lane < vector_lanes; ++lane) {
      if (!better[lane] || !(score[lane] > best.score)) continue;
      best = {score[lane], i + lane, sums[i + lane]};
      is_better = true;
    }
  }
  return is_better;
}

#ifdef __AVX512F__
void mark_ordered(const Code* codes, std::int64_t n_rows, Code limit, OrderedSides& sides) {
  const __m512i most = _mm512_set1_epi8(static_cast<char>(limit));
  for (std::int64_t first = 0; first < n_rows; first += 64) {
    const std::int64_t left = n_rows - first;
    const __mmask64 some = left < 64 ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0};
    const std::uint64_t bits =
        _mm512_cmple_epu8_mask(_mm512_maskz_loadu_epi8(some, codes + first), most);
    std::memcpy(sides.words + first / 32, &bits, sizeof bits);
  }
}

// The bits of sixteen rows at once: all 1024 are in two vectors.
void part_ordered(const Ordered* rows, std::int64_t n, const OrderedSides& sides, Ordered* left,
                  Ordered* right) {
  const __m512i low = _mm512_load_si512(sides.words), high = _mm512_load_si512(sides.words + 16);
  const auto send = [](Ordered*& to, __mmask16 which, __m512i sixteen) {
    const auto n_sent = static_cast<unsigned>(std::popcount(static_cast<unsigned>(which)));
    const auto front = static_cast<__mmask16>((1u << n_sent) - 1);
    _mm512_mask_storeu_epi32(to, front, _mm512_maskz_compress_epi32(which, sixteen));
    to += n_sent;
  };
  for (std::int64_t i = 0; i < n; i += 16) {
    const auto some = static_cast<__mmask16>(n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu);
    const __m512i sixteen = _mm512_maskz_loadu_epi32(some, rows + i);
    const __m512i word = _mm512_maskz_srli_epi32(some, sixteen, 5);  // only its lowest bits matter
    const __m512i place = _mm512_and_si512(sixteen, _mm512_set1_epi32(31));
    const __m512i bit =
        _mm512_maskz_srlv_epi32(some, _mm512_permutex2var_epi32(low, word, high), place);
    const __mmask16 goes_left = _mm512_test_epi32_mask(bit, _mm512_set1_epi32(1));
    if (left) send(left, some & goes_left, sixteen);
    if (right) send(right, static_cast<__mmask16>(some & ~goes_left), sixteen);
  }
}
#else
void mark_ordered(const Code* codes, std::int64_t n_rows, Code limit, OrderedSides& sides) {
  for (std::int64_t first = 0; first < n_rows; first += 32) {
    std::uint32_t bits = 0;
    const std::int64_t size = std::min<std::int64_t>(32, n_rows - first);
    for (std::int64_t i = 0; i < size; ++i)
      bits |= static_cast<std::uint32_t>(codes[first + i] <= limit) << i;
    sides.words[first / 32] = bits;
  }
}

// Each side is a pointer picked by the bit: a branch would be mispredicted half of the time. Rows
// that are not needed are all written to the same location.
void part_ordered(const Ordered* rows, std::int64_t n, const OrderedSides& sides, Ordered* left,
                  Ordered* right) {
  Ordered nowhere;
  Ordered* to[2] = {right ? right : &nowhere, left ? left : &nowhere};
  const std::int64_t step[2] = {right != nullptr, left != nullptr};
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = row_of_ordered(rows[i]);
    const std::uint32_t side = sides.words[row / 32] >> (row % 32) & 1;
    *to[side] = rows[i];
    to[side] += step[side];
  }
}
#endif
