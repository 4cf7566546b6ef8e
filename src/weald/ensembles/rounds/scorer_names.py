"""Names of scikit-learn's scorers, and which to use for a name that is none of them."""

import difflib
from collections.abc import Iterable

# Metrics as other libraries call them.
_OF_PEERS = {
    "auc": "roc_auc",
    "logloss": "neg_log_loss",
    "log_loss": "neg_log_loss",
    "binary_logloss": "neg_log_loss",
    "multi_logloss": "neg_log_loss",
    "mlogloss": "neg_log_loss",
    "error": "accuracy",
    "merror": "accuracy",
    "aucpr": "average_precision",
    "mse": "neg_mean_squared_error",
    "l2": "neg_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "l1": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "brier_score": "neg_brier_score",
    "poisson": "neg_mean_poisson_deviance",
    "gamma": "neg_mean_gamma_deviance",
}


def is_scorer_name(name: str) -> bool:
    """Whether scikit-learn has a scorer of this name."""
    return name in _names()


def instead_of(names: Iterable[object]) -> str:
    """Advice about the first of the names that is no scorer but resembles one; "" if none does.

    Examples
    --------
    >>> instead_of(["accuracy", "auc"])
    "There is no scorer 'auc'; did you mean 'roc_auc'?"
    >>> instead_of(["mean_squared_error"])
    "There is no scorer 'mean_squared_error'; did you mean 'neg_mean_squared_error'?"
    >>> instead_of(["accuracy"])
    ''
    """
    known = _names()
    for name in names:
        if not isinstance(name, str) or name in known:
            continue
        lower = name.lower()
        candidates = [_OF_PEERS.get(lower, lower), f"neg_{lower}"]
        found = [one for one in candidates if one in known]
        found = found or difflib.get_close_matches(lower, known, n=1, cutoff=0.7)
        if found:
            return f"There is no scorer {name!r}; did you mean {found[0]!r}?"
    return ""


def _names() -> list[str]:
    from sklearn.metrics import get_scorer_names  # slow to import, and seldom needed

    return list(get_scorer_names())
