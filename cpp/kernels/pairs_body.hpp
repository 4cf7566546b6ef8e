// The kernel of ranking losses, included by body.hpp once per instruction set.
#pragma once

// Eight doubles, as vectors of the machine's width: sums have eight lanes on every machine.
constexpr int pair_parts = 8 / vector_lanes;
struct PairLanes {
  Doubles part[pair_parts] = {};

  double total() const {
    double of[8];
    std::memcpy(of, part, sizeof of);
    return ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
  }
};

[[gnu::always_inline]] inline Doubles doubles_at(const double* from) {
  Doubles read;
  std::memcpy(&read, from, sizeof read);
  return read;
}
[[gnu::always_inline]] inline void add_at(double* to, Doubles more) {
  const Doubles sum = doubles_at(to) + more;
  std::memcpy(to, &sum, sizeof sum);
}
// The sizes of numbers, by clearing their signs.
[[gnu::always_inline]] inline Doubles sizes_of(Doubles x) {
  constexpr std::int64_t all_but_sign = std::numeric_limits<std::int64_t>::max();
  return reinterpret_cast<Doubles>(reinterpret_cast<Integers>(x) & all_but_sign);
}

// Benchmark row `ndcg` (benchmarks/ranking.py). The logistic loss of each pair of row i and a
// row behind it; the last block reaches into the padding.
template <bool counts_pairs, bool damps>
double add_pairs_of(const RankedRows& rows, std::int64_t i, double* gradient, double* hessian) {
  const double gain = rows.gain[i], strength = rows.strength[i];
  const double ahead = counts_pairs ? 0.0 : rows.ahead[i], score = damps ? rows.score[i] : 0.0;
  const Doubles zero = {}, one = zero + 1.0;
  std::fill_n(rows.gain + rows.n, pair_padding, gain);
  PairLanes gradients, hessians, sizes;
  for (std::int64_t block = i + 1; block < rows.n; block += 8) {
    for (int p = 0; p < pair_parts; ++p) {
      const std::int64_t j = block + p * vector_lanes;
      const Doubles gap = gain - doubles_at(rows.gain + j), other = doubles_at(rows.strength + j);
      const Doubles sign = (gap > zero ? one : zero) - (gap < zero ? one : zero);
      const Doubles weight = counts_pairs ? sign : gap * (ahead + doubles_at(rows.behind + j));
      const Doubles damping = damps ? 0.01 + (score - doubles_at(rows.score + j)) : one;
      const Doubles share = one / ((strength + other) * damping);
      const Doubles wrong = gap > zero ? other : strength + zero;  // strength of the lesser gain
      const Doubles slope = weight * (wrong * share);
      const Doubles curvature = sizes_of(weight) * ((strength * share) * (other * share) * damping);
      add_at(gradient + j, slope);
      add_at(hessian + j, curvature);
      gradients.part[p] += slope;
      hessians.part[p] += curvature;
      sizes.part[p] += sizes_of(slope);
    }
  }
  gradient[i] -= gradients.total();
  hessian[i] += hessians.total();
  return sizes.total();
}

double add_pairs(const RankedRows& rows, std::int64_t i, double* gradient, double* hessian) {
  if (rows.counts_pairs) return add_pairs_of<true, false>(rows, i, gradient, hessian);
  return rows.damps ? add_pairs_of<false, true>(rows, i, gradient, hessian)
                    : add_pairs_of<false, false>(rows, i, gradient, hessian);
}
