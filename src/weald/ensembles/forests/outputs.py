"""What trees and forests answer, for one output or several."""

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
from weald.ensembles.side_by_side import labels_of_outputs, shares_of_outputs


class Answers(TreeModel):
    """A model of trees whose target may have several columns.

    Attributes
    ----------
    n_outputs_ : int
        Columns of the target.
    """

    n_outputs_: int
    _takes_several: ClassVar[bool] = False

    @property
    def _widths(self) -> tuple[int, ...]:
        """How many numbers each output has in a leaf."""
        raise NotImplementedError

    def _one_output(self, y: Any) -> Any:
        """A target of one output as it is; scikit-learn's checks warn of a column."""
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = self._takes_several
        return tags


class ClassAnswers(Answers):
    """Shares of classes; those of several outputs lie side by side in the leaves.

    Attributes
    ----------
    classes_ : array, or a list of arrays
        The class labels, sorted; of several outputs a list with those of each.
    n_classes_ : int, or a list of int
        How many there are.
    """

    classes_: Any
    n_classes_: Any

    def _class_rows(self, X: object, y: Any, sample_weight: object) -> tuple[Rows, Any]:
        if self._takes_several and has_several(y):
            return label_rows(self, X, y, sample_weight)
        return class_rows(self, X, self._one_output(y), sample_weight)

    def _know(self, classes: Any) -> None:
        several = isinstance(classes, list)
        self.classes_ = classes
        self.n_classes_ = [len(own) for own in classes] if several else len(classes)

    @property
    def _first_class(self) -> list[int] | None:
        """Where the classes of each of several outputs begin among those of all."""
        return first_classes(self.classes_) if isinstance(self.classes_, list) else None

    @property
    def _widths(self) -> tuple[int, ...]:
        return tuple(self.n_classes_) if isinstance(self.classes_, list) else (len(self.classes_),)

    def _parts(self, shares: Floats) -> Any:
        """Shares of the classes; of several outputs a list of those of each."""
        if not isinstance(self.classes_, list):
            return shares
        return shares_of_outputs(shares, self.classes_)

    def _labels(self, parts: Any) -> NDArray[Any]:
        """The labels of the largest shares, ties to the first; of several outputs a column each."""
        if not isinstance(self.classes_, list):
            return np.asarray(self.classes_[np.argmax(parts, axis=1)])
        return labels_of_outputs(parts, self.classes_)

    def predict_proba(self, X: object) -> Any:
        """Shares of the classes in the leaf of each row; of several outputs a list of arrays."""
        return self._parts(self._scores(X))

    def predict_log_proba(self, X: object) -> Any:
        """Logarithms of the probabilities; -inf for those of 0."""
        parts = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            if isinstance(parts, list):
                return [np.log(shares) for shares in parts]
            return np.asarray(np.log(parts))

    def predict(self, X: object) -> NDArray[Any]:
        """The class of the largest share; ties go to the first. Several outputs: a column each."""
        return self._labels(self.predict_proba(X))

    def _leaf_text(self, value: Floats) -> str:
        classes = self.classes_ if isinstance(self.classes_, list) else [self.classes_]
        texts = []
        for own, shares in zip(classes, shares_of_outputs(value, classes), strict=True):
            best = int(np.argmax(shares))
            texts.append(f"{own[best]!s} ({shares[best]:.3g})")
        return ", ".join(texts)

    def _learnt(self) -> dict[str, NDArray[Any]]:
        if not isinstance(self.classes_, list):
            return {**super()._learnt(), "classes": self.classes_}
        each = {f"classes of output {k}": own for k, own in enumerate(self.classes_)}
        return {**super()._learnt(), **each}


class NumberAnswers(Answers):
    """Numbers, one for each output."""

    def _number_rows(self, X: object, y: Any, sample_weight: object) -> Rows:
        if self._takes_several and has_several(y):
            return vector_rows(self, X, y, sample_weight)
        return number_rows(self, X, self._one_output(y), sample_weight)

    @property
    def _widths(self) -> tuple[int, ...]:
        return (1,) * self.forest_.n_outputs

    def predict(self, X: object) -> Floats:
        """The mean target in the leaf of each row; of several outputs a column each."""
        return without_axis(self._scores(X))


def without_axis(answers: Floats) -> Floats:
    """Answers of the shape (rows,) for one output, (rows, outputs) for several."""
    return answers[:, 0] if answers.shape[1] == 1 else answers


def same_classes(before: Any, now: Any) -> bool:
    """Tell whether the classes of all outputs are those of the fit before."""
    if isinstance(before, list) != isinstance(now, list):
        return False
    if not isinstance(now, list):
        return bool(np.array_equal(before, now))
    return len(before) == len(now) and all(map(np.array_equal, before, now))
