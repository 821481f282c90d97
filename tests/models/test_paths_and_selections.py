"""One selection and one path for every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.cluster import KMeans, select_k
from assay.datasets import diabetes
from assay.kernel_machines import KernelRidge
from assay.linear import HuberRegressor, Lasso, LogisticRegression, ReducedRankRegression, Ridge
from assay.models import PenaltyPath, Selection


@pytest.fixture(scope="module")
def table():
    X, y = diabetes(return_X_y=True)
    return X[:120] * 20, (y[:120] - y[:120].mean()) / 50


SELECTIONS = {
    "ridge": lambda X, y: Ridge().select(X, y, alphas=[0.1, 1.0]),
    "lasso": lambda X, y: Lasso().select(X, y, rule="bic", alphas=[0.1, 1.0]),
    "logistic": lambda X, y: LogisticRegression().select(X, y > 0, penalty_strengths=[0.1, 1.0]),
    "huber": lambda X, y: HuberRegressor().select(X, y, alphas=[0.1, 1.0]),
    "rank": lambda X, y: ReducedRankRegression().select(X[:, 2:], np.column_stack([y, X[:, :2]])),
    "kernel": lambda X, y: KernelRidge(kernel="rbf").select(X, y, penalty_strengths=[0.1], gammas=[0.1, 1.0]),
    "clusters": lambda X, y: select_k(KMeans, X, range(2, 5), random_state=0),
}


@pytest.mark.parametrize("kind", SELECTIONS)
def test_every_choice_is_one_kind_of_selection(table, kind):
    chosen = SELECTIONS[kind](*table)
    assert isinstance(chosen, Selection)
    assert len(chosen.values) == len(chosen.curve) == len(chosen.to_frame())
    assert chosen.best == chosen.values[chosen.index]
    parameters = chosen.best if isinstance(chosen.best, dict) else {chosen.parameter: chosen.best}
    assert parameters.items() <= chosen.model.get_params().items()
    assert repr(chosen).startswith(f"Selection({chosen.parameter}=")
    assert repr(chosen).count("←") == 1
    if kind != "kernel":
        assert chosen.plot().get_title()


def test_a_long_curve_is_told_in_one_line(table):
    assert "\n" not in repr(Ridge().select(*table))


PATHS = {
    "ridge": (Ridge(), "alpha"),
    "lasso": (Lasso(tol=1e-10), "alpha"),
    "huber": (HuberRegressor(), "alpha"),
    "kernel": (KernelRidge(kernel="rbf", fit_intercept=True), "alpha"),
    "rank": (ReducedRankRegression(method="nuclear", tol=1e-12), "alpha"),
}


@pytest.mark.parametrize("kind", PATHS)
def test_a_path_predicts_as_the_models_fitted_one_by_one(table, kind):
    X, y = table
    model, name = PATHS[kind]
    path = model.path(X, y, alphas=[0.5, 0.05])
    assert isinstance(path, PenaltyPath)
    predictions = path.predict(X[:7]).reshape(7, 2)
    for place, alpha in enumerate(path.alphas):
        fitted = model.set_params(**{name: float(alpha)}).fit(X, y)
        assert_allclose(predictions[:, place], fitted.predict(X[:7]).reshape(-1), atol=1e-4)
        assert path.n_nonzero[place] == np.count_nonzero(np.any(path.coef[place].reshape(1, -1), axis=0))
