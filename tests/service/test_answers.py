"""Answers are those of the model, whatever kind it is and however rows are written."""

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import weald
from service.conftest import trips
from service.running import Running
from weald.explain import shap
from weald.service.parsing import parse
from weald.service.refusals import Refused
from weald.service.serving import ServedModel, load_served

FAST = {"quality": "fast", "n_estimators": 5, "random_state": 0}
PARTS = [
    ("a", weald.RandomForestRegressor(n_estimators=5, random_state=0)),
    ("b", weald.BoostedTreesRegressor(**FAST)),
]
MODELS = [
    weald.BoostedTreesClassifier(**FAST),
    weald.BoostedTreesRegressor(**FAST),
    weald.BoostedTreesRegressor(loss="quantile", quantile=[0.1, 0.9], **FAST),
    weald.GradientBoostingRegressor(n_estimators=5, random_state=0),
    weald.RandomForestClassifier(n_estimators=5, random_state=0),
    weald.RandomForestRegressor(n_estimators=20, oob_score=True, random_state=0),
    weald.RotationForestClassifier(n_estimators=3, random_state=0),
    weald.AdaBoostClassifier(n_estimators=5, random_state=0),
    weald.BaggingClassifier(n_estimators=5, max_features=0.5, random_state=0),
    weald.DecisionTreeRegressor(random_state=0),
    weald.OptionTreeClassifier(),
    weald.VotingRegressor(PARTS),
    weald.StackingRegressor(PARTS),
]


def _served(model: Any, X: Any, y: Any, folder: Path) -> tuple[Any, ServedModel]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small tables
        model.fit(X, y).save(folder / "model.weald", oob=True)
    return weald.load(folder / "model.weald"), load_served(folder / "model.weald")


def _json_rows(X: pd.DataFrame) -> list[dict[str, Any]]:
    frame = X.assign(when=X.when.dt.strftime("%Y-%m-%dT%H:%M:%S"), zone=X.zone.astype(float))
    return [
        {name: None if pd.isna(cell) else cell for name, cell in row.items()}
        for row in frame.to_dict("records")
    ]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_every_kind_of_model_answers_as_itself(model: Any, tmp_path: Path) -> None:
    X, late = trips()
    y = late if hasattr(model, "predict_proba") else X.km * 2 + (late == "on time")
    loaded, served = _served(model, X, y, tmp_path)
    some = X.iloc[:7].copy()
    some.loc[2, "km"] = np.nan
    some.loc[3, "when"] = pd.NaT
    asked: dict[str, Any] = {"rows": _json_rows(some)}
    if served.has_probabilities:
        asked["probabilities"] = True
    if served.coverages:
        asked["interval"] = 0.8
    if not served.no_reasons:
        asked["attributions"] = True
    answer = json.loads(served.answer(parse(json.dumps(asked).encode())).json())
    assert answer["predictions"] == loaded.predict(some).tolist()
    if served.has_probabilities:
        assert answer["classes"] == loaded.classes_.tolist()
        assert answer["probabilities"] == loaded.predict_proba(some).tolist()
    if served.coverages:
        assert answer["intervals"]["limits"] == loaded.predict_interval(some, 0.8).tolist()
    if not served.no_reasons:
        values = shap(loaded, some).values
        found = np.array(answer["attributions"]["values"]).transpose(0, 2, 1)
        assert np.array_equal(found.reshape(values.shape), values)


def test_reasons_are_missing_only_where_they_would_be_sampled(tmp_path: Path) -> None:
    X, late = trips()
    model = weald.RotationForestClassifier(n_estimators=3, random_state=0)
    _, served = _served(model, X, late, tmp_path)
    assert "rotated trees" in served.no_reasons


def test_rows_by_name_in_any_order_and_by_position(service: Running) -> None:
    row = {"zone": 2, "when": "2024-03-01", "km": 70, "city": "Bonn"}
    by_name = service.predict({"rows": [row]})
    by_place = service.predict({"rows": [["Bonn", 70, "2024-03-01T00:00:00", 2.0]]})
    assert by_name.status == by_place.status == 200
    assert by_name.body == by_place.body


def test_unseen_categories_are_missing(service: Running) -> None:
    rows = [["Rom", 70, None, 2], [None, 70, None, 2]]
    shares = service.predict({"rows": rows, "probabilities": True}).json["probabilities"]
    assert shares[0] == shares[1]


def test_answers_name_the_model(service: Running, models: Path) -> None:
    reply = service.predict({"rows": []})
    fingerprint = weald.load(models / "classes.weald").fingerprint()
    assert reply.json == {"model": fingerprint, "predictions": []}
    assert reply.headers["weald-model"] == fingerprint


def test_coverages_are_those_that_the_rows_of_the_fit_allow(models: Path) -> None:
    served = load_served(models / "numbers.weald")
    assert served.coverages == (0.001, 0.995)  # of 400 rows
    for coverage in served.coverages:
        served.check(parse(b'{"rows":[],"interval":%g}' % coverage), 1)
    with pytest.raises(Refused, match=r"between 0\.001 and 0\.995"):
        served.check(parse(b'{"rows":[],"interval":0.9999}'), 1)


def test_no_rows_have_empty_answers(models: Path) -> None:
    served = load_served(models / "numbers.weald")
    answer = served.answer(parse(b'{"rows":[],"interval":0.9,"attributions":true}'))
    found = json.loads(answer.json())
    assert found["predictions"] == found["intervals"]["limits"] == []
    assert found["attributions"]["values"] == []


def test_small_and_large_requests_get_the_same(service: Running) -> None:
    X, _ = trips()
    rows = _json_rows(X)
    asked = {"probabilities": True}
    large = service.predict({"rows": rows, **asked}).json["probabilities"]
    single = [service.predict({"rows": [row], **asked}).json["probabilities"] for row in rows[:9]]
    assert [one[0] for one in single] == large[:9]


def test_csv_disarms_formulas(service: Running) -> None:
    rows = [["Bonn", 10, "2024-03-01", 2], ["Köln", 90, "2024-03-01", 2], [None, 10, None, 2]]
    asked = {"rows": rows, "probabilities": True, "attributions": True}
    reply = service.predict(asked, Accept="text/csv")
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(io.StringIO(reply.body.decode())))
    assert lines[0][:3] == ["prediction", "probability_=late", "probability_on time"]
    assert lines[0][3:] == [f"attribution_{name}" for name in ("city", "km", "when", "zone")]
    found = service.predict(asked).json
    assert "=late" in found["predictions"]
    assert [line[0] for line in lines[1:]] == [
        one.replace("=late", "'=late") for one in found["predictions"]
    ]
    numbers = [[float(cell) for cell in line[1:]] for line in lines[1:]]
    assert numbers == [
        [*shares, *values[0]]
        for shares, values in zip(
            found["probabilities"], found["attributions"]["values"], strict=True
        )
    ]


def test_time_zones(tmp_path: Path) -> None:
    X, late = trips()
    X["when"] = X.when.dt.tz_localize("Europe/Berlin", ambiguous="NaT", nonexistent="NaT")
    model = weald.BoostedTreesClassifier(**FAST)
    loaded, served = _served(model, X, late, tmp_path)
    rows = [
        ["Bonn", 70, moment, 2] for moment in ("2024-03-01T12:00:00Z", "2024-03-01T14:00+02:00")
    ]
    asked = parse(json.dumps({"rows": rows, "probabilities": True}).encode())
    shares = served.answer(asked).probabilities
    row = X.iloc[:1].assign(city="Bonn", km=70.0, when=pd.Timestamp(rows[0][2]).tz_convert("CET"))
    row["zone"] = pd.Categorical([2], categories=X.zone.cat.categories)
    assert shares is not None
    assert shares[0] == shares[1] == loaded.predict_proba(row)[0].tolist()


def test_several_outputs(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.stack([X[:, 0] > 0, np.where(X[:, 1] > 0, "a", "b")], axis=1).astype(object)
    model = weald.RandomForestClassifier(n_estimators=3, random_state=0)
    loaded, served = _served(model, X, y, tmp_path)
    asked = {"rows": X[:3].tolist(), "probabilities": True}
    found = json.loads(served.answer(parse(json.dumps(asked).encode())).json())
    assert found["predictions"] == loaded.predict(X[:3]).tolist()
    shares = [one.tolist() for one in loaded.predict_proba(X[:3])]
    assert found["probabilities"] == [list(one) for one in zip(*shares, strict=True)]
    assert served.answer(parse(json.dumps(asked).encode())).csv().count(b"\n") == 4
