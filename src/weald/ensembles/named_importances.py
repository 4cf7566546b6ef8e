"""Feature importances by the names of the columns, the largest first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.ensembles.text_table import aligned
from weald.parameters import OneOf
from weald.trees.frame import made_frame

# Number of columns that are printed.
_SHOWN = 20

_BY = OneOf(("share", "gain", "cover", "count"))


@dataclass(frozen=True, eq=False, repr=False)
class NamedImportances(Mapping[str, float]):
    """Importances of the columns, in decreasing order: a mapping of names to numbers.

    Attributes
    ----------
    by : {"share", "gain", "cover", "count"}
        What the numbers are.
    importances : dict of str to float
        The numbers.
    """

    by: str
    importances: Mapping[str, float]

    def __getitem__(self, name: str) -> float:
        if name not in self.importances:
            raise KeyError(f"there is no column {name!r}; there are {list(self.importances)}")
        return self.importances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.importances)

    def __len__(self) -> int:
        return len(self.importances)

    def to_pandas(self) -> Any:
        """Return a pandas Series, whose index is the column."""
        frame = made_frame(self._columns(), "pandas", "to_pandas", "the mapping itself")
        return frame.set_index("column")[self.by]

    def to_polars(self) -> Any:
        """Return a polars data frame with the columns "column" and that of `by`."""
        return made_frame(self._columns(), "polars", "to_polars", "the mapping itself")

    def _columns(self) -> dict[str, Any]:
        return {"column": list(self), self.by: list(self.values())}

    def __repr__(self) -> str:
        lines = [["column", self.by]]
        lines += [[name, f"{value:.6g}"] for name, value in list(self.items())[:_SHOWN]]
        more = len(self) - _SHOWN
        return aligned(lines, left=1) + (f"\n… and {more} more" if more > 0 else "")


class NamesImportances:
    """Mixin of models with `feature_importances_` and `importances`."""

    def named_importances(self, by: str = "share") -> NamedImportances:
        """Feature importances by the names of the columns, the largest first.

        Parameters
        ----------
        by : {"share", "gain", "cover", "count"}, default="share"
            "share": as `feature_importances_`; others: as `importances`.

        Returns
        -------
        NamedImportances
            A mapping of names to numbers that prints as a table; `to_pandas` and `to_polars`
            convert it.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from weald import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = RandomForestRegressor(20, random_state=0).fit(X[["bmi", "bp", "s5"]], y)
        >>> model.named_importances()
        column     share
        s5      0.46...
        bmi     0.41...
        bp      0.11...
        >>> model.named_importances("count")["bmi"] > 0
        True
        """
        check_is_fitted(self)
        if not _BY.admits(by):
            raise ValueError(f"by must be {_BY.expected}; got {by!r}.")
        model: Any = self
        values = model.feature_importances_ if by == "share" else model.importances(by)
        names = model._column_names()
        order = np.argsort(-values, kind="stable")
        return NamedImportances(by, {names[i]: float(values[i]) for i in order})
