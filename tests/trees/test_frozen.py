"""The arrays of a model cannot be written to: the core reads them without checks."""

import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import weald
from weald.trees import Forest

KINDS = {
    "boosted trees": weald.BoostedTreesClassifier(quality="fast", n_estimators=3),
    "gradient boosting": weald.GradientBoostingClassifier(n_estimators=3),
    "a tree": weald.DecisionTreeClassifier(),
    "a forest": weald.RandomForestClassifier(3, random_state=0),
    "random cuts": weald.ExtraTreesClassifier(3, random_state=0),
    "a rotation forest": weald.RotationForestClassifier(3, random_state=0),
    "an option tree": weald.OptionTreeClassifier(max_depth=3),
    "stumps": weald.AdaBoostClassifier(n_estimators=3),
}


def fitted(kind: str) -> tuple[weald.DecisionTreeClassifier, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return KINDS[kind].fit(X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1])), X


def arrays_of(model: object) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of the model's trees, wherever they are kept."""
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            yield name, value
        elif type(value).__module__.startswith("weald.trees"):
            for inner, array in arrays_of(value):
                yield f"{name}.{inner}", array


def refuse_to_be_written(forest: object) -> None:
    arrays = dict(arrays_of(forest))
    assert len(arrays) > 10
    for name, array in arrays.items():
        for view in (array, array[:1], array[...]):
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.setflags(write=True)
            with pytest.raises(ValueError, match="WRITEABLE"):
                view.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 2**40 if array.dtype.itemsize == 8 else 1
        assert not array.flags.writeable, name


@pytest.mark.parametrize("kind", KINDS)
def test_no_array_of_a_model_can_be_made_writeable(kind: str) -> None:
    model, X = fitted(kind)
    forest, before = model.forest_, model.predict(X)
    for one in (
        forest,
        pickle.loads(pickle.dumps(forest)),
        copy.copy(forest),
        copy.deepcopy(forest),
    ):
        refuse_to_be_written(one)
    refuse_to_be_written(pickle.loads(pickle.dumps(model)).forest_)
    if isinstance(forest, Forest):
        refuse_to_be_written(forest.tree(0))
        refuse_to_be_written(forest.part(0, 1))
    assert np.array_equal(model.predict(X), before)
