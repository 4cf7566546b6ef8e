"""Losses and scores of a fit, round by round."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.ensembles.base import Floats
from weald.ensembles.text_table import aligned
from weald.trees.frame import made_frame

# Names of curves.
TRAIN_LOSS, OOB_LOSS, VALIDATION_LOSS = "train loss", "out-of-bag loss", "validation loss"

# A longer table is printed without its middle: so many rounds of each end are shown.
_SHOWN = 4


@dataclass(frozen=True, eq=False, repr=False)
class History(Mapping[str, Floats]):
    """Losses and scores before the first round (index 0) and after each one.

    A mapping of names to arrays of equal length: "train loss", and for each validation set its
    loss and its metrics, such as "validation loss" and "validation roc_auc"; with `subsample` of
    gradient boosting also "out-of-bag loss". It prints as a table.

    Attributes
    ----------
    curves : dict of str to array, shape (rounds + 1,)
        The arrays, read-only.
    watched : str or None
        Name of the curve that early stopping follows (that of `scoring`, of boosted trees); None:
        there is no validation set.

    Examples
    --------
    >>> from weald import BoostedTreesRegressor
    >>> x = np.linspace(0, 1, 90)[:, np.newaxis]
    >>> model = BoostedTreesRegressor(n_estimators=2, learning_rate=0.5, metrics=["r2"])
    >>> history = model.fit(x[::2], x[::2, 0], X_val=x[1::2], y_val=x[1::2, 0]).history_
    >>> history
    round  train loss  validation loss  validation r2
        0   0.0425872        0.0426503    -0.00148221
        1   0.0111472        0.0108226       0.745872
        2  0.00320683       0.00292459       0.931327
    >>> list(history), len(history["train loss"])
    (['train loss', 'validation loss', 'validation r2'], 3)
    >>> history.watched
    'validation loss'
    """

    curves: Mapping[str, Floats]
    watched: str | None = None

    def __post_init__(self) -> None:
        for values in self.curves.values():
            values.setflags(write=False)

    # Arrays of two histories cannot be compared to True or False.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __getitem__(self, name: str) -> Floats:
        if name not in self.curves:
            raise KeyError(f"there is no curve {name!r}; there are {list(self.curves)}")
        return self.curves[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    @property
    def n_rounds(self) -> int:
        """Number of rounds that were recorded."""
        return len(next(iter(self.curves.values()))) - 1

    def truncated(self, n_rounds: int) -> "History":
        """The first rounds only."""
        curves = {name: values[: n_rounds + 1] for name, values in self.curves.items()}
        return History(curves, self.watched)

    def to_pandas(self) -> Any:
        """Return a pandas data frame with a column for each curve; the index is the round."""
        return made_frame(self._columns(), "pandas", "to_pandas", "curves").set_index("round")

    def to_polars(self) -> Any:
        """Return a polars data frame with a column `round` and one for each curve."""
        return made_frame(self._columns(), "polars", "to_polars", "curves")

    def _columns(self) -> dict[str, Any]:
        return {"round": np.arange(self.n_rounds + 1), **self.curves}

    def __repr__(self) -> str:
        """Format as a table; of many rounds the first and the last."""
        last = self.n_rounds
        is_long = last > 3 * _SHOWN
        lines = [["round", *self.curves]]
        for number in range(last + 1):
            if is_long and _SHOWN <= number <= last - _SHOWN:
                if number == _SHOWN:
                    lines.append(["…"] * len(lines[0]))
                continue
            lines.append([str(number), *(f"{one[number]:.6g}" for one in self.curves.values())])
        return aligned(lines)
