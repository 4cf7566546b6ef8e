// Class counts packed into a few 64-bit words.
#pragma once

#include <array>
#include <cstdint>

namespace weald::forest {

// Every class has a fixed bit field in one of the words, so that the counts of all classes are
// added with one addition per word.
template <int W>
struct ClassCounts {
  static constexpr int n_words = W;
  std::array<std::uint64_t, n_words> words{};

  ClassCounts& operator+=(const ClassCounts& other) {
    for (int w = 0; w < n_words; ++w) words[w] += other.words[w];
    return *this;
  }
  ClassCounts& operator-=(const ClassCounts& other) {
    for (int w = 0; w < n_words; ++w) words[w] -= other.words[w];
    return *this;
  }
};

// The word and bit field of each class.
template <int n_words>
class ClassLayout {
 public:
  using Counts = ClassCounts<n_words>;

  explicit ClassLayout(int n_classes)
      : n_in_word_((n_classes + n_words - 1) / n_words),
        width_(n_in_word_ < 4 ? most_width : 64 / n_in_word_) {}

  // The largest total that fits a field.
  std::int64_t most_copies() const { return (std::int64_t{1} << width_) - 1; }

  int word_of(int k) const { return n_words == 1 ? 0 : k / n_in_word_; }
  int shift_of(int k) const { return (n_words == 1 ? k : k % n_in_word_) * width_; }
  std::int64_t count(const Counts& counts, int word, int shift) const {
    return static_cast<std::int64_t>(counts.words[word] >> shift) & most_copies();
  }
  Counts of_row(int k, std::int64_t copies) const {
    Counts counts;
    counts.words[word_of(k)] = static_cast<std::uint64_t>(copies) << shift_of(k);
    return counts;
  }
  // Calls visit(k, count) for all classes in order.
  template <class Visit>
  void each(const Counts& counts, int n_classes, Visit&& visit) const {
    const auto mask = static_cast<std::uint64_t>(most_copies());
    for (int w = 0, k = 0; w < n_words; ++w) {
      std::uint64_t word = counts.words[w];
      for (int i = 0; i < n_in_word_ && k < n_classes; ++i, ++k, word >>= width_)
        visit(k, static_cast<std::int64_t>(word & mask));
    }
  }

 private:
  static constexpr int most_width = 16;
  int n_in_word_, width_;
};

}  // namespace weald::forest
