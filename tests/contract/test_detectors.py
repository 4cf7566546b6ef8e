"""What holds for every estimator holds for anomaly detectors, too, which take no target."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import weald
from contract.subjects import EVERY_DETECTOR, settings, table

every_detector = pytest.mark.parametrize("detector", EVERY_DETECTOR)

VARIANTS: list[dict[str, Any]] = [
    {},
    {"bootstrap": True, "max_samples": 0.7},
    {"max_features": 0.5, "contamination": 0.1},
]


# A row of weight 2 is drawn more often, but without replacement never twice for one tree. With
# replacement it is exact: tests/ensembles/isolation/test_isolation_forest.py.
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn without replacement"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [detector() for detector in EVERY_DETECTOR], expected_failed_checks=lambda _: WEIGHTS
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def mixed(n: int = 80) -> pd.DataFrame:
    """Numbers, text and dates, some of them missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 50, n) / 8,
            "town": rng.choice(["Bonn", "Köln", "Ulm"], n),
            "day": pd.Timestamp("2001-02-03") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )
    frame.loc[::9, "x"] = np.nan
    frame.loc[::11, "town"] = None
    return frame


@every_detector
@pytest.mark.parametrize("variant", VARIANTS)
def test_threads_and_row_order_change_nothing(detector: Any, variant: dict[str, Any]) -> None:
    frame, order = mixed(), np.random.default_rng(1).permutation(80)
    weight = np.arange(80) % 4 + 0.5
    model = detector(random_state=0, n_jobs=1, **settings(detector, **variant))
    model.fit(frame, sample_weight=weight)
    scores = model.score_samples(frame)
    again = clone(model).set_params(n_jobs=3).fit(frame.iloc[order], sample_weight=weight[order])
    assert again.fingerprint() == model.fingerprint()
    assert np.array_equal(again.score_samples(frame.iloc[order]), scores[order])
    other = clone(model).set_params(random_state=1).fit(frame)
    assert other.fingerprint() != model.fingerprint()
    with_scale = clone(model).fit(frame, sample_weight=1024 * weight)
    assert with_scale.fingerprint() == model.fingerprint()


@every_detector
def test_the_same_columns_in_any_container(detector: Any) -> None:
    frame = mixed()
    model = detector(random_state=0).fit(frame)
    polars = detector(random_state=0).fit(pl.from_pandas(frame))
    assert polars.fingerprint() == model.fingerprint()
    X = table(missing=0.1)
    made = detector(random_state=0).fit(X)
    for same in (X.astype(np.float32), np.asfortranarray(X), X.tolist(), pd.DataFrame(X)):
        assert detector(random_state=0).fit(same).fingerprint() == made.fingerprint()


@every_detector
def test_copies_and_files_predict_the_same(detector: Any, tmp_path: Any) -> None:
    frame = mixed()
    model = detector(random_state=0, contamination=0.1).fit(frame)
    model.save(tmp_path / "model.weald")
    for copy in (pickle.loads(pickle.dumps(model)), weald.load(tmp_path / "model.weald")):
        assert copy.fingerprint() == model.fingerprint()
        assert np.array_equal(copy.predict(frame), model.predict(frame))
        assert np.array_equal(copy.score_samples(frame), model.score_samples(frame))


FAILING: dict[str, tuple[Any, dict[str, Any], str]] = {
    "negative weights": (table(), {"sample_weight": np.full(120, -1.0)}, "Negative values"),
    "no weights": (table(), {"sample_weight": np.zeros(120)}, "at least one non-zero"),
    "too few weights": (table(), {"sample_weight": np.ones(3)}, "one weight per row"),
    "masked": (np.ma.masked_array(table()), {}, "masked"),
    "no rows": (np.empty((0, 3)), {}, "0 sample"),
    "one row as a vector": (np.arange(3.0), {}, "Expected 2D array"),
    "complex": (table() * 1j, {}, "[Cc]omplex"),
    "mixed text and numbers": (np.array([["a"], [1.0]] * 60, dtype=object), {}, "mixes text"),
}


@every_detector
@pytest.mark.parametrize("case", FAILING)
def test_a_failed_refit_leaves_the_old_model(detector: Any, case: str) -> None:
    X, arguments, message = FAILING[case]
    model = detector(random_state=0).fit(table())
    before = model.fingerprint()
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(X, **arguments)
    assert model.fingerprint() == before


@every_detector
def test_wrong_tables_of_predict(detector: Any) -> None:
    model = detector(random_state=0)
    for method in ("predict", "score_samples", "decision_function", "apply", "text"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(*([] if method == "text" else [table()]))
    model.fit(mixed())
    with pytest.raises(ValueError, match="now missing:\n- day"):
        model.predict(mixed()[["x", "town"]])
    with pytest.raises(ValueError, match="text"):
        model.predict(mixed().assign(x="many"))


@every_detector
def test_extreme_numbers(detector: Any) -> None:
    """Scales of columns do not matter, and differences of the largest numbers do not overflow."""
    X = table()
    model = detector(random_state=0).fit(X)
    scaled = detector(random_state=0).fit(X * 2.0**900)
    assert np.array_equal(scaled.score_samples(X * 2.0**900), model.score_samples(X))
    signs = np.where(np.median(X) < X, 1.7e308, -1.7e308)
    assert np.isfinite(detector(random_state=0).fit(signs).score_samples(signs)).all()
