"""Paths and selection of models that are fitted anew at each penalty."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.model_selection import cross_val_score

from assay.linear import (
    HuberRegressor,
    LinearSVC,
    LinearSVR,
    PolynomialRegression,
    QuantileRegressor,
    SGDClassifier,
    SGDRegressor,
)

GRID = [1.0, 0.1, 0.01]
MODELS = [
    LinearSVC(),
    LinearSVR(epsilon=0.1),
    LinearSVR(loss="squared_epsilon_insensitive"),
    HuberRegressor(),
    QuantileRegressor(quantile=0.7),
    PolynomialRegression(degree=2),
    SGDClassifier(random_state=0),
    SGDRegressor(random_state=0),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.standard_t(4, size=120)
    return X, y


def target(model, y):
    return np.where(y > 0, "high", "low") if is_classifier(model) else y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model))
def test_a_path_holds_the_fits_and_selection_refits_the_best(model, table):
    X, y = table
    y = target(model, y)
    path = model.path(X, y, GRID)
    assert list(path.alphas) == GRID
    single = model._at(0.1).fit(X, y)
    assert_allclose(path.coef[1], single.coef_, rtol=1e-10)
    assert_allclose(path.dual_gap[1], getattr(single, "dual_gap_", np.nan))
    assert path.predict(X).shape == (120, 3)
    assert np.linalg.norm(path.coef[0]) < np.linalg.norm(path.coef[-1]) + 1e-9, "a stronger penalty shrinks"
    found = model.select(X, y, alphas=GRID, random_state=0)
    assert found.alpha == found.best_alpha
    assert getattr(found.model, model._penalty_name) == found.alpha
    assert model.select(X, y, alphas=GRID, rule="one_se", random_state=0).alpha >= found.alpha
    with pytest.raises(ValueError, match="'rule' parameter"):
        model.select(X, y, rule="aic")


def test_the_curve_is_that_of_cross_validation_by_hand(table):
    X, y = table
    labels = target(LinearSVC(), y)
    found = LinearSVC().select(X, labels, alphas=[0.1], cv=4)
    assert found.curve.shape == (1,)
    from sklearn.model_selection import KFold

    by_hand = 1 - cross_val_score(LinearSVC(penalty_strength=0.1), X, labels, cv=KFold(4))
    assert_allclose(found.fold_scores[:, 0], by_hand)
    median = QuantileRegressor(quantile=0.5).select(X, y, alphas=[0.01], cv=KFold(4))
    errors = -cross_val_score(
        QuantileRegressor(quantile=0.5, alpha=0.01), X, y, cv=KFold(4), scoring="neg_mean_absolute_error"
    )
    assert_allclose(2 * median.fold_scores[:, 0], errors, rtol=1e-6)
