// A block of rows that one worker explains: their values, and what the columns are credited with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/memory.hpp"
#include "data/table.hpp"
#include "explain/shap_layout.hpp"
#include "kernels/tree_shap.hpp"

namespace weald::explain {

// Doubles aligned to the widest vectors.
class AlignedDoubles {
 public:
  double* zeros(std::int64_t n) {
    space_.assign(static_cast<std::size_t>(n) + 8, 0.0);
    const auto address = reinterpret_cast<std::uintptr_t>(space_.data());
    data_ = space_.data() + (64 - address % 64) % 64 / sizeof(double);
    return data_;
  }
  double* data() const { return data_; }

 private:
  LargeVector<double> space_;
  double* data_ = nullptr;
};

// Tiles of eight rows: x[tile][slot][8], phi[tile][player][8], pairs[tile][player][player][8].
class ShapBlock {
 public:
  static constexpr int tile_rows = kernels::shap_rows;

  ShapBlock(const ShapColumns& columns, bool has_pairs, std::int64_t scratch)
      : columns_(columns), has_pairs_(has_pairs) {
    levels_.zeros(scratch);
  }

  // The number of tiles of a block: enough to pay for laying out the trees, and few enough to stay
  // in cache.
  static std::int64_t tiles_of(const ShapColumns& columns, bool has_pairs) {
    const auto n_slots = static_cast<std::int64_t>(columns.columns.size());
    const auto n_players = static_cast<std::int64_t>(columns.players.size());
    const std::int64_t numbers = n_slots + n_players * (has_pairs ? n_players + 1 : 1);
    constexpr std::int64_t in_cache = 256 * 1024 / (tile_rows * sizeof(double));
    return std::clamp<std::int64_t>(in_cache / numbers, has_pairs ? 1 : 4, 16);
  }

  // Rows past the last are copies of it, so that they cost no more than others.
  template <class T>
  void fill(const data::Table<T>& table, std::int64_t begin, std::int64_t n) {
    begin_ = begin;
    n_ = n;
    n_tiles_ = (n + tile_rows - 1) / tile_rows;
    double* const x = x_.zeros(n_tiles_ * n_slots() * tile_rows);
    for (std::int64_t i = 0; i < n_tiles_ * tile_rows; ++i) {
      double* const to = x + i / tile_rows * n_slots() * tile_rows + i % tile_rows;
      const std::int64_t row = begin + std::min(i, n - 1);
      for (std::int64_t slot = 0; slot < n_slots(); ++slot)
        to[slot * tile_rows] = static_cast<double>(table.at(row, columns_.columns[slot]));
    }
    phi_.zeros(n_tiles_ * n_players() * tile_rows);
    if (has_pairs_) pairs_.zeros(n_tiles_ * n_players() * n_players() * tile_rows);
  }

  std::int64_t n_tiles() const { return n_tiles_; }
  const double* x(std::int64_t tile) const { return x_.data() + tile * n_slots() * tile_rows; }
  // The arguments of the kernel for one tile.
  kernels::ShapRows rows(std::int64_t tile, const std::uint8_t* sides) const {
    const std::int64_t first = tile * n_players() * tile_rows;
    double* const pairs = has_pairs_ ? pairs_.data() + first * n_players() : nullptr;
    return {x(tile), sides, levels_.data(), phi_.data() + first, pairs, n_players()};
  }

  // Write phi[row][player][output] of all players, or phi[row][player][player][output].
  void give(double* phi, std::int64_t n_all_players, std::int64_t output,
            std::int64_t n_outputs) const {
    for (std::int64_t i = 0; i < n_; ++i) {
      double* const to =
          phi +
          (begin_ + i) * (has_pairs_ ? n_all_players * n_all_players : n_all_players) * n_outputs +
          output;
      for (std::int64_t a = 0; a < n_players(); ++a) {
        if (!has_pairs_) {
          to[columns_.players[a] * n_outputs] = at(i, a);
          continue;
        }
        double rest = at(i, a);
        double* const of_a = to + columns_.players[a] * n_all_players * n_outputs;
        for (std::int64_t b = 0; b < n_players(); ++b) {
          if (b == a) continue;
          const double half = 0.5 * (pair_at(i, std::min(a, b), std::max(a, b)) +
                                     pair_at(i, std::max(a, b), std::min(a, b)));
          of_a[columns_.players[b] * n_outputs] = half;
          rest -= half;
        }
        of_a[columns_.players[a] * n_outputs] = rest;
      }
    }
  }

 private:
  std::int64_t n_slots() const { return static_cast<std::int64_t>(columns_.columns.size()); }
  std::int64_t n_players() const { return static_cast<std::int64_t>(columns_.players.size()); }
  double at(std::int64_t i, std::int64_t player) const {
    return phi_.data()[(i / tile_rows * n_players() + player) * tile_rows + i % tile_rows];
  }
  double pair_at(std::int64_t i, std::int64_t above, std::int64_t below) const {
    const std::int64_t first = i / tile_rows * n_players() * n_players();
    return pairs_.data()[(first + above * n_players() + below) * tile_rows + i % tile_rows];
  }

  const ShapColumns& columns_;
  bool has_pairs_;
  std::int64_t begin_ = 0, n_ = 0, n_tiles_ = 0;
  AlignedDoubles x_, phi_, pairs_, levels_;
};

}  // namespace weald::explain
