"""Public API: exports of `weald`, and the cost of importing it."""

import ast
import importlib
import inspect
import json
import subprocess
import sys

import pytest

import weald

HEAVY = ["pandas", "polars", "pyarrow", "matplotlib", "lightgbm", "xgboost", "torch"]


def test_all_is_what_there_is() -> None:
    assert weald.__all__ == sorted(weald.__all__)
    for name in weald.__all__:
        assert hasattr(weald, name), name
    # Modules are imported by name; everything else is listed.
    extra = [
        name
        for name, thing in vars(weald).items()
        if not name.startswith("_")
        and not inspect.ismodule(thing)
        and name not in {*weald.__all__, "TYPE_CHECKING", "attach"}
    ]
    assert extra == []


def test_everything_public_is_documented() -> None:
    for name in weald.__all__:
        thing = getattr(weald, name)
        assert (thing.__doc__ or "").strip(), name
        if not inspect.isclass(thing):
            continue
        for method, value in inspect.getmembers(thing):
            is_ours = (getattr(value, "__module__", None) or "").startswith("weald")
            if not method.startswith("_") and callable(value) and is_ours:
                assert (value.__doc__ or "").strip(), f"{name}.{method}"


def test_modules_export_what_they_list() -> None:
    packages = [
        "aggregation", "data", "datasets", "diagnostics", "ensembles", "explain", "export",
        "losses", "persist", "plot", "reports", "resampling", "theory", "trees",
    ]  # fmt: skip
    for package in packages:
        module = __import__(f"weald.{package}", fromlist=["__all__"])
        assert module.__doc__, package
        assert module.__all__ == sorted(module.__all__, key=lambda name: (name.islower(), name))
        for name in module.__all__:
            assert hasattr(module, name), f"{package}.{name}"


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert weald.__version__ == version("weald")
    except PackageNotFoundError:
        # Run from the source tree.
        assert weald.__version__.count(".") == 2


def test_import_loads_nothing_but_the_version() -> None:
    """Every other module is imported on first access."""
    code = """
import json, sys
import numpy, sklearn.base, sklearn.utils.validation
before = set(sys.modules)
import weald
first = sorted(set(sys.modules) - before)
weald.MemberError, weald.ensembles.__all__, weald.aggregation
print(json.dumps([first, sorted(set(sys.modules) - before)]))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    at_import, after = json.loads(run.stdout)
    assert at_import == ["weald", "weald.interpreter", "weald.lazy", "weald.version"]
    assert "weald.ensembles.members.member_errors" in after
    heavy = ("scipy", "sklearn", "pandas", "matplotlib", "narwhals", "weald.ensembles.rounds")
    assert [name for name in after if name.startswith(heavy)] == []


@pytest.mark.parametrize("package", ["weald", "weald.ensembles"])
def test_type_checkers_see_the_names_that_are_imported_late(package: str) -> None:
    module = importlib.import_module(package)
    source = ast.parse(inspect.getsource(module))
    block = next(node for node in source.body if isinstance(node, ast.If))
    seen = {
        alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == set(module.__all__) - {"__version__"}
    assert seen <= set(dir(module))


def test_dir_shows_public_names_only() -> None:
    assert [name for name in dir(weald) if not name.startswith("__")] == [
        name for name in weald.__all__ if name != "__version__"
    ]
    with pytest.raises(AttributeError, match="module 'weald' has no attribute 'nothing'"):
        _ = weald.nothing


def test_import_pulls_in_no_heavy_library() -> None:
    # scikit-learn itself imports pandas if it is installed.
    code = f"""
import json, sys
import numpy as np
import sklearn.base, sklearn.utils.validation
before = set(sys.modules)
import weald
X = np.arange(40.0).reshape(20, 2)
weald.BoostedTreesRegressor(quality="fast", n_estimators=2).fit(X, X[:, 0]).predict(X)
weald.DecisionTreeClassifier().fit(X, X[:, 0] > 9).predict(X)
print(json.dumps([name for name in {HEAVY!r} if name in set(sys.modules) - before]))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert json.loads(run.stdout) == []


# What a class does not need before it is used: parts of scikit-learn and SciPy that take longer to
# import than all of weald, other methods, and tables that only error messages need.
NOT_NEEDED = (
    *("scipy", "sklearn.metrics", "sklearn.model_selection", "sklearn.tree", "sklearn.ensemble"),
    *("sklearn.linear_model", "sklearn.datasets", "sklearn.inspection"),
    *("weald.peer_names", "weald.peer_arguments", "weald.theory", "weald.datasets", "weald.config"),
    *("weald.ensembles.distilling", "weald.ensembles.adaboost"),
)


@pytest.mark.parametrize(
    "name", ["BoostedTreesRegressor", "RandomForestClassifier", "StackingClassifier"]
)
def test_a_class_imports_only_what_it_needs(name: str) -> None:
    code = f"""
import json, sys
import numpy, sklearn.base, sklearn.utils.validation
before = set(sys.modules)
from weald import {name}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    loaded = json.loads(run.stdout)
    assert [one for one in loaded if one.startswith((*NOT_NEEDED, *HEAVY))] == []


def test_a_fit_imports_no_scorers() -> None:
    """Importing them takes longer than a small fit; only `scoring` needs them."""
    code = """
import sys
import numpy as np
import weald
X = np.arange(80.0).reshape(40, 2)
model = weald.BoostedTreesClassifier(quality="fast", n_estimators=2)
before = "sklearn.metrics" in sys.modules  # scikit-learn may import it itself
model.fit(X, X[:, 0] > 9)
print(before or "sklearn.metrics" not in sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert run.stdout.strip() == "True"


def test_import_prints_and_warns_nothing() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import weald"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert run.stdout == "" and run.stderr == ""
