"""Draws by content: right shares, no row twice, nothing from outside."""

import numpy as np
import pytest

from weald import _native
from weald.groups import groups_of_rows
from weald.resampling import (
    RowSamples,
    draw_by_mass,
    estimator_seed,
    hold_out,
    hold_out_groups,
    subsample,
)

N = 2000


def hashes_of(n: int = N) -> np.ndarray:
    return _native.hash_rows(np.arange(float(n))[:, np.newaxis], np.zeros(n), 1)


# ---- subsample ----


def drawn_of(
    hashes: np.ndarray, copies: np.ndarray | None, fraction: float, **key: int
) -> np.ndarray:
    """How often each row is drawn; none is held out."""
    drawn, is_drawn = subsample(hashes, copies, None, fraction, **key)
    assert np.array_equal(is_drawn > 0, drawn > 0)
    return drawn


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.9])
def test_share_of_rows(fraction: float) -> None:
    drawn = drawn_of(hashes_of(), None, fraction, seed=0, member=0)
    # Five standard deviations.
    assert abs(drawn.sum() - fraction * N) < 5 * np.sqrt(N * fraction * (1 - fraction))


def test_all_rows() -> None:
    assert drawn_of(hashes_of(), None, 1.0, seed=0, member=0).all()


def test_seeds_and_estimators_draw_differently_and_repeat() -> None:
    hashes = hashes_of()
    draws = {
        (seed, member): drawn_of(hashes, None, 0.5, seed=seed, member=member)
        for seed in range(3)
        for member in range(3)
    }
    for key, drawn in draws.items():
        again = drawn_of(hashes, None, 0.5, seed=key[0], member=key[1])
        assert np.array_equal(drawn, again)
    vectors = np.array(list(draws.values()), dtype=np.float64)
    correlation = np.corrcoef(vectors) - np.eye(9)
    assert np.abs(correlation).max() < 5 / np.sqrt(N)


def test_order_of_rows_does_not_matter() -> None:
    hashes = hashes_of()
    order = np.random.default_rng(0).permutation(N)
    drawn = drawn_of(hashes, None, 0.3, seed=1, member=2)
    assert np.array_equal(drawn_of(hashes[order], None, 0.3, seed=1, member=2), drawn[order])


def test_rows_of_one_key_are_drawn_together() -> None:
    keys = hashes_of(20)[np.arange(N) % 20]
    drawn = drawn_of(keys, None, 0.5, seed=0, member=0).reshape(-1, 20)
    assert (drawn == drawn[0]).all() and 0 < drawn[0].sum() < 20


def test_at_least_one_row_is_drawn_of_those_there_are() -> None:
    copies = 3 * (np.arange(50) % 2)
    for seed in range(20):
        drawn = drawn_of(hashes_of(50), copies, 1e-12, seed=seed, member=0)
        assert drawn.sum() == 3
        assert copies[drawn > 0].all()


def test_a_drawn_row_counts_as_often_as_it_occurs() -> None:
    copies = np.arange(N) % 4
    drawn = drawn_of(hashes_of(), copies, 0.5, seed=3, member=1)
    plain = drawn_of(hashes_of(), None, 0.5, seed=3, member=1)
    assert np.array_equal(drawn, plain * copies)


def test_held_out_rows_are_not_drawn_but_marked() -> None:
    hashes, held = hashes_of(), np.arange(N) % 5 == 0
    copies = np.arange(N) % 3
    key = {"seed": 3, "member": 1}
    drawn, is_drawn = subsample(hashes, copies, held, 0.5, **key)
    of_all = drawn_of(hashes, copies, 0.5, **key)
    assert np.array_equal(drawn, np.where(held, 0, of_all))
    assert np.array_equal(is_drawn > 0, of_all > 0)


def test_a_row_that_is_not_held_out_is_drawn() -> None:
    held = np.arange(50) < 49
    for seed in range(20):
        drawn, is_drawn = subsample(hashes_of(50), None, held, 1e-12, seed=seed, member=0)
        assert drawn.tolist() == [0] * 49 + [1]
        assert is_drawn.sum() == 1


# ---- hold-out ----


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5])
def test_share_held_out_is_exact(fraction: float) -> None:
    held = hold_out(hashes_of(), None, fraction, seed=0)
    assert held.sum() == round(fraction * N)


def test_every_class_is_held_out_alike() -> None:
    classes = np.repeat([0, 1, 2, 3], [1500, 400, 99, 1])
    held = hold_out(hashes_of(), classes, 0.1, seed=0)
    assert np.bincount(classes[held], minlength=4).tolist() == [150, 40, 10, 0]


def test_a_class_without_rows_is_no_trouble() -> None:
    classes = np.repeat([0, 3], N // 2)
    assert hold_out(hashes_of(), classes, 0.1, seed=0).sum() == N // 10


def test_one_row_is_held_out_and_one_kept() -> None:
    for n in (2, 3, 5):
        for fraction in (1e-9, 0.5, 1 - 1e-9):
            for classes in (None, np.arange(n), np.zeros(n, dtype=np.int64)):
                held = hold_out(hashes_of(n), classes, fraction, seed=0)
                assert 1 <= held.sum() < n


def test_hold_out_depends_on_content_and_seed() -> None:
    hashes = hashes_of()
    classes = np.arange(N) % 3
    order = np.random.default_rng(0).permutation(N)
    held = hold_out(hashes, classes, 0.2, seed=4)
    assert np.array_equal(hold_out(hashes[order], classes[order], 0.2, seed=4), held[order])
    assert not np.array_equal(hold_out(hashes, classes, 0.2, seed=5), held)


def test_hold_out_and_subsample_are_independent() -> None:
    hashes = hashes_of()
    held = hold_out(hashes, None, 0.5, seed=0).astype(float)
    drawn = drawn_of(hashes, None, 0.5, seed=0, member=0).astype(float)
    assert abs(np.corrcoef(held, drawn)[0, 1]) < 5 / np.sqrt(N)


# ---- draws in proportion to mass ----


def test_draws_are_in_proportion_to_mass() -> None:
    mass = np.array([0.0, 1.0, 2.0, 0.0, 5.0, 0.0])
    drawn = draw_by_mass(mass, 80_000, seed=0, member=0)
    assert drawn.sum() == 80_000 and not drawn[mass == 0].any()
    expected = 10_000 * mass
    # Five standard deviations.
    assert (np.abs(drawn - expected) <= 5 * np.sqrt(expected)).all()


def test_one_row_has_all_the_mass() -> None:
    assert draw_by_mass(np.array([0.0, 2.0**52, 0.0]), 9, seed=0, member=0).tolist() == [0, 9, 0]


def test_seeds_estimators_and_attempts_draw_differently() -> None:
    def draw(seed: int, member: int, attempt: int) -> tuple[int, ...]:
        return tuple(draw_by_mass(np.ones(50), 50, seed=seed, member=member, attempt=attempt))

    assert len({draw(*key) for key in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]}) == 4
    assert draw(0, 0, 0) == draw(0, 0, 0)


def test_more_draws_begin_with_the_fewer() -> None:
    few = draw_by_mass(np.ones(30), 10, seed=3, member=0)
    many = draw_by_mass(np.ones(30), 40, seed=3, member=0)
    assert (many >= few).all()


def test_seeds_of_estimators_are_valid() -> None:
    seeds = {estimator_seed(seed, member) for seed in range(5) for member in range(100)}
    assert len(seeds) == 500
    assert all(0 <= seed < 2**32 for seed in seeds)


# ---- groups ----


def test_whole_groups_are_held_out_up_to_the_share_of_rows() -> None:
    rng = np.random.default_rng(0)
    for seed in range(10):
        labels = rng.integers(0, 40, N)
        held = hold_out_groups(groups_of_rows(labels, N), 0.25, seed=seed)
        assert all(len(set(held[labels == group])) == 1 for group in range(40))
        assert abs(held.mean() - 0.25) < 1 / 40


def test_one_group_is_held_out_and_one_kept() -> None:
    groups = groups_of_rows(["a", "a", "b"], 3)
    for fraction in (1e-9, 1 - 1e-9):
        assert len(set(hold_out_groups(groups, fraction, seed=0))) == 2


def test_groups_are_identified_by_their_labels() -> None:
    labels = np.array(["x", "y", "z", "x"])
    groups, other = groups_of_rows(labels, 4), groups_of_rows(labels[::-1], 4)
    assert np.array_equal(groups.keys, other.keys)
    assert np.array_equal(groups.of_row, other.of_row[::-1])
    assert np.array_equal(groups_of_rows([1.0, 2.0], 2).keys, groups_of_rows([1, 2], 2).keys)


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        ([1, 2], "one label for each of the 3 rows"),
        ([1, None, 2], "row 1"),
        ([1, 2, np.nan], "row 2"),
    ],
)
def test_wrong_groups(groups: list, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        groups_of_rows(groups, 3)


# ---- samples that are drawn again ----


def test_a_row_of_twice_the_mass_is_drawn_like_two_rows() -> None:
    """Bit for bit: copies lie side by side, and masses may be multiplied by any number."""
    mass = np.array([1, 2, 3, 1])
    place = np.repeat(np.arange(4), mass)
    for factor in (1, 7, 2**28):
        weighted = RowSamples(3, 5, np.arange(4), 4, mass=mass * factor)
        repeated = RowSamples(3, 5, np.arange(7), 7)
        for member in range(20):
            counts = np.bincount(place, repeated.drawn(member), 4)
            assert np.array_equal(weighted.drawn(member), counts)


def test_rows_are_drawn_in_proportion_to_their_mass() -> None:
    mass = np.array([1, 2, 4, 13])
    drawn = sum(RowSamples(0, 100, np.arange(4), 4, mass=mass).drawn(k) for k in range(200))
    expected = 20_000 * mass / 20
    assert (np.abs(drawn - expected) < 5 * np.sqrt(expected)).all()


def test_groups_are_drawn_whole() -> None:
    group_of = np.arange(12) % 4
    for keys in (None, hashes_of(4)):
        samples = RowSamples(0, 3, np.arange(12), 12, keys=keys, group_of=group_of)
        for member in range(10):
            counts = samples.drawn(member).reshape(3, 4)
            assert (counts == counts[0]).all() and counts[0].sum() == 3
            assert keys is None or counts.max() == 1
        assert samples.n_units == 4 and samples.mean_rows == 9


def test_what_is_the_bootstrap_of_textbooks() -> None:
    place = np.arange(5)
    assert RowSamples(0, 5, place, 5).has_equal_draws
    assert RowSamples(0, 5, place, 5, mass=np.full(5, 3)).has_equal_draws
    assert not RowSamples(0, 4, place, 5).has_equal_draws
    assert not RowSamples(0, 5, place, 5, mass=np.arange(1, 6)).has_equal_draws
    assert not RowSamples(0, 5, place, 5, keys=hashes_of(5)).has_equal_draws
    assert not RowSamples(0, 5, place, 5, group_of=place).has_equal_draws
