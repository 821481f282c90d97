"""Folds in the order of the time and by groups: nothing of the future or of a group is learnt from."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from assay.report import RawTable, ReportError, choose_data, compare, render
from assay.report.results import results
from assay.report.trials.scoring.folds import GAP, folds_of, grouped_splits, ordered_splits, predicted_share


@pytest.fixture
def dated(rng):
    """A price that drifts, some days with several rows, in no order."""
    days = np.repeat(pd.date_range("2022-01-01", periods=120), rng.integers(1, 4, 120))
    order = rng.permutation(len(days))
    drift = np.cumsum(rng.normal(size=120))[np.unique(days, return_inverse=True)[1]]
    frame = pd.DataFrame({"day": days, "x": rng.normal(size=len(days)), "price": drift})
    return frame.iloc[order].reset_index(drop=True).astype({"day": str})


def chosen(frame, **options):
    return choose_data(RawTable("sales", frame), target="price", **options)


def test_later_rows_are_predicted_from_earlier_ones_with_a_gap_between(dated):
    data = chosen(dated, time="day")
    parts = folds_of(data, folds=4, repeats=1, seed=0, classes=None)
    assert len(parts) == 4
    judged = np.concatenate([part.test for part in parts])
    assert len(judged) == len(set(judged))
    times = data.times
    for part in parts:
        assert times[part.train].max() < times[part.test].min()
        between = (times > times[part.train].max()) & (times < times[part.test].min())
        assert between.sum() >= GAP * len(times) - 3 or len(np.unique(times[between])) >= 1
        assert 0.1 < len(part.test) / len(times) < 0.3
    begins = [times[part.test].min() for part in parts]
    assert begins == sorted(begins)
    assert times[np.setdiff1d(np.arange(len(times)), judged)].max() < min(begins)


def test_one_time_with_most_rows_leaves_no_fold_empty():
    times = np.concatenate([np.arange(20.0), np.full(500, 3.0)])
    data = chosen(pd.DataFrame({"t": times, "x": times**2, "price": times / 3}), time="t")
    parts = ordered_splits(data.times, data, folds=4)
    assert all(len(part.train) and len(part.test) for part in parts)
    assert all(times[part.train].max() < times[part.test].min() for part in parts)


def test_a_drift_that_shuffled_folds_flatter_is_judged_by_the_future(dated):
    methods = ["LinearRegression"]
    shuffled = chosen(dated)
    assert any("--time day" in sentence for sentence in compare(shuffled, methods=methods).alarms)
    ordered = chosen(dated, time="day")
    comparison = compare(ordered, folds=4, methods=methods)
    assert comparison.alarms == ()
    assert comparison.repeats == 1
    candidate = comparison.candidates[0]
    # The first stretch is never predicted: what is shown is about the rows that are, the model about all.
    n_judged = len(comparison.data.y)
    assert n_judged < len(dated) == len(comparison.data.whole.y)
    assert len(candidate.predictions) == n_judged
    residuals = comparison.data.y - candidate.predictions
    assert np.isfinite(residuals).all()
    assert candidate.measures["RMSE"] == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=0.3)
    told, flattered = results(comparison), results(compare(shuffled, methods=methods))
    assert told["table"]["n_rows"] == len(dated)
    assert told["table"]["fingerprint"] == flattered["table"]["fingerprint"]
    assert "sales" in render(comparison)


def test_the_error_of_ordered_folds_counts_their_few_training_rows(dated):
    data = chosen(dated, time="day")
    parts = folds_of(data, folds=4, repeats=1, seed=0, classes=None)
    share = predicted_share(data, parts, 4)
    ratio = np.mean([len(part.test) / len(part.train) for part in parts])
    assert share / (1 - share) == pytest.approx(ratio)
    assert share > 1 / 4
    plain = chosen(dated)
    assert predicted_share(plain, parts, 4) == 1 / 4


def test_groups_stay_on_one_side_and_are_not_learnt_from(rng):
    people = rng.permutation(np.repeat(np.arange(30), 6))
    frame = pd.DataFrame({"patient": [f"p{person}" for person in people], "x": rng.normal(size=180)})
    frame["price"] = rng.normal(size=30)[people]
    data = chosen(frame, group="patient")
    assert data.feature_names == ["x"]
    assert data.group == "patient"
    for part in folds_of(data, folds=5, repeats=2, seed=0, classes=None):
        assert not set(data.groups[part.train]) & set(data.groups[part.test])
    comparison = compare(data, methods=["LinearRegression"])
    assert comparison.alarms == ()
    assert comparison.recommended.score < 0.1  # a new patient cannot be recognised
    assert len(comparison.recommended.predictions) == 180
    labels = np.where(frame["price"] > 0, "ill", "well")
    for part in grouped_splits(data.groups, data, folds=5, classes=labels):
        assert len(np.unique(labels[part.test])) == 2


def test_rows_without_a_group_are_groups_of_their_own_and_without_a_time_left_out(rng):
    frame = pd.DataFrame({"team": ["a", "b", None, None] * 10, "x": rng.normal(size=40)})
    frame["price"] = rng.normal(size=40)
    data = chosen(frame, group="team")
    assert len(np.unique(data.groups)) == 22
    frame["when"] = np.where(np.arange(40) % 8 == 0, np.nan, np.arange(40.0))
    data = chosen(frame.drop(columns="team"), time="when")
    assert len(data.y) == len(data.times) == len(data.X) == 35
    assert "5 rows have no value of 'when', the time: left out." in data.notes


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": "town"}, r"The time 'town' must hold dates or numbers\. Got 'Lyon' instead\."),
        ({"time": "tmie"}, r"no column 'tmie'"),
        ({"time": "price"}, r"'price' of --time is the target"),
        ({"time": "x", "group": "town"}, r"a time or by groups, not both"),
        ({"group": "x", "task": "clustering", "target": None}, r"is for predictions; name what to predict"),
    ],
)
def test_orders_that_cannot_be_are_one_sentence(rng, options, sentence):
    frame = pd.DataFrame(
        {"x": rng.normal(size=40), "town": ["Lyon", "Nice"] * 20, "price": rng.normal(size=40)}
    )
    given = {"target": "price", **options}
    with pytest.raises(ReportError, match=sentence):
        choose_data(RawTable("t", frame), **given)


def test_too_few_times_groups_or_classes_are_one_sentence(rng):
    frame = pd.DataFrame({"t": np.repeat(np.arange(5.0), 8), "x": rng.normal(size=40)})
    frame["price"] = rng.normal(size=40)
    data = chosen(frame, time="t")
    with pytest.raises(ReportError, match=r"5 folds in the order of 't' need at least 12 different times"):
        compare(data)
    data = chosen(frame, group="t")
    with pytest.raises(ReportError, match=r"6 folds need at least 6 groups; 't' has 5"):
        compare(data, folds=6)
    frame = pd.DataFrame(
        {"t": np.arange(40.0), "x": rng.normal(size=40), "price": ["a", "b"] * 15 + ["c"] * 10}
    )
    data = chosen(frame, time="t")
    with pytest.raises(
        ReportError, match=r"predict a class of 'price' that the rows they learn from lack \('c'\)"
    ):
        compare(data, folds=3)
    with pytest.raises(ReportError, match="leave out --repeats"):
        compare(chosen(frame.assign(price=frame["x"]), time="t"), repeats=2)


def test_the_page_says_how_the_folds_were_cut_and_the_command_asks_for_them_again(dated):
    data = chosen(dated, time="day")
    page = render(compare(data, folds=4, methods=["LinearRegression"]))
    assert "put in the order of &#x27;day&#x27; and cut into stretches of time; each of 4" in page
    assert "the rows are shuffled" not in page
    assert "--time day" in re.sub("<[^>]+>", "", page)
    frame = dated.assign(team=np.arange(len(dated)) % 30, price=dated["x"] + np.arange(len(dated)) % 5)
    data = chosen(frame, group="team")
    page = render(compare(data, methods=["LinearRegression"], repeats=1))
    assert "the groups that &#x27;team&#x27; names are shuffled (seed 0) and cut into 5 folds, once" in page
    assert "--group team" in re.sub("<[^>]+>", "", page)


def test_classes_in_the_order_of_time_are_not_said_to_have_equal_shares(dated):
    frame = dated.assign(price=np.where(np.arange(len(dated)) % 3 == 0, "high", "low"))
    data = chosen(frame, time="day")
    page = render(compare(data, folds=3, methods=["LogisticRegression"]))
    assert "Every fold has its share of each class" not in page
    assert "Accuracy is the share of rows" in page
