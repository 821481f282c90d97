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


def test_two_classes_with_one_newton_step_per_leaf(reference, X):
    """gbm cuts where squared slopes differ most, we where Newton steps gain most: close, not the same."""
    model = HistGradientBoostingClassifier(**SHAPE).fit(X, reference["label"])
    scores = model.decision_function(X)
    assert np.corrcoef(scores, reference["bernoulli"])[0, 1] > 0.99
    assert np.abs(scores - reference["bernoulli"]).mean() < 0.05


@pytest.mark.parametrize(
    ("name", "options"),
    [("laplace", {"loss": "absolute_error"}), ("quantile", {"loss": "quantile", "quantile": 0.8})],
)
def test_quantiles(reference, X, name, options):
    """gbm takes another of the values between which a quantile lies: near, and no better in the risk."""
    model = HistGradientBoostingRegressor(**SHAPE, **options).fit(X, reference["y"])
    assert model.predict(X) == pytest.approx(reference[name], abs=0.15)
    level = options.get("quantile", 0.5)

    def risk(predicted):
        rest = reference["y"] - predicted
        return np.mean(np.maximum(level * rest, (level - 1) * rest))

    assert risk(model.predict(X)) < risk(reference[name]) * 1.01
