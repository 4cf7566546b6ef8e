"""Export to ONNX: a tree ensemble, then the operators of the link."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.export.additive import Additive, additive_of
from weald.export.onnx_trees import tree_attributes
from weald.version import __version__

# The oldest sets of operators that have all that is needed, so that old runtimes read the file.
_OPSET, _ML_OPSET, _IR = 13, 3, 8

_LARGEST = float(np.finfo(np.float32).max)


def to_onnx(model: Any, path: str | Path | None = None, *, dtype: str = "float32") -> Any:
    """Export a fitted tree model to ONNX, for onnxruntime and other runtimes.

    The model has one input `X` of shape (rows, columns): missing values are NaN and categories are
    codes (`category_codes`). A regressor has the output `predictions` of shape (rows, values), a
    classifier has `label` and `probabilities`, in the order of `classes_`; for several targets they
    are `label_0`, `probabilities_0`, `label_1` and so on. Requires the package `onnx`.

    Parameters
    ----------
    model : estimator
        Fitted boosted trees, gradient boosting of trees, random forest, extra trees, decision
        tree, AdaBoostClassifier of stumps or imported model.
    path : str, path or None, default=None
        File to write, by convention ``.onnx``; None: none.
    dtype : {"float32", "float64"}, default="float32"
        Type of the input. Thresholds are rounded so that every float32 number reaches the same
        leaves as in weald. With "float64" all numbers do, and sums are more precise; some
        runtimes accept float32 only.

    Returns
    -------
    onnx.ModelProto
        The model; its metadata hold the fingerprint, the column names and the categories.
        Predictions are float32 and equal to weald's up to the rounding of float32.

    Raises
    ------
    ValueError
        If the model's prediction is not a sum of trees, if it was fitted on dates, or if its values
        exceed the range of float32.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
    >>> exported = weald.export.to_onnx(model, "tree.onnx")  # doctest: +SKIP
    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("tree.onnx")  # doctest: +SKIP
    >>> session.run(None, {"X": np.array([[1.7]], np.float32)})  # doctest: +SKIP
    [array([[20.]], dtype=float32)]
    """
    if dtype not in {"float32", "float64"}:
        raise ValueError(f"dtype must be 'float32' or 'float64'; got {dtype!r}.")
    additive = additive_of(model)
    _check_range(additive)
    graph = _Graph(_onnx(), additive, np.dtype(dtype))
    graph.add_scores()
    if additive.classes:
        graph.add_classes()
    exported = graph.build()
    if path is not None:
        Path(path).write_bytes(exported.SerializeToString())
    return exported


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx, which is not installed: pip install onnx"
        ) from error
    return onnx


def _check_range(model: Additive) -> None:
    """Refuse values that are infinite as float32."""
    values = np.append(model.forest.value.ravel(), model.forest.base_score)
    largest = np.abs(values * model.factor).max(initial=0.0)
    if not largest <= _LARGEST:
        raise ValueError(
            f"This {model.kind} cannot be exported to ONNX: it has values up to {largest:.3g}, and "
            f"float32, in which ONNX predicts, ends at {_LARGEST:.3g}. Fit it on a scaled target, "
            "or use to_c."
        )


class _Graph:
    """An ONNX graph under construction."""

    def __init__(self, onnx: Any, model: Additive, dtype: np.dtype[Any]) -> None:
        self._onnx, self._model, self._dtype = onnx, model, dtype
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._outputs: list[Any] = []

    def _add(self, operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        self._nodes.append(
            self._onnx.helper.make_node(operator, inputs, outputs, **attributes),
        )
        return outputs[0]

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(value, name))
        return name

    def _float(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, dtype=np.float32))

    def add_scores(self) -> None:
        """The trees, and predictions from their sum, named "predictions"."""
        model, onnx = self._model, self._onnx
        tensors, attributes = tree_attributes(model, self._dtype)
        for name, value in tensors.items():
            attributes[name] = onnx.numpy_helper.from_array(value, name)
        is_last = model.link == "identity" and model.bounds is None
        name = "predictions" if is_last else "scores"
        self._add("TreeEnsembleRegressor", ["X"], [name], domain="ai.onnx.ml", **attributes)
        if model.bounds is not None:
            # Sums in float32 may exceed the range of the trees by a rounding error.
            low, high = (self._float(f"bound_{k}", one) for k, one in enumerate(model.bounds))
            self._add("Clip", ["scores", low, high], ["predictions"])
        if model.link != "identity":
            self._add_link()
        if not model.classes:
            self._declare("predictions", onnx.TensorProto.FLOAT, ["rows", model.n_outputs])

    def _add_link(self) -> None:
        link = self._model.link
        if link == "exp":
            self._add("Exp", ["scores"], ["predictions"])
        elif link == "softmax":
            self._add("Softmax", ["scores"], ["predictions"], axis=1)
        elif link == "sigmoid":
            second = self._add("Sigmoid", ["scores"], ["second"])
            first = self._add("Sub", [self._float("one", 1.0), second], ["first"])
            self._add("Concat", [first, second], ["predictions"], axis=1)
        else:
            count = self._constant("count", np.array([self._model.n_outputs], np.int64))
            self._add("TopK", ["scores", count], ["predictions", "order"], axis=1, largest=0)

    def add_classes(self) -> None:
        """Probabilities and the most probable label of each target."""
        sizes = [len(classes) for classes in self._model.classes]
        if len(sizes) == 1:
            self._add("Identity", ["predictions"], ["probabilities"])
            self._add_label("", self._model.classes[0])
            return
        parts = [f"probabilities_{i}" for i in range(len(sizes))]
        split = self._constant("sizes", np.array(sizes, np.int64))
        self._add("Split", ["predictions", split], parts, axis=1)
        for i, classes in enumerate(self._model.classes):
            self._add_label(f"_{i}", classes)

    def _add_label(self, suffix: str, classes: NDArray[Any]) -> None:
        probabilities = f"probabilities{suffix}"
        best = self._add(
            "ArgMax",
            [probabilities],
            [f"best{suffix}"],
            axis=1,
            keepdims=0,
            select_last_index=int(self._model.ties_to_last),
        )
        labels = _labels(classes)
        self._add("Gather", [self._constant(f"classes{suffix}", labels), best], [f"label{suffix}"])
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
        self._declare(f"label{suffix}", kind, ["rows"])
        self._declare(probabilities, self._onnx.TensorProto.FLOAT, ["rows", len(classes)])

    def _declare(self, name: str, kind: int, shape: list[Any]) -> None:
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def build(self) -> Any:
        """The checked model with its metadata."""
        model, helper = self._model, self._onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self._dtype)
        given = helper.make_tensor_value_info("X", kind, ["rows", len(model.names)])
        graph = helper.make_graph(
            self._nodes, model.kind, [given], self._outputs, initializer=self._constants
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        built = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=_IR,
            producer_name="weald",
            producer_version=__version__,
        )
        facts = {"fingerprint": model.fingerprint, "columns": json.dumps(model.names)}
        if any(levels is not None for levels in model.levels):
            facts["categories"] = json.dumps(model.levels)
        helper.set_model_props(built, facts)
        self._onnx.checker.check_model(built)
        return built


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Class labels as a tensor: text, integers, floats or booleans."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind == "b":
        return classes
    labels = classes.astype(object)
    if not all(isinstance(label, str) for label in labels.tolist()):
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(
            f"ONNX has labels of text, integers, floats or booleans; got {', '.join(kinds)}. "
            "Fit the model on labels of one of these types."
        )
    return labels
