"""Model files of XGBoost, LightGBM and CatBoost predict what their libraries predict."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

import weald
from weald.persist.model_file import model_bytes, model_of_bytes

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

FOLDER = Path(__file__).parent / "models"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
READ = {
    "xgboost": weald.from_xgboost,
    "lightgbm": weald.from_lightgbm,
    "catboost": weald.from_catboost,
}


def imported(name: str) -> Any:
    return READ[name.partition("_")[0]](FOLDER / name)


def table(model: Any) -> np.ndarray:
    """The rows, with as many columns as the model has."""
    rows = np.array(EXPECTED["rows"], dtype=object)[:, : model.n_features_in_]
    return rows if model.n_features_in_ == 4 else rows.astype(float)


@pytest.mark.parametrize("name", EXPECTED["predictions"])
def test_predictions(name) -> None:
    model = imported(name)
    X = table(model)
    found = raw_predictions(model, X)
    assert found == pytest.approx(np.array(EXPECTED["predictions"][name]), rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("name", EXPECTED["predictions"])
def test_an_imported_model_is_saved_and_inspected(name) -> None:
    model = imported(name)
    X = table(model)
    loaded = model_of_bytes(model_bytes(model))
    assert loaded.fingerprint() == model.fingerprint()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert model.feature_names_in_.tolist() == list("abcd")[: model.n_features_in_]
    assert "?" in model.text(0)
    assert len(model.trees_to_frame("pandas")) == len(model.forest_.feature)
    assert model.apply(X).shape == (len(X), model.forest_.n_trees)


@pytest.mark.parametrize("name", EXPECTED["predictions"])
def test_an_imported_model_is_explained(name) -> None:
    model = imported(name)
    X = table(model)
    reasons = weald.explain.shap(model, X)
    scores = reasons.values.sum(axis=1) + reasons.base_values
    assert predictions_of(model, scores) == pytest.approx(raw_predictions(model, X), rel=1e-9)
    for column in range(model.n_features_in_):
        weald.explain.partial_dependence(model, X, column, n_points=3)
    assert 0 <= weald.distill(model, X).fidelity.value <= 1


def raw_predictions(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def predictions_of(model: Any, scores: np.ndarray) -> np.ndarray:
    """By the model's inverse link."""
    if not is_classifier(model):
        return np.exp(scores) if model.link_ == "poisson" else scores
    both = scores if scores.ndim > 1 else np.column_stack([np.zeros(len(scores)), scores])
    return np.exp(both) / np.exp(both).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "name", ["xgboost_poisson.json", "lightgbm_four_classes.txt", "catboost_nested_categories.json"]
)
def test_a_report_about_an_imported_model(name) -> None:
    model = imported(name)
    X = table(model)
    y = model.predict(X)
    with pytest.raises(TypeError, match="cannot be fitted") as found:
        weald.report(model, X, y)
    assert "weald.report takes as diagnosis=" in found.value.__notes__[0]
    diagnosis = weald.diagnose(model, X, y, refit=False)
    page = weald.report(model, X, y, diagnosis=diagnosis, n_examples=2)
    assert type(model).__name__ in page.html


def test_categories_are_matched_by_value() -> None:
    pandas = pytest.importorskip("pandas")
    model = imported("lightgbm_regression.txt")
    X = pandas.DataFrame(EXPECTED["rows"], columns=list("abcd")).astype({"d": "category"})
    X[list("abc")] = X[list("abc")].astype(float)
    expected = EXPECTED["predictions"]["lightgbm_regression.txt"]
    assert model.predict(X[["a", "b", "c", "d"]]) == pytest.approx(np.array(expected))


def test_a_category_that_lightgbm_cannot_split() -> None:
    """Its values are in the file beside those of the other columns."""
    model = weald.from_lightgbm(FOLDER / "lightgbm_idle_category.txt")
    rows = np.array(EXPECTED["rows"], dtype=object)
    X = np.column_stack([np.full(len(rows), "one", dtype=object), rows[:, 3], rows[:, 0]])
    assert model.predict(X) == pytest.approx(np.array(EXPECTED["idle"]))


def test_categories_that_cannot_be_matched_with_columns(tmp_path) -> None:
    text = (FOLDER / "lightgbm_idle_category.txt").read_text(encoding="utf-8")
    file = tmp_path / "model.txt"
    file.write_text(text.replace("[categorical_feature: 0,1]", "[categorical_feature: 1]"))
    with pytest.raises(ValueError, match="2 columns, but 1 columns are categorical"):
        weald.from_lightgbm(file)


def test_categories_that_xgboost_has_not_stored_are_codes(tmp_path) -> None:
    """XGBoost 3 keeps one byte of each character only."""

    def change(document: Any) -> None:
        found = document["learner"]["gradient_booster"]["model"]["cats"]["enc"][3]
        found["values"][0] = -61  # the first byte of "ü"

    model = weald.from_xgboost(changed("xgboost_regression.json", tmp_path, change))
    X = table(model)
    X[:, 3] = np.searchsorted(list("uvwxy"), X[:, 3].astype(str))
    expected = np.array(EXPECTED["predictions"]["xgboost_regression.json"])
    assert model.predict(X.astype(float)) == pytest.approx(expected, rel=2e-6)


def test_labels() -> None:
    model = imported("catboost_four_classes.json")
    assert model.classes_.tolist() == ["p", "q", "r", "s"]
    assert set(model.predict(table(model))) <= {"p", "q", "r", "s"}


def test_it_cannot_be_fitted() -> None:
    with pytest.raises(TypeError, match="cannot be fitted"):
        imported("xgboost_poisson.json").fit([[1.0]], [1.0])


@pytest.mark.parametrize("read", READ.values())
@pytest.mark.parametrize("content", ["", "{}", "[1]", "tree\nversion=v4\n", "\x00" * 50])
def test_other_files(read, content, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    file = tmp_path / "model"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="is not a"):
        read(file)


@pytest.mark.parametrize("read", READ.values())
def test_other_objects(read) -> None:
    with pytest.raises(TypeError, match="takes a file"):
        read(np.zeros(3))


def changed(name: str, tmp_path: Path, change: Any) -> Path:
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    change(document)
    (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    return tmp_path / name


def tree_of(document: Any) -> Any:
    return document["learner"]["gradient_booster"]["model"]["trees"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: tree_of(d).update(left_children=[1, 0, *tree_of(d)["left_children"][2:]]),
        lambda d: tree_of(d).update(left_children=[1, 99, *tree_of(d)["left_children"][2:]]),
        lambda d: tree_of(d).update(split_indices=[99] * len(tree_of(d)["split_indices"])),
        lambda d: tree_of(d).update(split_conditions=[0.0]),
        lambda d: d["learner"]["objective"].update(name="survival:cox"),
        lambda d: d["learner"]["gradient_booster"].update(name="gblinear", model={}),
    ],
)
def test_unsound_models_of_xgboost(change, tmp_path) -> None:
    file = changed("xgboost_poisson.json", tmp_path, change)
    with pytest.raises(ValueError, match=r"tree|sound|cannot be imported|damaged"):
        weald.from_xgboost(file)


def test_statistics_of_catboost_are_refused(tmp_path) -> None:
    def change(document: Any) -> None:
        document["oblivious_trees"][2]["splits"][0]["split_type"] = "OnlineCtr"

    file = changed("catboost_regression.json", tmp_path, change)
    with pytest.raises(ValueError, match="tree 2 splits on OnlineCtr"):
        weald.from_catboost(file)


def test_unknown_categories_of_catboost_are_like_no_category() -> None:
    model = imported("catboost_categories.json")
    rows = np.repeat(table(model)[:1], 3, axis=0)
    rows[:, 3] = ["unknown", "", None]
    assert len(set(model.predict(rows))) == 1


def test_whole_numbers_as_categories_of_catboost(tmp_path) -> None:
    """CatBoost has made text of them, and does so again when it predicts."""

    def change(document: Any) -> None:
        for one in document["features_info"]["cat_features_hash"]:
            one["value"] = str("uvwxy".index(one["value"]))

    model = weald.from_catboost(changed("catboost_categories.json", tmp_path, change))
    X = table(model)
    X[:, 3] = ["uvwxy".index(one) for one in X[:, 3]]
    expected = pytest.approx(np.array(EXPECTED["predictions"]["catboost_categories.json"]))
    assert model.predict(X) == expected
    assert [model.predictor().predict(row.tolist()) for row in X] == expected
    assert model_of_bytes(model_bytes(model)).predict(X) == expected


def test_categories_of_catboost_without_names_are_refused(tmp_path) -> None:
    def change(document: Any) -> None:
        del document["features_info"]["cat_features_hash"]

    file = changed("catboost_categories.json", tmp_path, change)
    with pytest.raises(ValueError, match=r"names of the categories of column 'd'.*pool=pool"):
        weald.from_catboost(file)


def test_statistics_in_nested_trees_of_catboost_are_refused(tmp_path) -> None:
    def change(document: Any) -> None:
        document["trees"][3]["split"]["split_type"] = "OnlineCtr"

    file = changed("catboost_lossguide.json", tmp_path, change)
    with pytest.raises(ValueError, match="tree 3 splits on OnlineCtr"):
        weald.from_catboost(file)


def test_linear_leaves_of_lightgbm_are_refused(tmp_path) -> None:
    text = (FOLDER / "lightgbm_regression.txt").read_text(encoding="utf-8")
    (tmp_path / "a.txt").write_text(text.replace("is_linear=0", "is_linear=1"), encoding="utf-8")
    with pytest.raises(ValueError, match="tree 0 has linear leaves"):
        weald.from_lightgbm(tmp_path / "a.txt")
