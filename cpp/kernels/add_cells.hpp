// Counting rows in cells of several words. Part of body.hpp, which includes it inside its
// namespace.

// Adds the words of a row to a cell, `size` of them known to the compiler: as many as fit one
// vector, then the others.
template <int size>
struct RowWords {
  static constexpr int here = size >= 8   ? std::min(8, vector_lanes)
                              : size >= 4 ? std::min(4, vector_lanes)
                              : size >= 2 ? 2
                                          : 1;
  typedef std::int64_t Some __attribute__((vector_size(here * 8)));
  Some words;
  RowWords<size - here> others;

  [[gnu::always_inline]] explicit RowWords(const std::int64_t* from) : others(from + here) {
    std::memcpy(&words, from, sizeof words);
  }
  [[gnu::always_inline]] void add_to(std::int64_t* cell) const {
    Some sum;
    std::memcpy(&sum, cell, sizeof sum);
    sum += words;
    std::memcpy(cell, &sum, sizeof sum);
    others.add_to(cell + here);
  }
};
template <>
struct RowWords<0> {
  [[gnu::always_inline]] explicit RowWords(const std::int64_t*) {}
  [[gnu::always_inline]] void add_to(std::int64_t*) const {}
};

// Rows of one group of eight columns.
struct GroupRows {
  const Code* codes;
  std::int64_t stride;
  int n_lanes;
  const std::int64_t* values;
  const Row* rows = nullptr;  // null: consecutive ones
  std::int64_t begin = 0, n = 0;

  std::int64_t row(std::int64_t i) const { return rows ? std::int64_t{rows[i]} : begin + i; }
};

// Eight cells of one bin take 64 * size bytes: as in add_group, where a rotation does both.
template <int size>
[[gnu::always_inline]] inline std::uint64_t bin_offset(std::uint64_t eight, int lane) {
  if constexpr (std::has_single_bit(static_cast<unsigned>(size))) {
    constexpr int shift = std::countr_zero(64u * size);
    return std::rotr(eight, 8 * lane - shift) & (std::uint64_t{0xff} << shift);
  } else {
    return (eight >> (8 * lane) & 0xff) * (64 * size);
  }
}

template <int size, int n_lanes>
void add_rows_of(const GroupRows& of, std::int64_t* cells) {
  const GroupRows from = of;  // a copy: cells might alias the original
  char* const base = reinterpret_cast<char*>(cells);
  for (std::int64_t i = 0; i < from.n; ++i) {
    const std::int64_t row = from.row(i);
    std::uint64_t eight;
    std::memcpy(&eight, from.codes + row * from.stride, lanes);
    const RowWords<size> words(from.values + row * size);
#pragma GCC unroll 8
    for (int lane = 0; lane < n_lanes; ++lane)
      words.add_to(reinterpret_cast<std::int64_t*>(base + bin_offset<size>(eight, lane)) +
                   lane * size);
  }
}

// Cells of any size.
void add_rows_of_any(const GroupRows& from, int size, std::int64_t* cells) {
  for (std::int64_t i = 0; i < from.n; ++i) {
    const std::int64_t row = from.row(i);
    const Code* const code = from.codes + row * from.stride;
    const std::int64_t* const value = from.values + row * size;
    for (int lane = 0; lane < from.n_lanes; ++lane) {
      std::int64_t* const cell = cells + (std::int64_t{code[lane]} * lanes + lane) * size;
      int c = 0;
      for (; c + 4 <= size; c += 4) RowWords<4>(value + c).add_to(cell + c);
      for (; c < size; ++c) cell[c] += value[c];
    }
  }
}

// The values of some rows, one after another.
template <int size>
void gather_values(const std::int64_t* values, const Row* rows, std::int64_t n,
                   std::int64_t* gathered) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(gathered + i * size, values + std::int64_t{rows[i]} * size, size * 8);
}

using GatherValues = void (*)(const std::int64_t*, const Row*, std::int64_t, std::int64_t*);
// Up to so many integers a cell; larger values of scattered rows are read where they are.
constexpr int most_gathered = 8;
constexpr GatherValues gather_values_of[most_gathered + 1] = {
    nullptr,          gather_values<1>, gather_values<2>, gather_values<3>, gather_values<4>,
    gather_values<5>, gather_values<6>, gather_values<7>, gather_values<8>};

template <int size>
void add_rows_by_lanes(const GroupRows& from, std::int64_t* cells) {
  [&]<int... below>(std::integer_sequence<int, below...>) {
    ((from.n_lanes == below + 1 ? add_rows_of<size, below + 1>(from, cells) : void()), ...);
  }(std::make_integer_sequence<int, lanes>{});
}

void add_rows_by_size(const GroupRows& from, int size, std::int64_t* cells) {
  const auto add = size == 2   ? add_rows_by_lanes<2>
                   : size == 3 ? add_rows_by_lanes<3>
                   : size == 4 ? add_rows_by_lanes<4>
                   : size == 6 ? add_rows_by_lanes<6>
                               : nullptr;
  add ? add(from, cells) : add_rows_of_any(from, size, cells);
}

// A block of rows at a time is added to all groups of a tile while it is near; scattered rows are
// gathered for that.
constexpr std::int64_t block_rows = 256;

void add_cells(const Codes& codes, int first, int last, const std::int64_t* values, int cell_size,
               const Row* rows, std::int64_t begin, std::int64_t n,
               std::int64_t* const* group_cells) {
  alignas(64) Code near_codes[block_rows * tile];
  alignas(64) std::int64_t near_values[block_rows * most_gathered];
  const std::int64_t stride = codes.stride(first), near_stride = (last - first) * lanes;
  const bool gathers = rows && last - first > 1 && cell_size <= most_gathered;
  for (std::int64_t at = 0; at < n; at += block_rows) {
    const std::int64_t size = std::min(block_rows, n - at);
    if (gathers) {
      collect_of[last - first](codes.group(first), stride, nullptr, rows + at, size, near_codes,
                               nullptr);
      gather_values_of[cell_size](values, rows + at, size, near_values);
    }
    for (int g = first; g < last; ++g) {
      GroupRows from{codes.group(g), stride, codes.lanes_of(g), values, nullptr, begin + at, size};
      if (gathers)
        from = {near_codes + (g - first) * lanes, near_stride, from.n_lanes, near_values};
      else if (rows)
        from.rows = rows + at;
      from.n = size;
      add_rows_by_size(from, cell_size, group_cells[g - first]);
    }
  }
}
