"""Why this prediction: Shapley values of tree models are what their definition says, and add up."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math

import numpy as np
import pandas
import pytest

from assay import rows
from assay.trees import (
    AdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

N_COLUMNS = 5


def table(seed=0, n_rows=300):
    """Numbers with missing values and, in the last column, six levels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, N_COLUMNS))
    X[:, -1] = random.integers(6, size=n_rows)
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + np.isin(X[:, -1], [1, 4]) + 0.1 * random.normal(size=n_rows)
    X[random.random(X.shape) < 0.08] = np.nan
    return X, y


def models():
    X, y = table()
    classes = np.array(["low", "middle", "top"])[np.digitize(y, [-0.5, 0.7])]
    some = {"categorical_features": [N_COLUMNS - 1]}
    yield HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=9, **some).fit(X, y)
    yield HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=7, **some).fit(X, y > 0.3)
    yield HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=6, **some).fit(X, classes)
    yield HistGradientBoostingRegressor("quantile", quantile=[0.1, 0.9], max_iter=3, **some).fit(X, y)
    yield RandomForestRegressor(4, max_leaf_nodes=30, random_state=0, **some).fit(X, y)
    yield RandomForestClassifier(4, max_depth=5, random_state=0, **some).fit(X, classes)
    yield ExtraTreesRegressor(3, max_depth=6, random_state=0, **some).fit(X, y)
    yield DecisionTreeRegressor(max_leaf_nodes=25, **some).fit(X, y)
    yield DecisionTreeClassifier(max_depth=4, **some).fit(X, classes)
    yield DecisionStump(**some).fit(X, y > 0.3)


@pytest.fixture(scope="module", params=range(10))
def model(request):
    return next(itertools.islice(models(), request.param, None))


def score(model, X):
    """The score that is explained, through the public face of the model."""
    if isinstance(model, HistGradientBoostingRegressor) and model.quantile is not None:
        return model._scores(X)  # predictions are these, sorted
    if isinstance(model, HistGradientBoostingClassifier):
        values = model.decision_function(X)
    elif isinstance(model, DecisionStump):
        values = model.tree_.predict(model.columns_.levels_as_codes(X))
    elif hasattr(model, "classes_"):
        values = model.predict_proba(X)
    else:
        values = model.predict(X)
    return values.reshape(len(X), -1)


def set_weight(size, n_players):
    return math.factorial(size) * math.factorial(n_players - size - 1) / math.factorial(n_players)


def test_against_background_rows_the_values_are_the_sum_over_all_sets_of_mixed_rows(model):
    X, _ = table(1, 30)
    background = X[10:22]
    explained = model.shap_values(X[:4], background=background)
    for i, row in enumerate(X[:4]):
        says = {}
        for chosen in itertools.product([False, True], repeat=N_COLUMNS):
            mixed = background.copy()
            mixed[:, np.array(chosen)] = row[np.array(chosen)]
            says[chosen] = score(model, mixed).mean(axis=0)
        for j in range(N_COLUMNS):
            value = 0.0
            for chosen in (c for c in says if not c[j]):
                joined = (*chosen[:j], True, *chosen[j + 1 :])
                value = value + set_weight(sum(chosen), N_COLUMNS) * (says[joined] - says[chosen])
            given = explained.values.reshape(4, N_COLUMNS, -1)[i, j]
            np.testing.assert_allclose(given, value, atol=1e-12 + 1e-10 * np.abs(value).max())
    assert np.allclose(explained.base_value, score(model, background).mean(axis=0))


def expected(tree, node, row, known):
    """Mean of a tree given some columns of a row: unknown ones follow the weight of the training rows."""
    if tree.feature[node] < 0:
        return tree.value[node]
    children = int(tree.children_left[node]), int(tree.children_right[node])
    if tree.feature[node] in known:
        value = row[tree.feature[node]]
        if np.isnan(value):
            left = tree.missing_go_to_left[node]
        elif tree.levels[node] >= 0:
            left = tree.left_codes(node, 256)[int(value)]
        else:
            left = value <= tree.threshold[node]
        return expected(tree, children[0] if left else children[1], row, known)
    shares = tree.weighted_n_node_samples[list(children)] / tree.weighted_n_node_samples[node]
    return sum(
        share * expected(tree, child, row, known) for share, child in zip(shares, children, strict=True)
    )


@pytest.mark.parametrize("place", [7, 8])
def test_along_the_weights_of_the_nodes_the_values_are_the_sum_over_all_sets(place):
    model = next(itertools.islice(models(), place, None))
    X, _ = table(2, 4)
    explained = model.shap_values(X, interactions=True)
    values = explained.values.reshape(4, N_COLUMNS, -1)
    pairs = explained.interactions.reshape(4, N_COLUMNS, N_COLUMNS, -1)
    for i, row in enumerate(model.columns_.levels_as_codes(X)):
        sets = [frozenset(c) for k in range(6) for c in itertools.combinations(range(N_COLUMNS), k)]
        says = {known: expected(model.tree_, 0, row, known) for known in sets}
        for j in range(N_COLUMNS):
            without = [known for known in sets if j not in known]
            exact = sum(set_weight(len(s), N_COLUMNS) * (says[s | {j}] - says[s]) for s in without)
            np.testing.assert_allclose(values[i, j], exact, atol=1e-12)
            for other in range(j):
                both = sum(
                    set_weight(len(s), N_COLUMNS - 1)
                    * (says[s | {j, other}] - says[s | {j}] - says[s | {other}] + says[s])
                    for s in without
                    if other not in s
                )
                np.testing.assert_allclose(pairs[i, j, other], both / 2, atol=1e-12)
        assert np.allclose(explained.base_value, says[frozenset()])


@pytest.mark.parametrize("against", [False, True])
def test_values_add_up_and_certify_agrees_with_the_definition(model, against):
    X, _ = table(3, 40)
    background = table(4, 9)[0] if against else None
    explained = model.shap_values(X, background=background, interactions=True)
    assert explained.certificates.holds
    sums = explained.values.sum(axis=1) + explained.base_value
    np.testing.assert_allclose(sums.reshape(40, -1), score(model, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(explained.interactions.sum(axis=2), explained.values, atol=1e-12)
    np.testing.assert_allclose(explained.interactions, np.swapaxes(explained.interactions, 1, 2), atol=1e-12)
    proof = model.certify_shap(explained, X, background=background)
    assert proof.holds, proof
    n_trees = model.n_iter_ * model.n_trees_per_iteration_ if hasattr(model, "n_iter_") else None
    assert n_trees is None or f"in {n_trees} of {n_trees} trees" in proof[2].claim


def damaged(model, name, node):
    """The model with one number of one node moved by a per cent."""
    other = copy.deepcopy(model)
    fitted = other.trees_ if hasattr(other, "trees_") else other.tree_
    getattr(getattr(fitted, "nodes", fitted), name)[node] *= 1.01
    return other


@pytest.mark.parametrize("place", [0, 5, 7])
def test_the_proof_fails_when_a_leaf_a_weight_or_a_value_is_moved(place):
    model = next(itertools.islice(models(), place, None))
    X, _ = table(3, 40)
    explained = model.shap_values(X)
    fitted = model.trees_ if hasattr(model, "trees_") else model.tree_
    nodes = getattr(fitted, "nodes", fitted)
    leaf = int(
        np.flatnonzero((nodes.feature < 0) & np.any(nodes.value.reshape(len(nodes.feature), -1), 1))[-1]
    )
    weight = "weight" if hasattr(nodes, "weight") else "weighted_n_node_samples"
    assert model.certify_shap(explained, X).holds
    assert not damaged(model, "value", leaf).certify_shap(explained, X).holds
    assert not damaged(model, weight, leaf).certify_shap(explained, X).holds
    moved = explained.values.copy()
    moved.flat[np.argmax(np.abs(moved))] *= 1.01
    assert not model.certify_shap(dataclasses.replace(explained, values=moved), X).holds
    shifted = dataclasses.replace(explained, base_value=np.asarray(explained.base_value) * 1.01 + 0.01)
    assert not model.certify_shap(shifted, X).holds


def sums():
    X, y = table()
    classes = np.array(["low", "middle", "top"])[np.digitize(y, [-0.5, 0.7])]
    some = DecisionTreeRegressor(max_depth=3, categorical_features=[N_COLUMNS - 1])
    yield GradientBoostingRegressor(n_estimators=5, estimator=some).fit(X, y)
    yield GradientBoostingClassifier(n_estimators=4, line_search="global").fit(X, classes)
    yield GradientBoostingClassifier(n_estimators=4, direction="correlation").fit(X, y > 0.3)
    yield AdaBoostClassifier(n_estimators=9).fit(X, y > 0.3)
    yield AdaBoostClassifier(n_estimators=5).fit(X, classes)
    yield AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, algorithm="samme_r").fit(
        X, classes
    )


@pytest.mark.parametrize("place", range(6))
def test_sums_and_votes_of_trees_are_explained_by_their_definition(place):
    model = next(itertools.islice(sums(), place, None))
    X, _ = table(3, 12)
    background = table(4, 5)[0]
    said = model.decision_function if hasattr(model, "decision_function") else model.predict
    explained = model.shap_values(X)
    assert explained.certificates.holds
    total = explained.values.sum(axis=1) + explained.base_value
    np.testing.assert_allclose(total, said(X), rtol=1e-9, atol=1e-9)
    proof = model.certify_shap(explained, X)
    assert proof.holds, proof
    assert f"{len(model._trees_of_rounds())} of {len(model._trees_of_rounds())} trees" in proof[2].claim
    # Against background rows: all sets of the columns of one row, mixed by hand.
    given = model.shap_values(X[:1], background=background).values.reshape(N_COLUMNS, -1)
    says = {}
    for chosen in itertools.product([False, True], repeat=N_COLUMNS):
        mixed = background.copy()
        mixed[:, np.array(chosen)] = X[0][np.array(chosen)]
        says[chosen] = np.asarray(said(mixed)).reshape(len(mixed), -1).mean(axis=0)
    for j in range(N_COLUMNS):
        value = 0.0
        for chosen in (c for c in says if not c[j]):
            joined = (*chosen[:j], True, *chosen[j + 1 :])
            value = value + set_weight(sum(chosen), N_COLUMNS) * (says[joined] - says[chosen])
        np.testing.assert_allclose(given[j], value, atol=1e-10)
    # The value and the weight of a leaf are seen.
    for name in ("value", "weighted_n_node_samples"):
        other = copy.deepcopy(model)
        leaf = getattr(other._trees_of_rounds()[1].tree_, name)
        leaf[-1] = leaf[-1][::-1] if leaf[-1].size > 1 else leaf[-1] * 1.01
        assert not other.certify_shap(explained, X).holds, name


def test_sums_of_other_learners_are_not_explained():
    from sklearn.linear_model import LinearRegression

    X, y = np.nan_to_num(table()[0]), table()[1]
    for options in ({"estimator": LinearRegression()}, {"init": LinearRegression()}):
        with pytest.raises(ValueError, match="trees"):
            GradientBoostingRegressor(n_estimators=2, **options).fit(X, y).shap_values(X)


def test_rows_on_dask_are_explained_as_those_in_memory():
    dask_array = pytest.importorskip("dask.array")
    X, y = table(n_rows=90)
    lazy = dask_array.from_array(X, chunks=(25, N_COLUMNS))
    for model in (
        HistGradientBoostingRegressor(max_iter=4).fit(X, y),
        RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y),
        GradientBoostingRegressor(n_estimators=3).fit(X, y),
        AdaBoostClassifier(n_estimators=4).fit(X, y > 0.3),
    ):
        whole = model.shap_values(X, interactions=True)
        there = model.shap_values(lazy, interactions=True)
        assert there.certificates.holds
        np.testing.assert_allclose(there.values, whole.values, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(there.interactions, whole.interactions, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(there.scores, whole.scores)


def test_a_column_that_no_split_uses_says_nothing_and_trees_of_one_column_do_not_interact():
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=15, interaction_cst="no_interactions").fit(X[:, :4], y)
    explained = model.shap_values(X[:, :4], interactions=True)
    off = explained.interactions[:, ~np.eye(4, dtype=bool)]
    assert np.abs(off).max() < 1e-12 < np.abs(explained.values).max()
    single = DecisionTreeRegressor(max_depth=1).fit(X, y)
    used = int(single.tree_.feature[0])
    assert np.all(np.delete(single.shap_values(X).values, used, axis=1) == 0)
    assert list(np.flatnonzero(single.shap_values(X).importance)) == [used]


def test_deep_paths_with_many_columns_stay_exact():
    random = np.random.default_rng(5)
    X = random.normal(size=(400, 24))
    y = X.sum(axis=1)
    model = ExtraTreesRegressor(2, random_state=0).fit(X, y)
    explained = model.shap_values(X[:50])
    assert model.trees_[0].max_depth > 12
    assert explained.certificates[0].value < 1e-12


def test_values_depend_neither_on_threads_nor_on_blocks_nor_on_the_source(tmp_path, monkeypatch):
    X, y = table(n_rows=700)
    X = np.nan_to_num(X)
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    whole = model.shap_values(X).values
    monkeypatch.setattr("assay.trees.shapley.explaining.BLOCK_ROWS", 64)
    for count in (1, 3):
        with rows.threads(count):
            np.testing.assert_allclose(model.shap_values(X).values, whole, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(model.shap_values(X[:1]).values, whole[:1], rtol=1e-13, atol=1e-15)
    path = tmp_path / "rows.parquet"
    pandas.DataFrame(X, columns=[f"c{j}" for j in range(N_COLUMNS)]).to_parquet(path)
    frame = pandas.read_parquet(path)
    named = HistGradientBoostingRegressor(max_iter=5).fit(frame, y)
    explained = named.shap_values(path)
    np.testing.assert_allclose(explained.values, whole, rtol=1e-12, atol=1e-14)
    assert explained.names == list(frame.columns)


def test_rows_of_single_precision_are_explained_as_they_are_predicted():
    X, y = table()
    X = X.astype(np.float32)
    for model in (HistGradientBoostingRegressor(max_iter=5), RandomForestRegressor(3, random_state=0)):
        explained = model.fit(X, y).shap_values(X)
        assert explained.certificates.holds
        np.testing.assert_allclose(explained.scores, model.predict(X), rtol=1e-5)


def test_categories_by_name_and_levels_never_seen():
    X, y = table()
    towns = pandas.Categorical(np.array(list("abcdef"))[np.nan_to_num(X[:, -1]).astype(int)])
    frame = pandas.DataFrame({"size": X[:, 0], "town": towns})
    model = HistGradientBoostingRegressor(max_iter=10).fit(frame, y)
    assert model.shap_values(frame).certificates.holds
    new = frame.head(3).copy()
    new["town"] = ["a", "zebra", None]
    with pytest.warns(UserWarning, match="not there at the fit.*'zebra'"):
        explained = model.shap_values(new)
    assert explained.certificates.holds
    new["town"] = ["a", None, None]
    np.testing.assert_array_equal(model.shap_values(new).values, explained.values)


def test_what_cannot_be_explained_is_refused_in_one_sentence(tmp_path):
    X, y = table()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = HistGradientBoostingRegressor(max_iter=2).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.shap_values(frame.drop(columns="c"))
    with pytest.raises(ValueError, match="feature names"):
        model.shap_values(frame, background=frame.iloc[:, :2])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.shap_values(frame, background=frame.head(0))
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="Background rows must be in memory"):
        model.shap_values(frame, background=tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="not fitted yet"):
        HistGradientBoostingRegressor().shap_values(X)
    classes = HistGradientBoostingClassifier(max_iter=1).fit(X, np.arange(len(X)) % 3).shap_values(X[:2])
    with pytest.raises(ValueError, match="must be one of 0, 1, 2"):
        classes.of_output(7)
    assert classes.of_output(1).values.shape == (2, 5)
    assert "mean |Shapley value| over 2 rows" in str(classes)
