"""Tables of more columns than rows, and classes of few rows: they end, and say what was set aside."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from assay.report import Comparison, Data, ReportError, choose_data, compare
from assay.report.page.data import data_section
from assay.report.page.explanations import explanations
from assay.report.tables.encoding import cells as cells_of_tables
from assay.report.tables.encoding.cells import cells, words_in
from assay.report.tables.encoding.code_encoder import CodeEncoder
from assay.report.tables.encoding.encoder import ClusterEncoder, NumericCode, TableEncoder
from assay.report.tables.encoding.plain_numbers import read_once
from assay.report.tables.files.reading import RawTable
from assay.report.tables.schema import describe_columns
from assay.report.trials.explaining.explanation import weight_of_columns
from assay.report.trials.explaining.importance import (
    FEWEST_SCREENED,
    MAX_COLUMNS,
    PIECES,
    PREDICTIONS_OF_THE_CHOSEN,
    SCREENED_ROWS,
    n_asked_of_the_chosen,
    screened,
)
from assay.report.trials.scoring.resampling import default_repeats
from assay.report.trials.tuning import TUNING_FOLDS, ClassFolds


def raw(frame: pd.DataFrame) -> RawTable:
    return RawTable("made", frame)


def test_more_columns_than_rows_and_classes_of_two_rows_are_compared(rng):
    """As in tables of genes: 14 classes, some of two rows, a hundred times as many columns as such rows."""
    y = np.repeat(np.arange(9), [9, 8, 7, 6, 4, 3, 2, 2, 2])
    X = rng.normal(size=(len(y), 200))
    X[:, :40] += 3 * rng.normal(size=(9, 40))[y]
    frame = pd.DataFrame(X, columns=[f"g{index}" for index in range(200)])
    data = Data.from_frame(frame, np.array([f"c{label}" for label in y]))
    found = compare(data, repeats=1, methods=("LogisticRegression", "LinearSVC"))
    assert not found.skipped
    assert found.folds == 2
    assert found.recommended.score > 0.5


def test_every_class_is_learnt_in_each_fold_of_a_choice():
    y = np.repeat(["a", "b", "c", "d"], [1, 2, 3, 30])
    parts = list(ClassFolds(seed=3).split(None, y))
    assert len(parts) == TUNING_FOLDS
    for train, test in parts:
        assert set(y[train]) == {"a", "b", "c", "d"}
        assert sorted([*train, *test]) == list(range(len(y)))
    tested = np.concatenate([test for _, test in parts])
    assert sorted(tested) == list(range(1, len(y)))  # the one row of a is never predicted
    sizes = [len(test) for _, test in parts]
    assert max(sizes) - min(sizes) <= 1
    assert len(list(ClassFolds(seed=3, n_used=1).split(None, y))) == 1


def test_classes_of_one_row_are_set_aside_and_said():
    frame = pd.DataFrame({"x": np.arange(9.0) ** 2, "y": list("aabbbbcad")})
    data = choose_data(raw(frame), target="y")
    assert data.task == "classification"
    assert data.classes == ("a", "b")
    assert data.y.tolist() == list("aabbbba")
    assert data.X["x"].tolist() == [0.0, 1, 4, 9, 16, 25, 49]
    assert any("The classes 'c', 'd' of 'y' with one row only: set aside" in note for note in data.notes)
    with pytest.raises(ReportError, match=r"'c', 'd' of 'y' have one row only.*leave out --keep-rare"):
        choose_data(raw(frame), target="y", keep_rare=True)


def test_numbers_are_encoded_as_one_column_at_a_time_would_be(rng):
    frame = pd.DataFrame(
        {
            "whole": rng.normal(size=30),
            "gaps": np.where(rng.random(30) < 0.3, np.nan, rng.normal(size=30)),
            "town": rng.choice(["Lyon", "Nice"], 30),
            "huge": np.where(rng.random(30) < 0.2, np.inf, 1.0) * rng.normal(size=30),
            "count": rng.integers(0, 30, 30),
            "member": rng.choice([True, False], 30),
            "words": [f"{value:.2f}" for value in rng.normal(size=30)],
        }
    )
    columns = describe_columns(frame)
    encoder = TableEncoder(columns)
    features = encoder.fit_transform(frame)
    again = TableEncoder(columns).fit(read_once(frame, columns))
    np.testing.assert_allclose(again.transform(read_once(frame, columns)), features)
    np.testing.assert_allclose(again.transform(frame), features)
    pieces = [
        code.encode(cells(frame, column), column)
        for column, code in zip([item for item in columns if item.learnable], encoder.codes_, strict=True)
    ]
    plain = np.column_stack(pieces)
    np.testing.assert_allclose(features, (plain - encoder.mean_) / encoder.scale_, atol=1e-12)
    alone = {column.name: NumericCode.learn(frame[column.name], column) for column in columns[:2]}
    assert [alone["whole"], alone["gaps"]] == encoder.codes_[:2]


def test_words_are_read_once_for_every_encoding_and_say_the_same(rng):
    words = pd.Series([" a", "a ", None, "", 1, True, 1.0, 2.5, pd.NA, np.nan, "b", "None"], dtype=object)
    assert words_in(words) == ["a", "a", None, None, "1", "True", "1", "2.5", None, None, "b", "None"]
    assert words_in(words[[0, 1, 2, 3, 8, 9]]) == ["a", "a", None, None, None, None]
    assert words_in(pd.Series([["x"], "y"], dtype=object)) == ["['x']", "y"]
    frame = pd.DataFrame({"mixed": [*words, *words], "size": ["small", "large ", None, "medium"] * 6})
    frame["town"] = rng.choice([" Lyon", "Lyon", "Nice"], 24)
    columns = describe_columns(frame)
    assert [column.kind for column in columns] == ["categorical", "ordinal", "categorical"]
    read = read_once(frame, columns)
    for kind in (TableEncoder, CodeEncoder, ClusterEncoder):
        encoder = kind(columns).fit(frame)
        again = kind(columns).fit(read)
        assert again.codes_ == encoder.codes_
        np.testing.assert_array_equal(again.transform(read), encoder.transform(frame))


def test_dates_that_are_read_are_not_written_out_again(monkeypatch):
    """Texts are asked for where no day was found: those of a million dates would take seconds per split."""
    asked = []
    monkeypatch.setattr(cells_of_tables, "words_in", lambda values: asked.append(len(values)) or [])
    frame = pd.DataFrame({"day": [*pd.date_range("2024-01-01", periods=9), pd.NaT]})
    TableEncoder(describe_columns(frame)).fit(frame)
    assert sum(asked) <= 1


def test_blanks_at_the_ends_do_not_make_another_value():
    constant, two = describe_columns(pd.DataFrame({"only": ["a", "a ", " a"], "two": ["b", "b ", "a"]}))
    assert (constant.kind, constant.n_distinct) == ("constant", 1)
    assert (two.kind, two.n_distinct, two.levels) == ("categorical", 2, ("b", "a"))


def test_few_rows_are_folded_three_times_unless_there_are_very_many_numbers():
    assert default_repeats(64, 6830) == default_repeats(1000, 50) == 3
    assert default_repeats(1001, 2) == default_repeats(900, 4000) == 1


class Linear:
    """A linear model that counts the rows that it is asked about."""

    def __init__(self, weights):
        self.weights, self.asked = weights, 0

    def predict(self, rows):
        self.asked += len(rows)
        return rows @ self.weights


class Columns:
    """Features of columns: every tenth column has two, another in every ten has none."""

    def __init__(self, count):
        ends = np.cumsum([0, *np.where(np.arange(count) % 10 == 0, 2, np.arange(count) % 10 != 5)])
        self.places = [np.arange(start, end) for start, end in pairwise(ends)]

    def groups(self):
        return self.places


@pytest.mark.parametrize("count", [700, 9000])
def test_columns_that_move_predictions_are_found_without_asking_about_each_of_very_many(rng, count):
    columns = Columns(count)
    n_features = columns.groups()[-1][-1] + 1
    strong = np.sort(rng.choice(np.flatnonzero(np.arange(count) % 10 != 5), 30, replace=False))
    weights = 0.02 * rng.normal(size=n_features)
    weights[np.concatenate([columns.groups()[place] for place in strong])] = rng.choice([-1.0, 1.0])
    model, features = Linear(weights), rng.normal(size=(50, n_features))
    kept = screened(model, columns, features, None)
    assert len(kept) == MAX_COLUMNS
    assert np.all(np.diff(kept) > 0)
    assert set(strong) <= set(kept)
    assert model.asked <= SCREENED_ROWS * (2 + min(count + 1, 3 * PIECES + 1))
    assert model.asked >= SCREENED_ROWS * min(count, PIECES)


def test_of_a_very_wide_table_fewer_rows_are_asked_about(rng, monkeypatch):
    """The numbers that a model reads are limited: here to those of 2,000 rows in place of 100,000."""
    columns, limit = Columns(9000), "assay.report.trials.explaining.importance.NUMBERS_OF_THE_CHOSEN"
    n_features = columns.groups()[-1][-1] + 1
    monkeypatch.setattr(limit, 2000 * n_features + 1)
    model = Linear(np.where(np.arange(n_features) == 77, 1.0, 0.001))
    kept = screened(model, columns, rng.normal(size=(50, n_features)), None)
    assert any(77 in columns.groups()[place] for place in kept)
    assert model.asked <= FEWEST_SCREENED * (3 * PIECES + 3)
    assert n_asked_of_the_chosen(n_features) == 2000
    assert n_asked_of_the_chosen(20) == PREDICTIONS_OF_THE_CHOSEN


def test_columns_of_a_table_that_is_not_very_wide_are_each_asked_about(rng):
    """With fewer columns than pieces the answer is that of shuffling one column at a time."""
    columns, weights = Columns(600), rng.normal(size=600)
    features = rng.normal(size=(50, 600))
    order = np.random.default_rng(0).permutation(SCREENED_ROWS)
    rows, source = features[:SCREENED_ROWS], np.empty(SCREENED_ROWS, dtype=int)
    source[order] = np.roll(order, -1)
    steps = (rows[source] - rows) * weights
    moves = [np.square(steps[:, group].sum(axis=1)).mean() for group in columns.groups()]
    expected = np.sort(np.argsort(-np.array(moves))[:MAX_COLUMNS])
    np.testing.assert_array_equal(screened(Linear(weights), columns, features, None), expected)


@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
def test_what_a_model_of_many_columns_has_learnt_is_told_with_how_many_were_shuffled(rng, monkeypatch, names):
    monkeypatch.setattr("assay.report.trials.explaining.importance.MAX_COLUMNS", 20)
    X = rng.normal(size=(90, 260))
    y = 3 * X[:, 7] + 0.3 * rng.normal(size=90)
    if names is not None:
        y = np.array(names)[np.digitize(y, [-1.5, 1.5])]
    data = Data.from_frame(pd.DataFrame(X).add_prefix("x"), y)
    method = "Lasso" if names is None else "DecisionTreeClassifier"
    found = compare(data, methods=(method,), repeats=1)
    importances = found.explanation.importances
    assert (len(importances.columns), importances.n_columns) == (20, 260)
    assert importances.columns[0] == "x7"
    assert found.explanation.effects
    assert "Shuffled were the 20 of the 260 columns that move predictions" in explanations(found)
    nothing = importances._replace(means=np.zeros(20))
    assert "shuffling any one of the 20 that move its predictions most costs" in weight_of_columns(nothing)


def test_correlations_of_a_wide_table_are_said_to_be_those_of_its_first_columns(rng, monkeypatch):
    monkeypatch.setattr("assay.report.page.columns.MAX_COLUMNS", 30)
    data = Data.from_frame(pd.DataFrame(rng.normal(size=(40, 1200))).add_prefix("x"), rng.normal(size=40))
    page = data_section(Comparison("regression", data, "score", (), None, 0))
    assert "<p>Of the first 30 of 1,200 columns. " in page
    assert "The 20 strongest of 1,200." in page


def test_of_very_many_words_the_commonest_alone_are_told_apart_and_it_is_said(rng):
    """Second moments of all marks, and distances, would take minutes; few columns keep thirty levels each."""
    frame = pd.DataFrame({f"w{place}": rng.integers(0, 12, 300).astype(str) for place in range(60)})
    frame["size"], y = rng.normal(size=300), rng.normal(size=300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.report.tables.encoding.marks.WORK_OF_MARKS", 300 * (60 * 5) ** 2)
        data = choose_data(RawTable("words", frame.assign(y=y)), target="y")
        clusters = choose_data(RawTable("words", frame), task="clustering")
        encoder = TableEncoder(data.columns).fit(data.X)
        by_places = CodeEncoder(data.columns).fit(data.X)
        by_gower = ClusterEncoder(clusters.columns).fit(clusters.X)
    assert sum("only the 5 most frequent values of each of 60 columns" in note for note in data.notes) == 1
    told = "Distances between rows tell only the 5 most frequent values of each of 60 columns of words apart"
    assert sum(told in note for note in clusters.notes) == 1
    assert {len(group) for group in encoder.groups()[:60]} == {
        5
    }  # four beside the reference, one of the rest
    counts = frame["w3"].value_counts()
    code = encoder.codes_[3]
    assert counts[list(code.levels)].min() >= counts[list(code.rare)].max()
    marks = code.encode(frame["w3"], encoder.columns[3])
    np.testing.assert_array_equal(marks[:, -1], frame["w3"].isin(code.rare))
    assert len(by_places.codes_[3].levels) == 12
    shares = by_gower.codes_[3]
    assert {len(group) for group in by_gower.groups()[:60]} == {6}  # five, and one of the rest
    np.testing.assert_array_equal(shares.levels, code.levels)
    np.testing.assert_allclose(
        shares.shares, [*counts[list(shares.levels)] / 300, counts[list(shares.rare)].sum() / 300]
    )
    np.testing.assert_array_equal(shares.encode(frame["w3"], clusters.columns[3])[:, -1], marks[:, -1])
    assert {len(group) for group in TableEncoder(data.columns).fit(data.X).groups()[:60]} == {11}
