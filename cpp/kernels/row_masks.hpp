// Prediction of 64 rows at a time by bit masks. Part of body.hpp, which includes it inside its
// namespace.

// Bit masks of the 64 rows at a node, and the leaf of each row.
typedef Code Bytes __attribute__((vector_size(vector_bytes)));
constexpr int mask_parts = mask_rows / vector_bytes;

#ifdef __AVX512BW__
// The bytes of a table of sixteen at these places.
[[gnu::always_inline]] inline Bytes entries_of(const std::uint64_t* sixteen, Bytes places) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
  const __m512i four = _mm512_maskz_broadcast_i32x4(0xffff, table);  // g++ 12 warns of the other
  return reinterpret_cast<Bytes>(_mm512_shuffle_epi8(four, reinterpret_cast<__m512i>(places)));
}
#elif defined(__AVX2__)
[[gnu::always_inline]] inline Bytes entries_of(const std::uint64_t* sixteen, Bytes places) {
  const __m128i table = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sixteen));
  return reinterpret_cast<Bytes>(
      _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), reinterpret_cast<__m256i>(places)));
}
#endif

#ifdef __AVX2__
// Whether codes are in a set: 0 or 255 each.
[[gnu::always_inline]] inline Bytes is_in(Bytes code, const CodeSet& set) {
  typedef signed char SignedBytes __attribute__((vector_size(vector_bytes)));
  const Bytes half = code >> 3 & 15, low = entries_of(set.words, half),
              high = entries_of(set.words + 2, half);
  const Bytes byte = reinterpret_cast<SignedBytes>(code) < 0 ? high : low;
  static constexpr std::uint64_t powers[2] = {0x8040201008040201, 0x8040201008040201};
  const Bytes bit = entries_of(powers, code & 7);
  return reinterpret_cast<Bytes>((byte & bit) == bit);
}
#else
inline Bytes is_in(Bytes codes, const CodeSet& set) {
  Code sides[vector_bytes];
  std::memcpy(sides, &codes, sizeof sides);
  for (Code& one : sides) one = static_cast<Code>(-(set.words[one >> 6] >> (one & 63) & 1));
  std::memcpy(&codes, sides, sizeof sides);
  return codes;
}
#endif

struct RowMask {
  Bytes part[mask_parts];
};
inline RowMask all_rows() {
  RowMask mask;
  for (auto& one : mask.part) one = ~Bytes{};
  return mask;
}
[[gnu::always_inline]] inline RowMask goes_left(const Code* codes, const MaskNode& node) {
  RowMask mask;
  for (int p = 0; p < mask_parts; ++p) {
    Bytes code;
    std::memcpy(&code, codes + p * vector_bytes, sizeof code);
    mask.part[p] = reinterpret_cast<Bytes>(code - node.offset <= node.limit - Bytes{});
  }
  return mask;
}
[[gnu::always_inline]] inline RowMask goes_left(const Code* codes, const CodeSet& set) {
  RowMask mask;
  for (int p = 0; p < mask_parts; ++p) {
    Bytes part;
    std::memcpy(&part, codes + p * vector_bytes, sizeof part);
    mask.part[p] = is_in(part, set);
  }
  return mask;
}
[[gnu::always_inline]] inline RowMask goes_left(const Code* codes, const MaskNode& node,
                                                const CodeSet* sets) {
  const Code* const its_codes = codes + std::int64_t{node.slot} * mask_rows;
  return node.set < 0 ? goes_left(its_codes, node) : goes_left(its_codes, sets[node.set]);
}
[[gnu::always_inline]] inline RowMask both(const RowMask& a, const RowMask& b) {
  RowMask mask;
  for (int p = 0; p < mask_parts; ++p) mask.part[p] = a.part[p] & b.part[p];
  return mask;
}
[[gnu::always_inline]] inline RowMask without(const RowMask& a, const RowMask& b) {
  RowMask mask;
  for (int p = 0; p < mask_parts; ++p) mask.part[p] = a.part[p] & ~b.part[p];
  return mask;
}

using LeafOfRow = std::uint16_t[mask_rows];

// One byte for each of the 64 rows.
struct RowBytes {
  Bytes part[mask_parts] = {};
  Code of_row(int row) const { return reinterpret_cast<const Code*>(part)[row]; }
};

// Every node is evaluated for all 64 rows. The right child's mask is stored in `came` until its
// turn; the left child's is used next.
inline void find_leaves_by_node(const MaskTree& tree, const Code* codes, RowMask* came,
                                LeafOfRow leaf_of) {
  RowBytes leaves;
  RowMask here = all_rows();
  for (int i = 0; i < tree.n_nodes; ++i) {
    const MaskNode& node = tree.nodes[i];
    if (node.slot < 0) {
      for (int p = 0; p < mask_parts; ++p) leaves.part[p] |= here.part[p] & node.limit;
      here = came[i + 1];
      continue;
    }
    const RowMask left = goes_left(codes, node, tree.sets);
    came[node.right] = without(here, left);
    here = both(here, left);
  }
  for (int row = 0; row < mask_rows; ++row) leaf_of[row] = leaves.of_row(row);
}

// A leaf's number is one bit per level, 1 if the row goes right; the first level's is the highest.
inline void find_leaves_by_level(const MaskTree& tree, const Code* codes, LeafOfRow leaf_of) {
  RowBytes high, low;
  for (int level = 0; level < tree.n_nodes; ++level) {
    const RowMask left = goes_left(codes, tree.nodes[level], tree.sets);
    for (int p = 0; p < mask_parts; ++p) {
      high.part[p] += high.part[p] + (low.part[p] >> 7);
      low.part[p] += low.part[p] + (left.part[p] + 1);
    }
  }
  for (int row = 0; row < mask_rows; ++row)
    leaf_of[row] = static_cast<std::uint16_t>(high.of_row(row) << 8 | low.of_row(row));
}

// Adds the values of trees of one output, tree after tree, to sums[row][value]. Four trees at once
// save loads and stores of the sums: models of 1,000 symmetric trees take 0.6 of the time.
constexpr int trees_at_once = 4;
template <int known_values>
void add_values(const MaskTree* trees, int n_trees, int any_values, const LeafOfRow* leaf_of,
                double* sums) {
  const int n_values = known_values > 0 ? known_values : any_values;
  const auto value = [&](int tree, int row, int k) {
    return trees[tree].values[std::int64_t{leaf_of[tree][row]} * n_values + k];
  };
  if (n_trees == trees_at_once) {
#pragma GCC unroll 8
    for (int row = 0; row < mask_rows; ++row)
      for (int k = 0; k < n_values; ++k) {
        double& sum = sums[row * n_values + k];
        sum = sum + value(0, row, k) + value(1, row, k) + value(2, row, k) + value(3, row, k);
      }
    return;
  }
  for (int tree = 0; tree < n_trees; ++tree)
    for (int row = 0; row < mask_rows; ++row)
      for (int k = 0; k < n_values; ++k) sums[row * n_values + k] += value(tree, row, k);
}

// By the number of values, so that loops over a few values are unrolled.
using AddValues = void (*)(const MaskTree*, int, int, const LeafOfRow*, double*);
constexpr AddValues add_values_of[] = {add_values<0>, add_values<1>, add_values<2>,
                                       add_values<3>, add_values<4>, add_values<5>,
                                       add_values<6>, add_values<7>, add_values<8>};

void add_trees(const MaskTree* trees, std::int64_t n_trees, int n_values, const Code* codes,
               double* sums) {
  const AddValues add = add_values_of[n_values < std::ssize(add_values_of) ? n_values : 0];
  RowMask came[2 * max_mask_leaves];
  alignas(64) LeafOfRow leaf_of[trees_at_once];
  for (std::int64_t t = 0; t < n_trees;) {
    const MaskTree* const first = trees + t;
    int n = 0;
    for (; n < trees_at_once && t < n_trees && trees[t].output == first->output; ++n, ++t)
      trees[t].is_symmetric ? find_leaves_by_level(trees[t], codes, leaf_of[n])
                            : find_leaves_by_node(trees[t], codes, came, leaf_of[n]);
    add(first, n, n_values, leaf_of, sums + std::int64_t{first->output} * mask_rows);
  }
}
