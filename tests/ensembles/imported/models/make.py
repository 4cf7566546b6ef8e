"""Writes the small models of other libraries in this folder, and what they predict.

Needs xgboost, lightgbm, catboost and pandas; the tests read the files only.
"""

import json
from pathlib import Path

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost

FOLDER = Path(__file__).parent


def tables() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers with missing values, and a categorical column; a number and four classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(300, 3)).astype(np.float32).astype(float), columns=list("abc")
    )
    y = X["a"] + X["b"] ** 2
    X = X.mask(rng.random(X.shape) < 0.1)
    X["d"] = pd.Categorical(rng.choice(["u", "v", "w", "x", "y"], 300))
    y = (y + 2 * X["d"].isin(["u", "x"]) + rng.normal(size=300) / 4).to_numpy()
    return X, y, np.digitize(y, [0, 1, 2])


def idle_category(X: pd.DataFrame, y: np.ndarray, settings: dict[str, object]) -> list[float]:
    """A model of LightGBM with a categorical column that no tree can split."""
    idle = X[["d", "a"]].assign(c=pd.Categorical(["one"] * 300, ["one", "other"]))[["c", "d", "a"]]
    model = lightgbm.LGBMRegressor(**settings).fit(idle, y)
    model.booster_.save_model(str(FOLDER / "lightgbm_idle_category.txt"))
    return model.predict(idle)[:40].tolist()


def main() -> None:
    X, y, k = tables()
    numbers = X[list("abc")]
    small = {"n_estimators": 4, "random_state": 0, "n_jobs": 1}
    found = {}

    def keep(name: str, model: object, table: pd.DataFrame, save: object) -> None:
        save(str(FOLDER / name))
        wanted = (
            model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)
        )
        found[name] = np.asarray(wanted, dtype=float)[:40].tolist()

    model = xgboost.XGBRegressor(max_depth=3, enable_categorical=True, max_cat_to_onehot=1, **small)
    keep("xgboost_regression.json", model.fit(X, y), X, model.save_model)
    model = xgboost.XGBClassifier(max_depth=2, **small)
    keep("xgboost_four_classes.json", model.fit(numbers, k), numbers, model.save_model)
    model = xgboost.XGBClassifier(max_depth=2, **small)
    keep("xgboost_two_classes.json", model.fit(numbers, k > 1), numbers, model.save_model)
    model = xgboost.XGBRegressor(max_depth=2, objective="count:poisson", **small)
    keep("xgboost_poisson.json", model.fit(numbers, k), numbers, model.save_model)
    small |= {"num_leaves": 6, "verbose": -1, "min_child_samples": 5}
    lgb = lightgbm.LGBMRegressor(**small).fit(X, y)
    keep("lightgbm_regression.txt", lgb, X, lgb.booster_.save_model)
    lgb = lightgbm.LGBMClassifier(**small).fit(X, k)
    keep("lightgbm_four_classes.txt", lgb, X, lgb.booster_.save_model)
    lgb = lightgbm.LGBMClassifier(**small).fit(numbers, k > 1)
    keep("lightgbm_two_classes.txt", lgb, numbers, lgb.booster_.save_model)
    quiet = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False}
    cat = catboost.CatBoostRegressor(**quiet).fit(numbers, y)
    keep("catboost_regression.json", cat, numbers, lambda path: cat.save_model(path, format="json"))
    labels = np.array(["p", "q", "r", "s"])[k]
    cat = catboost.CatBoostClassifier(**quiet).fit(numbers, labels)
    keep(
        "catboost_four_classes.json", cat, numbers, lambda path: cat.save_model(path, format="json")
    )
    nested = {**quiet, "grow_policy": "Lossguide", "nan_mode": "Max", "max_leaves": 6}
    cat = catboost.CatBoostClassifier(**nested).fit(numbers, labels)
    keep("catboost_lossguide.json", cat, numbers, lambda path: cat.save_model(path, format="json"))
    cat = catboost.CatBoostRegressor(**quiet, grow_policy="Depthwise").fit(numbers, y)
    keep("catboost_depthwise.json", cat, numbers, lambda path: cat.save_model(path, format="json"))
    for name, cat in (
        ("catboost_categories.json", catboost.CatBoostRegressor(**quiet, one_hot_max_size=9)),
        (
            "catboost_nested_categories.json",
            catboost.CatBoostClassifier(**nested, one_hot_max_size=9),
        ),
    ):
        pool = catboost.Pool(X, labels if "nested" in name else y, cat_features=["d"])
        cat.fit(pool)
        keep(name, cat, X, lambda path: cat.save_model(path, format="json", pool=pool))  # noqa: B023
    idle_predictions = idle_category(X, y, small)
    shown = X[:40].astype(object).where(X[:40].notna(), None)
    (FOLDER / "expected.json").write_text(
        json.dumps(
            {"rows": shown.to_numpy().tolist(), "predictions": found, "idle": idle_predictions}
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
