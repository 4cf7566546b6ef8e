// Mean of a category with pseudo-rows added, written once for scalars and for vectors.
#pragma once

namespace weald::kernels {

// Mean of a level after adding `smooth` weight at the centre; 0 without any weight. Always inlined:
// sources compiled for different instruction sets must not share one definition.
template <class Numbers>
[[gnu::always_inline]] inline Numbers smoothed_mean(Numbers sum, Numbers weight, double smooth,
                                                    double centre) {
  const Numbers whole = weight + smooth;
  const Numbers mean = (sum + smooth * centre) / whole;
  return whole > 0.0 ? mean : Numbers{};
}

}  // namespace weald::kernels
