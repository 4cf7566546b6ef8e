// Counter-based random numbers: a hash of (seed, base estimator, purpose) and a counter or row key.
#pragma once

#include <cstdint>

#include "base/mixing.hpp"

namespace weald {

struct Hash128 {
  std::uint64_t low, high;
};

// The two words of one hash, or of several hashes in vectors. Always inlined, like `mix`.
template <class Words>
[[gnu::always_inline]] inline void absorb(Words& low, Words& high, std::uint64_t word) {
  low = mix(low ^ word) + word_step;
  high = mix(high + (word * hash_factor)) ^ low;
}
inline void absorb(Hash128& hash, std::uint64_t word) { absorb(hash.low, hash.high, word); }

// One random number per row, keyed by the user's seed, the base estimator and the purpose.
struct DrawKey {
  std::uint64_t seed, member, purpose;

  std::uint64_t operator()(const Hash128& row) const { return of(row.low, row.high); }
  // Of the words of several rows.
  template <class Words>
  [[gnu::always_inline]] Words of(Words low, Words high) const {
    absorb(low, high, seed);
    absorb(low, high, member);
    absorb(low, high, purpose);
    return mix(high ^ mix(low));
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
