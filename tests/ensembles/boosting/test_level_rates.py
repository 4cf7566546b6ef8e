"""Target statistics with offsets that are logarithms of exposures: rates of the levels."""

import warnings
from typing import Any

import numpy as np
import pytest

import weald
from weald import BoostedTreesRegressor
from weald.ensembles.level_statistics import SMOOTHING
from weald.errors import WealdWarning

pd = pytest.importorskip("pandas")

QUICK: dict[str, Any] = {"loss": "poisson", "n_jobs": 1, "random_state": 0}


def sample(n_rows: int, seed: int) -> Any:
    """Rows of 400 regions with rates of their own: table, counts, exposures."""
    rng = np.random.default_rng(seed)
    rate = np.exp(np.random.default_rng(99).normal(size=400))
    exposure, region = rng.uniform(0.02, 2.0, n_rows), rng.integers(0, 400, n_rows)
    table = pd.DataFrame({"region": [f"r{i:03d}" for i in region], "x": rng.normal(size=n_rows)})
    return table, rng.poisson(rate[region] * exposure), exposure


X, Y, EXPOSURE = sample(2000, 0)
NEW, NEW_Y, NEW_EXPOSURE = sample(4000, 1)


@pytest.mark.parametrize("unit", [1.0, 2.0**-200])
def test_new_rows_get_the_rate_of_their_level(unit: float) -> None:
    """The sum of targets by that of exposures, two rows of the overall rate added."""
    model = BoostedTreesRegressor(n_estimators=4, n_bags=5, **QUICK)
    model.fit(X, Y, offset=np.log(EXPOSURE * unit))
    new = model._plan.read(weald.data.read_columns(NEW))
    fold, region = model._folds.fold[0][model._folds.place], X["region"].to_numpy()
    exposure = EXPOSURE / EXPOSURE.max()  # the unit does not matter
    for k in range(5):
        used = fold != k
        own = SMOOTHING * exposure[used].mean()
        rate = Y[used].sum() / exposure[used].sum()

        def of(level: str, used: Any = used, own: float = own, rate: float = rate) -> float:
            here = used & (region == level)
            return (Y[here].sum() + own * rate) / (exposure[here].sum() + own)

        assert new[1 + k][:40] == pytest.approx([of(level) for level in NEW["region"][:40]])
    names = set(model.trees_to_frame("pandas")["feature"].dropna())
    assert "region (rate of y, booster 1)" in names


@pytest.mark.parametrize("n_bags", [5, None])
def test_rates_are_better_than_none(n_bags: Any) -> None:
    errors = []
    for wanted in ("auto", False):
        model = BoostedTreesRegressor(
            target_statistics=wanted, n_bags=n_bags, n_estimators=60, **QUICK
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WealdWarning)
            model.fit(X, Y, offset=np.log(EXPOSURE))
        predicted = model.predict(NEW, offset=np.log(NEW_EXPOSURE))
        errors.append(np.square(predicted - NEW_Y).mean())
    assert errors[0] < 0.8 * errors[1]


def test_other_links_have_none() -> None:
    model = BoostedTreesRegressor(**{**QUICK, "loss": "squared_error"}, n_estimators=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WealdWarning)
        model.fit(X, Y.astype(float), offset=EXPOSURE)
    assert not model.target_statistics_
    model.set_params(target_statistics=True)
    with pytest.raises(ValueError, match="unless the loss has a log link"):
        model.fit(X, Y, offset=EXPOSURE)
