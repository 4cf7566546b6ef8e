"""The state of a fit on disk, so that a fit that was killed goes on where it was."""

import dataclasses
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from weald.data import Rows
from weald.ensembles.boosted_trees.trained_state import CURVES, TrainedState
from weald.ensembles.rounds.loop import Stage, Training
from weald.losses import Loss
from weald.persist import fingerprint, read_snapshot, write_snapshot
from weald.resampling import ordered_rows
from weald.trees import Forest, ForestBuilder
from weald.version import __version__

# Seconds between two snapshots; more if they take long, so that they cost a twentieth at most.
INTERVAL = 20.0
_COST = 20.0

# They change no round that is made.
_FREE = {"n_estimators", "n_jobs", "verbose", "time_limit", "checkpoint", "warm_start"}


@dataclasses.dataclass(frozen=True)
class SnapshotPath:
    """The limit of a `checkpoint` parameter."""

    expected: str = "a path that ends in '.npz'"

    def admits(self, value: object) -> bool:
        return isinstance(value, (str, os.PathLike)) and str(value).endswith(".npz")


class Checkpoint:
    """Writes what a fit has grown to a file every now and then, and reads it when it begins."""

    reason = "never"

    def __init__(self, model: Any) -> None:
        self._path = Path(os.fspath(model.checkpoint))
        if model.warm_start:
            raise ValueError(
                "checkpoint goes on from its own file and warm_start from the fitted model; set "
                "one of them."
            )
        if not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint={str(self._path)!r}: there is no folder {str(self._path.parent)!r}. "
                "Make it first."
            )
        self._identity: dict[str, Any] = {
            "weald": __version__,
            "estimator": type(model).__name__,
            "parameters": _told(model),
        }
        self._saved = -1
        self._made = 0
        self._next = 0.0

    # ---- reading ----

    def read(self, model: Any, loss: Loss) -> TrainedState | None:
        """What the file holds, if there is one; refuses another fit's, and what is damaged."""
        if not self._path.exists():
            return None
        facts, arrays = read_snapshot(self._path)
        self._refuse_others(facts)
        try:
            forest = _forest_from(arrays, int(facts["n_columns"]))
            grown = TrainedState(
                forest,
                int(facts["target_exponent"]),
                float(facts["weight_unit"]),
                int(facts["seed"]),
                {name: arrays[name].tolist() for name in CURVES},
                model._plan,
                getattr(model, "classes_", None),
            )
            self._data = str(facts["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{str(self._path)!r} is damaged: {error}") from error
        rounds = grown.rounds(loss)
        if len(forest.base_score) != loss.n_scores or forest.n_columns != model._plan.n_columns:
            raise self._refusal("was made on other columns or classes")
        if rounds > model.n_estimators:
            raise self._refusal(f"has {rounds} rounds, more than n_estimators={model.n_estimators}")
        self._saved = self._made = rounds
        return grown

    def _refuse_others(self, facts: Mapping[str, Any]) -> None:
        for what in ("estimator", "weald"):
            if facts.get(what) != self._identity[what]:
                raise self._refusal(
                    f"was made by {what} {facts.get(what)!r}, not {self._identity[what]!r}"
                )
        before, now = facts.get("parameters", {}), self._identity["parameters"]
        for name in sorted(set(before) | set(now)):
            if before.get(name) != now.get(name):
                raise self._refusal(
                    f"is of a fit with {name}={before.get(name)}; this fit has "
                    f"{name}={now.get(name)}"
                )

    def _refusal(self, why: str) -> ValueError:
        return ValueError(
            f"The checkpoint {str(self._path)!r} {why}. Fit as then to go on from it, choose "
            "another path, or delete the file to begin anew."
        )

    def check_rows(self, training: Training, plan: Any, classes: Any, n_threads: int) -> None:
        """Refuse to go on with other rows than those of the file."""
        data = _data_of(training, plan, classes, n_threads)
        if self._saved >= 0 and self._data != data:
            raise self._refusal("was made from other data")
        self._data = data

    # ---- writing ----

    def watch(self, grown: Callable[[int], TrainedState]) -> Self:
        """Begin to save what `grown` gives of a number of rounds."""
        self._grown = grown
        return self

    def __enter__(self) -> Self:
        if self._saved < 0:
            self._save()  # a path that cannot be written should not be found out in hours
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._made > self._saved:
            self._save()

    def before(self, stage: Stage) -> None:
        """Only whole rounds are saved."""

    def after(self, stage: Stage) -> bool:
        """Save the rounds so far, if the last time was a while ago."""
        self._made = stage.number + 1
        if time.perf_counter() >= self._next:
            self._save()
        return False

    def _save(self) -> None:
        begin = time.perf_counter()
        grown = self._grown(self._made)
        facts = {
            **self._identity,
            "data": self._data,
            "n_columns": grown.forest.n_columns,
            "target_exponent": grown.target_exponent,
            "weight_unit": grown.weight_unit,
            "seed": grown.seed,
        }
        curves = {name: np.array(grown.curves[name], dtype=np.float64) for name in CURVES}
        write_snapshot(self._path, facts, {**_arrays_of(grown.forest), **curves})
        self._saved = self._made
        end = time.perf_counter()
        self._next = end + max(INTERVAL, _COST * (end - begin))


def _told(model: Any) -> dict[str, str]:
    """Every parameter that a round depends on, in words."""
    parameters = model.get_params(deep=False).items()
    return {name: _word(value) for name, value in parameters if name not in _FREE}


def _word(value: Any) -> str:
    """A value as it is written; of an object, what kind it is."""
    if isinstance(value, (np.generic, np.ndarray)):
        return repr(value.tolist())
    if isinstance(value, (bool, int, float, str, list, tuple, dict, type(None))):
        return repr(value)
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _data_of(training: Training, plan: Any, classes: Any, n_threads: int) -> str:
    """A digest of all rows, whatever their order, of how tables are read, and of the classes."""
    digest = hashlib.sha256()
    rows = training.rows
    held = np.zeros(rows.n, dtype=bool) if training.held_out is None else training.held_out
    for mask in (~held, held):
        part = np.flatnonzero(mask)
        own = rows.take(part)
        if training.validation is not None and mask is held:
            weight = training.validation_weight
            own = replace(own, copies=None, weight=None if weight is None else weight[part])
        digest.update(_digest_of(own, n_threads))
    digest.update(f"{rows.target_exponent} {rows.weight_unit}".encode())
    labels = {} if classes is None else {"classes": np.asarray(classes)}
    digest.update(fingerprint({**plan.learnt(), **labels}).encode())
    return digest.hexdigest()


def _digest_of(rows: Rows, n_threads: int) -> bytes:
    """What rows hold and count, in the order of their hashes."""
    if rows.n == 0:
        return b"none"
    ordered, weight = ordered_rows(rows, n_threads=n_threads), rows.total_weight
    weight = np.ones(rows.n) if weight is None else weight[ordered.index]
    return ordered.keys.astype("<u8").tobytes() + weight.astype("<f8").tobytes()


# ---- a forest as arrays ----

_PER_NODE = ("threshold", "right", "missing_left", "weight", "gain", "category_set")
_OPTIONAL = {"saw_missing": np.zeros(0, dtype=np.uint8)}


def _arrays_of(forest: Forest) -> dict[str, NDArray[Any]]:
    fields = {field.name: getattr(forest, field.name) for field in dataclasses.fields(forest)}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}


def _forest_from(arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Forest:
    """The forest of these arrays, proven sound."""
    alike = _arrays_of(ForestBuilder(np.zeros(1), n_columns).build())
    own = {name: arrays[name] for name in alike}
    own |= {name: arrays[name] for name in _OPTIONAL if name in arrays}
    for name, one in {**alike, **_OPTIONAL}.items():
        if name in own and (own[name].dtype, own[name].ndim) != (one.dtype, one.ndim):
            raise ValueError(f"{name} is {own[name].dtype} of {own[name].ndim} dimensions")
    if any(len(own[name]) != len(own["feature"]) for name in _PER_NODE):
        raise ValueError("an array has not one entry per node")
    forest = Forest(**own, n_columns=n_columns)
    forest.prove_sound()
    return forest
