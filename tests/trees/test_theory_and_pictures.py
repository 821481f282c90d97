"""What greed loses, the three impurities, and the pictures of a tree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay import display, theory
from assay.trees import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.mark.spec("wei/E8.1")
def test_the_three_impurities_are_those_of_a_node_and_concave():
    curves = theory.impurity_curves(101)
    for k in range(0, 101, 10):
        y = np.repeat([0, 1], [100 - k, k])
        p = k / 100
        assert curves.misclassification[k] == pytest.approx(1 - max(p, 1 - p))
        assert curves.gini[k] == pytest.approx(1 - p**2 - (1 - p) ** 2)
        if 0 < k < 100:
            for name in ("misclassification", "gini", "entropy"):
                model = DecisionTreeClassifier(criterion=name).fit(np.zeros((100, 1)), y)
                assert model.tree_.impurity[0] == pytest.approx(getattr(curves, name)[k])
    for values in curves[1:]:
        assert np.all(np.diff(values, 2) <= 1e-12)
    assert curves.scaled_entropy.max() == pytest.approx(0.5)
    shown = display.plot_impurity_curves()
    assert {line.get_label() for line in shown.lines} >= {"entropy", "Gini index", "misclassification"}


def test_the_best_tree_of_depth_two_is_no_worse_than_the_greedy_one_and_sometimes_better():
    random = np.random.default_rng(0)
    excesses = []
    for _ in range(10):
        X = random.integers(0, 4, (25, 3)).astype(float)
        y = ((X[:, 0] > 1) ^ (X[:, 1] > 1)) + 0.3 * random.normal(size=25) + 0.2 * X[:, 2]
        result = theory.best_tree_of_depth_two(X, y)
        model = DecisionTreeRegressor(max_depth=2).fit(X, y)
        cost = np.sum((y - model.predict(X)) ** 2)
        assert result.greedy == pytest.approx(cost)
        assert result.best <= result.greedy + 1e-9
        assert result.best == pytest.approx(rebuilt(result, X, y))
        excesses.append(result.excess)
    assert max(excesses) > 0.1


def rebuilt(result, X, y):
    """Cost of the tree of the stated columns and thresholds."""
    total, left = 0.0, X[:, result.columns[0]] <= result.thresholds[0]
    for side, place in ((left, 1), (~left, 2)):
        parts = [side]
        if result.columns[place] >= 0:
            below = X[:, result.columns[place]] <= result.thresholds[place]
            parts = [side & below, side & ~below]
        total += sum(np.sum((y[part] - y[part].mean()) ** 2) for part in parts)
    return total


@pytest.mark.spec("wei/E8.2", "sangnier/X-Fig1.11")
def test_the_partition_of_the_square_is_drawn_cell_by_cell():
    random = np.random.default_rng(0)
    X = random.uniform(size=(300, 2))
    y = np.where(X[:, 0] > 0.6, 1, np.where(X[:, 1] > 0.7, 2, 0))
    model = DecisionTreeClassifier().fit(X, y)
    shown = display.TreePartitionDisplay.from_estimator(model, X, y)
    assert len(shown.lower) == model.get_n_leaves() == 3
    areas = np.prod(shown.upper - shown.lower, axis=1)
    assert areas.sum() == pytest.approx(np.prod(shown.limits[1] - shown.limits[0]))
    assert len(shown.ax_.patches) == 3
    for low, high in zip(shown.lower, shown.upper, strict=True):
        inside = np.all((low < X) & (high >= X), axis=1)
        assert len(np.unique(y[inside])) == 1
    assert model.plot(X, y).get_title() == "3 cells"


def test_a_slice_through_many_columns_covers_the_frame(patients):
    X, y = patients
    shown = display.TreePartitionDisplay.from_estimator(
        DecisionTreeRegressor(max_leaf_nodes=12).fit(X, y), X, y
    )
    areas = np.prod(shown.upper - shown.lower, axis=1)
    assert areas.sum() == pytest.approx(np.prod(shown.limits[1] - shown.limits[0]))


def test_a_drawing_tells_every_question_and_answer(flowers, patients):
    X, y = flowers
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    shown = display.TreeDisplay.from_estimator(model, feature_names=["a", "b", "petal", "d"])
    assert len(shown.words) == model.tree_.node_count
    assert shown.words[0].startswith("petal ≤ 2.45")
    assert "n = 50" in shown.words[1]
    texts = {text.get_text() for text in shown.ax_.texts}
    assert set(shown.words) <= texts
    large = display.TreeDisplay.from_estimator(DecisionTreeRegressor().fit(*patients))
    assert len(large.words) <= 24
    assert "drawn to depth" in large.title


def test_the_pruning_curve_marks_the_choice_of_one_standard_error(flowers):
    X, y = flowers
    selection = DecisionTreeClassifier().select(X, y)
    ax = selection.plot()
    assert ax.get_ylabel() == "validation loss"
    assert "keeps 3 leaves" in ax.get_title()
    shown = display.PruningSelectionDisplay.from_selection(selection)
    assert_allclose(shown.loss, selection.curve)
    assert shown.n_leaves[shown.one_se_index] == 3
    path = DecisionTreeClassifier(ccp_alpha=0.02).fit(X, y)
    assert f"keeps {path.get_n_leaves()} leaves" in path.plot(kind="pruning").get_title()
