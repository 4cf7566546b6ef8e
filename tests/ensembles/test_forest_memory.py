"""What a forest's fit takes beside the table: bins, model, and 64 bytes a row and thread."""

import pytest

from peak_memory import only_on_linux, peak_of_fit

ROWS, COLUMNS, THREADS = 400_000, 16, 2

# Small numbers of values, so that what ranks stand for is little beside what every row takes.
SETTING = """
kind, dtype, rows, columns, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
X = rng.integers(0, 1000, size=(rows, columns)).astype(dtype)
y = (X[:, 0] + X[:, 1] + rng.integers(0, 1000, size=rows) > 1500).astype(np.int64)
named = {"min_samples_leaf": 1, "max_features": 4} if kind.startswith("Extra") else {}
settings = {"n_estimators": 4, "n_jobs": threads, "random_state": 0, "max_depth": 9, **named}
getattr(weald, kind)(**settings).fit(X[:2000], y[:2000])
model = getattr(weald, kind)(**settings)
"""


@only_on_linux
@pytest.mark.parametrize(
    ("kind", "dtype"), [("RandomForestClassifier", "float64"), ("ExtraTreesRegressor", "float32")]
)
def test_the_peak_of_a_fit(kind: str, dtype: str) -> None:
    peak = peak_of_fit(SETTING, kind, dtype, ROWS, COLUMNS, THREADS)
    bins = (3 if kind.startswith("Random") else 4) * COLUMNS * ROWS  # whole numbers are floats
    # Allocators and large pages round up, which is more of a small table than of a large one.
    slack = 64 * ROWS
    assert peak < bins + 64 * ROWS * THREADS + slack, f"{peak / ROWS:.0f} bytes a row"
