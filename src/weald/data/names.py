"""Column names: stored in fit, matched in predict."""

from collections import Counter
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from weald.advice import warn
from weald.errors import listing


def frame_names(X: Any) -> list[Any] | None:
    """Return the column names of a data frame, or None for arrays.

    Raises
    ------
    ValueError
        If names are duplicated or a MultiIndex.
    """
    names = getattr(X, "column_names", None)  # pyarrow
    if names is None:
        names = getattr(X, "columns", None)
    if names is None or callable(names):
        return None
    if getattr(names, "nlevels", 1) > 1:
        raise ValueError(
            "X has a MultiIndex as column names. Use a single name for each column, for "
            "example by X.columns = ['_'.join(name) for name in X.columns]."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has columns of the same name: {listing(repeated)}. Column names must be unique: "
            "rename or drop the duplicates."
        )
    return list(names)


def remember_names(estimator: Any, names: list[Any] | None) -> None:
    """Set `feature_names_in_`, as in scikit-learn only if all names are strings."""
    if names is not None and _are_text(names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _are_text(names: list[Any]) -> bool:
    texts = sum(isinstance(name, str) for name in names)
    if 0 < texts < len(names):
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types. If you want feature names to "
            "be stored and validated, you must convert them all to strings, by using "
            "X.columns = X.columns.astype(str) for example."
        )
    return texts > 0


def check_names_again(estimator: Any, names: list[Any], shape: tuple[int, int]) -> list[int] | None:
    """Return the position among `names` of each fitted column; None if the order is the same.

    Messages are those of scikit-learn, but a different column order is not an error.
    """
    owner = type(estimator).__name__
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required "
            f"by {owner}."
        )
    fitted = getattr(estimator, "feature_names_in_", None)
    has_names = _are_text(names)
    if fitted is not None and has_names:
        return _order(list(fitted), names)
    if shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {shape[1]} features, but {owner} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    if fitted is not None:
        warn(f"X does not have valid feature names, but {owner} was fitted with feature names")
    elif has_names:
        warn(f"X has feature names, but {owner} was fitted without feature names")
    return None


def in_fitted_order(estimator: Any, X: Any) -> Any:
    """Reorder the columns of a data frame as in fit; other tables are returned unchanged."""
    fitted, names = getattr(estimator, "feature_names_in_", None), frame_names(X)
    if fitted is None or names is None or names == list(fitted) or {*names} != {*fitted}:
        return X
    return nw.from_native(X, eager_only=True).select(*fitted).to_native()


def _order(fitted: list[str], names: list[str]) -> list[int] | None:
    if fitted == names:
        return None
    unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unseen or missing:
        message = "The feature names should match those that were passed during fit.\n"
        if unseen:
            message += "Feature names unseen at fit time:\n" + _lines(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _lines(missing)
        raise ValueError(message)
    place = {name: i for i, name in enumerate(names)}
    return [place[name] for name in fitted]


def _lines(names: list[str], most: int = 10) -> str:
    lines = [f"- {name}\n" for name in names[:most]]
    if len(names) > most:
        lines.append(f"- and {len(names) - most} more\n")
    return "".join(lines)
