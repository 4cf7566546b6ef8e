"""Predictions of trees and forests, for one output or several."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from weald.data import (
    Rows,
    class_rows,
    first_classes,
    has_several,
    label_rows,
    number_rows,
    vector_rows,
)
from weald.ensembles.base import Floats, TreeModel
from weald.ensembles.multioutput import labels_of_outputs, shares_of_outputs
from weald.number_text import number_text


class OutputsModel(TreeModel):
    """A tree model whose target may have several columns.

    Attributes
    ----------
    n_outputs_ : int
        Number of columns of the target.
    """

    n_outputs_: int
    _takes_several: ClassVar[bool] = False

    @property
    def _widths(self) -> tuple[int, ...]:
        """Number of values per output in a leaf."""
        raise NotImplementedError

    def _one_output(self, y: Any) -> Any:
        """The target of one output, unchanged; scikit-learn's checks warn about a column vector."""
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several
        return tags


class ClassOutputs(OutputsModel):
    """Class probabilities; those of several outputs are concatenated in the leaves.

    Attributes
    ----------
    classes_ : array, or a list of arrays
        Sorted class labels; a list with one array per output if there are several.
    n_classes_ : int, or a list of int
        Number of classes; a list if there are several outputs.
    """

    classes_: Any
    n_classes_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:  # set by scikit-learn's mixin, which comes after
            tags.classifier_tags.multi_label = self._takes_several
        return tags

    def _class_rows(self, X: object, y: Any, sample_weight: object) -> tuple[Rows, Any]:
        if self._takes_several and has_several(y):
            return label_rows(self, X, y, sample_weight)
        return class_rows(self, X, self._one_output(y), sample_weight)

    def _keep_classes(self, classes: Any) -> None:
        several = isinstance(classes, list)
        self.classes_ = classes
        self.n_classes_ = [len(own) for own in classes] if several else len(classes)

    @property
    def _first_class(self) -> list[int] | None:
        """Index of the first class of each output; None for a single output."""
        return first_classes(self.classes_) if isinstance(self.classes_, list) else None

    @property
    def _widths(self) -> tuple[int, ...]:
        return tuple(self.n_classes_) if isinstance(self.classes_, list) else (len(self.classes_),)

    def _parts(self, shares: Floats) -> Any:
        """Class probabilities; a list with one array per output if there are several."""
        if not isinstance(self.classes_, list):
            return shares
        return shares_of_outputs(shares, self.classes_)

    def _labels(self, parts: Any) -> NDArray[Any]:
        """Labels of the most probable classes (ties: the first); one column per output."""
        if not isinstance(self.classes_, list):
            return np.asarray(self.classes_[np.argmax(parts, axis=1)])
        return labels_of_outputs(parts, self.classes_)

    def predict_proba(self, X: object) -> Any:
        """Class probabilities of each row; a list of arrays if there are several outputs."""
        return self._parts(self._scores(X))

    def predict_log_proba(self, X: object) -> Any:
        """Logarithms of the class probabilities; -inf for a probability of 0."""
        parts = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            if isinstance(parts, list):
                return [np.log(shares) for shares in parts]
            return np.asarray(np.log(parts))

    def predict(self, X: object) -> NDArray[Any]:
        """The most probable class of each row (ties: the first); one column per output."""
        return self._labels(self.predict_proba(X))

    def _leaf_text(self, value: Floats) -> str:
        classes = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        texts = []
        for own, shares in zip(classes, shares_of_outputs(value, classes), strict=True):
            best = int(np.argmax(shares))
            texts.append(f"{own[best]!s} ({number_text(shares[best], 3)})")
        return ", ".join(texts)

    def _fingerprint_arrays(self) -> dict[str, NDArray[Any]]:
        if not isinstance(self.classes_, list):
            return {**super()._fingerprint_arrays(), "classes": self.classes_}
        each = {f"classes of output {k}": own for k, own in enumerate(self.classes_)}
        return {**super()._fingerprint_arrays(), **each}


class NumberOutputs(OutputsModel):
    """Real-valued predictions, one per output."""

    def _number_rows(self, X: object, y: Any, sample_weight: object) -> Rows:
        if self._takes_several and has_several(y):
            return vector_rows(self, X, y, sample_weight)
        return number_rows(self, X, self._one_output(y), sample_weight)

    @property
    def _widths(self) -> tuple[int, ...]:
        return (1,) * self.forest_.n_outputs

    def predict(self, X: object) -> Floats:
        """Predicted target of each row; one column per output if there are several."""
        return without_axis(self._scores(X))


def without_axis(predictions: Floats) -> Floats:
    """Predictions of shape (rows,) for one output, (rows, outputs) for several."""
    return predictions[:, 0] if predictions.shape[1] == 1 else predictions


def same_classes(before: Any, now: Any) -> bool:
    """Whether the classes of all outputs are those of the previous fit."""
    if isinstance(before, list) != isinstance(now, list):
        return False
    if not isinstance(now, list):
        return bool(np.array_equal(before, now))
    return len(before) == len(now) and all(map(np.array_equal, before, now))
