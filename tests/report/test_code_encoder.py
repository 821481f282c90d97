"""Columns as trees take them, and ensembles whose members take them in different ways."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from assay.linear import Ridge
from assay.report import BothEncoder, CodeEncoder, Data, OnColumns, TableEncoder, compare, describe_columns
from assay.report.tables.encoding.code_encoder import n_plain_features, places_of_categories
from assay.trees import DecisionTreeRegressor, RandomForestRegressor


@pytest.fixture
def frame():
    rng = np.random.default_rng(4)
    n_rows = 160
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n_rows, freq="D"),
            "age": rng.normal(40, 10, n_rows).round(1),
            "town": rng.choice(["Lyon", "Nice", "Paris"], n_rows),
        }
    )
    frame.loc[[3, 50], "age"] = np.nan
    frame.loc[[5, 60], "town"] = None
    return frame


def test_numbers_stay_and_levels_become_places(frame):
    encoder = CodeEncoder(describe_columns(frame)).fit(frame)
    codes = encoder.transform(frame)
    names = encoder.feature_names_out_
    age, town = names.index("age"), names.index("town")
    assert_allclose(codes[:, age], frame["age"])
    common = frame["town"].value_counts().index
    assert_allclose(codes[:, town], frame["town"].map({level: place for place, level in enumerate(common)}))
    assert places_of_categories(encoder.columns) == [town]
    assert n_plain_features(encoder.columns) == codes.shape[1]


def test_unknown_levels_are_missing_and_told(frame):
    encoder = CodeEncoder(describe_columns(frame)).fit(frame)
    new = frame.iloc[:2].assign(town=["Oslo", "Nice"])
    codes = encoder.transform(new)
    town = places_of_categories(encoder.columns)[0]
    assert np.isnan(codes[0, town])
    assert not np.isnan(codes[1, town])
    assert encoder.unseen_levels(new) == {"town": ["Oslo"]}


def test_levels_of_one_or_two_rows_share_a_place_with_those_that_are_not_known(frame):
    frame.loc[[10, 11], "town"], frame.loc[12, "town"], frame.loc[13:15, "town"] = "Nancy", "Metz", "Brest"
    encoder = CodeEncoder(describe_columns(frame)).fit(frame)
    (town,) = places_of_categories(encoder.columns)
    new = frame.iloc[:6].assign(town=["Nancy", "Metz", "Oslo", "Brest", "Nice", None])
    nancy, metz, oslo, brest, nice, missing = encoder.transform(new)[:, town]
    assert nancy == metz == oslo == 4.0
    assert brest == 3.0
    assert nice < 3.0
    assert np.isnan(missing)
    assert encoder.unseen_levels(new) == {"town": ["Oslo"]}


def test_names_of_a_row_or_two_are_not_learnt_by_heart():
    """Cut by the means of their levels, such names tell each row of the fit its own noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "name": [f"n{place // 2}" for place in range(200)]})
    y = X["size"].to_numpy() + rng.normal(size=200)
    order = rng.permutation(200)
    train, test = order[:150], order[150:]
    scores = {}
    for names in (["size", "name"], ["size"]):
        columns = describe_columns(X[names])
        encoder = CodeEncoder(columns)
        codes = encoder.fit_transform(X[names].iloc[train])
        model = RandomForestRegressor(30, random_state=0, categorical_features=places_of_categories(columns))
        model.fit(codes, y[train])
        scores[len(names)] = model.score(encoder.transform(X[names].iloc[test]), y[test])
    assert scores[2] > scores[1] - 0.05


def test_both_ways_stand_side_by_side_and_know_their_columns(frame):
    columns = describe_columns(frame)
    both = BothEncoder(columns).fit(frame)
    plain, numbers = CodeEncoder(columns).fit(frame), TableEncoder(columns).fit(frame)
    width = n_plain_features(columns)
    features = both.transform(frame)
    assert_allclose(features[:, :width], plain.transform(frame))
    assert_allclose(features[:, width:], numbers.transform(frame))
    assert_allclose(BothEncoder(columns).fit_transform(frame), features)
    used = [column for column in columns if column.learnable]
    for column, code, group in zip(used, both.codes_, both.groups(), strict=True):
        made = code.encode(frame[column.name], column)
        assert_allclose((made - both.mean_[group]) / both.scale_[group], features[:, group])


def test_a_member_sees_its_own_features_alone(frame):
    X = np.random.default_rng(0).normal(size=(40, 5))
    y = X[:, 3] - X[:, 0]
    member = OnColumns(Ridge(), first=2, end=4).fit(X, y)
    moved = X.copy()
    moved[:, [0, 1, 4]] += 9.0
    assert_allclose(member.predict(moved), Ridge().fit(X[:, 2:4], y).predict(X[:, 2:4]))
    assert member.n_features_in_ == 4


def test_trees_get_the_table_as_it_is_and_join_an_ensemble(frame):
    rng = np.random.default_rng(5)
    # A slope that steps describe badly, and a step that a slope describes badly.
    age = frame["age"].fillna(60.0)
    y = (0.2 * age + 3.0 * (age > 50)).to_numpy() + 0.5 * rng.normal(size=len(frame))
    data = Data.from_frame(frame[["age", "town"]], y, target="y")
    asked = ["Ridge", "DecisionTreeRegressor", "Ensemble"]
    result = compare(data, methods=asked, repeats=1, folds=4)
    found = {candidate.name: candidate for candidate in result.candidates}
    table, tree = found["DecisionTreeRegressor"].model
    assert isinstance(table, CodeEncoder)
    assert isinstance(tree, DecisionTreeRegressor)
    assert tree.is_categorical_.tolist() == [False, True]
    assert isinstance(found["Ridge"].model[0], TableEncoder)
    assert not isinstance(found["Ridge"].model[0], CodeEncoder)
    ensemble = found["Ensemble"]
    said = sum(weight * found[name].model.predict(data.X) for name, weight in ensemble.weights.items())
    assert_allclose(ensemble.model.predict(data.X), said)
    assert len(ensemble.weights) == 2
    assert isinstance(ensemble.model[0], BothEncoder)
