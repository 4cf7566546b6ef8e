"""Export to plain Python: a module that imports nothing but math."""

import keyword
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.export.additive import Additive, additive_of
from weald.export.layout import Layout, layout_of
from weald.export.literals import check_name, facts, wrapped

_SETS = """

def _set_goes_left(node, v):
    # What is no category goes where missing values go.
    if not 0 <= v < 64 * _set_words[node] or v != int(v):
        return _missing_left[node]
    return _words[_set_begin[node] + int(v) // 64] >> int(v) % 64 & 1
"""

_WALK = """

def _leaf(node, x):
    # Values <= threshold go left, to the next node.
    while _feature[node] >= 0:
        v = x[_feature[node]]
%s
        node = node + 1 if left else _right[node]
    return _right[node]
"""

_LEFT = "        left = v <= _threshold[node] or (v != v and _missing_left[node])"
_LEFT_OR_SET = """        if _set_words[node]:
            left = _set_goes_left(node, v)
        else:
            left = v <= _threshold[node] or (v != v and _missing_left[node])"""

_LINKS = {
    "identity": ["return out"],
    "exp": ["return [math.exp(min(one, 709.0)) for one in out]"],
    "sigmoid": [
        "e = math.exp(-abs(out[0]))",
        "p = e / (1.0 + e) if out[0] < 0 else 1.0 - e / (1.0 + e)",
        "return [1.0 - p, p]",
    ],
    "softmax": [
        "top = max(out)",
        "out = [math.exp(one - top) for one in out]",
        "total = 0.0",
        "for one in out:",
        "    total += one",
        "return [one / total for one in out]",
    ],
    "sorted": ["return sorted(out)"],
}


def to_python(model: Any, *, name: str = "predict") -> str:
    """Export a fitted tree model as Python source that imports nothing but `math`.

    The source defines ``predict(x)``: `x` is one row, a sequence of numbers, and the result is a
    list with what `predict` of a regressor or `predict_proba` of a classifier returns for it.
    Missing values are NaN and categories are codes (`category_codes`); the comment at the top
    lists inputs and outputs.

    Parameters
    ----------
    model : estimator
        Fitted boosted trees, gradient boosting of trees, random forest, extra trees, decision
        tree, AdaBoostClassifier of stumps or imported model.
    name : str, default="predict"
        Name of the function.

    Returns
    -------
    str
        The source text. Scores have the same bits as the model's; probabilities and other
        transformed scores are equal to about 1e-15, because `exp` is that of Python.

    Raises
    ------
    ValueError
        If the model's prediction is not a sum of trees, or if it was fitted on dates.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
    >>> module = {}
    >>> exec(weald.export.to_python(model), module)
    >>> module["predict"]([1.7])
    [20.0]
    """
    name = check_name(name, keyword.kwlist)
    if name.startswith("_") or name == "math":
        raise ValueError(f"name must not begin with _ or be 'math'; got {name!r}.")
    additive = additive_of(model)
    comment = "\n".join(f"# {line}".rstrip() for line in facts(additive))
    tables = _tables(additive, layout_of(additive.forest)) if additive.forest.n_trees else ""
    return f"{comment}\n\nimport math\n\n{tables}{_function(additive, name)}"


def _tables(model: Additive, layout: Layout) -> str:
    forest = model.forest
    tables = [
        _table("_root", layout.root),
        _table("_output", forest.output),
        _table("_feature", forest.feature),
        _table("_threshold", forest.threshold),
        _table("_right", layout.right),
        _table("_missing_left", forest.missing_left),
        _table("_value", forest.value.ravel()),
    ]
    if not len(forest.words):
        return "\n".join(tables) + _WALK % _LEFT
    tables += [
        _table("_set_begin", layout.set_begin),
        _table("_set_words", layout.set_words),
        _table("_words", forest.words),
    ]
    return "\n".join(tables) + _SETS + _WALK % _LEFT_OR_SET


def _table(name: str, values: NDArray[Any]) -> str:
    items = wrapped(map(_literal, values.tolist()), "    ")
    return f"{name} = (\n{items},\n)"


def _literal(value: float) -> str:
    if isinstance(value, float) and np.isinf(value):
        return "math.inf" if value > 0 else "-math.inf"
    return repr(value)


def _function(model: Additive, name: str) -> str:
    forest, n = model.forest, model.forest.n_outputs
    lines = [f"out = [{', '.join(map(_literal, forest.base_score.tolist()))}]"]
    if forest.n_trees:
        lines += [
            "for root, output in zip(_root, _output):",
            "    at = _leaf(root, x)",
            "    if output >= 0:",
            "        out[output] += _value[at]",
            "    else:",
            f"        for k in range({n}):",
            "            out[k] += _value[at + k]",
        ]
    if model.n_averaged != 1:
        lines.append(f"out = [one / {model.n_averaged} for one in out]")
    if model.bounds is not None:
        low, high = map(_literal, model.bounds)
        lines.append(f"out = [min(max(one, {low}), {high}) for one in out]")
    if model.factor != 1.0:
        lines.append(f"out = [one * {_literal(model.factor)} for one in out]")
    body = "\n".join(f"    {line}" for line in [*lines, *_LINKS[model.link]])
    return f"\n\ndef {name}(x):\n{body}\n"
