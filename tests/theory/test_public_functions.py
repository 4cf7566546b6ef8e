"""The package as a whole: public names, examples in docstrings, and lazy import."""

import inspect
import subprocess
import sys

import pytest

import weald
from weald import theory

NAMES = [
    "bagged_variance", "bias_variance", "correlated_error", "cross_validate", "edges", "error_632",
    "error_632plus", "left_out_share", "majority_vote_accuracy", "training_error_bound",
]  # fmt: skip


def test_public_names() -> None:
    assert set(NAMES) <= set(theory.__all__)
    assert weald.theory is theory
    assert "theory" in dir(weald)
    with pytest.raises(AttributeError, match="module 'weald' has no attribute 'theories'"):
        _ = weald.theories


@pytest.mark.parametrize("name", theory.__all__)
def test_every_function_documents_its_parameters_with_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(theory, name)) or ""
    for part in ("Parameters\n---", "Returns\n---", "Examples\n---", ">>> "):
        assert part in text, part
    for parameter in inspect.signature(getattr(theory, name)).parameters:
        assert parameter in text.split("Returns\n---")[0], parameter


def test_the_package_is_imported_on_first_use() -> None:
    code = (
        "import sys, weald; before = 'weald.theory' in sys.modules; "
        "weald.theory.left_out_share(5); print(before, 'weald.theory' in sys.modules, "
        "'sklearn.model_selection' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "False"]
