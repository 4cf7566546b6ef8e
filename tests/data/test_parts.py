"""Sources of tables in parts, column types over all parts, and sources that are wrong."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from sklearn.model_selection import cross_val_score

import weald
from weald.data.parts.parts import Parts

ROWS = 300


def frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=ROWS),
            "b": rng.integers(-5, 5, ROWS),
            "c": rng.choice(["p", "q", "r"], ROWS),
            "d": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D"),
            "y": rng.integers(0, 2, ROWS),
        }
    )


def fitted(X, y) -> str:
    return weald.BoostedTreesClassifier(quality="fast", n_estimators=3).fit(X, y).fingerprint()


@pytest.fixture(scope="module")
def expected() -> str:
    whole = pd.concat([frame(0), frame(1)], ignore_index=True)
    return fitted(whole.drop(columns="y"), whole["y"])


def write(folder: Path, kind: str) -> list[Path]:
    files = []
    for k in range(2):
        file = folder / f"part-{k}.{kind}"
        table = pa.Table.from_pandas(frame(k), preserve_index=False)
        if kind == "parquet":
            pyarrow.parquet.write_table(table, file, row_group_size=100)
        elif kind == "arrow":
            pyarrow.feather.write_feather(table, file, chunksize=100)
        else:
            frame(k).to_csv(file, index=False, sep=";" if k else ",")
        files.append(file)
    return files


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_files(tmp_path, expected, kind) -> None:
    files = write(tmp_path, kind)
    assert fitted(*weald.parts(f"{tmp_path}/part-*.{kind}", target="y")) == expected
    assert fitted(*weald.parts([str(files[0]), files[1]], target="y", memory_limit=1)) == expected


def test_other_sources(tmp_path, expected) -> None:
    files = write(tmp_path, "parquet")
    dataset = pyarrow.dataset.dataset([str(file) for file in files])
    frames = [pl.from_pandas(frame(0)), pa.Table.from_pandas(frame(1), preserve_index=False)]
    sources = [dataset, pl.scan_parquet(files), frames, lambda: (frame(k) for k in range(2))]
    for source in sources:
        X, y = weald.parts(source, target="y")
        assert fitted(X, y) == expected, source


def test_columns_are_matched_by_name_and_chosen() -> None:
    second = frame(1)[["y", "d", "c", "b", "a"]]
    X, y = weald.parts([frame(0), second], target="y", drop=["d", "c"])
    assert X.columns == ["a", "b"]
    assert repr(X) == "Parts(unread, 2 columns: 'a', 'b')"
    assert X.shape == (2 * ROWS, 2) and len(y) == 2 * ROWS
    assert np.array_equal(np.asarray(X.column("b")), np.append(frame(0)["b"], second["b"]))
    assert isinstance(weald.parts([frame(0)], columns=["b", "a"]), Parts)
    with pytest.raises(TypeError, match="cannot be selected, as cross-validation does"):
        cross_val_score(weald.BoostedTreesClassifier(), X, y, cv=2, error_score="raise")


def test_types_of_csv_columns_fit_all_files(tmp_path) -> None:
    whole = pd.DataFrame(
        {
            "int": ["1", "2", "?", "4"],
            "real": ["1", "2", "3.5", "NA"],
            "text": ["1", "2", "x", ""],
            "date": ["2024-02-29", "", "2023-01-02", "2022-01-01"],
            "none": ["", "", "", ""],
            "y": ["1", "2", "3", "4"],
        }
    )
    whole.iloc[:2].to_csv(tmp_path / "a.csv", index=False)
    whole.iloc[2:].to_csv(tmp_path / "b.csv", index=False)
    X, _ = weald.parts(f"{tmp_path}/*.csv", target="y")
    plan, table = X.planned(X.reading(), None, None, None)
    kinds = [column.kind_name() for column in plan.columns]
    assert kinds == ["number", "number", "category", "moment", "number"]
    assert plan.columns[2].levels == ("1", "2", "x")
    read = np.hstack([columns for _, columns in table.batches()])
    assert np.array_equal(read[:, 0], [1, 2, np.nan, 4], equal_nan=True)
    assert read[0, 3] == pd.Timestamp("2024-02-29").timestamp()


# ---- what is wrong ----


def test_kinds_that_disagree_name_the_part_and_the_column() -> None:
    other = frame(1).assign(b=frame(1)["c"])
    X, y = weald.parts([frame(0), other], target="y")
    message = "Column 'b' holds numbers in 'frame 0', but categories in 'frame 1'"
    with pytest.raises(TypeError, match=message.replace("categories", "text")):
        fitted(X, y)
    zoned = frame(1).assign(d=frame(1)["d"].dt.tz_localize("UTC"))
    X, y = weald.parts([frame(0), zoned], target="y")
    with pytest.raises(TypeError, match="dates or times in UTC in 'frame 1'"):
        fitted(X, y)
    X, y = weald.parts([frame(0), frame(1).assign(y="no")], target="y")
    with pytest.raises(TypeError, match="Column 'y' holds numbers in 'frame 0', but categories in"):
        fitted(X, y)
    orders = [["p", "q", "r"], ["q", "p", "r"]]
    ordered = [
        frame(k).assign(c=pd.Categorical(frame(k)["c"], order, ordered=True))
        for k, order in enumerate(orders)
    ]
    X, y = weald.parts(ordered, target="y")
    with pytest.raises(ValueError, match="whose order in 'frame 1' is another than in 'frame 0'"):
        fitted(X, y)


def test_other_columns_missing_targets_and_no_rows() -> None:
    with pytest.raises(ValueError, match=re.escape("'frame 1' lacks 'a' and has 'A'")):
        weald.parts([frame(0), frame(1).rename(columns={"a": "A"})], target="y")
    gap = frame(1).astype({"y": float})
    gap.loc[5, "y"] = np.nan
    X, y = weald.parts([frame(0), gap], target="y")
    with pytest.raises(ValueError, match=f"'y' contains NaN: .* row {ROWS + 5} .* 'frame 1'"):
        fitted(X, y)
    X, y = weald.parts([frame(0).iloc[:0]] * 3, target="y")
    with pytest.raises(ValueError, match="the source has no rows"):
        fitted(X, y)
    X, y = weald.parts([frame(0)], target="y")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted(X, np.zeros(7))


def test_arguments_that_are_wrong(tmp_path) -> None:
    wrong = {
        "no column 'z'; it has 'a'": {"target": "z"},
        "pass either columns": {"columns": ["a"], "drop": ["b"]},
        "lists of names; got a str": {"drop": "a"},
        "memory_limit must be a number of bytes": {"memory_limit": 0.5},
        "X has no column": {"drop": ["a", "b", "c", "d"], "target": "y"},
        "which is the target": {"columns": ["a", "y"], "target": "y"},
    }
    for message, options in wrong.items():
        with pytest.raises((ValueError, TypeError), match=message):
            weald.parts([frame(0)], **options)
    with pytest.raises(TypeError, match="source is a generator; expected"):
        weald.parts(frame(k) for k in range(2))
    with pytest.raises(TypeError, match="frame 1 of source is a int"):
        weald.parts([frame(0), 3])
    with pytest.raises(TypeError, match="returns a DataFrame; expected an iterator"):
        weald.parts(lambda: frame(0))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        weald.parts(str(tmp_path / "*.parquet"))
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(ValueError, match="several formats, 'csv', 'parquet'"):
        weald.parts(str(tmp_path / "a.*"))
    with pytest.raises(ValueError, match=r"cannot read '.*a\.parquet' as parquet"):
        weald.parts(tmp_path / "a.parquet")


def changing(change):
    """A source whose rows are changed from its fourth reading on."""
    calls = []

    def batches():
        calls.append(0)
        rows = pd.concat([frame(0), frame(1)], ignore_index=True)
        yield rows if len(calls) < 5 else change(rows)

    return batches


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.iloc[:-1], "had 600 rows when it was first read, and 599 now"),
        (lambda rows: pd.concat([rows, rows.iloc[:1]]), "and has more now, in 'batch 0'"),
        (lambda rows: rows.iloc[::-1], "column 'a' of the source had other values, or its rows"),
        (lambda rows: rows.assign(c=rows["c"].to_numpy()[::-1]), "column 'c' of the source had"),
    ],
)
def test_a_source_that_is_not_the_same_again(change, message) -> None:
    X, y = weald.parts(changing(change), target="y")
    with pytest.raises(ValueError, match=message):
        fitted(X, y)


def test_a_file_that_vanishes(tmp_path, monkeypatch) -> None:
    _, second = write(tmp_path, "parquet")
    X, y = weald.parts(f"{tmp_path}/*.parquet", target="y")
    second.unlink()
    with pytest.raises(FileNotFoundError, match=r"part-1\.parquet' is not there any more"):
        fitted(X, y)


def test_free_text_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("weald.data.parts.summaries._MOST_COUNTED", 100)
    text = frame(0).assign(c=[f"text {i}" for i in range(ROWS)])
    X, y = weald.parts([text], target="y")
    with pytest.raises(ValueError, match="Column 'c' has more than 100 different categories"):
        fitted(X, y)


def test_predictions_of_other_parts() -> None:
    whole = frame(0)
    model = weald.BoostedTreesClassifier(quality="fast", n_estimators=3)
    model.fit(whole.drop(columns="y"), whole["y"])
    parts = weald.parts([frame(1)[["y", "d", "c", "b", "a"]]], drop=["y"])
    assert np.array_equal(model.predict(parts), model.predict(frame(1).drop(columns="y")))
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        model.predict(weald.parts([frame(1)]))
