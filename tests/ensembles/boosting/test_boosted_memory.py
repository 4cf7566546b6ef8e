"""What boosted trees of many rows and two classes take beside the table, in bytes a row."""

from peak_memory import only_on_linux, peak_of_fit

# Above two million rows derivatives are not written down and labels are bytes; of so many columns
# codes are not kept a second time.
ROWS, COLUMNS = 2_010_000, 34

# Of every row: codes, a label, a score, a word of both derivatives, and twice its number.
BYTES = COLUMNS + 1 + 8 + 8 + 4 + 4

SETTING = """
rows, columns = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.integers(0, 200, size=(rows, columns), dtype=np.uint8).astype(np.float32)
y = (X[:, 0] > X[:, 1]).astype(np.int64)
model = weald.BoostedTreesClassifier(quality="fast", n_estimators=2, n_jobs=2)
model.fit(X[:30_000], y[:30_000])
"""


@only_on_linux
def test_the_peak_of_a_fit() -> None:
    peak = peak_of_fit(SETTING, ROWS, COLUMNS)
    # Histograms, stacks, and what allocators and large pages round up.
    slack = 12e6
    assert peak < BYTES * ROWS + slack, f"{peak / ROWS:.1f} bytes a row, of which {BYTES} are told"


OF_STORED_VALUES = """
from scipy import sparse
rows, columns = map(int, sys.argv[1:])
X = sparse.random(rows, columns, density=0.001, format="csr", random_state=0, dtype=np.float32)
y = (np.asarray(X[:, :2000].sum(axis=1))[:, 0] > 0.5).astype(np.int64)
model = weald.BoostedTreesClassifier(quality="fast", n_estimators=2, max_leaf_nodes=4, n_jobs=2)
model.fit(X[:2000, :50], y[:2000])
"""


@only_on_linux
def test_the_peak_of_a_sparse_fit() -> None:
    """Codes of one byte would take 160 MB; stored values are 160,000."""
    peak = peak_of_fit(OF_STORED_VALUES, 20_000, 8_000)
    # Histograms of 8,000 columns of some 20 bins take 10 MB each.
    assert peak < 100e6, f"{peak / 1e6:.0f} MB"
