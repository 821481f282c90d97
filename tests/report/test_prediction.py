"""Predictions of a saved model: a block at a time, the same whatever the format, nothing half-written."""

from __future__ import annotations

import io
import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from assay.linear import LinearRegression
from assay.report import Data, ReportError, _prediction, compare, predict_table, predictions


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.normal(40, 10, 200), "town": rng.choice(["Lyon", "Nice", "Paris"], 200)})
    spend = 2.0 * frame["age"] + 10.0 * (frame["town"] == "Nice") + rng.normal(size=200)
    return frame, spend.to_numpy()


@pytest.fixture(scope="module")
def model(shop):
    options = {"methods": ("LinearRegression",), "repeats": 1}
    return compare(Data.from_frame(*shop), "regression", **options).recommended.model


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "csv.gz"])
def test_every_format_gives_the_predictions_of_the_frame(tmp_path, shop, model, ending, monkeypatch):
    monkeypatch.setattr(_prediction, "BLOCK_ROWS", 64)
    frame, _ = shop
    path = tmp_path / f"new.{ending}"
    if ending.startswith("csv"):
        frame.to_csv(path, index=False)
    else:
        getattr(frame, f"to_{ending}")(path)
    for output, read in (("out.csv", pd.read_csv), ("out.parquet", pd.read_parquet)):
        found = predict_table(model, path, tmp_path / output)
        assert found == (200, {})
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
    model = compare(Data.from_frame(frame, y), "classification", **options).recommended.model
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
    monkeypatch.setattr(_prediction, "BLOCK_ROWS", 10)
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
    monkeypatch.setattr(_prediction, "BLOCK_ROWS", 50)
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
    ridge = compare(Data.from_frame(frame, spend), "regression", methods=("Lasso",), repeats=1)
    with pytest.raises(ReportError, match="Lasso has no prediction intervals; leave out --interval"):
        predict_table(ridge.recommended.model, source, interval=0.9)
