// Random numbers named by what they are for: a key, and a counter below it.
#pragma once

#include <cstdint>

#include "base/mixing.hpp"

namespace weald {

struct Hash128 {
  std::uint64_t low, high;
};

inline void absorb(Hash128& hash, std::uint64_t word) {
  hash.low = mix(hash.low ^ word) + word_step;
  hash.high = mix(hash.high + (word * 0xc2b2ae3d27d4eb4fULL)) ^ hash.low;
}

// Names one random number per row: the user's seed, the member it is for, and what it decides.
struct DrawKey {
  std::uint64_t seed, member, purpose;

  std::uint64_t operator()(const Hash128& row) const {
    Hash128 state{row.low, row.high};
    absorb(state, seed);
    absorb(state, member);
    absorb(state, purpose);
    return mix(state.high ^ mix(state.low));
  }
};

// What a member draws; each purpose has its own random numbers (weald.resampling.Purpose).
enum class Purpose : std::uint64_t { bootstrap = 3, columns = 4, rotation = 5, paste = 20 };

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  Draws(std::uint64_t seed, std::uint64_t member, Purpose purpose)
      : key_(DrawKey{seed, member, static_cast<std::uint64_t>(purpose)}({0, 0})) {}

  std::uint64_t key() const { return key_; }
  std::uint64_t word(std::uint64_t i) const { return random_word(key_, i); }
  // A whole number below n, and a float in [0, 1).
  std::uint64_t below(std::uint64_t i, std::uint64_t n) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(word(i)) * n) >> 64);
  }
  double unit(std::uint64_t i) const {
    return static_cast<double>(word(i) >> 11) * (1.0 / 9007199254740992.0);
  }
  // The draws of a child: a node is named by its path from the root.
  Draws child(bool is_right) const {
    return Draws(mix(key_ ^ (is_right ? 0xc2b2ae3d27d4eb4fULL : 0x165667b19e3779f9ULL)));
  }

 private:
  std::uint64_t key_;
};

}  // namespace weald
