"""Checks of scikit-learn 1.6 that are faulty; later versions fixed them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sklearn
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

ARE_OLD = parse_version(sklearn.__version__) < parse_version("1.7")


def is_faulty(model: Any, check_name: str) -> bool:
    """Whether the check compares fits of different labels.

    For two classes it recomputes the labels of the weighted and of the repeated rows relative to
    the first row of each table, which is not the same row.
    """
    tags = get_tags(model).classifier_tags
    of_two = tags is not None and not tags.multi_class
    return ARE_OLD and of_two and check_name.startswith("check_sample_weight_equivalence")


@contextmanager
def without_warnings_of(check_name: str) -> Iterator[None]:
    """One check has fewer rows of a class than scikit-learn's default number of folds."""
    with warnings.catch_warnings():
        if ARE_OLD and check_name == "check_n_features_in_after_fitting":
            warnings.filterwarnings("ignore", "The least populated class")
        yield
