// The search among the rows of a small table in the order of a column. Part of body.hpp, which
// includes it inside its namespace.

typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef std::int32_t Signed __attribute__((vector_size(vector_bytes)));
typedef std::uint32_t Unsigned __attribute__((vector_size(vector_bytes)));
constexpr int float_lanes = vector_bytes / 4;

// The sums of g and of h before each cut of a column, and roughly what the cut scores.
struct OrderedColumn {
  alignas(64) std::uint32_t g[most_ordered + float_lanes];  // signed, as they wrap
  alignas(64) std::uint32_t h[most_ordered + float_lanes];  // 0: there is no cut
  alignas(64) float score[most_ordered + float_lanes];

  void add_up(const Ordered* rows, const std::int64_t* words, const OrderedNode& node) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < node.first; ++i)
      sum += static_cast<std::uint64_t>(words[row_of_ordered(rows[i])]);
    const std::int64_t n = node.last - node.first;
    Ordered next = rows[node.first];
    for (std::int64_t i = 0; i < n; ++i) {
      const Ordered here = next;
      next = rows[node.first + i + 1];
      sum += static_cast<std::uint64_t>(words[row_of_ordered(here)]);
      const bool is_cut = (here ^ next) > 0xffff;
      g[i] = static_cast<std::uint32_t>(sum >> 32);
      h[i] = static_cast<std::uint32_t>(sum) & -static_cast<std::uint32_t>(is_cut);
    }
    for (int i = 0; i < float_lanes; ++i) g[n + i] = h[n + i] = 0;
  }

  // Returns the largest; a cut that is not allowed has less than 0. Sums are exact integers, and
  // nothing is subtracted once they are rounded: 16 roundings of 2^-24 make an error below 2^-20.
  float rate(const OrderedNode& node) {
    const auto total_g = static_cast<std::uint32_t>(packed_g(node.total));
    const auto total_h = static_cast<std::uint32_t>(packed_h(node.total));
    const float l2 = static_cast<float>(node.l2);
    const Floats none = Floats{} - 1.0f;
    Floats top = none;
    for (std::int64_t i = 0; i < node.last - node.first; i += float_lanes) {
      Unsigned gl, hl;
      std::memcpy(&gl, g + i, sizeof gl);
      std::memcpy(&hl, h + i, sizeof hl);
      const Unsigned gr = total_g - gl, hr = total_h - hl;
      const Signed allowed = (hl >= node.min_weight) & (hr >= node.min_weight);
      const Floats l = __builtin_convertvector(reinterpret_cast<Signed>(gl), Floats);
      const Floats r = __builtin_convertvector(reinterpret_cast<Signed>(gr), Floats);
      const Floats dl = __builtin_convertvector(hl, Floats) + l2;
      const Floats dr = __builtin_convertvector(hr, Floats) + l2;
      const Floats rated = (l * l * dr + r * r * dl) / (dl * dr);
      const Floats here = allowed ? rated : none;
      std::memcpy(score + i, &here, sizeof here);
      top = here > top ? here : top;
    }
    float largest = -1.0f;
    for (int lane = 0; lane < float_lanes; ++lane) largest = std::max(largest, top[lane]);
    return largest;
  }

  // As `judge` of the search over cells has it, operation by operation.
  double exact_score(std::int64_t i, const OrderedNode& node) const {
    const auto gl = static_cast<double>(static_cast<std::int32_t>(g[i]));
    const auto hl = static_cast<double>(h[i]);
    const double gr = static_cast<double>(packed_g(node.total)) - gl;
    const double hr = static_cast<double>(packed_h(node.total)) - hl;
    const double dl = hl + node.l2, dr = hr + node.l2;
    return (gl * gl * dr + gr * gr * dl) / (dl * dr);
  }
};

// Scores in single precision say which cuts might be the best: few. These are judged exactly.
bool search_ordered(const Ordered* rows, const std::int64_t* words, const OrderedNode& node,
                    OrderedCut& best) {
  constexpr double nearly = 1.0 - 0x1p-18;
  OrderedColumn column;
  column.add_up(rows, words, node);
  const double top = column.rate(node);
  if (top < 0.0 || top < best.score * nearly) return false;
  const auto enough = static_cast<float>(std::max(top, best.score) * nearly);
  bool is_better = false;
  for (std::int64_t i = 0; i < node.last - node.first; ++i) {
    if (column.score[i] < enough) continue;
    const double score = column.exact_score(i, node);
    if (!(score > best.score)) continue;
    const auto g = static_cast<std::int32_t>(column.g[i]);
    best = {score, node.first + i, pack(g, column.h[i])};
    is_better = true;
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

// The bits of sixteen rows at once: all 1024 lie in two vectors.
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
    const __m512i word = _mm512_maskz_srli_epi32(some, sixteen, 5);  // its lowest bits count
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

// Rows that are not wanted all go to the same place.
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
