"""One case: an estimator, a pair of its parameters and a table, all drawn from a seed."""

import inspect
import warnings
import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

import weald
from contract.subjects import quick
from fuzz.choices import needed, values_of
from fuzz.tables import Table, random_table
from weald.cached import cached_property

# They are for two classes only.
OF_TWO_CLASSES = ("monotonic_cst", "loss", "on_bad_member", "form")


@dataclass(frozen=True)
class Case:
    """Everything follows from the name of the estimator and the seed.

    `only` keeps some of the parameters that were drawn, to find out which of them matter.
    """

    estimator: str
    seed: int
    only: tuple[str, ...] | None = None

    @property
    def kind(self) -> type:
        return getattr(weald, self.estimator)

    def _rng(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(self.estimator.encode()), self.seed, purpose])

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """Two parameters, and what they need beside them."""
        rng, values = self._rng(0), values_of(self.kind)
        found: dict[str, Any] = {}
        for name in rng.permutation(list(values))[:2]:
            value = values[name][rng.integers(len(values[name]))]
            found = {**needed(self.kind, name, value), **found, str(name): value}
        return found

    @property
    def parameters(self) -> dict[str, Any]:
        if self.only is None:
            return self.drawn
        return {name: value for name, value in self.drawn.items() if name in self.only}

    @cached_property
    def table(self) -> Table:
        rng = self._rng(1)
        n_classes = 0
        if issubclass(self.kind, ClassifierMixin):
            n_classes = int(rng.integers(2, 4))
            if any(name in self.drawn for name in OF_TWO_CLASSES):
                n_classes = 2
        return random_table(rng, n_classes=n_classes)

    def model(self, **overrides: Any) -> Any:
        """The estimator, not fitted."""
        fast = quick(self.kind, random_state=self.seed % 1000, n_jobs=1)
        return fast.set_params(**self.parameters).set_params(**overrides)

    def fitted(self, table: Table | None = None, **overrides: Any) -> Any:
        table = self.table if table is None else table
        given = {"sample_weight": table.weight}
        if "groups" in inspect.signature(self.kind.fit).parameters:
            given["groups"] = table.groups
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows without out-of-bag predictions and the like
            return self.model(**overrides).fit(table.X, table.y, **given)

    @property
    def is_refused(self) -> bool:
        """Whether the parameters are in conflict, which raises an error."""
        return self.first is None

    @cached_property
    def first(self) -> Any:
        """The model that the others are compared with; None if it is refused."""
        model = self._fitted_or_none()
        if model is None and self.table.groups is not None:
            # Where nothing is drawn, groups would mean nothing.
            self.__dict__["table"] = replace(self.table, groups=None)
            model = self._fitted_or_none()
        return model

    def _fitted_or_none(self) -> Any:
        try:
            return self.fitted()
        except (ValueError, weald.MemberError):
            return None
        except TypeError as error:
            if "categories" not in str(error):
                raise
            return None  # not every criterion splits them

    def narrowed(self, only: tuple[str, ...]) -> "Case":
        return replace(self, only=only)

    def code(self, invariant: str) -> str:
        """A program that shows the failure; run it in the root of the repository."""
        only = "" if self.only is None else f", only={self.only!r}"
        return (
            "PYTHONPATH=tests .venv-test/bin/python - <<'END'\n"
            "from fuzz.cases import Case\n"
            "from fuzz.invariants import INVARIANTS\n"
            f"case = Case({self.estimator!r}, {self.seed}{only})\n"
            f"# parameters: {self.parameters!r}\n"
            "print(case.first, case.table)\n"
            f"INVARIANTS[{invariant!r}](case)\n"
            "END"
        )
