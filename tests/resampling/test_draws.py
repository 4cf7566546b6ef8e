"""Draws by content: right shares, no row twice, nothing from outside."""

import numpy as np
import pytest

from weald import _native
from weald.resampling import draw_by_mass, hold_out, member_seed, subsample

N = 2000


def hashes_of(n: int = N) -> np.ndarray:
    return _native.hash_rows(np.arange(float(n))[:, np.newaxis], np.zeros(n), 1)


# ---- subsample ----


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.5, 0.9])
def test_share_of_rows(fraction: float) -> None:
    drawn = subsample(hashes_of(), None, fraction, seed=0, member=0)
    assert set(drawn.tolist()) == {0, 1}
    # Five standard deviations.
    assert abs(drawn.sum() - fraction * N) < 5 * np.sqrt(N * fraction * (1 - fraction))


def test_all_rows() -> None:
    assert (subsample(hashes_of(), None, 1.0, seed=0, member=0) == 1).all()
    copies = np.arange(N) % 5
    assert np.array_equal(subsample(hashes_of(), copies, 1.0, seed=0, member=0), copies)


@pytest.mark.parametrize("fraction", [0.25, 0.4, 0.77])
def test_copies_are_thinned(fraction: float) -> None:
    copies = np.random.default_rng(0).integers(0, 40, N)
    drawn = subsample(hashes_of(), copies, fraction, seed=0, member=0)
    assert (np.abs(drawn - fraction * copies) < 1).all()
    assert (drawn <= copies).all()
    assert drawn.sum() == pytest.approx(fraction * copies.sum(), rel=0.01)


def test_seeds_and_members_draw_differently_and_repeat() -> None:
    hashes = hashes_of()
    draws = {
        (seed, member): subsample(hashes, None, 0.5, seed=seed, member=member)
        for seed in range(3)
        for member in range(3)
    }
    for key, drawn in draws.items():
        again = subsample(hashes, None, 0.5, seed=key[0], member=key[1])
        assert np.array_equal(drawn, again)
    vectors = np.array(list(draws.values()), dtype=np.float64)
    correlation = np.corrcoef(vectors) - np.eye(9)
    assert np.abs(correlation).max() < 5 / np.sqrt(N)


def test_order_of_rows_does_not_matter() -> None:
    hashes = hashes_of()
    order = np.random.default_rng(0).permutation(N)
    drawn = subsample(hashes, None, 0.3, seed=1, member=2)
    assert np.array_equal(subsample(hashes[order], None, 0.3, seed=1, member=2), drawn[order])


def test_at_least_one_row_is_drawn() -> None:
    for seed in range(20):
        assert subsample(hashes_of(50), None, 1e-12, seed=seed, member=0).sum() == 1


def test_rows_of_no_copies_are_never_drawn() -> None:
    """Held-out rows have no copies; the one row drawn when chance draws none is not theirs."""
    copies = (np.arange(50) % 2).astype(np.int64)
    for seed in range(20):
        drawn = subsample(hashes_of(50), copies, 1e-12, seed=seed, member=0)
        assert drawn.sum() == 1
        assert (drawn <= copies).all()


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
    drawn = subsample(hashes, None, 0.5, seed=0, member=0).astype(float)
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


def test_seeds_members_and_attempts_draw_differently() -> None:
    def draw(seed: int, member: int, attempt: int) -> tuple[int, ...]:
        return tuple(draw_by_mass(np.ones(50), 50, seed=seed, member=member, attempt=attempt))

    assert len({draw(*key) for key in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]}) == 4
    assert draw(0, 0, 0) == draw(0, 0, 0)


def test_more_draws_begin_with_the_fewer() -> None:
    few = draw_by_mass(np.ones(30), 10, seed=3, member=0)
    many = draw_by_mass(np.ones(30), 40, seed=3, member=0)
    assert (many >= few).all()


def test_seeds_of_members_are_seeds() -> None:
    seeds = {member_seed(seed, member) for seed in range(5) for member in range(100)}
    assert len(seeds) == 500
    assert all(0 <= seed < 2**32 for seed in seeds)
