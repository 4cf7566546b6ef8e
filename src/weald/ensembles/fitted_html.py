"""What a notebook shows of a fitted model below its parameters."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from weald.notebook import table_html

# Number of names that are listed.
_SHOWN = 8


def fitted_html(model: Any) -> str:
    """Size of the fitted model and its error of unseen rows as a table; empty before the fit."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return ""
    rows = [[name, text] for name, text in _facts(model).items() if text]
    return table_html("Fitted model", (), rows)


def _facts(model: Any) -> dict[str, str]:
    estimators = getattr(model, "estimators_", None)
    forest = getattr(model, "forest_", None)
    classes = getattr(model, "classes_", None)
    score = getattr(model, "oob_score_", None)
    return {
        "columns": _columns(model),
        "classes": "" if classes is None or isinstance(classes, list) else _listed(classes),
        "trees": "" if forest is None else f"{forest.n_trees:,}",
        "base estimators": ""
        if estimators is None or forest is not None
        else f"{np.size(np.asarray(estimators, dtype=object)):,}",
        "out-of-bag score": "" if not isinstance(score, float) else f"{score:.4f}",
        "stopped by": str(getattr(model, "stopped_by_", None) or ""),
    }


def _columns(model: Any) -> str:
    n = getattr(model, "n_features_in_", None)
    names = getattr(model, "feature_names_in_", None)
    if n is None or names is None:
        return "" if n is None else f"{n:,}"
    return f"{n:,}: {_listed(names)}" if n > 1 else _listed(names)


def _listed(names: Any) -> str:
    shown = ", ".join(str(name)[:40] for name in list(names)[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
