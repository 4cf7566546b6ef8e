"""Callbacks by scikit-learn's protocol, where the installed scikit-learn has it."""

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import sklearn

from weald.calls import offered_if
from weald.ensembles.rounds.loop import Stage


def _has_protocol(model: object) -> bool:
    if importlib.util.find_spec("sklearn.callback") is None:
        raise AttributeError(
            "set_callbacks needs scikit-learn's callback protocol (sklearn.callback, from version "
            f"1.9 on); installed is scikit-learn {sklearn.__version__}."
        )
    return True


class TakesCallbacks:
    """An estimator whose rounds call scikit-learn's callbacks."""

    @offered_if(_has_protocol)
    def set_callbacks(self, *callbacks: Any) -> Any:
        """Set what is called at the beginning and at the end of every round.

        Parameters
        ----------
        *callbacks : objects of `sklearn.callback.FitCallback`'s kind
            A callback whose ``on_fit_task_end`` returns True ends the fit after that round. None
            at all takes the earlier ones away.

        Returns
        -------
        self
        """
        from sklearn.callback import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)


class Rounds:
    """Tells the callbacks of every round; one that returns True ends the fit."""

    reason = "callback"

    def __init__(
        self,
        model: Any,
        root: Any,
        given: Mapping[str, Any],
        model_so_far: Callable[[int], Mapping[str, Any]],
    ) -> None:
        self._model, self._root, self._given = model, root, given
        self._model_so_far = model_so_far
        self._context: Any = None
        self.made = 0

    def news(self, rounds: int) -> dict[str, Any]:
        """What callbacks are told after so many rounds."""
        # Asked for only if a callback has a parameter for a fitted estimator.
        attributes = {"reconstruction_attributes": lambda: self._model_so_far(rounds)}
        return {"estimator": self._model, **self._given, **attributes}

    def before(self, stage: Stage) -> None:
        """A round begins."""
        self._context = self._root.subcontext(task_name="round")
        self._context.call_on_fit_task_begin(**self.news(stage.number))

    def after(self, stage: Stage) -> bool:
        """A round ends; True if a callback has seen enough."""
        self.made = stage.number + 1
        return bool(self._context.call_on_fit_task_end(**self.news(stage.number + 1)))


def callback_inputs(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """The arguments of a fit as scikit-learn's callbacks receive them."""
    metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
    return {"X": X, "y": y, "metadata": metadata}


def call_back(
    model: Any,
    rounds: range,
    given: Mapping[str, Any],
    model_so_far: Callable[[int], Mapping[str, Any]],
    make: Callable[[list[Rounds]], None],
) -> None:
    """Make the rounds, with a watcher that calls the model's callbacks if it has any.

    Parameters
    ----------
    given
        X, y and metadata of the fit, as callbacks see them.
    model_so_far
        From a number of rounds to the attributes of a model fitted so far.
    make
        Makes the rounds with these watchers.
    """
    if not (hasattr(model, "_skl_callbacks") or hasattr(model, "_parent_callback_ctx")):
        make([])
        return
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    @with_callbacks  # type: ignore[untyped-decorator]
    def called(model: Any) -> None:
        root = CallbackSupportMixin._init_callback_context(model, max_subtasks=len(rounds))
        watcher = Rounds(model, root, given, model_so_far)
        root.call_on_fit_task_begin(**watcher.news(rounds.start))
        make([watcher])
        root.call_on_fit_task_end(**watcher.news(watcher.made))

    called(model)
