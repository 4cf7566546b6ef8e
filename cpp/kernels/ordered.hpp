// Search among the sorted rows of a small table. Part of body.hpp, which includes it inside its
// namespace.

typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef std::int32_t Signed __attribute__((vector_size(vector_bytes)));
typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));
constexpr int float_lanes = vector_bytes / 4;

#ifdef __AVX512F__
[[gnu::always_inline]] inline bool any(Signed marks) {
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(marks)) != 0;
}
[[gnu::always_inline]] inline bool any(Integers marks) {
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(marks)) != 0;
}
// Unpack the two halves of packed sums.
[[gnu::always_inline]] inline void part_sums(const std::int64_t* sums, Unsigned& g, Unsigned& h) {
  const __m512i one = _mm512_loadu_si512(sums), two = _mm512_loadu_si512(sums + 8);
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
  h = reinterpret_cast<Unsigned>(_mm512_permutex2var_epi32(one, even, two));
  g = reinterpret_cast<Unsigned>(_mm512_permutex2var_epi32(one, odd, two));
}
#else
template <class Marks>
[[gnu::always_inline]] inline bool any(Marks marks) {
  bool some = false;
  for (int lane = 0; lane < static_cast<int>(sizeof marks / sizeof marks[0]); ++lane)
    some |= marks[lane] != 0;
  return some;
}
[[gnu::always_inline]] inline void part_sums(const std::int64_t* sums, Unsigned& g, Unsigned& h) {
  for (int lane = 0; lane < float_lanes; ++lane) {
    g[lane] = static_cast<std::uint32_t>(sums[lane] >> 32);
    h[lane] = static_cast<std::uint32_t>(sums[lane]);
  }
}
#endif

// Approximate scores above / below of the splits after some positions, where allowed. Sums are
// exact integers and nothing is subtracted after rounding: 16 roundings of 2^-24 give an error
// below 2^-20.
struct RoughCuts {
  Floats above, below;
  Signed allowed;

  RoughCuts(const Ordered* rows, const std::int64_t* sums, const OrderedNode& node) {
    Unsigned gl, hl, code, next;
    part_sums(sums, gl, hl);
    std::memcpy(&code, rows, sizeof code);
    std::memcpy(&next, rows + 1, sizeof next);
    const Unsigned gr = static_cast<std::uint32_t>(packed_g(node.total)) - gl;
    const Unsigned hr = static_cast<std::uint32_t>(packed_h(node.total)) - hl;
    const Signed is_cut = (code ^ next) > 0xffffu;
    allowed = is_cut & (hl >= node.min_weight) & (hr >= node.min_weight);
    const Floats l = __builtin_convertvector(reinterpret_cast<Signed>(gl), Floats);
    const Floats r = __builtin_convertvector(reinterpret_cast<Signed>(gr), Floats);
    const float l2 = static_cast<float>(node.l2);
    const Floats dl = __builtin_convertvector(hl, Floats) + l2;
    const Floats dr = __builtin_convertvector(hr, Floats) + l2;
    above = l * l * dr + r * r * dl;
    below = dl * dr;
  }
};

// One column of a node: cumulative packed sums, and the approximate score of the split after each
// row.
struct OrderedColumn {
  alignas(64) std::int64_t sums[most_ordered + float_lanes];
  alignas(64) float score[most_ordered + float_lanes];

  void add_up(const Ordered* rows, const std::int64_t* words, std::int64_t n) {
    std::int64_t sum = 0;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < n; ++i) sums[i] = sum += words[row_of_ordered(rows[i])];
    for (int i = 0; i < float_lanes; ++i)
      sums[n + i] = 0;  // padding: an empty left side is not a split
  }

  // Whether any split might reach `bar`; needs no division.
  bool reaches(float bar, const Ordered* rows, const OrderedNode& node) const {
    Signed reached = {};
    for (std::int64_t i = node.first; i < node.last; i += float_lanes) {
      const RoughCuts cuts(rows + i, sums + i, node);
      reached |= cuts.allowed & (cuts.above >= bar * cuts.below);
    }
    return any(reached);
  }

  // Store scores, negative where no split is allowed, and return the largest.
  float rate(const Ordered* rows, const OrderedNode& node) {
    const Floats none = Floats{} - 1.0f;
    Floats top = none;
    for (std::int64_t i = node.first; i < node.last; i += float_lanes) {
      const RoughCuts cuts(rows + i, sums + i, node);
      const Floats here = cuts.allowed ? cuts.above / cuts.below : none;
      std::memcpy(score + i, &here, sizeof here);
      top = here > top ? here : top;
    }
    float largest = -1.0f;
    for (int lane = 0; lane < float_lanes; ++lane) largest = std::max(largest, top[lane]);
    return largest;
  }

  // The same operations as `score_split` of the search over cells.
  static Doubles exact_scores(Integers left, const OrderedNode& node) {
    const Doubles gl = to_doubles(left >> 32), hl = to_doubles(left & 0xffffffff);
    const Doubles gr = static_cast<double>(packed_g(node.total)) - gl;
    const Doubles hr = static_cast<double>(packed_h(node.total)) - hl;
    const Doubles dl = hl + node.l2, dr = hr + node.l2;
    return (gl * gl * dr + gr * gr * dl) / (dl * dr);
  }

  // Whether one of the splits after positions begin .. begin + vector_lanes - 1 that reach `enough`
  // beats the best.
  bool improve(std::int64_t begin, float enough, const OrderedNode& node, OrderedCut& best) const {
    const Doubles exact = exact_scores(load(sums + begin), node);
    bool is_better = false;
    if (!any(reinterpret_cast<Integers>(exact > best.score))) return false;
    for (int lane = 0; lane < vector_lanes; ++lane) {
      if (score[begin + lane] < enough || !(exact[lane] > best.score)) continue;
      best = {exact[lane], begin + lane, sums[begin + lane]};
      is_better = true;
    }
    return is_better;
  }
};

// Single-precision scores select the few candidates; these are scored exactly.
bool search_ordered(const Ordered* rows, const std::int64_t* words, const OrderedNode& node,
                    OrderedCut& best) {
  constexpr double nearly = 1.0 - 0x1p-18;
  OrderedColumn column;
  column.add_up(rows, words, node.last);
  const auto bar = static_cast<float>(std::max(best.score * nearly, 0.0));
  if (!column.reaches(bar, rows, node)) return false;
  const float enough = std::max(bar, static_cast<float>(column.rate(rows, node) * nearly));
  bool is_better = false;
  for (std::int64_t i = node.first; i < node.last; i += float_lanes) {
    Floats rated;
    std::memcpy(&rated, column.score + i, sizeof rated);
    if (!any(rated >= enough)) continue;
    for (int half = 0; half < float_lanes; half += vector_lanes)
      is_better |= column.improve(i + half, enough, node, best);
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

// Rows that are not needed are all written to the same location.
void part_ordered(const Ordered* rows, std::int64_t n, const OrderedSides& sides, Ordered* left,
                  Ordered* right) {
  Ordered nowhere;
  const std::int64_t left_step = left != nullptr, right_step = right != nullptr;
  if (!left) left = &nowhere;
  if (!right) right = &nowhere;
  for (std::int64_t i = 0; i < n; ++i) {
    const Row row = row_of_ordered(rows[i]);
    const bool goes_left = (sides.words[row / 32] >> (row % 32) & 1) != 0;
    *(goes_left ? left : right) = rows[i];
    left += goes_left ? left_step : 0;
    right += goes_left ? 0 : right_step;
  }
}
#endif
