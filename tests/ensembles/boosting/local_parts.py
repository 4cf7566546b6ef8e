"""A table cut into parts in this process, which answer as the workers of a cluster do."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weald.ensembles.boosted_trees.parts.merging import Answer, merged
from weald.ensembles.boosted_trees.parts.part_weights import Weighted
from weald.ensembles.boosted_trees.parts.parts_run import PartsLost
from weald.ensembles.boosted_trees.parts.row_part import RowPart
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec, TableFacts


def cut_points(n_rows: int, n_parts: int, seed: int) -> list[int]:
    """Where random parts begin and end; some may be empty."""
    inner = np.random.default_rng(seed).integers(0, n_rows + 1, n_parts - 1)
    return [0, *np.sort(inner).tolist(), n_rows]


class LocalTable:
    """A table in parts; after `loses_after` questions, the parts are lost once."""

    kind, instead = "tables of a test", "fit on one table"

    def __init__(
        self, X: Any, y: Any, points: Sequence[int], loses_after: int = 0, weight: Any = None
    ) -> None:
        rows = [slice(begin, end) for begin, end in pairwise(points)]
        is_frame = hasattr(X, "iloc")
        self.names = list(X.columns) if is_frame else None
        self.n_columns = X.shape[1]
        self._pairs = [
            (X.iloc[part] if is_frame else X[part], y.iloc[part] if hasattr(y, "iloc") else y[part])
            for part in rows
        ]
        if weight is not None:
            self._pairs = [
                (table, Weighted(target, weight[part]))
                for (table, target), part in zip(self._pairs, rows, strict=True)
            ]
        self._loses_after = loses_after
        self._whole = X, y, weight
        self.n_gathered = 0

    def gathered(self) -> tuple[Any, Any, Any]:
        self.n_gathered += 1
        return self._whole

    def facts(self, describe: Callable[..., TableFacts], *arguments: Any) -> list[TableFacts]:
        return [describe(X, y, *arguments) for X, y in self._pairs]

    def parts(self, n_rows: Sequence[int], spec: PartSpec) -> "LocalParts":
        filled = [pair for pair, n in zip(self._pairs, n_rows, strict=True) if n]
        self.made = LocalParts(filled, spec, self._loses_after)
        return self.made


class LocalParts:
    """Parts in this process."""

    def __init__(self, pairs: Sequence[tuple[Any, Any]], spec: PartSpec, loses_after: int) -> None:
        self._pairs, self._spec = pairs, spec
        self._loses_after, self.n_made = loses_after, 0
        self.asked: list[str] = []
        self._parts: list[RowPart] = []

    def lead(self, verb: str, *arguments: Any) -> Any:
        return getattr(self._asker, verb)(*arguments)

    def make(self, asker: Callable[[Any], Any]) -> None:
        self.n_made += 1
        self._asker = asker(self)
        n_threads = self._spec.n_threads or 1
        self._parts = [RowPart.read([X], [y], self._spec, n_threads) for X, y in self._pairs]

    def ask(self, question: str, *arguments: Any) -> Answer:
        told = [verb for verb, _ in arguments[0]] + [arguments[1]] if question == "after" else []
        self.asked.append("+".join(told or [question]))
        answers = [getattr(part, question)(*arguments) for part in self._parts]
        if len(self.asked) == self._loses_after:
            self._parts = []
            raise PartsLost("gone")
        return merged(answers[::-1])
