"""Keys of the rows of a part, by content and by their number among equal rows of all parts."""

from collections.abc import Mapping, MutableSequence, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald import _native
from weald.data.sources import side_by_side
from weald.ensembles.base import Floats
from weald.ensembles.boosted_trees.parts.merging import Answer
from weald.losses import BuiltinLoss

Words = NDArray[np.uint64]

# Columns that are hashed at once, to save memory.
_BATCH = 16


def hashes_of_rows(columns: Sequence[NDArray[Any]], y: Floats, n_threads: int) -> Words:
    """A hash of the target and the columns of each row, as `Rows.hashes`."""
    hashes = _native.hash_rows(np.empty((len(y), 0)), y, n_threads)
    for begin in range(0, len(columns), _BATCH):
        batch = side_by_side(list(columns[begin : begin + _BATCH]))
        _native.hash_more(batch, hashes, n_threads)
    return hashes


class NumberedRows:
    """Numbers the rows of a part among equal rows of all parts; part_numbers.py asks.

    While rows are numbered, they are sorted by their hash and, if equal, by weight: then
    `_order` holds the rows, `_hashes` their hashes, and `_numbers` their numbers.
    """

    _columns: MutableSequence[NDArray[Any]]
    _y: Floats
    _given: Floats | None  # sample weights
    _weight: Floats | None  # with class weights
    _loss: BuiltinLoss
    _token: int
    _keys: Words | None

    def sort_rows(self) -> Answer:
        """Sort the rows and number them in this part; returns the word that names the part."""
        hashes = hashes_of_rows(self._columns, self._y, self._loss.n_threads)
        self._order, _ = _native.numbered_rows(hashes, self._given)
        self._hashes = hashes[self._order]
        is_new = _differs_from_previous(self._hashes[:, 0], self._hashes[:, 1])
        self._numbers = _places_in_groups(is_new)
        return (np.array([[self._token]], dtype=np.uint64),)

    def words_between(self, first: int, last: int) -> Answer:
        """The distinct words in a range by which the rows are sorted: one of those of a hash."""
        words = self._hashes[self._places(np.array([first, last], dtype=np.uint64)), 1]
        return (words[np.newaxis, _differs_from_previous(words)],)

    def sets_of(self, words: Words) -> Answer:
        """The sets of equal rows and weights that have one of these words.

        For each, the two words of the hash, the weight, the number of rows, and the name of the
        part: a matrix.
        """
        places, begins = self._sets(words)
        first = places[begins]
        counts = np.diff(np.append(begins, len(places))).astype(np.uint64)
        low, high = self._hashes[first].T
        token = np.full(len(first), self._token, dtype=np.uint64)
        return (np.stack([high, low, self._weight_words(first), counts, token]),)

    def number_sets(self, words: Words, starts: Mapping[int, NDArray[np.int64]]) -> Answer:
        """Set the number of the first row of each of those sets, by the name of the part."""
        if self._token in starts:
            places, begins = self._sets(words)
            sizes = np.diff(np.append(begins, len(places)))
            is_new = np.zeros(len(places), dtype=bool)
            is_new[begins] = True
            starts_of_rows = np.repeat(starts[self._token], sizes)
            self._numbers[places] = starts_of_rows + _places_in_groups(is_new)
        return ()

    def make_keys(self) -> Answer:
        """Make the keys of the rows from their hashes and numbers."""
        if self._keys is None:
            self._keys = np.empty_like(self._hashes)
            self._keys[self._order] = _native.keys_of_copies(self._hashes, self._numbers)
            del self._hashes, self._order, self._numbers
        return ()

    def forget_keys(self) -> Answer:
        """Drop the keys, 16 bytes a row, once all draws are made."""
        self._keys = None
        return ()

    def _places(self, range_: Words) -> slice:
        high = self._hashes[:, 1]
        return slice(
            int(np.searchsorted(high, range_[0], side="left")),
            int(np.searchsorted(high, range_[1], side="right")),
        )

    def _sets(self, words: Words) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The sorted places of the rows that have one of the words, and where sets begin in them.

        The words are sorted.
        """
        within = self._places(words[[0, -1]])
        high = self._hashes[within, 1]
        found = np.minimum(np.searchsorted(words, high), len(words) - 1)
        places = within.start + np.flatnonzero(words[found] == high)
        low, high = self._hashes[places].T
        is_new = _differs_from_previous(high, low, self._weight_words(places))
        return places, np.flatnonzero(is_new)

    def _weight_words(self, places: NDArray[np.intp]) -> Words:
        """The weights of rows, as integers in the same order: the bits of positive floats are."""
        if self._given is None:
            return np.zeros(len(places), dtype=np.uint64)
        return self._given[self._order[places]].view(np.uint64)


def _differs_from_previous(*sorted_words: Words) -> NDArray[np.bool_]:
    differs = np.ones(len(sorted_words[0]), dtype=bool)
    if len(differs):
        differs[1:] = np.any([words[1:] != words[:-1] for words in sorted_words], axis=0)
    return differs


def _places_in_groups(is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The place of each item in its group, from where groups begin."""
    places = np.arange(len(is_first), dtype=np.int64)
    return places - np.maximum.accumulate(np.where(is_first, places, 0))
