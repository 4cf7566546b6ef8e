"""Which rows of a part are held out, drawn for a round, or in the sample of the training loss."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.ensembles.boosted_trees.parts.row_numbers import NumberedRows, Words, hashes_of_rows
from weald.resampling import Purpose

# Numbers of columns by whose hashes the rows of the training loss are drawn, as in one table.
WIDTHS = (0, 2, 16)


class DrawnRows(NumberedRows):
    """Draws rows by their keys; held_out.py and parts_run.py ask.

    Attributes
    ----------
    _times : int64 [rows] or None
        How often each row counts, training and held-out rows; None: once each.
    _held_out : bool [rows] or None
        Which rows are held out; None: no row is.
    _mass : int64 [rows] or None
        How often each row counts where bins are found; None: once each.
    _copies : int64 [rows] or None
        How often each row is used in this round, 0 for those held out or not drawn; None: once.
    _drawn : uint8 [rows] or None
        Which rows are drawn for this round, of those held out, too; None: all of them.
    """

    _times: NDArray[np.int64] | None
    _held_out: NDArray[np.bool_] | None
    _mass: NDArray[np.int64] | None
    _copies: NDArray[np.int64] | None
    _drawn: NDArray[np.uint8] | None
    _sampled: NDArray[np.intp]

    # ---- the rows held out for validation ----

    def counts_of_draws(self, seed: int, n_strata: int, bits: int) -> Answer:
        """How many rows of each stratum (class) have each value of the upper bits of their draw."""
        buckets = _upper_bits(self._draws(seed), bits)
        place = (self._strata(n_strata) << bits) | buckets
        return (np.bincount(place, minlength=n_strata << bits).astype(np.int64),)

    def draws_in(self, seed: int, bits: int, buckets: NDArray[np.int64]) -> Answer:
        """Stratum and draw of the rows whose upper bits are those given for their stratum."""
        draws, strata = self._draws(seed), self._strata(len(buckets))
        rows = np.flatnonzero(_upper_bits(draws, bits) == buckets[strata])
        return (np.stack([strata[rows].astype(np.uint64), draws[rows]]),)

    def hold_out(self, seed: int, limits: Words, has_some: NDArray[np.bool_]) -> Answer:
        """Hold out the rows of draws up to the limit of their stratum, if it has some."""
        strata = self._strata(len(limits))
        held = has_some[strata] & (self._draws(seed) <= limits[strata])
        self._held_out = held
        self._mass = np.where(held, 0, 1 if self._mass is None else self._mass).astype(np.int64)
        self._copies = self._train_copies()
        return ()

    def _draws(self, seed: int) -> Words:
        assert self._keys is not None
        return _native.draw(self._keys, seed, 0, Purpose.HOLD_OUT)

    def _strata(self, n_strata: int) -> NDArray[np.int64]:
        """The class of each row; of one stratum, 0."""
        return self._y.astype(np.int64) if n_strata > 1 else np.zeros(len(self._y), dtype=np.int64)

    def _train_copies(self) -> NDArray[np.int64] | None:
        if self._held_out is None:
            return self._times
        return np.where(self._held_out, 0, 1 if self._times is None else self._times)

    def _counts_of(self, of_all: bool) -> NDArray[np.int64] | None:
        """How often each row counts: among all, or among those that are not held out."""
        return self._times if of_all else self._train_copies()

    # ---- the rows of a round ----

    def draw(self, fraction: float, seed: int, number: int) -> Answer:
        """Draw the rows of a round; returns how many are, without those held out and with them."""
        assert self._keys is not None
        drawn = _native.draw_rows(self._keys, fraction, seed, number, Purpose.SUBSAMPLE)
        copies = self._train_copies()
        self._drawn = drawn
        self._copies = drawn.astype(np.int64) if copies is None else drawn * copies
        return (np.array([np.count_nonzero(self._copies), np.count_nonzero(drawn)]),)

    def least_draws(self, seed: int, number: int) -> Answer:
        """The least draw of a round among the rows that are not held out, and among all rows."""
        draws = self._draws_of_round(seed, number)
        trained = draws if self._held_out is None else draws[~self._held_out]
        least = [min(some.tolist(), default=2**64 - 1) for some in (trained, draws)]
        return (np.array(least, dtype=np.uint64)[:, np.newaxis],)

    def draw_least(self, seed: int, number: int, least: Words, lacks: NDArray[np.bool_]) -> Answer:
        """Draw the rows of these draws, where a round lacks rows: see `least_draws`."""
        draws, copies = self._draws_of_round(seed, number), self._train_copies()
        if lacks[0]:
            is_least = (draws == least[0]).astype(np.int64)
            self._copies = is_least if copies is None else is_least * copies
        if lacks[1]:
            self._drawn = (draws == least[1]).astype(np.uint8)
        return ()

    def _draws_of_round(self, seed: int, number: int) -> Words:
        assert self._keys is not None
        return _native.draw(self._keys, seed, number, Purpose.SUBSAMPLE)

    # ---- the sample of the training loss ----

    def n_sampled(self, limit: int) -> Answer:
        """How many rows have a hash of the target and some columns below a limit, by `WIDTHS`."""
        return (np.array([len(self._below(limit, width)) for width in WIDTHS]),)

    def sample(self, limit: int, width: int) -> Answer:
        """Choose the rows of the training loss: those of such hashes; width -1: all of them.

        Returns their targets.
        """
        chosen = self._below(limit, width) if width >= 0 else np.arange(len(self._y))
        return self._sample(chosen)

    def sample_by_keys(self, limit: int) -> Answer:
        """The same by the keys of rows."""
        assert self._keys is not None
        return self._sample(np.flatnonzero(self._keys[:, 0] < np.uint64(limit)))

    def _sample(self, chosen: NDArray[np.intp]) -> Answer:
        if self._held_out is not None:
            chosen = chosen[~self._held_out[chosen]]
        self._sampled = chosen
        given: list[Any] = [self._y, self._weight, self._times]
        return tuple(one[np.newaxis, chosen] for one in given if one is not None)

    def _below(self, limit: int, width: int) -> NDArray[np.intp]:
        hashes = hashes_of_rows(self._columns[:width], self._y, self._loss.n_threads)
        return np.flatnonzero(hashes[:, 0] < np.uint64(limit))


def _upper_bits(words: Words, bits: int) -> NDArray[np.int64]:
    return (words >> np.uint64(64 - bits)).astype(np.int64)
