"""The table of the models that were tried."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from weald.ensembles.text_table import aligned
from weald.trees import made_frame


@dataclass(frozen=True)
class LeaderboardRow:
    """A model that was tried.

    Attributes
    ----------
    model : str
        Its name.
    score : float
        Score of its predictions for rows it was not trained on; larger is better. NaN if there are
        none.
    spread : float
        Standard deviation of the scores of the folds.
    weight : float
        Its weight in the ensemble.
    fit_seconds : float
        Duration of the fit.
    predict_seconds : float
        Duration of the prediction of 1,000 rows; NaN if it is not in the ensemble.
    status : str
        "trained", or why it was left out.
    """

    model: str
    score: float = math.nan
    spread: float = math.nan
    weight: float = 0.0
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    status: str = "trained"


@dataclass(frozen=True)
class Leaderboard:
    """The models that were tried, the best first, after the ensemble itself.

    Attributes
    ----------
    metric : str
        Name of the scores, of which larger ones are better.
    rows : tuple of LeaderboardRow
        One for each model, and one for the ensemble.

    Examples
    --------
    >>> board = Leaderboard("r2", (LeaderboardRow("linear", 0.5, 0.1, 1.0, 0.02, 0.001),))
    >>> print(board)
    model      r2  spread  weight   fit s  predict s  status
    linear  0.500   0.100    1.00   0.020    0.00100  trained
    """

    metric: str
    rows: tuple[LeaderboardRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self.rows)

    def __getitem__(self, model: str) -> LeaderboardRow:
        for row in self.rows:
            if row.model == model:
                return row
        names = ", ".join(row.model for row in self.rows)
        raise KeyError(f"There is no model {model!r}; there are {names}.")

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with one row per model.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default=None
            Data frame library; None takes the first one that is installed.
        """
        names = [one.name for one in fields(LeaderboardRow)]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        return made_frame(columns, library, "to_frame", "the rows of the leaderboard")

    def __str__(self) -> str:
        title = ["model", self.metric, "spread", "weight", "fit s", "predict s", "status"]
        lines = [[*_cells(row), row.status] for row in self.rows]
        return aligned([title, *lines], left=1)


def _cells(row: LeaderboardRow) -> list[str]:
    return [
        row.model,
        _number(row.score, 3),
        _number(row.spread, 3),
        f"{row.weight:.2f}" if row.weight else "",
        _number(row.fit_seconds, 2),
        _number(row.predict_seconds, 3),
    ]


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:#.{digits}g}"
