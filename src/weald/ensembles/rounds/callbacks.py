"""Support for scikit-learn's callback protocol, if the installed scikit-learn has it."""

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import sklearn

from weald.calls import available_where
from weald.ensembles.rounds.loop import Stage


def _has_protocol(model: object) -> bool:
    if importlib.util.find_spec("sklearn.callback") is None:
        raise AttributeError(
            "set_callbacks requires scikit-learn's callback protocol (sklearn.callback), available "
            f"from version 1.9; scikit-learn {sklearn.__version__} is installed."
        )
    return True


class TakesCallbacks:
    """Mixin of estimators that support scikit-learn's callbacks."""

    @available_where(_has_protocol)
    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set callbacks that are invoked at the beginning and at the end of each round.

        Parameters
        ----------
        *callbacks : callback objects
            Objects that implement `sklearn.callback.FitCallback`. One whose ``on_fit_task_end``
            returns True ends the fit after that round. ``estimator.history_`` holds the losses and
            scores of the rounds so far. Without arguments, the callbacks set earlier are removed.

        Returns
        -------
        self
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)


class CallbackRunner:
    """Invokes the callbacks at each round; one that returns True ends the fit."""

    reason = "callback"

    def __init__(
        self,
        model: Any,
        root: Any,
        inputs: Mapping[str, Any],
        attributes_after: Callable[[int], Mapping[str, Any]],
    ) -> None:
        self._model, self._root, self._inputs = model, root, inputs
        self._attributes_after = attributes_after
        self._context: Any = None
        self.n_rounds = 0

    def arguments(self, n_rounds: int) -> dict[str, Any]:
        """Arguments of the callbacks after so many rounds."""
        # Lazy: scikit-learn evaluates it only for callbacks that need a fitted estimator.
        attributes = {"reconstruction_attributes": lambda: self._attributes_after(n_rounds)}
        return {"estimator": self._model, **self._inputs, **attributes}

    def before(self, stage: Stage) -> None:
        """Invoke the callbacks at the beginning of a round."""
        self._context = self._root.subcontext(task_name="round")
        self._context.call_on_fit_task_begin(**self.arguments(stage.number))

    def after(self, stage: Stage) -> bool:
        """Invoke the callbacks at the end of a round; True if one of them ends the fit."""
        self.n_rounds = stage.number + 1
        return bool(self._context.call_on_fit_task_end(**self.arguments(stage.number + 1)))


def callback_inputs(X: Any, y: Any, sample_weight: Any, offset: Any) -> dict[str, Any]:
    """Arguments of `fit` in the form in which scikit-learn's callbacks receive them."""
    given = {"sample_weight": sample_weight, "offset": offset}
    metadata = {name: value for name, value in given.items() if value is not None}
    return {"X": X, "y": y, "metadata": metadata}


def call_back(
    model: Any,
    rounds: range,
    inputs: Mapping[str, Any],
    attributes_after: Callable[[int], Mapping[str, Any]],
    train: Callable[[list[CallbackRunner]], None],
) -> None:
    """Run the boosting rounds and invoke the model's callbacks, if it has any.

    Parameters
    ----------
    model
        The estimator with the callbacks.
    rounds
        Indices of the rounds to run.
    inputs
        X, y and metadata of the fit, as callbacks receive them.
    attributes_after
        Maps a number of rounds to the fitted attributes of a model of so many rounds.
    train
        Runs the rounds with a list of observers.
    """
    if not (hasattr(model, "_skl_callbacks") or hasattr(model, "_parent_callback_ctx")):
        train([])
        return
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    @with_callbacks  # type: ignore[untyped-decorator]
    def run(model: Any) -> None:
        root = CallbackSupportMixin._init_callback_context(model, max_subtasks=len(rounds))
        runner = CallbackRunner(model, root, inputs, attributes_after)
        root.call_on_fit_task_begin(**runner.arguments(rounds.start))
        train([runner])
        root.call_on_fit_task_end(**runner.arguments(runner.n_rounds))

    run(model)
