"""Groups of rows that are drawn, held out and left out of bag together."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each row belongs to.

    Attributes
    ----------
    keys : uint64 [groups, 2]
        A hash of each group's label; groups lie in its order.
    of_row : intp [rows]
        The place of each row's group.
    """

    keys: Hashes
    of_row: NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.keys)

    @property
    def keys_of_rows(self) -> Hashes:
        """The hash of each row's group."""
        return self.keys[self.of_row]

    def take(self, rows: NDArray[Any]) -> "Groups":
        """The groups of some rows, without those that have none of them."""
        used, of_row = np.unique(self.of_row[rows], return_inverse=True)
        if len(used) == self.n:
            return replace(self, of_row=self.of_row[rows])
        return Groups(self.keys[used], of_row.ravel())


def groups_of_rows(groups: Any, n_rows: int) -> Groups:
    """Read the labels that a user gave.

    Raises
    ------
    ValueError
        If there is not one label per row, or if one is missing.

    Examples
    --------
    >>> read = groups_of_rows(["b", "a", "b"], 3)
    >>> read.n, bool(read.of_row[0] == read.of_row[2])
    (2, True)
    """
    values = checked_group_labels(groups, n_rows).tolist()
    different = {label: i for i, label in enumerate(dict.fromkeys(values))}
    hashes = np.frombuffer(b"".join(map(_digest, different)), dtype="<u8").reshape(-1, 2)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    of_row = np.array([different[label] for label in values], dtype=np.intp)
    return Groups(np.ascontiguousarray(hashes[order], dtype=np.uint64), place[of_row])


def checked_group_labels(groups: Any, n_rows: int) -> NDArray[Any]:
    """Labels of groups as an array; an error says what is wrong with them."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must hold one label for each of the {n_rows} rows of X; got the shape "
            f"{labels.shape}."
        )
    missing = [i for i, label in enumerate(labels.tolist()) if _is_missing(label)]
    if missing:
        raise ValueError(
            f"groups must not hold missing values: row {missing[0]} has none. Give rows that "
            "belong to no other a label of their own."
        )
    return labels


def _is_missing(label: Any) -> bool:
    """None, NaN, or a missing value of a frame library, which cannot be compared."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _digest(label: Any) -> bytes:
    """16 bytes; whole floats and the integers they equal are one label, as in Python."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return hashlib.blake2b(repr(label).encode(), digest_size=16).digest()
