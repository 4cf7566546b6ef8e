"""Models that were loaded without the records of their training rows can be judged, too."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

import weald


@pytest.mark.parametrize(
    "model",
    [
        weald.BoostedTreesClassifier(n_estimators=10, n_bags=2, random_state=0),
        weald.RandomForestClassifier(10, oob_score=True, random_state=0),
        weald.BaggingClassifier(n_estimators=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_loaded_models_are_cross_validated(model: object, tmp_path: Path) -> None:
    X, y = make_classification(120, random_state=0)
    model.fit(X, y).save(tmp_path / "m.weald")
    loaded = weald.load(tmp_path / "m.weald")
    found = weald.diagnose(loaded, X, y, n_repeats=0)
    assert found.source == "cross-validation"
    assert not np.isnan(found.predictions).any()
    assert "Report on" in weald.report(loaded, X, y, diagnosis=found, n_examples=2).title
