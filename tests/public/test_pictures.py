"""The examples with figures: their results, and that a figure is written."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PICTURES = EXAMPLES.parent / "docs" / "guide" / "pictures"
NAMES = [
    "anomalies", "bias_variance", "distilled", "looking", "members", "one_and_hundred",
    "readable_tree", "survival", "ten_points", "tour",
]  # fmt: skip


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the examples importable from their folder, and unload them afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    for name in [*NAMES, "pictures"]:
        sys.modules.pop(name, None)


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


def check_picture(module: ModuleType, result: object, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    from pictures import run

    out = folder / "picture.png"
    run(lambda: result, module.draw, module.describe, module.__name__, ["--out", str(out)])
    assert out.read_bytes().startswith(b"\x89PNG")
    assert 5_000 < out.stat().st_size < 200_000


def test_ten_points(tmp_path: Path) -> None:
    module = example("ten_points")
    result = module.compute()
    text = module.describe(result)
    assert "stump 1: error 0.300000, vote 0.423649" in text
    assert "stump 2: error 0.214286, vote 0.649641" in text
    assert "stump 3: error 0.136364, vote 0.922913" in text
    assert "0 of 10 wrong, bound 0.516230" in text
    # Round 1: correct points 0.1, misclassified ones 0.233333, before normalisation.
    ratio = result.weights[1].max() / result.weights[1].min()
    assert ratio == pytest.approx(7 / 3, rel=1e-9)
    check_picture(module, result, tmp_path)


def test_anomalies(tmp_path: Path) -> None:
    module = example("anomalies")
    result = module.compute()
    assert min(result.area_of_two, result.area_of_all) > 0.95
    assert (result.model.predict(result.X) == -1).sum() == module.N_RARE
    assert f"AUC {result.area_of_all:.3f}" in module.describe(result)
    check_picture(module, result, tmp_path)


def test_one_and_hundred(tmp_path: Path) -> None:
    module = example("one_and_hundred")
    result = module.compute()
    assert result.best_error == pytest.approx(0.05, abs=0.01)
    assert result.best_error < result.bag_error < result.tree_error - 0.02
    check_picture(module, result, tmp_path)


def test_survival(tmp_path: Path) -> None:
    module = example("survival")
    result = module.compute()
    assert "log hazard ratio of placebo to 6-MP: 1.509" in module.describe(result)
    assert result.seen["placebo"](23) == 0.0
    check_picture(module, result, tmp_path)


def test_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("tour")
    monkeypatch.setattr(module, "N_TREES", 60)
    result = module.compute()
    bagging, forest, boosting = result.curves.values()
    assert len(bagging) == len(forest) == len(boosting) == 60
    assert bagging[-1] < 0.5 * min(result.small_tree, result.full_tree)
    assert boosting[-1] < bagging[-1]
    assert module.NOISE < result.stack < boosting[-1]
    check_picture(module, result, tmp_path)


def test_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("members")
    monkeypatch.setattr(module, "BAGGED", 15)
    monkeypatch.setattr(module, "BOOSTED", 60)
    result = module.compute()
    assert result.bag_test[-1] < 0.6 * result.bag_test[0]
    assert result.boost_test[-1] < 0.6 * result.boost_test[0]
    assert (result.boost_train <= result.boost_bound).all()
    # The formula with out-of-bag estimates predicts the squared error on new rows.
    np.testing.assert_allclose(result.brier_foretold, result.brier_test, rtol=0.25)
    check_picture(module, result, tmp_path)


def test_bias_variance(tmp_path: Path) -> None:
    module = example("bias_variance")
    result = module.compute(n_repeats=25)
    depths = result.by_depth
    assert depths[1].bias_squared > 10 * depths[8].bias_squared
    assert depths[8].variance > 1.5 * depths[1].variance
    tree, bag, stump, boosted = result.by_method.values()
    assert bag.variance < 0.7 * tree.variance
    assert boosted.bias_squared < 0.2 * stump.bias_squared
    check_picture(module, result, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_guide_has_the_picture(name: str) -> None:
    assert (PICTURES / f"{name}.png").stat().st_size < 100_000
    pages = PICTURES.parent.glob("*.md")
    guide = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert f"pictures/{name}.png" in guide and f"examples/{name}.py" in guide


def test_distilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("distilled")
    monkeypatch.setattr(module, "SIZES", (8, 32))
    result = module.compute(n_samples=2000)
    for points in result.curves.values():
        small, large = (point.fidelity.value for point in points)
        assert small < large < 1
    assert 0.96 < result.teacher < 0.98
    assert "tree of the labels, 32 leaves: accuracy" in module.describe(result)
    check_picture(module, result, tmp_path)


def test_looking(tmp_path: Path) -> None:
    module = example("looking")
    result = module.compute()
    assert module.describe(result) == "100 trees, 150 rounds, 100 bagged trees"
    check_picture(module, result, tmp_path)


def test_readable_tree(tmp_path: Path) -> None:
    module = example("readable_tree")
    result = module.compute()
    assert module.describe(result).startswith("carrier in {rail, ship}?")
    check_picture(module, result, tmp_path)
