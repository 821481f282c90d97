"""Gradient boosting of stumps against R's gbm: scores after twenty rounds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.trees import GradientBoostingClassifier, GradientBoostingRegressor

SHAPE = {"n_estimators": 20, "max_depth": 1, "min_samples_leaf": 10}


@pytest.fixture(scope="module")
def reference():
    path = Path(__file__).resolve().parent.parent / "reference" / "stagewise.json"
    return {
        name: np.array(values) if isinstance(values, list) else values
        for name, values in json.loads(path.read_text(encoding="utf-8")).items()
    }


@pytest.fixture(scope="module")
def X(reference):
    return np.column_stack([reference[name] for name in "abc"])


@pytest.mark.parametrize(("law", "loss"), [("bernoulli", "log_loss"), ("adaboost", "exponential")])
def test_two_classes_with_one_newton_step_per_leaf(reference, X, law, loss):
    model = GradientBoostingClassifier(loss=loss, **SHAPE).fit(X, reference["label"])
    assert_allclose(model.decision_function(X), reference[law], atol=1e-6)


def test_squares(reference, X):
    model = GradientBoostingRegressor(**SHAPE).fit(X, reference["y"])
    assert_allclose(model.predict(X), reference["gaussian"], atol=1e-6)


def test_absolute_errors(reference, X):
    """Weights keep the gains of splits apart, which are all those of signs."""
    model = GradientBoostingRegressor(loss="absolute_error", n_estimators=20, max_depth=1)
    model.fit(X, reference["y"], reference["weight"])
    assert_allclose(model.predict(X), reference["laplace"], atol=1e-12)
