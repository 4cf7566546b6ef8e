"""Checkpoints: the training state on disk, from which an interrupted fit resumes."""

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
from weald.ensembles.boosted_trees.auto_settings import BoosterSettings
from weald.ensembles.boosted_trees.trained_state import TrainedState
from weald.ensembles.rounds.loop import Stage, Training
from weald.losses import Loss
from weald.persist import fingerprint, read_archive, write_archive
from weald.resampling import ordered_rows
from weald.trees import Forest, ForestBuilder
from weald.version import __version__

# Minimum seconds between two snapshots, and minimum ratio of that time to the time of saving one:
# snapshots take at most a twentieth of the training time.
INTERVAL = 20.0
_COST_RATIO = 20.0

# Parameters that may differ when a fit resumes: they do not affect the rounds.
_IGNORED_PARAMETERS = {
    "n_estimators",
    "n_jobs",
    "verbose",
    "time_limit",
    "checkpoint",
    "warm_start",
}


@dataclasses.dataclass(frozen=True)
class SnapshotPath:
    """Validation of the `checkpoint` parameter."""

    expected: str = "a path that ends in '.npz'"

    def admits(self, value: object) -> bool:
        return isinstance(value, (str, os.PathLike)) and str(value).endswith(".npz")


class Checkpoint:
    """Saves the training state to a file periodically, and restores it when a fit starts."""

    reason = "never"

    def __init__(self, model: Any, settings: BoosterSettings) -> None:
        self._path = Path(os.fspath(model.checkpoint))
        if model.warm_start:
            raise ValueError(
                "checkpoint and warm_start=True cannot be combined: a checkpoint resumes from its "
                "file, a warm start from the fitted model. Set warm_start=False or checkpoint=None."
            )
        if not self._path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint={str(self._path)!r}: the directory {str(self._path.parent)!r} does "
                "not exist. Create it first."
            )
        self._identity: dict[str, Any] = {
            "weald": __version__,
            "estimator": type(model).__name__,
            "parameters": _parameters_of(model, settings),
        }
        self._settings = settings
        self._saved = -1
        self._n_rounds = 0
        self._next = 0.0

    # ---- reading ----

    def read(self, model: Any, loss: Loss) -> TrainedState | None:
        """Restore the state from the file, if it exists; raise if damaged or of another fit."""
        if not self._path.exists():
            return None
        facts, arrays = read_archive(self._path)
        self._check_identity(facts)
        try:
            forest = _forest_from(arrays, int(facts["n_columns"]))
            state = TrainedState(
                forest,
                int(facts["target_exponent"]),
                float(facts["weight_unit"]),
                int(facts["seed"]),
                {name: arrays[_curve(i)].tolist() for i, name in enumerate(facts["curves"])},
                model._plan,
                getattr(model, "classes_", None),
                int(facts["n_boosters"]),
            )
            self._data = str(facts["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{str(self._path)!r} is damaged: {error}") from error
        self._n_columns = forest.n_columns
        rounds = state.rounds(loss)
        if len(forest.base_score) != loss.n_scores:
            raise self._error("was saved by a fit with other columns or classes")
        if rounds > self._settings.n_estimators:
            raise self._error(
                f"has {rounds} rounds, more than n_estimators={self._settings.n_estimators}"
            )
        if any(np.shape(values) != (rounds + 1,) for values in state.curves.values()):
            raise ValueError(f"{str(self._path)!r} is damaged: a curve has no value per round")
        self._saved = self._n_rounds = rounds
        return state

    def _check_identity(self, facts: Mapping[str, Any]) -> None:
        """Raise if the file was saved by another estimator, version or set of parameters."""
        for key in ("estimator", "weald"):
            if facts.get(key) != self._identity[key]:
                raise self._error(
                    f"was saved by {key} {facts.get(key)!r}, not {self._identity[key]!r}"
                )
        before, now = facts.get("parameters", {}), self._identity["parameters"]
        for name in sorted(set(before) | set(now)):
            if before.get(name) != now.get(name):
                raise self._error(
                    f"was saved by a fit with {name}={before.get(name)}; this fit has "
                    f"{name}={now.get(name)}"
                )

    def _error(self, why: str) -> ValueError:
        return ValueError(
            f"The checkpoint {str(self._path)!r} {why}. To resume, use the same data and "
            "parameters; otherwise choose another path, or delete the file to start over."
        )

    def check_rows(self, training: Training, plan: Any, classes: Any, n_threads: int) -> None:
        """Raise if the rows are not those of the fit that saved the file."""
        if self._saved >= 0 and self._n_columns != plan.n_columns:
            raise self._error("was saved by a fit with other columns or classes")
        data = _data_digest(training, plan, classes, n_threads)
        if self._saved >= 0 and self._data != data:
            raise self._error("was saved by a fit on other data")
        self._data = data

    # ---- writing ----

    def watch(self, state_after: Callable[[int], TrainedState]) -> Self:
        """Set the function that returns the state after a number of rounds."""
        self._state_after = state_after
        return self

    def __enter__(self) -> Self:
        if self._saved < 0:
            self._save()  # fail now, not after hours, if the path is not writable
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._n_rounds > self._saved:
            self._save()

    def before(self, stage: Stage) -> None:
        """Do nothing: only completed rounds are saved."""

    def after(self, stage: Stage) -> bool:
        """Save the rounds so far, if a snapshot is due."""
        self._n_rounds = stage.number + 1
        if time.perf_counter() >= self._next:
            self._save()
        return False

    def _save(self) -> None:
        begin = time.perf_counter()
        state = self._state_after(self._n_rounds)
        facts = {
            **self._identity,
            "data": self._data,
            "n_columns": state.forest.n_columns,
            "target_exponent": state.target_exponent,
            "weight_unit": state.weight_unit,
            "seed": state.seed,
            "n_boosters": state.n_boosters,
        }
        facts["curves"] = list(state.curves)
        curves = {
            _curve(i): np.array(values, dtype=np.float64)
            for i, values in enumerate(state.curves.values())
        }
        write_archive(self._path, facts, {**_arrays_of(state.forest), **curves})
        self._saved = self._n_rounds
        end = time.perf_counter()
        self._next = end + max(INTERVAL, _COST_RATIO * (end - begin))


def _parameters_of(model: Any, settings: BoosterSettings) -> dict[str, str]:
    """Parameters that affect the rounds, as text; for those that are "auto", the chosen values.

    These may depend on `n_estimators`, which is not among the parameters.
    """
    given, chosen = model.get_params(deep=False), settings.as_dict()
    names = given.keys() - _IGNORED_PARAMETERS
    return {name: _text_of(chosen.get(name, given[name])) for name in sorted(names)}


def _text_of(value: Any) -> str:
    """The repr of a plain value; the qualified type name of any other object."""
    if isinstance(value, (np.generic, np.ndarray)):
        return repr(value.tolist())
    if isinstance(value, (bool, int, float, str, list, tuple, dict, type(None))):
        return repr(value)
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _data_digest(training: Training, plan: Any, classes: Any, n_threads: int) -> str:
    """Digest of all rows, regardless of their order, of the column plan and of the classes."""
    digest = hashlib.sha256()
    rows = training.rows
    held = np.zeros(rows.n, dtype=bool) if training.held_out is None else training.held_out
    for mask in (~held, held):
        part = np.flatnonzero(mask)
        own = rows.take(part)
        if training.validation is not None and mask is held:
            weight = training.validation_weight
            own = replace(own, copies=None, weight=None if weight is None else weight[part])
        digest.update(_rows_digest(own, n_threads))
    digest.update(f"{rows.target_exponent} {rows.weight_unit}".encode())
    labels = {} if classes is None else {"classes": np.asarray(classes)}
    digest.update(fingerprint({**plan.fingerprint_arrays(), **labels}).encode())
    return digest.hexdigest()


def _rows_digest(rows: Rows, n_threads: int) -> bytes:
    """Hashes and weights of the rows, sorted by hash."""
    if rows.n == 0:
        return b"none"
    ordered, weight = ordered_rows(rows, n_threads=n_threads), rows.total_weight
    weight = np.ones(rows.n) if weight is None else weight[ordered.index]
    return ordered.keys.astype("<u8").tobytes() + weight.astype("<f8").tobytes()


def _curve(number: int) -> str:
    """Name of the array of a curve; names given by the user may be no names of files."""
    return f"curve {number}"


# ---- a forest as arrays ----

_PER_NODE = ("threshold", "right", "missing_left", "weight", "gain", "category_set")
_OPTIONAL = {"saw_missing": np.zeros(0, dtype=np.uint8)}


def _arrays_of(forest: Forest) -> dict[str, NDArray[Any]]:
    fields = {field.name: getattr(forest, field.name) for field in dataclasses.fields(forest)}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}


def _forest_from(arrays: Mapping[str, NDArray[Any]], n_columns: int) -> Forest:
    """Rebuild a forest from its arrays, and validate it."""
    expected = _arrays_of(ForestBuilder(np.zeros(1), n_columns).build())
    own = {name: arrays[name] for name in expected}
    own |= {name: arrays[name] for name in _OPTIONAL if name in arrays}
    for name, array in {**expected, **_OPTIONAL}.items():
        if name in own and (own[name].dtype, own[name].ndim) != (array.dtype, array.ndim):
            raise ValueError(f"{name} has dtype {own[name].dtype} and {own[name].ndim} dimensions")
    if any(len(own[name]) != len(own["feature"]) for name in _PER_NODE):
        raise ValueError("an array does not have one entry per node")
    forest = Forest(**own, n_columns=n_columns)
    forest.prove_sound()
    return forest
