"""The Dask cluster of a fit: the default client, facts of partitions, and their parts."""

from collections.abc import Callable, Sequence
from typing import Any

from distributed import get_client

from weald.data import ColumnPlan
from weald.ensembles.boosted_trees.parts.dask_parts import DaskParts, PartSpec
from weald.ensembles.boosted_trees.parts.table_facts import TableFacts, TargetCode
from weald.losses import BuiltinLoss


class DaskCluster:
    """The workers behind the default client."""

    def __init__(self) -> None:
        try:
            self._client = get_client()
        except ValueError as error:
            raise ValueError(
                "X is a Dask collection, but there is no Dask client. Create one, for example "
                "client = dask.distributed.Client(), which starts workers on this machine."
            ) from error

    def computed(self, partitions: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Begin to compute the partitions: futures of X and y in turn."""
        futures: list[Any] = self._client.compute([one for pair in partitions for one in pair])
        return futures

    def facts(
        self, futures: Sequence[Any], describe: Callable[..., TableFacts], *arguments: Any
    ) -> list[TableFacts]:
        """The facts of each partition."""
        asked = [
            self._client.submit(describe, X, y, *arguments, pure=False)
            for X, y in zip(futures[::2], futures[1::2], strict=True)
        ]
        facts = []
        for i, future in enumerate(asked):
            try:
                facts.append(future.result())
            except (TypeError, ValueError) as error:
                raise type(error)(f"Partition {i}: {error}") from error
        return facts

    def parts(
        self,
        partitions: Sequence[tuple[Any, Any]],
        n_rows: Sequence[int],
        futures: Sequence[Any],
        plan: ColumnPlan,
        target: TargetCode,
        loss: BuiltinLoss,
        n_threads: int | None,
    ) -> DaskParts:
        """The rows of these partitions, as parts in the workers."""
        spec = PartSpec(plan, target, loss, n_threads)
        return DaskParts(self._client, partitions, n_rows, spec, futures)
