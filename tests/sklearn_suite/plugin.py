"""A plugin of pytest: weald's classes in the place of scikit-learn's, and their differences.

The public names of `sklearn.ensemble` and `sklearn.tree` that weald has, too, are replaced before
scikit-learn's test files are imported. What these import, their tables of classes and their
parametrisations are then weald's. Tests listed in `differences.toml` are expected to fail: one
that passes is a failure, and so is an entry that no test matches.
"""

import pytest
import sklearn
import sklearn.ensemble
import sklearn.tree
from sklearn.utils.fixes import parse_version

import weald
from sklearn_suite.differences import OLDEST, read_differences


def redirect() -> None:
    """Replace scikit-learn's classes by weald's of the same name, in this process."""
    for module in (sklearn.ensemble, sklearn.tree):
        for name in set(module.__all__) & set(weald.__all__):
            setattr(module, name, getattr(weald, name))


redirect()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if parse_version(sklearn.__version__) < parse_version(OLDEST):
        reason = f"differences.toml lists those from scikit-learn {OLDEST} on"
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))
        return
    differences = read_differences()
    unused = {pattern for difference in differences for pattern in difference.tests}
    for item in items:
        name = f"{item.path.name}::{item.name}"
        for difference in differences:
            matching = difference.matching(name)
            unused -= matching
            if matching:
                mark = pytest.mark.xfail(reason=difference.here, strict=difference.always)
                item.add_marker(mark)
    is_selection = config.option.keyword or config.option.deselect
    if unused and not is_selection:
        raise pytest.UsageError(f"differences.toml lists what is no test: {sorted(unused)}")
