"""Export to C: one file without dependencies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weald.export.additive import Additive, additive_of
from weald.export.layout import Layout, layout_of
from weald.export.literals import check_name, facts, wrapped

# Keywords of C, and the names that the file itself uses.
_TAKEN = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while main exp INFINITY root output feature threshold right "
    "missing_left value set_begin set_words words leaf_value set_goes_left"
)

_THRESHOLD = """
/* Value of the leaf that a row reaches: values <= threshold go left, to the next node. */
static const double *leaf_value(int32_t node, const double *x) {
  while (feature[node] >= 0) {
    const double v = x[feature[node]];
    const int left = v <= threshold[node] || (v != v && missing_left[node]);
    node = left ? node + 1 : right[node];
  }
  return value + right[node];
}
"""

_SETS = """
/* Whether a category goes left; what is no category goes where missing values go. */
static int set_goes_left(int32_t node, double v) {
  int64_t level;
  if (!(v >= 0 && v < 64.0 * set_words[node])) return missing_left[node];
  level = (int64_t)v;
  if ((double)level != v) return missing_left[node];
  return (int)(words[set_begin[node] + level / 64] >> (level % 64) & 1);
}

/* Value of the leaf that a row reaches: values <= threshold, or the categories of the node's set,
   go left, to the next node. */
static const double *leaf_value(int32_t node, const double *x) {
  while (feature[node] >= 0) {
    const double v = x[feature[node]];
    const int left = set_words[node] ? set_goes_left(node, v)
                                     : v <= threshold[node] || (v != v && missing_left[node]);
    node = left ? node + 1 : right[node];
  }
  return value + right[node];
}
"""

_LINKS = {
    "identity": [],
    "exp": ["for (k = 0; k < %(n)d; ++k) out[k] = exp(out[k] > 709.0 ? 709.0 : out[k]);"],
    "sigmoid": [
        "{",
        "  const double e = exp(out[0] < 0 ? out[0] : -out[0]), q = e / (1 + e);",
        "  out[1] = out[0] < 0 ? q : 1 - q;",
        "  out[0] = 1 - out[1];",
        "}",
    ],
    "softmax": [
        "{",
        "  double top = out[0], total = 0;",
        "  for (k = 1; k < %(n)d; ++k) top = out[k] > top ? out[k] : top;",
        "  for (k = 0; k < %(n)d; ++k) total += out[k] = exp(out[k] - top);",
        "  for (k = 0; k < %(n)d; ++k) out[k] /= total;",
        "}",
    ],
    "sorted": [
        "for (k = 1; k < %(n)d; ++k) {",
        "  const double one = out[k];",
        "  int at = k;",
        "  for (; at > 0 && one < out[at - 1]; --at) out[at] = out[at - 1];",
        "  out[at] = one;",
        "}",
    ],
}


def to_c(model: Any, *, name: str = "predict") -> str:
    """Export a fitted tree model as a C99 source file.

    The file has no dependencies but the C library (link with ``-lm``), and one function that is
    not static: ``void predict(const double *x, double *out)``. It reads one row `x` and writes
    what `predict` of a regressor or `predict_proba` of a classifier returns for it. Missing values
    are NaN and categories are codes (`category_codes`); the comment at the top of the file lists
    inputs and outputs. Do not compile it with ``-ffast-math``, which ignores NaN.

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
        transformed scores are equal to about 1e-15, because `exp` is that of the C library.

    Raises
    ------
    ValueError
        If the model's prediction is not a sum of trees, or if it was fitted on dates.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [10.0, 20.0])
    >>> source = weald.export.to_c(model)
    >>> print(source[source.index("void predict") :])
    void predict(const double *x, double *out) {
      ...
    """
    name = check_name(name, _TAKEN.split())
    additive = additive_of(model)
    layout = layout_of(additive.forest)
    parts = [
        _comment(facts(additive)),
        "#include <math.h>\n#include <stdint.h>\n",
        _tables(additive, layout) if additive.forest.n_trees else "",
        _function(additive, name),
    ]
    return "\n".join(part for part in parts if part)


def _comment(lines: list[str]) -> str:
    # Names come from the user's table and must not end the comment.
    text = "\n".join(f" * {line}".rstrip() for line in lines).replace("*/", "* /")
    return f"/*\n{text.replace('/*', '/ *')}\n */"


def _tables(model: Additive, layout: Layout) -> str:
    forest = model.forest
    tables = [
        _table("int32_t", "root", layout.root),
        _table("int32_t", "output", forest.output),
        _table("int32_t", "feature", forest.feature),
        _table("double", "threshold", forest.threshold),
        _table("int32_t", "right", layout.right),
        _table("uint8_t", "missing_left", forest.missing_left),
        _table("double", "value", forest.value.ravel()),
    ]
    if len(forest.words):
        tables += [
            _table("int32_t", "set_begin", layout.set_begin),
            _table("int32_t", "set_words", layout.set_words),
            _table("uint64_t", "words", forest.words),
        ]
    return "\n".join(tables) + (_SETS if len(forest.words) else _THRESHOLD)


def _table(kind: str, name: str, values: NDArray[Any]) -> str:
    literal = {"double": _double, "uint64_t": "{}ULL".format}.get(kind, str)
    items = wrapped(map(literal, values.tolist()), "  ")
    return f"static const {kind} {name}[{len(values)}] = {{\n{items}\n}};"


def _double(value: float) -> str:
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def _function(model: Additive, name: str) -> str:
    forest, n = model.forest, model.forest.n_outputs
    base = [f"out[{k}] = {_double(score)};" for k, score in enumerate(forest.base_score.tolist())]
    lines = ["int k = 0;", *base]
    if forest.n_trees:
        lines += [
            "int t;",
            f"for (t = 0; t < {forest.n_trees}; ++t) {{",
            "  const double *leaf = leaf_value(root[t], x);",
            "  if (output[t] >= 0) out[output[t]] += leaf[0];",
            f"  else for (k = 0; k < {n}; ++k) out[k] += leaf[k];",
            "}",
        ]
    else:
        lines.append("(void)x;")
    lines += _scaled(model)
    lines += [line % {"n": n} if "%(n)" in line else line for line in _LINKS[model.link]]
    lines.append("(void)k;")
    body = "\n".join(f"  {line}" for line in lines)
    return f"void {name}(const double *x, double *out) {{\n{body}\n}}\n"


def _scaled(model: Additive) -> list[str]:
    """Mean, bounds and factor of the scores."""
    steps = []
    if model.n_averaged != 1:
        steps.append(f"out[k] /= {model.n_averaged};")
    if model.bounds is not None:
        low, high = map(_double, model.bounds)
        steps.append(f"out[k] = out[k] < {low} ? {low} : out[k] > {high} ? {high} : out[k];")
    if model.factor != 1.0:
        steps.append(f"out[k] *= {_double(model.factor)};")
    if not steps:
        return []
    n = model.forest.n_outputs
    return [f"for (k = 0; k < {n}; ++k) {{", *(f"  {step}" for step in steps), "}"]
