// Counter-based random numbers: a hash of (seed, base estimator, purpose) and a counter or row key.
#pragma once

#include <cstdint>

#include "base/mixing.hpp"

namespace weald {

struct Hash128 {
  std::uint64_t low, high;
};

// Always inlined, like `mix`, as kernels draw rows.
[[gnu::always_inline]] inline void absorb(Hash128& hash, std::uint64_t word) {
  hash.low = mix(hash.low ^ word) + word_step;
  hash.high = mix(hash.high + (word * hash_factor)) ^ hash.low;
}

// One random number per row, keyed by the user's seed, the base estimator and the purpose.
struct DrawKey {
  std::uint64_t seed, member, purpose;

  [[gnu::always_inline]] std::uint64_t operator()(const Hash128& row) const {
    Hash128 state{row.low, row.high};
    absorb(state, seed);
    absorb(state, member);
    absorb(state, purpose);
    return mix(state.high ^ mix(state.low));
  }
};

// Each purpose has its own random stream (weald.resampling.Purpose).
enum class Purpose : std::uint64_t { bootstrap = 3, columns = 4, rotation = 5, paste = 20 };

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  Draws(std::uint64_t seed, std::uint64_t member, Purpose purpose)
      : key_(DrawKey{seed, member, static_cast<std::uint64_t>(purpose)}({0, 0})) {}

  std::uint64_t key() const { return key_; }
  std::uint64_t word(std::uint64_t i) const { return random_word(key_, i); }
  // An integer in [0, n), and a double in [0, 1).
  std::uint64_t below(std::uint64_t i, std::uint64_t n) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(word(i)) * n) >> 64);
  }
  double unit(std::uint64_t i) const {
    return static_cast<double>(word(i) >> uniform_shift) * uniform_step;
  }
  // The stream of a child node: a node is identified by its path from the root.
  Draws child(bool is_right) const {
    return Draws(mix(key_ ^ (is_right ? hash_factor : 0x165667b19e3779f9ULL)));
  }

 private:
  std::uint64_t key_;
};

}  // namespace weald
