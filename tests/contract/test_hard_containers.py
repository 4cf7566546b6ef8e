"""Inconsistent, broken or changing containers: correct results or a clear error, no crash."""

import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import weald
from contract.subjects import EVERY_CLASSIFIER, answers, quick, task

KINDS = [
    getattr(weald, name + kind)
    for name in ("BoostedTrees", "RandomForest", "DecisionTree", "AdaBoost")
    for kind in ("Classifier", "Regressor")
]
every_kind = pytest.mark.parametrize("estimator", KINDS)

REFUSED = (TypeError, ValueError)


def fingerprint(estimator: type, X: Any, y: Any, *weight: Any) -> str:
    return quick(estimator).fit(X, y, *weight).fingerprint()


# ---- objects that offer an array ----


class Offers:
    """Returns one array after another from `__array__`, then always the last."""

    def __init__(self, *arrays: Any) -> None:
        self.arrays, self.n_asked = arrays, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.arrays[min(self.n_asked, len(self.arrays) - 1)]
        self.n_asked += 1
        return array if dtype is None else array.astype(dtype)


class Raises:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("lost")


class Interface:
    """Array interface over an own buffer, with arbitrary entries."""

    def __init__(self, array: np.ndarray, **entries: Any) -> None:
        self.buffer = bytearray(np.ascontiguousarray(array).tobytes())
        self.entries = {
            "version": 3,
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": self.buffer,
            **entries,
        }

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.entries


class Packed:
    """Supports DLPack only, as arrays of other libraries do."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        if self.device[0] != 1:
            raise BufferError("this lies on other devices")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class PackedOrArray(Packed):
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.device[0] != 1:
            raise TypeError("cannot convert a tensor of other devices")
        return self.array if dtype is None else self.array.astype(dtype)


@every_kind
@pytest.mark.parametrize("form", [Offers, Interface, Packed, PackedOrArray])
def test_an_offered_array_is_the_array(estimator, form) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(form(X), form(y))
    assert model.fingerprint() == fingerprint(estimator, X, y)
    assert (answers(model, form(X)) == answers(model, X)).all()


@every_kind
@pytest.mark.parametrize(
    ("wrong", "fragment"),
    [
        (lambda X: Offers(X[:-1]), "inconsistent numbers of samples"),
        (lambda X: Offers(X[:, 0]), "Expected 2D array"),
        (lambda X: Offers([1.0]), "cannot be read by its __array__"),
        (lambda X: Raises(), "cannot be read by its __array__: lost"),
        (lambda X: Interface(X, shape=(10**6, 4)), "its memory has 3840 bytes"),
        (lambda X: Interface(X, shape=(-1, 4)), "its memory has 3840 bytes"),
        (lambda X: Interface(X, strides=(320, 8)), "reaches from byte 0 to 38112"),
        (lambda X: Interface(X, strides=(-32, 8)), "reaches from byte -3808"),
        (lambda X: Interface(X, strides=(8,)), "cannot be read by its __array_interface__"),
        (lambda X: Interface(X, offset=8), "reaches from byte 8 to 3848"),
        (lambda X: Interface(X, typestr="|O8"), "Python objects"),
        (lambda X: Interface(X, typestr="?!"), "cannot be read by its __array_interface__"),
        (lambda X: Interface(X, data=None), "cannot be read by its __array_interface__"),
        (lambda X: Interface(X, data=3), "cannot be read by its __array_interface__"),
        (lambda X: Packed(X, (2, 0)), "other devices"),
        (lambda X: PackedOrArray(X, (2, 0)), "other devices"),
    ],
)
def test_a_wrong_offer_is_refused(estimator, wrong, fragment: str) -> None:
    X, y = task(estimator)
    with pytest.raises(REFUSED, match=fragment):
        quick(estimator).fit(wrong(X), y)
    model = quick(estimator).fit(X, y)
    if "samples" not in fragment:
        with pytest.raises(REFUSED):
            model.predict(wrong(X))


@every_kind
def test_wrong_offers_of_targets_and_weights(estimator) -> None:
    X, y = task(estimator)
    for wrong in (Raises(), Packed(y, (2, 0)), Interface(y, shape=(10**6,)), Offers(y[:-1])):
        with pytest.raises(REFUSED, match="y|samples"):
            quick(estimator).fit(X, wrong)
        with pytest.raises(REFUSED, match="sample_weight"):
            quick(estimator).fit(X, y, wrong)


# ---- containers that change between reads ----


@every_kind
def test_each_protocol_is_called_once(estimator) -> None:
    X, y = task(estimator)
    weight = np.ones(len(X))
    things = [Offers(X, X[:3]), Offers(y, y[:3]), Offers(weight, 0 * weight)]
    assert fingerprint(estimator, *things) == fingerprint(estimator, X, y)
    assert [thing.n_asked for thing in things] == [1, 1, 1]
    table = Offers(X, 0 * X)
    model = quick(estimator).fit(X, y)
    assert (answers(model, table) == answers(model, X)).all()
    assert table.n_asked == 1


class LyingArray(np.ndarray):
    shape = property(lambda self: (7, 1))
    size = property(lambda self: 7)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.zeros((5, 1))

    def __getitem__(self, index: Any) -> Any:
        return np.zeros(2)

    def __len__(self) -> int:
        return 10**9

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        return np.zeros((5, 1))


@every_kind
def test_subclasses_of_arrays_are_read_as_arrays(estimator) -> None:
    X, y = task(estimator)
    model = quick(estimator).fit(X.view(LyingArray), y.view(LyingArray))
    assert model.fingerprint() == fingerprint(estimator, X, y)
    assert (answers(model, X.view(LyingArray)) == answers(model, X)).all()


# ---- objects that offer a frame ----


class Stream:
    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        if isinstance(self.table, Exception):
            raise self.table
        return self.table.__arrow_c_stream__(requested_schema) if self.table else object()


class Exchanged:
    """Dataframe interchange protocol; `lies` override attributes of a column or its buffer."""

    def __init__(self, table: Any, **lies: Any) -> None:
        self.table, self.lies = table, lies

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        frame = self.table.__dataframe__(nan_as_null, allow_copy)
        return Liar(frame, self.lies) if self.lies else frame


class Liar:
    """Proxy that forwards all attributes, down to the buffers, except those overridden."""

    def __init__(self, honest: Any, lies: dict[str, Any]) -> None:
        self._honest, self._lies = honest, lies

    def __getattr__(self, name: str) -> Any:
        if name in self._lies:
            return self._lies[name]
        found = getattr(self._honest, name)
        if name == "get_chunks":
            return lambda *args: [Liar(chunk, self._lies) for chunk in found(*args)]
        if name in ("get_column_by_name", "get_column"):
            return lambda *args: Liar(found(*args), self._lies)
        if name == "get_buffers":
            return lambda: {
                key: value and (Liar(value[0], self._lies), value[1])
                for key, value in found().items()
            }
        return found


def as_arrow(X: np.ndarray) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({f"x{i}": X[:, i] for i in range(X.shape[1])})


@every_kind
@pytest.mark.parametrize("form", [Stream, Exchanged])
def test_an_offered_frame_is_the_frame(estimator, form) -> None:
    X, y = task(estimator)
    table = as_arrow(X)
    model = quick(estimator).fit(form(table), y)
    assert model.fingerprint() == fingerprint(estimator, table, y)
    assert model.feature_names_in_.tolist() == table.column_names
    assert (answers(model, form(table)) == answers(model, table)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(form(table.drop_columns(["x1"])))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        quick(estimator).fit(form(table[:-1]), y)


@every_kind
def test_wrong_offers_of_frames_are_refused(estimator) -> None:
    X, y = task(estimator)
    table = as_arrow(X)
    for wrong, fragment in [
        (Stream(None), "__arrow_c_stream__"),
        (Stream(RuntimeError("lost")), "__arrow_c_stream__: lost"),
        (Stream(table["x0"]), "__arrow_c_stream__"),
        (Exchanged(table, size=lambda: 10**8), "has 100000000 values, but there are 120 rows"),
        (Exchanged(table, num_rows=lambda: 10**8), "there are 100000000 rows"),
        (Exchanged(table, bufsize=8), "a buffer of 8 bytes"),
        (Exchanged(table, offset=10**8), "a buffer of"),
        (Exchanged(table, get_chunks=lambda *n: 3), "__dataframe__"),
    ]:
        with pytest.raises(REFUSED, match=fragment):
            quick(estimator).fit(wrong, y)


# ---- sparse matrices ----


def sparse_task(estimator: type, layout: str) -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = task(estimator)
    dense = np.where(np.arange(X.size).reshape(X.shape) % 3 == 0, X, 0.0)
    return scipy.sparse.csr_matrix(dense).asformat(layout), dense, y


@every_kind
@pytest.mark.filterwarnings("ignore:Constructing a DIA:scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sound_matrices_of_every_layout(estimator, layout: str) -> None:
    X, dense, y = sparse_task(estimator, layout)
    model = quick(estimator).fit(X, y)
    assert model.fingerprint() == fingerprint(estimator, dense, y)
    assert (answers(model, X) == answers(model, dense)).all()


@every_kind
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_indices_of_64_bits(estimator, layout: str) -> None:
    X, dense, y = sparse_task(estimator, layout)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model = quick(estimator).fit(X, y)
    assert model.fingerprint() == fingerprint(estimator, dense, y)
    assert (answers(model, X) == answers(model, dense)).all()


def put(name: str, place: int, value: int) -> Any:
    def damage(matrix: Any) -> None:
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)

    return damage


def change(name: str, how: Any) -> Any:
    return lambda matrix: setattr(matrix, name, how(getattr(matrix, name)))


def break_list(matrix: Any) -> None:
    matrix.rows[3] = [10**8]
    matrix.data[3] = [1.0]


def shorten_list(matrix: Any) -> None:
    matrix.rows[3], matrix.data[3] = [0], [1.0] * 1000


DAMAGE = {
    "index too large": put("indices", 4, 10**8),
    "index below zero": put("indices", 4, -5),
    "pointer too large": put("indptr", 1, 10**8),
    "pointer below zero": put("indptr", 1, -5),
    "pointers that decrease": put("indptr", 2, 0),
    "last pointer": put("indptr", -1, 10**8),
    "first pointer": put("indptr", 0, 1),
    "few values": change("data", lambda array: array[:5]),
    "few indices": change("indices", lambda array: array[:5]),
    "few pointers": change("indptr", lambda array: array[:-1]),
    "no pointers": change("indptr", lambda array: array[:0]),
    "fractions": change("indices", lambda array: array + 0.5),
    "indices in two dimensions": change("indices", lambda array: array[:, np.newaxis]),
}
OTHER_DAMAGE = [
    ("coo", put("row", 3, 10**8)),
    ("coo", put("col", 3, -2)),
    ("coo", change("data", lambda array: array[:5])),
    ("lil", break_list),
    ("lil", shorten_list),
]


@every_kind
@pytest.mark.parametrize(
    ("layout", "damage"),
    [
        *((layout, damage) for layout in ("csr", "csc", "bsr") for damage in DAMAGE.values()),
        *OTHER_DAMAGE,
    ],
)
def test_broken_matrices_are_refused(estimator, layout: str, damage) -> None:
    X, dense, y = sparse_task(estimator, layout)
    model = quick(estimator).fit(X, y)
    damage(X)
    with pytest.raises(ValueError, match="X is a broken sparse matrix"):
        quick(estimator).fit(X, y)
    with pytest.raises(ValueError, match="X is a broken sparse matrix"):
        model.predict(X)
    assert np.isfinite(answers(model, dense)).all()


@pytest.mark.parametrize("estimator", [e for e in EVERY_CLASSIFIER if e not in KINDS])
def test_broken_matrices_are_refused_by_the_others(estimator) -> None:
    X, _, y = sparse_task(estimator, "csr")
    DAMAGE["index too large"](X)
    with pytest.raises(ValueError, match="X is a broken sparse matrix"):
        quick(estimator).fit(X, y)


# ---- arrays that change while they are read ----


@every_kind
@pytest.mark.parametrize("how", [{}, {"exact": True}, {"max_bins": 1000}], ids=str)
def test_an_array_that_another_thread_changes(estimator, how: dict[str, Any]) -> None:
    """The values that the fit reads are undefined, but the model is valid."""
    X, y = task(estimator, n=20_000, n_columns=8)
    states = [X.copy(), np.full_like(X, np.nan), X[::-1].copy(), np.full_like(X, np.inf)]
    is_done = threading.Event()

    def scribble() -> None:
        turn = 0
        while not is_done.is_set():
            np.copyto(X, states[turn % len(states)])
            turn += 1

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        model = quick(estimator, n_jobs=2, max_leaf_nodes=8, max_depth=4, **how).fit(X, y)
    except ValueError as error:
        assert "worse than random" in str(error)
        return
    finally:
        is_done.set()
        thread.join()
    assert np.isfinite(answers(model, states[0])).all()


# ---- wide tables ----


@every_kind
def test_a_hundred_thousand_sparse_columns(estimator) -> None:
    n_columns = 100_000
    X = scipy.sparse.random(40, n_columns, density=1e-4, format="lil", random_state=0)
    X[:20, n_columns - 1] = 1.0
    y = np.repeat([0, 1], 20)
    model = quick(estimator, max_features=None, n_estimators=2).fit(X.tocsr(), y)
    assert model.n_features_in_ == n_columns
    assert np.isfinite(answers(model, X.tocsc())).all()
    if "RandomForest" not in estimator.__name__:
        assert model.feature_importances_[-1] == 1.0


# ---- many classes ----


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_ten_thousand_classes(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y = np.arange(20_000) % 10_000
    model = quick(getattr(weald, name), n_estimators=1, max_leaf_nodes=4).fit(X, y)
    shares = model.predict_proba(X[:3])
    assert shares.shape == (3, 10_000) and shares.sum(axis=1) == pytest.approx(1.0)


def test_too_many_classes_are_refused_before_training(monkeypatch) -> None:
    X, y = np.zeros((20_000, 1)), np.arange(20_000) % 10_000
    monkeypatch.setattr("weald.data.memory.most_bytes", lambda: 2**30)
    with pytest.raises(MemoryError, match=r"10,000 scores .* at least 4.5 GiB, .* at most 1.0"):
        weald.BoostedTreesClassifier(quality="fast", n_estimators=1).fit(X, y)
    for model in (
        weald.RandomForestClassifier(n_estimators=1),
        weald.ExtraTreesClassifier(bootstrap=True, oob_score=True, min_samples_leaf=1),
        weald.RotationForestClassifier(bootstrap=True, oob_score=True),
    ):
        with pytest.raises(MemoryError, match=r"10,000 classes .* at least 1.5 GiB.* oob_score"):
            model.fit(X + np.arange(20_000)[:, np.newaxis], y)
