"""Predictions of a saved model: a block at a time, the same whatever the format, nothing half-written."""

from __future__ import annotations

import io
import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from assay.linear import LinearRegression
from assay.persistence import save
from assay.report import (
    Data,
    RawTable,
    ReportError,
    choose_data,
    compare,
    predict_table,
    predictions,
    read_table,
)
from assay.report.results import about_model
from assay.report.tables.files import reading as blocks
from assay.report.tables.files.byte_streams import opened
from assay.report.tables.files.csv_files import csv_blocks


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 200), "town": rng.choice(["Lyon", "Nice", "Paris"], 200)})
    spend = 2.0 * frame["age"] + 10.0 * (frame["town"] == "Nice") + rng.normal(size=200)
    return frame, spend.to_numpy()


@pytest.fixture(scope="module")
def model(shop):
    options = {"methods": ("LinearRegression",), "repeats": 1}
    return compare(Data.from_frame(*shop), **options).recommended.model


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "csv.gz"])
def test_every_format_gives_the_predictions_of_the_frame(tmp_path, shop, model, ending, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 64)
    frame, _ = shop
    path = tmp_path / f"new.{ending}"
    if ending.startswith("csv"):
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    for output, read in (("out.csv", pd.read_csv), ("out.parquet", pd.read_parquet)):
        found = predict_table(model, path, tmp_path / output)
        assert found == (200, {}, ())
        assert_allclose(read(tmp_path / output)["prediction"], model.predict(frame))
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, "out.csv", "out.parquet"])


def test_intervals_cover_as_often_as_asked(shop, model):
    frame, spend = shop
    found = predictions(model, frame, interval=0.8)
    inside = (found["lower"] <= spend) & (spend <= found["upper"])
    assert abs(inside.mean() - 0.8) < 3 * np.sqrt(0.16 / 200)
    assert (found["lower"] < found["prediction"]).all()


def test_classes_come_with_probabilities(shop):
    frame, spend = shop
    y = np.where(spend > 80, "rich", "poor")
    options = {"methods": ("LogisticRegression",), "repeats": 1}
    model = compare(Data.from_frame(frame, y), **options).recommended.model
    found = predictions(model, frame)
    assert list(found) == ["prediction", "probability of poor", "probability of rich"]
    assert_allclose(found["probability of poor"] + found["probability of rich"], 1)
    rich = found["prediction"] == "rich"
    assert (rich == (found["probability of rich"] > 0.5)).all()


def test_standard_input_is_read_and_standard_output_written(shop, model, monkeypatch, capsys):
    frame, _ = shop
    text = frame.head(3).to_csv(index=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    predict_table(model, "-")
    written = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert_allclose(written["prediction"], model.predict(frame.head(3)))


def test_unseen_categories_are_told_once_a_column(tmp_path, shop, model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 10)
    frame, _ = shop
    frame.assign(town="Brest").to_csv(tmp_path / "new.csv", index=False)
    assert predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv").unseen == {"town": ["Brest"]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="age"), "lacks the column 'age'"),
        (lambda frame: frame.assign(age="old"), "Column 'age' must hold numbers. Got 'old' instead."),
    ],
)
def test_a_table_that_does_not_fit_is_refused_and_nothing_is_written(tmp_path, shop, model, change, sentence):
    frame = change(shop[0])
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ReportError, match=sentence):
        predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["new.csv"]


def test_a_wrong_row_far_inside_leaves_the_file_of_before(tmp_path, shop, model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 50)
    frame = shop[0].astype({"age": object})
    frame.loc[170, "age"] = "old"
    frame.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "out.csv").write_text("before")
    with pytest.raises(ReportError, match="Got 'old'"):
        predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["new.csv", "out.csv"]


def test_a_ragged_file_is_one_sentence(tmp_path, model):
    (tmp_path / "new.csv").write_text("age,town\n1,Nice\n2,Nice,3,4\n")
    with pytest.raises(ReportError, match=r"new\.csv cannot be read as CSV: Expected 2 fields in line 3"):
        predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["new.csv"]


def test_what_cannot_be_done_is_said(tmp_path, shop, model):
    frame, spend = shop
    frame.to_csv(tmp_path / "new.csv", index=False)
    source = tmp_path / "new.csv"
    with pytest.raises(ReportError, match=r"between 0 and 1\. Got 90 instead"):
        predict_table(model, source, interval=90)
    with pytest.raises(ReportError, match="was not saved by assay compare"):
        predict_table(LinearRegression().fit(frame[["age"]], spend), source)
    with pytest.raises(ReportError, match="name a file in a folder that exists"):
        predict_table(model, source, tmp_path / "nowhere" / "out.csv")
    ridge = compare(Data.from_frame(frame, spend), methods=("Lasso",), repeats=1)
    with pytest.raises(ReportError, match="Lasso has no prediction intervals; leave out --interval"):
        predict_table(ridge.recommended.model, source, interval=0.9)


# Blocks


def blocks_of(path, model):
    return list(blocks.table_blocks(path, model[0].columns))


@pytest.mark.parametrize("ending", ["csv", "csv.xz", "parquet", "feather", "folder"])
def test_no_block_is_longer_than_asked_and_none_lacks(tmp_path, shop, model, ending, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 60)
    frame = shop[0].assign(more=1.0)
    path = tmp_path / f"new.{ending}"
    if ending == "folder":
        path.mkdir()
        frame[:70].to_parquet(path / "0.parquet")
        frame[70:].to_parquet(path / "1.parquet")
    elif ending.startswith("csv"):
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    found = blocks_of(path, model)
    assert max(map(len, found)) <= 60
    assert all(list(block) == ["age", "town"] for block in found)
    whole = pd.concat(found, ignore_index=True)
    assert_allclose(whole["age"], frame["age"])
    assert whole["town"].tolist() == frame["town"].tolist()


def test_wide_tables_have_short_blocks(tmp_path, shop, model):
    shop[0].to_parquet(tmp_path / "t.parquet")
    wide = blocks.table_blocks(tmp_path / "t.parquet", model[0].columns, n_features=2**16)
    assert [len(block) for block in wide] == [200]
    frame = pd.concat([shop[0]] * 3, ignore_index=True)
    frame.to_parquet(tmp_path / "t.parquet")
    wide = blocks.table_blocks(tmp_path / "t.parquet", model[0].columns, n_features=2**16)
    assert [len(block) for block in wide] == [256, 256, 88]


@pytest.fixture(scope="module")
def coded():
    """A model of codes that look like numbers in places, of truth values and of dates."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "code": rng.choice(["01", "1", "2.50", "A7"], 300),
            "member": rng.choice(["yes", "no"], 300),
            "day": rng.choice(["03/04/2021", "13/04/2021", "05/01/2021"], 300),
            "size": rng.choice(["low", "medium", "high"], 300),
            "x": rng.normal(size=300),
        }
    )
    y = 3.0 * (frame["code"] == "01") + (frame["day"] == "03/04/2021") + frame["x"] + rng.normal(size=300)
    data = choose_data(RawTable("t", frame.assign(y=y)), target="y")
    return frame, compare(data, methods=("Ridge",), repeats=1, folds=2).recommended.model


def test_blocks_of_a_column_are_of_one_kind_whatever_they_hold(tmp_path, coded, monkeypatch):
    """Sorted, so that whole blocks hold digits only, or one truth value, or dates of one reading."""
    frame, model = coded
    frame = frame.sort_values(["code", "member", "day"]).reset_index(drop=True)
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = model.predict(frame)
    for n_rows in (13, 1000):
        monkeypatch.setattr(blocks, "BLOCK_ROWS", n_rows)
        assert predict_table(model, tmp_path / "t.csv", tmp_path / "out.csv").unseen == {}
        assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], expected)


def test_a_block_of_true_and_false_is_no_block_of_numbers(tmp_path, shop, model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 50)
    frame = shop[0].astype({"age": object})
    frame.loc[100:149, "age"] = True
    frame.to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ReportError, match=r"Column 'age' must hold numbers. Got 'True' instead."):
        predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")


def test_numbers_are_read_in_blocks_as_in_the_whole(tmp_path, shop, model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 50)
    frame = shop[0].astype({"age": object})
    frame.loc[60, "age"], frame.loc[170, "age"], frame.loc[199, "age"] = "?", "1,040.5", "inf"
    frame.to_csv(tmp_path / "new.csv", index=False)
    predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")
    whole = read_table(tmp_path / "new.csv").frame
    assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], model.predict(whole))


def test_tables_without_header_or_with_row_names_are_predicted(tmp_path, rng):
    X = rng.normal(size=(40, 2))
    data = Data.from_frame(pd.DataFrame(X, columns=["column 1", "column 2"]), X @ [1.0, 2.0])
    model = compare(data, methods=("LinearRegression",), repeats=1, folds=2).recommended.model
    np.savetxt(tmp_path / "bare.csv", X, delimiter=",")
    predict_table(model, tmp_path / "bare.csv", tmp_path / "out.csv")
    assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], X @ [1.0, 2.0])
    lines = [f"r{row},{one},{two}" for row, (one, two) in enumerate(X)]
    (tmp_path / "named.csv").write_text("\n".join(["column 1,column 2", *lines]))
    predict_table(model, tmp_path / "named.csv", tmp_path / "out.csv")
    assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], X @ [1.0, 2.0])


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_one_row_is_predicted_and_none_is_refused(tmp_path, shop, model, ending):
    path = tmp_path / f"new.{ending}"
    for n_rows in (1, 0):
        frame = shop[0][:n_rows]
        if ending == "csv":
            frame.to_csv(path, index=False)
        else:
            getattr(frame, f"to_{ending}")(path)
        if n_rows:
            assert predict_table(model, path, tmp_path / "out.csv").n_rows == 1
            (tmp_path / "out.csv").unlink()
        else:
            with pytest.raises(ReportError, match=rf"new\.{ending} has no rows\."):
                predict_table(model, path, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_file_cut_short_is_refused_and_nothing_is_written(tmp_path, shop, model, ending):
    frame = shop[0]
    path = tmp_path / f"new.{ending}{'.gz' if ending == 'csv' else ''}"
    frame.to_csv(path, index=False) if ending == "csv" else getattr(frame, f"to_{ending}")(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReportError, match=r"cannot be read|cut short"):
        predict_table(model, path, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == [path.name]


class Trickle(io.RawIOBase):
    """A pipe: a few bytes at a time, forwards only, and it knows how far it was read."""

    def __init__(self, content):
        self.content, self.place = content, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.content[self.place : self.place + min(len(buffer), 1000)]
        buffer[: len(piece)] = piece
        self.place += len(piece)
        return len(piece)


def piped(content, monkeypatch):
    pipe = Trickle(content)
    stream = io.BufferedReader(pipe)
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream})())
    return pipe


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather"])
def test_a_pipe_gives_the_predictions_of_the_file(tmp_path, shop, model, ending, monkeypatch):
    frame = shop[0]
    path = tmp_path / f"new.{ending}"
    if ending.startswith("csv"):
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    piped(path.read_bytes(), monkeypatch)
    assert predict_table(model, "-", tmp_path / "out.csv") == (200, {}, ())
    assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], model.predict(frame))


def test_text_from_a_pipe_is_not_read_ahead(shop, model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 1000)
    text = pd.concat([shop[0]] * 400).to_csv(index=False).encode()
    pipe = piped(text, monkeypatch)
    first = next(blocks.table_blocks("-", model[0].columns))
    assert len(first) == 1000
    assert pipe.place < 0.6 * len(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("1.5,01\n2.5,02\n3.5,x\n", "column 2"),
        ("a,\n1.5,01\n2.5,02\n3.5,x\n", "Unnamed: 1"),
        ("a,b\nr1,1.5,01\nr2,2.5,02\nr3,3.5,x\n", "b"),
        ("\ufeffa;b\n1,5;01\n2,5;02\n3,5;x\n", "b"),
    ],
)
def test_words_stay_words_however_their_column_is_named(tmp_path, text, name):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with opened(tmp_path / "t.csv", "t.csv") as lines:
        found = pd.concat(csv_blocks(lines, "t.csv", n_rows=1, words=[name]), ignore_index=True)
    assert found[name].tolist() == ["01", "02", "x"]
    whole = read_table(tmp_path / "t.csv").frame
    assert found[name].tolist() == whole[name].tolist()
    number = next(column for column in whole if column != name)
    assert found[number].tolist() == [1.5, 2.5, 3.5]


# What is written beside the predictions


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_name_the_rows_are_kept(tmp_path, shop, model, ending, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 64)
    names = [f"{row:03d}" for row in range(200)]
    frame = shop[0].assign(customer=names)
    path = tmp_path / f"new.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    predict_table(model, path, tmp_path / "out.csv", keep=("customer", "town"))
    found = pd.read_csv(tmp_path / "out.csv", dtype={"customer": str})
    assert list(found) == ["customer", "town", "prediction"]
    assert found["customer"].tolist() == names
    assert found["town"].tolist() == frame["town"].tolist()
    assert_allclose(found["prediction"], model.predict(frame))


def test_columns_that_cannot_be_kept_are_told(tmp_path, shop, model):
    shop[0].to_csv(tmp_path / "new.csv", index=False)
    for keep, sentence in (
        (("custoner",), "has no column 'custoner' to keep; its columns are 'age', 'town'"),
        (("prediction",), "'prediction' cannot be kept: another of that name is written"),
        (("town", "town"), "'town' cannot be kept"),
    ):
        with pytest.raises(ReportError, match=sentence):
            predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv", keep=keep)
    assert os.listdir(tmp_path) == ["new.csv"]


def test_a_disk_that_fills_up_leaves_the_file_of_before(tmp_path, shop, model, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    shop[0].to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "out.csv").write_text("before")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ReportError, match=r"cannot be written to .*: No space left on device"):
        predict_table(model, tmp_path / "new.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["new.csv", "out.csv"]


@pytest.fixture(scope="module")
def lasso(shop, tmp_path_factory):
    """A comparison whose model has no intervals of its own, written to a folder."""
    found = compare(Data.from_frame(*shop), methods=("Lasso",), repeats=1)
    folder = tmp_path_factory.mktemp("lasso")
    save(found.recommended.model, folder / "m.skops", about=about_model(found))
    return found, folder / "m.skops"


def test_a_model_without_intervals_has_those_of_the_residuals_of_the_folds(tmp_path, shop, lasso):
    comparison, path = lasso
    rng = np.random.default_rng(99)
    new = pd.DataFrame({"age": rng.normal(40, 10, 2000), "town": rng.choice(["Lyon", "Nice", "Paris"], 2000)})
    spend = 2.0 * new["age"] + 10.0 * (new["town"] == "Nice") + rng.normal(size=2000)
    new.to_parquet(tmp_path / "new.parquet")
    found = predict_table(path, tmp_path / "new.parquet", tmp_path / "out.csv", interval=0.9)
    assert found.notes == (
        "Lasso has no prediction intervals of its own: these come from the residuals of the folds and are "
        "all of one width.",
    )
    table = pd.read_csv(tmp_path / "out.csv")
    assert list(table) == ["prediction", "lower", "upper"]
    residuals = np.abs(comparison.data.y - comparison.recommended.predictions)
    assert_allclose(table["upper"] - table["prediction"], np.sort(residuals)[180])  # the 181st of 200
    held = ((table["lower"] <= spend) & (spend <= table["upper"])).mean()
    # The coverage is a Beta(181, 20) variable over tables, the share of new rows binomial about it.
    assert abs(held - 0.9) < 4 * np.sqrt(0.09 / 201 + 0.09 / 2000)


def test_coverages_between_two_that_were_kept_get_the_wider(tmp_path, shop, lasso):
    path = lasso[1]
    shop[0].to_csv(tmp_path / "new.csv", index=False)
    widths = []
    for interval in (0.9, 0.905, 0.91):
        predict_table(path, tmp_path / "new.csv", tmp_path / "out.csv", interval=interval)
        table = pd.read_csv(tmp_path / "out.csv")
        widths.append((table["upper"] - table["lower"]).iloc[0])
    assert widths[0] < widths[1]
    assert_allclose(widths[1], widths[2])
    with pytest.raises(ReportError, match=r"too few rows for intervals of 0\.999; ask for 0\.995 or less"):
        predict_table(path, tmp_path / "new.csv", tmp_path / "out.csv", interval=0.999)
