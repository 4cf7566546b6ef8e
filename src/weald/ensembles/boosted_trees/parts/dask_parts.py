"""Parts of a table in the workers of a Dask cluster, as actors that ask one another."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from distributed import Client, get_client, wait

from weald.ensembles.boosted_trees.parts.dask_actors import CHILDREN, LOST, PATIENCE, PartActor
from weald.ensembles.boosted_trees.parts.dask_heartbeats import Heartbeats
from weald.ensembles.boosted_trees.parts.dask_tables import column_names, joined, paired_partitions
from weald.ensembles.boosted_trees.parts.part_weights import Weighted
from weald.ensembles.boosted_trees.parts.parts_rounds import Asked
from weald.ensembles.boosted_trees.parts.parts_run import PartsLost
from weald.ensembles.boosted_trees.parts.table_facts import PartSpec, TableFacts

# Seconds between looks whether all workers are still there, and seconds that a cluster may be
# without workers.
_LOOKS, _NO_WORKERS = 2.0, 600.0


class DaskTable:
    """Dask collections as a table in partitions, which are computed once for the whole fit.

    Parameters
    ----------
    X, y, sample_weight : Dask collections
        Columns, targets and sample weights (None: none), in the same partitions.
    """

    kind, instead = "Dask collections", "fit on one table"

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        try:
            self._client = get_client()
        except ValueError as error:
            raise ValueError(
                "X is a Dask collection, but there is no Dask client. Create one, for example "
                "client = dask.distributed.Client(), which starts workers on this machine."
            ) from error
        self._partitions = paired_partitions(X, y, sample_weight)
        self.n_columns, self.names = int(X.shape[1]), column_names(X)
        self._futures = _computed(self._client, self._partitions)

    def facts(self, describe: Callable[..., TableFacts], *arguments: Any) -> list[TableFacts]:
        """The facts of each partition."""
        asked = [
            self._client.submit(describe, X, y, *arguments, pure=False) for X, y in self._futures
        ]
        facts = []
        for i, future in enumerate(asked):
            try:
                facts.append(future.result())
            except (TypeError, ValueError) as error:
                raise type(error)(f"Partition {i}: {error}") from error
        return facts

    def gathered(self) -> tuple[Any, Any, Any]:
        """X, y and sample weights (None: none) in the memory of the client."""
        tables, targets = zip(*self._client.gather(self._futures), strict=True)
        if not isinstance(targets[0], Weighted):
            return joined(tables), joined(targets), None
        ys, weights = zip(*targets, strict=True)
        return joined(tables), joined(ys), joined(weights)

    def parts(self, n_rows: Sequence[int], spec: PartSpec) -> "DaskParts":
        """The rows of the partitions that have any, as parts in the workers."""
        filled = [i for i, n in enumerate(n_rows) if n]
        computed = [self._futures[i] for i in filled]
        self._futures = []  # the workers forget them when they have become parts
        partitions = [self._partitions[i] for i in filled]
        return DaskParts(self._client, partitions, [n_rows[i] for i in filled], spec, computed)


def _computed(client: Client, partitions: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Begin to compute the partitions: futures of X and y."""
    futures = client.compute([one for pair in partitions for one in pair])
    return list(zip(futures[::2], futures[1::2], strict=True))


class DaskParts:
    """Parts in the workers of a cluster: each holds some partitions of the collections.

    Parameters
    ----------
    client : Client
        The client of the cluster.
    partitions : sequence of pairs
        X and y of each partition that has rows, as Delayed objects.
    n_rows : sequence of int
        Number of rows of each.
    spec : PartSpec
        How they are read.
    computed : sequence of pairs
        Futures of the partitions.
    """

    def __init__(
        self,
        client: Client,
        partitions: Sequence[tuple[Any, Any]],
        n_rows: Sequence[int],
        spec: PartSpec,
        computed: Sequence[tuple[Any, Any]],
    ) -> None:
        self._client, self._partitions = client, partitions
        self._heartbeats = Heartbeats(client)
        self._n_rows, self._spec = n_rows, spec
        self._computed: Sequence[tuple[Any, Any]] = computed
        self._actors: list[Any] = []
        self._workers: set[str] = set()
        self._futures: list[Any] = []

    def lead(self, verb: str, *arguments: Any) -> Any:
        """Call a method of what asks the parts, in the worker that asks the others."""
        try:
            answer, error = self._waited(self._actors[0].lead(verb, arguments))
        except LOST as lost:
            raise _as_lost(lost) from lost
        if error is not None:
            raise error
        return answer

    def make(self, asker: Callable[[Asked], Any]) -> None:
        """Read all partitions, on the workers that are there now."""
        self._give_up()
        try:
            self._client.wait_for_workers(1, timeout=_NO_WORKERS)
            self._place(self._computed or _computed(self._client, self._partitions))
            self._waited(self._actors[0].appoint(asker))
        except LOST as lost:
            raise _as_lost(lost) from lost
        finally:
            self._computed = ()

    def _give_up(self) -> None:
        """Forget all actors; the one that leads may wait for others that are gone."""
        if self._actors:
            with suppress(*LOST):
                self._actors[0].give_up().result(timeout=_LOOKS)
        self._actors, self._futures = [], []

    def _place(self, computed: Sequence[tuple[Any, Any]]) -> None:
        """Make an actor on each worker that gets partitions."""
        tables, targets = [X for X, _ in computed], [y for _, y in computed]
        self._wait_for_partitions([*tables, *targets])
        workers = sorted(self._client.nthreads())
        shares = shares_of_workers(self._n_rows, self._holders(tables), workers)
        self._workers = set(shares)
        self._futures = [
            self._client.submit(
                PartActor,
                [tables[i] for i in share],
                [targets[i] for i in share],
                self._spec,
                actor=True,
                workers=[worker],
            )
            for worker, share in shares.items()
        ]
        self._wait_for(self._futures)
        self._actors = [future.result(timeout=PATIENCE) for future in self._futures]
        for i, actor in enumerate(self._actors):
            if children := self._actors[CHILDREN * i + 1 : CHILDREN * i + CHILDREN + 1]:
                self._waited(actor.adopt(children))

    def _holders(self, tables: Sequence[Any]) -> list[str | None]:
        """The worker that holds each partition of X."""
        has = self._client.who_has(tables)
        return [next(iter(has.get(one.key, ())), None) for one in tables]

    def _wait_for_partitions(self, futures: Sequence[Any]) -> None:
        """Wait until all partitions are computed, which may take long; but only with workers.

        Dask computes what a lost worker held again, by itself.
        """
        while True:
            try:
                wait(futures, timeout=_LOOKS)
            except TimeoutError:
                if not self._heartbeats.look():
                    self._client.wait_for_workers(1, timeout=_NO_WORKERS)
            else:
                return

    def _wait_for(self, futures: Sequence[Any]) -> None:
        """Wait until all actors are made, or raise the error of one."""
        begin = time.monotonic()
        while any(future.status == "pending" for future in futures):
            try:
                wait(futures, timeout=_LOOKS)
            except TimeoutError:
                self._look(begin)

    def _waited(self, answer: Any) -> Any:
        """The result of an actor's method, or TimeoutError if a worker is gone or too slow."""
        begin = time.monotonic()
        while True:
            try:
                return answer.result(timeout=_LOOKS)
            except TimeoutError:
                if answer.done():
                    raise
                self._look(begin)

    def _look(self, begin: float) -> None:
        """Raise TimeoutError if a worker is gone, or if too much time has passed."""
        gone = self._workers - self._heartbeats.look()
        if gone:
            raise TimeoutError(f"the workers {sorted(gone)} are gone")
        if time.monotonic() - begin > PATIENCE:
            raise TimeoutError(f"no answer of all workers within {PATIENCE:g} s")


def _as_lost(lost: Exception) -> PartsLost:
    return PartsLost(
        f"Workers of the Dask cluster no longer answer: {lost}. The fit was begun again on the "
        "others a few times and gives up. Look at the logs of the workers: the usual cause is "
        "memory; use more or larger workers."
    )


def shares_of_workers(
    n_rows: Sequence[int], holders: Sequence[str | None], workers: Sequence[str]
) -> dict[str, list[int]]:
    """Deal out partitions to workers, about the same number of rows to each.

    A partition stays where it is, unless that worker would have a tenth more than its share.

    Examples
    --------
    >>> shares_of_workers([5, 5, 5, 5], ["a", "a", "a", None], ["a", "b"])
    {'a': [0, 1], 'b': [2, 3]}
    """
    fair = 1.1 * sum(n_rows) / len(workers)
    load = dict.fromkeys(workers, 0)
    shares: dict[str, list[int]] = {worker: [] for worker in workers}
    for i in sorted(range(len(n_rows)), key=lambda i: (-n_rows[i], i)):
        holder = holders[i]
        stays = holder in load and load[holder] + n_rows[i] <= fair
        worker = holder if stays and holder is not None else min(workers, key=load.__getitem__)
        load[worker] += n_rows[i]
        shares[worker].append(i)
    return {worker: sorted(share) for worker, share in shares.items() if share}
