"""The searches over one node's cells of sums of words, on every instruction set, and naive twins.

Twins do the arithmetic of the core in its order, so that scores are compared bit for bit.
"""

import numpy as np
import pytest

from weald import _native

INSTRUCTIONS = _native.runnable_instructions()
NONE = -np.inf


def random_rows(rng, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """g and h; some rows have none of either."""
    return rng.integers(-40, 41, n_rows) * (rng.random(n_rows) < 0.9), rng.integers(0, 9, n_rows)


def random_column(rng, n_bins: int, rows: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Packed cells of n_bins bins and of what is missing, and copies."""
    g, h = rows
    code = rng.integers(rng.choice([0, 1]), n_bins + 1, len(g))
    if rng.random() < 0.5:
        code = np.where(rng.random(len(g)) < 0.7, code, 1 + n_bins // 2)
    cells, counts = np.zeros((2, n_bins + 1), dtype=np.int64)
    np.add.at(cells, code, g * 2**32 + h)
    np.add.at(counts, code, 1)
    return cells, counts


def random_node(rng, total: int, **more: float) -> dict:
    limits = {
        "l2": float(rng.choice([0.0, 1.5, 30.0])),
        "l1": float(rng.choice([0.0, 7.25])),
        "min_weight": float(rng.choice([0.0, 2.0, 9.5])),
        "sure_weight": float(rng.choice([1.0, 33.0, 153.0])),
        "min_count": float(rng.choice([1, 4, 20])),
        "lower": -np.inf,
        "upper": np.inf,
    }
    return {"total": int(total), "limits": limits | more}


def in_layout(cells: np.ndarray, is_wide: bool) -> np.ndarray:
    """Packed cells, one row per code, as they are or as pairs of h and g."""
    if not is_wide:
        return cells
    return np.stack([cells & 0xFFFFFFFF, cells >> 32], axis=-1).reshape(len(cells), -1)


def halves(cell: int) -> tuple[int, int]:
    return cell >> 32, cell & 0xFFFFFFFF


def shrunk(g: float, l1: float) -> float:
    return np.copysign(max(abs(g) - l1, 0.0), g)


def value(g: float, d: float, limits: dict) -> float:
    return min(max(-shrunk(g, limits["l1"]) / d, limits["lower"]), limits["upper"])


def score_of(g: float, d: float, limits: dict) -> float:
    w = value(g, d, limits)
    return -(2.0 * g * w + d * w * w + 2.0 * limits["l1"] * abs(w))


def judged(
    node: dict,
    left: int,
    count: int,
    n_copies: int | None,
    more_l2: float = 0.0,
    direction: float | None = None,
):
    """Score of a split, whether it is allowed, and whether only a count decides."""
    (g, h), (gl, hl) = halves(node["total"]), halves(left)
    limits = node["limits"]
    gr, hr = float(g - gl), float(h - hl)
    lesser = min(hl, hr)
    if lesser < max(limits["min_weight"], 1.0):
        return NONE, False, False
    dl, dr = hl + limits["l2"] + more_l2, hr + limits["l2"] + more_l2
    if direction is None:
        sl, sr = shrunk(float(gl), limits["l1"]), shrunk(gr, limits["l1"])
        score = (sl * sl * dr + sr * sr * dl) / (dl * dr)
    else:
        score = score_of(float(gl), dl, limits) + score_of(gr, dr, limits)
        if direction * (value(gr, dr, limits) - value(float(gl), dl, limits)) < 0:
            return NONE, False, False
    if n_copies is not None:
        return score, min(count, n_copies - count) >= limits["min_count"], False
    is_sure = lesser >= limits["sure_weight"]
    return score, is_sure, not is_sure


class Best:
    """The first of the best."""

    def __init__(self) -> None:
        self.score = self.undecided = NONE
        self.place = self.undecided_place = 0

    def note(self, verdict: tuple, place: int) -> None:
        score, is_allowed, is_undecided = verdict
        if is_allowed and score > self.score:
            self.score, self.place = score, place
        if is_undecided and score > self.undecided:
            self.undecided, self.undecided_place = score, place


def naive_cuts(
    cells: list[int], counts: list[int] | None, node: dict, direction: float | None = None
) -> Best:
    """Splits of values from missing ones are exempt from directions."""
    best, left, count = Best(), 0, 0
    n_copies = None if counts is None else sum(counts)
    missing, missing_count = cells[0], 0 if counts is None else counts[0]
    for code in range(1, len(cells)):
        left += cells[code]
        count += 0 if counts is None else counts[code]
        is_free = direction is not None and left + missing == node["total"]
        own = 0.0 if is_free else direction
        best.note(judged(node, left, count, n_copies, direction=own), 2 * code)
        if (missing or missing_count) and halves(left)[1] > 0:
            sides = left + missing, count + missing_count
            verdict = judged(node, *sides, n_copies, direction=direction)
            best.note(verdict, 2 * code + 1)
    return best


def random_group(rng, n_rows: int) -> tuple[np.ndarray, np.ndarray, list[int], int]:
    """Eight columns of the same rows, and how many bins each has."""
    n_bins = [int(n) for n in rng.choice([1, 2, 7, 30, 254, 255], 8)]
    cells, counts = np.zeros((2, max(n_bins) + 1, 8), dtype=np.int64)
    rows = random_rows(rng, n_rows)
    for lane, n in enumerate(n_bins):
        cells[: n + 1, lane], counts[: n + 1, lane] = random_column(rng, n, rows)
    return cells, counts, n_bins, int(cells[:, 0].sum())


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("has_counts", [False, True])
@pytest.mark.parametrize("n_rows", [5, 60, 2_000])
def test_cuts_of_groups(instructions, has_counts, n_rows) -> None:
    rng = np.random.default_rng([has_counts, n_rows])
    n_found = 0
    for _ in range(12):
        cells, counts, n_bins, total = random_group(rng, n_rows)
        node = random_node(rng, total)
        n_found += compared(instructions, cells, counts if has_counts else None, n_bins, node, None)
    assert n_found > 10 or n_rows == 5


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("has_counts", [False, True])
def test_bounds_and_directions_too(instructions, has_counts) -> None:
    rng = np.random.default_rng([7, has_counts])
    n_found = 0
    for _ in range(30):
        cells, counts, n_bins, total = random_group(rng, 500)
        node = random_node(rng, total, lower=-float(rng.random() * 4), upper=float(rng.random()))
        direction = rng.integers(-1, 2, 8).astype(np.float64)
        given = counts if has_counts else None
        n_found += compared(instructions, cells, given, n_bins, node, direction)
    assert n_found > 10


def compared(instructions, cells, counts, n_bins, node, direction) -> int:
    """Whether the best splits of eight columns are those of the twin; how many have one."""
    found, of_wide = (
        _native.search_cells(
            in_layout(cells, is_wide),
            counts,
            **node,
            direction=direction,
            instructions=instructions,
        )
        for is_wide in (False, True)
    )
    np.testing.assert_array_equal(of_wide, found)
    n_found = 0
    for lane, n in enumerate(n_bins):
        own = None if counts is None else counts[: n + 1, lane].tolist()
        along = None if direction is None else float(direction[lane])
        twin = naive_cuts(cells[: n + 1, lane].tolist(), own, node, along)
        expected = (twin.score, twin.place, twin.undecided, twin.undecided_place)
        assert tuple(part[lane] for part in found) == expected
        n_found += twin.score > NONE
    return n_found


def naive_gains(cells, counts, node: dict, direction: float | None, parent: float) -> dict:
    """The gain of each (bin, missing left) that the node allows, as an upper bound, and whether
    values go left."""
    gains, left, count = {}, 0, 0
    n_copies = None if counts is None else sum(counts)
    for code in range(1, len(cells)):
        left += cells[code]
        count += 0 if counts is None else counts[code]
        sides = [(left, count), (left + cells[0], count + (0 if counts is None else counts[0]))]
        for missing_left, (side, copies) in enumerate(sides):
            verdict = judged(node, side, copies, n_copies, direction=direction)
            score, is_allowed, is_undecided = verdict
            if is_allowed or is_undecided:
                gain = score - parent
                bound = gain if is_allowed else max(gain, 0.0)
                gains[code, missing_left] = bound, halves(left)[1] > 0
    return gains


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("has_counts", [False, True])
@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("is_wide", [False, True])
def test_gains_of_several_nodes(instructions, has_counts, is_directed, is_wide) -> None:
    rng = np.random.default_rng([8, has_counts, is_directed])
    for has_missing in (True, False, True, True):
        n_bins = int(rng.choice([1, 7, 255]))
        direction = rng.integers(-1, 2, 8).astype(np.float64) if is_directed else None
        gains, has_values = np.full((2 * (n_bins + 1), 8), NONE), 0
        twin, twin_has_values = gains.copy(), np.zeros((n_bins + 1, 8), dtype=bool)
        for n_rows in rng.integers(5, 400, 4):
            rows = random_rows(rng, int(n_rows))
            columns = [random_column(rng, n_bins, rows) for _ in range(8)]
            cells, counts = (np.column_stack(part) for part in zip(*columns, strict=True))
            if not has_missing:
                cells[1], counts[1] = cells[0] + cells[1], counts[0] + counts[1]
                cells[0] = counts[0] = 0
            bounds = {"lower": -float(rng.random()), "upper": float(rng.random())}
            node = random_node(rng, cells[:, 0].sum(), **(bounds if is_directed else {}))
            parent = float(rng.random() * 20)
            sums, valued = _native.add_gains(
                in_layout(cells, is_wide),
                counts if has_counts else None,
                **node,
                direction=direction,
                parent=parent,
                gains=gains,
                has_missing=has_missing,
                instructions=instructions,
            )
            gains, has_values = sums.reshape(-1, 8), has_values | (valued != 0)
            for lane in range(8):
                own = counts[:, lane].tolist() if has_counts else None
                asked = direction[lane] if is_directed else None
                found = naive_gains(cells[:, lane].tolist(), own, node, asked, parent)
                for (code, missing_left), (gain, values_left) in found.items():
                    if missing_left and not has_missing:
                        continue
                    before = twin[2 * code + missing_left, lane]
                    twin[2 * code + missing_left, lane] = (0 if before == NONE else before) + gain
                    twin_has_values[code, lane] |= bool(missing_left) and values_left
        np.testing.assert_array_equal(gains, twin)
        if has_missing:
            np.testing.assert_array_equal(has_values.reshape(-1, 8), twin_has_values)


def naive_sets(cells: list[int], counts: list[int] | None, rules: dict, node: dict) -> Best:
    best = Best()
    n_copies = None if counts is None else sum(counts)
    levels = [(c, 0 if counts is None else counts[i]) for i, c in enumerate(cells)]
    others, others_count, has_others = *levels[0], levels[0] != (0, 0)
    told = []
    for cell, count in levels[1:]:
        if (cell, count) == (0, 0):
            continue
        if halves(cell)[1] >= rules["least"]:
            told.append((cell, count))
            continue
        others, others_count, has_others = others + cell, others_count + count, True
    few = len(told) <= rules["few"]
    smooth, more_l2 = (0.0, 0.0) if few else (rules["smooth"], rules["more_l2"])

    def try_both(left: int, count: int, is_all: bool) -> None:
        if is_all and not has_others:
            return
        best.note(judged(node, left, count, n_copies, more_l2), 0)
        if has_others and not is_all:
            best.note(judged(node, left + others, count + others_count, n_copies, more_l2), 0)

    def mean(one: tuple[int, int]) -> float:
        g, h = halves(one[0])
        return g / (h + smooth) if h + smooth > 0 else 0.0

    for one in told if few else []:
        try_both(*one, len(told) == 1)
    left = count = 0
    for i, (cell, copies) in enumerate(sorted(told, key=mean)):
        left, count = left + cell, count + copies
        try_both(left, count, i + 1 == len(told))
    return best


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("has_counts", [False, True])
@pytest.mark.parametrize("n_levels", [1, 2, 3, 4, 5, 8, 9, 16, 47, 49, 70, 255])
def test_sets_of_levels(instructions, has_counts, n_levels) -> None:
    rng = np.random.default_rng([has_counts, n_levels])
    for n_rows in rng.integers(3, 40 * n_levels + 30, 25):
        cells, counts = random_column(rng, n_levels, random_rows(rng, int(n_rows)))
        node = random_node(rng, cells.sum())
        rules = {
            "least": float(rng.choice([0.0, 3.5, 40.0])),
            "few": int(rng.choice([4, 0])),
            "smooth": float(rng.choice([0.0, 12.5])),
            "more_l2": float(rng.choice([0.0, 12.5])),
        }
        given = counts if has_counts else None
        own = None if given is None else given.tolist()
        twin = naive_sets(cells.tolist(), own, rules, node)
        for is_wide in (False, True):
            asked = in_layout(cells[:, np.newaxis], is_wide)
            found = _native.search_levels(asked, given, **rules, **node, instructions=instructions)
            assert found == (twin.score, twin.undecided)


def test_the_border_is_checked() -> None:
    node = random_node(np.random.default_rng(0), 8)
    rest = {"counts": None, "direction": None} | node
    cells = np.ones((3, 8), dtype=np.int64)
    for wrong in (
        {"cells": np.ones((257, 8), dtype=np.int64)},
        {"cells": np.ones((3, 7), dtype=np.int64)},
        {"cells": cells, "counts": cells[:2]},
        {"cells": cells, "direction": np.zeros(7)},
        {"cells": cells, "instructions": "none"},
    ):
        with pytest.raises(ValueError, match="must"):
            _native.search_cells(**{"instructions": INSTRUCTIONS[0]} | rest | wrong)
    sums = {"parent": 0.0, "gains": np.zeros((6, 8)), "has_missing": True, "counts": None}
    for wrong in (
        {"cells": np.ones((257, 8), dtype=np.int64)},
        {"gains": np.zeros((5, 8))},
        {"counts": cells[:2]},
        {"direction": np.zeros(7)},
        {"instructions": "none"},
    ):
        whole = {"cells": cells, "direction": None, "instructions": INSTRUCTIONS[0]} | sums | node
        with pytest.raises(ValueError, match="must"):
            _native.add_gains(**whole | wrong)
