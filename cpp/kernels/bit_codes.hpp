// A few bits of rows' words as codes; compiled once per instruction set, as kernels.hpp says.
#pragma once

#include <cstdint>

#include "shared.hpp"

namespace weald {

constexpr int most_code_bits = 7;

// codes[i]: the bits of words[rows[i]] at the m rising shifts, the first lowest.
using BitCodes = void (*)(const std::uint64_t* words, const Row* rows, std::int64_t n,
                          const int* shifts, int m, std::uint8_t* codes);

// Of the instruction set that kernels() has.
BitCodes bit_codes();

}  // namespace weald
