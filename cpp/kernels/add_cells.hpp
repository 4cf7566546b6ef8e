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

// Rows and cells of one group of eight columns.
struct GroupRows {
  const Code* codes;
  std::int64_t stride;
  int n_lanes;
  const std::int64_t* values;
  const Row* rows;  // null: consecutive ones
  std::int64_t begin, n;
  bool prefetches;

  std::int64_t row(std::int64_t i) const { return rows ? std::int64_t{rows[i]} : begin + i; }
};

// Scattered rows are requested so many ahead.
constexpr std::int64_t rows_ahead = 16;

template <int size, int n_lanes>
void add_rows_of(const GroupRows& of, std::int64_t* cells) {
  const GroupRows from = of;  // a copy: cells might alias the original
  for (std::int64_t i = 0; i < from.n; ++i) {
    if (from.prefetches && i + rows_ahead < from.n) {
      const std::int64_t next = from.row(i + rows_ahead);
      __builtin_prefetch(from.codes + next * from.stride);
      __builtin_prefetch(from.values + next * size);
    }
    const std::int64_t row = from.row(i);
    std::uint64_t eight;
    std::memcpy(&eight, from.codes + row * from.stride, lanes);
    const RowWords<size> words(from.values + row * size);
#pragma GCC unroll 8
    for (int lane = 0; lane < n_lanes; ++lane)
      words.add_to(cells + ((eight >> (8 * lane) & 0xff) * lanes + lane) * size);
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

template <int size>
void add_rows_by_lanes(const GroupRows& from, std::int64_t* cells) {
  [&]<int... below>(std::integer_sequence<int, below...>) {
    ((from.n_lanes == below + 1 ? add_rows_of<size, below + 1>(from, cells) : void()), ...);
  }(std::make_integer_sequence<int, lanes>{});
}

void add_cells(const Codes& codes, int group, const std::int64_t* values, int cell_size,
               const Row* rows, std::int64_t begin, std::int64_t n, std::int64_t* cells) {
  // As in add_packed: not if the table fits the second-level cache.
  const bool prefetches = rows && codes.n_rows * (codes.stride(group) + 8 * cell_size) > (1 << 19);
  const GroupRows from{codes.group(group), codes.stride(group), codes.lanes_of(group), values,
                       rows,               begin,               n,                     prefetches};
  switch (cell_size) {
    case 2: return add_rows_by_lanes<2>(from, cells);
    case 3: return add_rows_by_lanes<3>(from, cells);
    case 4: return add_rows_by_lanes<4>(from, cells);
    case 6: return add_rows_by_lanes<6>(from, cells);
    default: return add_rows_of_any(from, cell_size, cells);
  }
}
