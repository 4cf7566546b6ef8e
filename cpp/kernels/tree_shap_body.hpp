// Shapley values of the rows of one tree. Part of body.hpp, which includes it inside its namespace.

typedef double RowLanes __attribute__((vector_size(vector_bytes), may_alias));
typedef std::int64_t RowMasks __attribute__((vector_size(vector_bytes), may_alias));

[[gnu::always_inline]] inline RowLanes chosen(RowMasks mask, RowLanes a, RowLanes b) {
#ifdef __AVX2__
  return mask ? a : b;
#else  // tests the sign of 64 bits by several instructions
  return reinterpret_cast<RowLanes>((reinterpret_cast<RowMasks>(a) & mask) |
                                    (reinterpret_cast<RowMasks>(b) & ~mask));
#endif
}

// Traverses a tree for as many rows as there are lanes, with `fixed` points of the quadrature or,
// if 0, as many as the tree says.
template <int fixed, bool has_pairs>
class ShapWalk {
 public:
  ShapWalk(const ShapTree& tree, const ShapRows& rows, int first_lane)
      : tree_(tree),
        rows_(rows),
        first_lane_(first_lane),
        levels_(reinterpret_cast<RowLanes*>(rows.scratch)),
        terms_(levels_ + n()) {
    levels_ = terms_ + n();
  }

  [[gnu::always_inline]] void run() {
    RowLanes held[fixed > 0 ? fixed : 1];
    // Sum over the leaves of the subtree that was left last; in registers if it is small.
    RowLanes* const sum = fixed > 0 ? held : reinterpret_cast<RowLanes*>(rows_.scratch);
    for (int q = 0; q < n(); ++q) came(0)[q] = tree_.point_weights[q] - RowLanes{};
    std::int64_t depth = 0;
    for (std::int64_t i = 0; i < tree_.n_steps; ++i) {
      const ShapStep* done = tree_.steps + i;
      if (!done->left_is_leaf || !done->right_is_leaf) {
        done->above < 0 ? enter<true>(*done, depth) : enter<false>(*done, depth);
        step_at(depth++) = i;
        continue;
      }
      done->above < 0 ? visit_twig<true>(*done, depth, sum) : visit_twig<false>(*done, depth, sum);
      while (depth > 0) {
        const ShapStep& parent = tree_.steps[step_at(depth - 1)];
        if (!done->is_right && !parent.right_is_leaf) {
          turn_right(parent, depth - 1, sum);
          break;
        }
        leave(parent, *done, --depth, sum);
        done = &parent;
      }
    }
  }

 private:
  // ---- a level of the scratch space for each depth ----

  [[gnu::always_inline]] int n() const { return fixed > 0 ? fixed : tree_.n_points; }
  // Product of the factors of all splits above, at each point of the quadrature.
  [[gnu::always_inline]] RowLanes* came(std::int64_t depth) const {
    return levels_ + depth * ((has_pairs ? 4 : 3) * n() + 3);
  }
  // Factor of the left child; that of the right one is the difference to 1.
  [[gnu::always_inline]] RowLanes* goes_left(std::int64_t depth) const { return came(depth) + n(); }
  // Sum over the leaves of the left child, once it has been left.
  [[gnu::always_inline]] RowLanes* left_sum(std::int64_t depth) const {
    return came(depth) + 2 * n();
  }
  // Contribution of the split per difference of its children.
  [[gnu::always_inline]] RowLanes& edge(std::int64_t depth) const { return came(depth)[3 * n()]; }
  // Rows that meet all conditions on its player, down to the child that is visited.
  [[gnu::always_inline]] RowMasks& meets(std::int64_t depth) const {
    return reinterpret_cast<RowMasks&>(came(depth)[3 * n() + 1]);
  }
  [[gnu::always_inline]] std::int64_t& step_at(std::int64_t depth) const {
    return *reinterpret_cast<std::int64_t*>(came(depth) + 3 * n() + 2);
  }
  // For interactions: whether a split of the same player lies between this one and the current one.
  [[gnu::always_inline]] std::int64_t& is_hidden(std::int64_t depth) const {
    return (&step_at(depth))[1];
  }
  // For interactions: (met - share) / factor of the child that is visited.
  [[gnu::always_inline]] RowLanes* coefficient(std::int64_t depth) const {
    return came(depth) + 3 * n() + 3;
  }

  // ---- steps ----

  [[gnu::always_inline]] RowMasks rows_left(const ShapStep& step) const {
    if (step.side >= 0) {
      RowMasks left;
      for (int lane = 0; lane < vector_lanes; ++lane)
        left[lane] = -std::int64_t{rows_.sides[step.side] >> (first_lane_ + lane) & 1};
      return left;
    }
    const RowLanes x = *reinterpret_cast<const RowLanes*>(
        rows_.x + std::int64_t{step.slot} * shap_rows + first_lane_);
    const RowMasks missing = RowMasks{} - std::int64_t{step.missing_left};
    return (x <= step.threshold) | ((x != x) & missing);
  }

  // The factor of the left child; `before` are the rows that meet the conditions above.
  template <bool is_first>
  struct Factors {
    const double *if_right, *if_left;
    RowMasks left, before;
    RowLanes share, edge;

    [[gnu::always_inline]] RowLanes operator()(int q) const {
      const RowLanes one = chosen(left, if_left[q] - RowLanes{}, if_right[q] - RowLanes{});
      return is_first ? one : chosen(before, one, share);
    }
  };

  template <bool is_first>
  [[gnu::always_inline]] Factors<is_first> factors_of(const ShapStep& step) const {
    Factors<is_first> own;
    own.if_right = tree_.constants + step.constants;
    own.if_left = own.if_right + n();
    own.left = rows_left(step);
    own.before = is_first ? ~RowMasks{} : meets(step.above);
    own.share = step.left_share - RowLanes{};
    own.edge = chosen(own.left, 1.0 - own.share, -own.share);
    if (!is_first) own.edge = chosen(own.before, own.edge, RowLanes{});
    return own;
  }

  // Go to the first child that is no leaf.
  template <bool is_first>
  [[gnu::always_inline]] void enter(const ShapStep& step, std::int64_t depth) const {
    const Factors<is_first> factor = factors_of<is_first>(step);
    RowLanes *const above = came(depth), *const below = came(depth + 1);
    RowLanes* const kept = goes_left(depth);
    edge(depth) = factor.edge;
    meets(depth) = factor.before & (step.left_is_leaf ? ~factor.left : factor.left);
    if (step.left_is_leaf) {
      for (int q = 0; q < n(); ++q) {
        kept[q] = factor(q);
        below[q] = above[q] - above[q] * kept[q];
      }
    } else {
      for (int q = 0; q < n(); ++q) {
        kept[q] = factor(q);
        below[q] = above[q] * kept[q];
      }
    }
    if constexpr (has_pairs) {
      if (step.above >= 0) is_hidden(step.above) = 1;
      is_hidden(depth) = 0;
      set_coefficient(step, depth, step.left_is_leaf);
    }
  }

  // From the left child to the right one.
  [[gnu::always_inline]] void turn_right(const ShapStep& step, std::int64_t depth,
                                         const RowLanes* sum) const {
    const RowLanes* const above = came(depth);
    RowLanes *const below = came(depth + 1), *const kept = left_sum(depth);
    for (int q = 0; q < n(); ++q) {
      kept[q] = sum[q];
      below[q] = above[q] - below[q];
    }
    RowMasks& own = meets(depth);
    own = step.above < 0 ? ~own : meets(step.above) & ~own;
    if constexpr (has_pairs) set_coefficient(step, depth, true);
  }

  // A split whose children are leaves.
  template <bool is_first>
  [[gnu::always_inline]] void visit_twig(const ShapStep& step, std::int64_t depth, RowLanes* sum) {
    const Factors<is_first> factor = factors_of<is_first>(step);
    const double* const scale = factor.if_left + n();
    const double difference = step.left_value - step.right_value;
    const RowLanes* const above = came(depth);
    RowLanes total = {};
    for (int q = 0; q < n(); ++q) {
      const RowLanes term = is_first ? above[q] : above[q] * scale[q];
      if constexpr (has_pairs) terms_[q] = term;
      total += term;
      sum[q] = step.right_value + factor(q) * difference;
    }
    credit(step, factor.edge * (total * difference));
    if constexpr (has_pairs) {
      if (step.above >= 0) is_hidden(step.above) = 1;
      credit_pairs(step, depth, factor.edge * difference);
    }
  }

  // Leave a split by one of its children, whose sum becomes that of the split.
  [[gnu::always_inline]] void leave(const ShapStep& step, const ShapStep& child, std::int64_t depth,
                                    RowLanes* sum) {
    const auto own = [&](int q) { return sum[q]; };
    if (!child.is_right)
      join(step, depth, sum, own, [&](int) { return step.right_value - RowLanes{}; });
    else if (step.left_is_leaf)
      join(step, depth, sum, [&](int) { return step.left_value - RowLanes{}; }, own);
    else
      join(step, depth, sum, [&](int q) { return left_sum(depth)[q]; }, own);
  }

  template <class Left, class Right>
  [[gnu::always_inline]] void join(const ShapStep& step, std::int64_t depth, RowLanes* sum,
                                   Left left_of, Right right_of) {
    const double* const scale = tree_.constants + step.constants + 2 * n();
    const RowLanes *const above = came(depth), *const factors = goes_left(depth);
    RowLanes total = {};
    const auto add = [&](auto is_first) {
      for (int q = 0; q < n(); ++q) {
        const RowLanes right = right_of(q), difference = left_of(q) - right;
        RowLanes term = above[q] * difference;
        if constexpr (!is_first) term *= scale[q];
        if constexpr (has_pairs) terms_[q] = term;
        total += term;
        sum[q] = right + factors[q] * difference;
      }
    };
    step.above < 0 ? add(std::true_type()) : add(std::false_type());
    credit(step, edge(depth) * total);
    if constexpr (has_pairs) credit_pairs(step, depth, edge(depth));
  }

  [[gnu::always_inline]] void credit(const ShapStep& step, RowLanes part) const {
    double* const to = rows_.phi + std::int64_t{step.player} * shap_rows + first_lane_;
    *reinterpret_cast<RowLanes*>(to) += part;
  }

  // ---- interactions ----

  [[gnu::always_inline]] void set_coefficient(const ShapStep& step, std::int64_t depth,
                                              bool is_right) const {
    const double* const met = tree_.constants + step.constants + (is_right ? 4 : 3) * n();
    const RowMasks own = meets(depth);
    RowLanes* const to = coefficient(depth);
    for (int q = 0; q < n(); ++q)
      to[q] = chosen(own, met[q] - RowLanes{}, tree_.unmet[q] - RowLanes{});
  }

  // Credit the split together with the last split above of every other player.
  void credit_pairs(const ShapStep& step, std::int64_t depth, RowLanes own_edge) const {
    for (std::int64_t at = 0; at < depth; ++at) {
      if (is_hidden(at)) continue;
      const RowLanes* const other = coefficient(at);
      RowLanes total = {};
      for (int q = 0; q < n(); ++q) total += terms_[q] * other[q];
      const std::int64_t above = tree_.steps[step_at(at)].player;
      double* const to =
          rows_.pairs + (above * rows_.n_players + step.player) * shap_rows + first_lane_;
      *reinterpret_cast<RowLanes*>(to) += own_edge * total;
    }
    if (step.above >= 0) is_hidden(step.above) = 0;
  }

  const ShapTree& tree_;
  const ShapRows& rows_;
  const int first_lane_;
  RowLanes* levels_;
  RowLanes* terms_;  // of the split that is left, at each point
};

template <int fixed, bool has_pairs>
void walk_shap_tree(const ShapTree& tree, const ShapRows& rows) {
  for (int lane = 0; lane < shap_rows; lane += vector_lanes)
    ShapWalk<fixed, has_pairs>(tree, rows, lane).run();
}

void shap_tree(const ShapTree& tree, const ShapRows& rows) {
  using Walk = void (*)(const ShapTree&, const ShapRows&);
  constexpr Walk walk_of[] = {
      walk_shap_tree<0, false>, walk_shap_tree<1, false>, walk_shap_tree<2, false>,
      walk_shap_tree<3, false>, walk_shap_tree<4, false>, walk_shap_tree<5, false>,
      walk_shap_tree<6, false>, walk_shap_tree<7, false>, walk_shap_tree<8, false>};
  if (rows.pairs) return walk_shap_tree<0, true>(tree, rows);
  walk_of[tree.n_points <= 8 ? tree.n_points : 0](tree, rows);
}
