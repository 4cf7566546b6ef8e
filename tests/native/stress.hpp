// What the stress programs share: checks that are counted, and numbers that look random.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

inline int failed = 0;

inline void check(bool ok, const std::string& what) {
  failed += ok ? 0 : 1;
  if (!ok) std::printf("FAILED: %s\n", what.c_str());
}

inline std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  return x ^ (x >> 16);
}
