// Extracts bits of rows' words as codes. Part of body.hpp, which includes it inside its namespace.

// pext is one instruction on all AVX-512 machines, but very slow on some AVX2 ones.
#ifdef __AVX512F__
void bit_codes(const std::uint64_t* words, const Row* rows, std::int64_t n, const int* shifts,
               int m, std::uint8_t* codes) {
  std::uint64_t mask = 0;
  for (int j = 0; j < m; ++j) mask |= std::uint64_t{1} << shifts[j];
  for (std::int64_t i = 0; i < n; ++i)
    codes[i] = static_cast<std::uint8_t>(_pext_u64(words[rows[i]], mask));
}
#else
template <int m>
void bit_codes_of(const std::uint64_t* words, const Row* rows, std::int64_t n, const int* shifts,
                  std::uint8_t* codes) {
  constexpr std::int64_t block = 64;
  std::uint64_t near[block];
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t size = std::min(block, n - begin);
    for (std::int64_t i = 0; i < size; ++i) near[i] = words[rows[begin + i]];
    for (std::int64_t i = 0; i < size; ++i) {
      std::uint64_t code = 0;
      for (int j = 0; j < m; ++j) code |= (near[i] >> shifts[j] & 1) << j;
      near[i] = code;
    }
    for (std::int64_t i = 0; i < size; ++i) codes[begin + i] = static_cast<std::uint8_t>(near[i]);
  }
}

void bit_codes(const std::uint64_t* words, const Row* rows, std::int64_t n, const int* shifts,
               int m, std::uint8_t* codes) {
  [&]<int... k>(std::integer_sequence<int, k...>) {
    ((k + 1 == m ? bit_codes_of<k + 1>(words, rows, n, shifts, codes) : void()), ...);
  }(std::make_integer_sequence<int, most_code_bits>());
}
#endif
