"""Boosted stumps against R's gbm: scores after twenty rounds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor

SHAPE = {"max_iter": 20, "max_leaf_nodes": 2, "min_samples_leaf": 10}


@pytest.fixture(scope="module")
def reference():
    path = Path(__file__).resolve().parent.parent / "reference" / "boosting.json"
    return {
        name: np.array(values) if isinstance(values, list) else values
        for name, values in json.loads(path.read_text(encoding="utf-8")).items()
    }


@pytest.fixture(scope="module")
def X(reference):
    return np.column_stack([reference[name] for name in "abc"])


def test_squared_loss(reference, X):
    model = HistGradientBoostingRegressor(**SHAPE).fit(X, reference["y"])
    assert model.predict(X) == pytest.approx(reference["gaussian"], abs=1e-6)


def boosted_stumps(X, start, terms, value, *, by_newton=False):
    """Scores after twenty rounds of stumps on slopes, cut where their squares or Newton steps gain most.

    `terms` gives negative slopes and curvatures at scores, `value` of a leaf its rows and their scores.
    """
    scores = np.full(len(X), float(start))
    for _ in range(20):
        slope, curvature = terms(scores)
        size = curvature if by_newton else np.ones(len(X))
        best, left = -1.0, None
        for column in X.T:
            for threshold in np.unique(column)[:-1]:
                side = column <= threshold
                if min(side.sum(), (~side).sum()) >= 10:
                    gain = sum(slope[some].sum() ** 2 / size[some].sum() for some in (side, ~side))
                    if gain > best * (1 + 1e-12):
                        best, left = gain, side
        before = scores.copy()
        for some in (left, ~left):
            scores[some] += 0.1 * value(some, before)
    return scores


def test_two_classes_with_one_newton_step_per_leaf(reference, X):
    """gbm cuts where squared slopes differ most, we where Newton steps gain most; all else is the same."""
    label = reference["label"]
    model = HistGradientBoostingClassifier(**SHAPE).fit(X, label)

    def terms(scores):
        chance = 1 / (1 + np.exp(-scores))
        return label - chance, chance * (1 - chance)

    def step(some, scores):
        slope, curvature = terms(scores)
        return slope[some].sum() / curvature[some].sum()

    start = np.log(label.mean() / (1 - label.mean()))
    theirs, ours = (boosted_stumps(X, start, terms, step, by_newton=newton) for newton in (False, True))
    assert theirs == pytest.approx(reference["bernoulli"], abs=1e-9)
    assert model.decision_function(X) == pytest.approx(ours, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "options"),
    [("laplace", {"loss": "absolute_error"}), ("quantile", {"loss": "quantile", "quantile": 0.8})],
)
def test_quantiles(reference, X, name, options):
    """Where a quantile lies between two values we take their middle, as gbm does for the median alone.

    Of other levels α it takes the value at place ⌊nα⌋ of n, counted from 0; all else is the same.
    """
    y, level = reference["y"], options.get("quantile", 0.5)

    def middle(values):
        return np.quantile(values, level, method="averaged_inverted_cdf")

    def at_place(values):
        return np.sort(values)[min(int(len(values) * level), len(values) - 1)]

    def scores(quantile):
        return boosted_stumps(
            X,
            quantile(y),
            lambda scores: (np.where(y > scores, level, level - 1), None),
            lambda some, scores: quantile((y - scores)[some]),
        )

    model = HistGradientBoostingRegressor(**SHAPE, **options).fit(X, y)
    assert model.predict(X) == pytest.approx(scores(middle), abs=1e-9)
    theirs = middle if name == "laplace" else at_place
    assert scores(theirs) == pytest.approx(reference[name], abs=1e-9)
