"""Groups of rows that are sampled and held out together."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Assignment of rows to groups.

    Attributes
    ----------
    keys : uint64 [groups, 2]
        Hash of each group's label, sorted.
    of_row : intp [rows]
        Index of each row's group in `keys`.
    """

    keys: Hashes
    of_row: NDArray[np.intp]

    @property
    def n(self) -> int:
        """Number of groups."""
        return len(self.keys)

    @property
    def keys_of_rows(self) -> Hashes:
        """Hash of each row's group label."""
        return self.keys[self.of_row]

    def take(self, rows: NDArray[Any]) -> "Groups":
        """Select rows; groups without any selected row are dropped."""
        used, of_row = np.unique(self.of_row[rows], return_inverse=True)
        if len(used) == self.n:
            return replace(self, of_row=self.of_row[rows])
        return Groups(self.keys[used], of_row.ravel())


def groups_of_rows(groups: Any, n_rows: int) -> Groups:
    """Convert group labels given by the user.

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
    number_of = {label: i for i, label in enumerate(dict.fromkeys(values))}
    hashes = np.frombuffer(b"".join(map(_digest, number_of)), dtype="<u8").reshape(-1, 2)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    of_row = np.array([number_of[label] for label in values], dtype=np.intp)
    return Groups(np.ascontiguousarray(hashes[order], dtype=np.uint64), place[of_row])


def checked_group_labels(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return group labels as an array of shape (n_rows,), or raise ValueError."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must hold one label for each of the {n_rows} rows of X; got the shape "
            f"{labels.shape}."
        )
    missing = [i for i, label in enumerate(labels.tolist()) if is_missing_label(label)]
    if missing:
        raise ValueError(
            f"groups must not hold missing values: row {missing[0]} has none. Use a unique label "
            "for each row that has no group."
        )
    return labels


def is_missing_label(label: Any) -> bool:
    """Whether a label is None, NaN or pandas.NA, which raises TypeError when compared."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _digest(label: Any) -> bytes:
    """Hash a label to 16 bytes; integral floats hash like the equal integers."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return hashlib.blake2b(repr(label).encode(), digest_size=16).digest()
