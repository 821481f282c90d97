"""A choice by any criterion: the same as fitting every value on every fold and judging what it says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from assay.kernel_machines import KernelRidge
from assay.linear import (
    ElasticNet,
    GeneralizedLinear,
    HuberRegressor,
    LinearSVC,
    LogisticRegression,
    PolynomialRegression,
    Ridge,
)
from assay.models import Criterion
from assay.trees import DecisionTreeClassifier, DecisionTreeRegressor

ABSOLUTE = Criterion("mean absolute error", lambda y, said, chances, rows: mean_absolute_error(y, said))
AREA = Criterion("1 − area", lambda y, said, chances, rows: 1 - roc_auc_score(y, chances[:, 1]))
UNLIKELY = Criterion("log-loss", lambda y, said, chances, rows: log_loss(y, chances, labels=["a", "b", "c"]))
WRONG_A = Criterion("wrong a", lambda y, said, chances, rows: float(np.mean(said[y == "a"] != "a")))

NUMBERS = {
    "ridge": (Ridge(), "alpha", {"alphas": [0.1, 30.0, 3.0]}),
    "elastic net": (ElasticNet(tol=1e-10), "alpha", {"alphas": [0.3, 0.01, 0.1]}),
    "huber": (HuberRegressor(), "alpha", {"alphas": [1.0, 0.01]}),
    "poisson": (GeneralizedLinear(family="poisson"), "alpha", {"alphas": [1.0, 0.1, 0.001]}),
    "gamma": (GeneralizedLinear(family="gamma", link="log"), "alpha", {"alphas": [1.0, 0.001]}),
    "squares": (PolynomialRegression(), "alpha", {"alphas": [100.0, 0.1]}),
    "tree": (DecisionTreeRegressor(), "ccp_alpha", {"rule": "min"}),
}
CLASSES = {
    "two, area": (LogisticRegression(), "penalty_strength", AREA, {"penalty_strengths": [1.0, 1e-3, 1e-4]}),
    "three, log-loss": (
        LogisticRegression(),
        "penalty_strength",
        UNLIKELY,
        {"penalty_strengths": [1.0, 0.01]},
    ),
    "machine": (LinearSVC(), "penalty_strength", WRONG_A, {"alphas": [1.0, 0.001]}),
    "tree": (DecisionTreeClassifier(), "ccp_alpha", AREA, {"rule": "min"}),
}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(90, 4))
    return X, X[:, 0] + 0.3 * rng.standard_t(2, size=90)


def brute(model, name, values, X, y, cv, criterion):
    """Mean over the folds of the criterion of a model fitted at each value."""
    scores = []
    for train, test in cv.split(X, y):
        line = []
        for value in values:
            fitted = clone(model).set_params(**{name: value}).fit(X[train], y[train])
            chances = fitted.predict_proba(X[test]) if hasattr(fitted, "predict_proba") else None
            line.append(criterion.loss(y[test], fitted.predict(X[test]), chances, test))
        scores.append(np.array(line) * len(test))
    return np.sum(scores, axis=0) / len(y)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_chosen_by_the_criterion(table, kind):
    model, name, options = NUMBERS[kind]
    X, y = table
    y = {"poisson": np.round(np.exp(np.clip(y, -3, 3))), "gamma": np.exp(y)}.get(kind, y)
    cv = KFold(3, shuffle=True, random_state=0)
    chosen = model.select(X, y, cv=cv, criterion=ABSOLUTE, **options)
    # Ridge keeps the penalty on the mean: a fold has two thirds of the sum.
    values = (np.asarray(chosen.values) * (2 / 3 if kind == "ridge" else 1)).tolist()
    if kind == "tree":
        values[0] = 1e9  # the root alone
    expected = brute(model, name, values, X, y, cv, ABSOLUTE)
    assert chosen.criterion == "mean absolute error"
    assert_allclose(chosen.curve, expected, rtol=1e-4)
    assert chosen.index == np.argmin(expected)
    assert getattr(chosen.model, name) == chosen.best


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_are_chosen_by_the_criterion(table, kind):
    model, name, criterion, options = CLASSES[kind]
    X, y = table
    labels = np.array(["a", "b", "c"])[(y > 0.2).astype(int) + (y > 1) * (criterion is UNLIKELY)]
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    chosen = model.select(X, labels, cv=cv, criterion=criterion, **options)
    values = np.asarray(chosen.values).tolist()
    if kind == "tree":
        values[0] = 1e9
    assert_allclose(chosen.curve, brute(model, name, values, X, labels, cv, criterion), atol=2e-4)
    assert chosen.index == np.argmin(chosen.curve)


def test_kernel_ridge_chooses_width_and_penalty_on_folds(table):
    X, y = table
    model = KernelRidge(kernel="rbf", fit_intercept=True)
    cv = KFold(3)
    options = {"penalty_strengths": [0.01, 0.1], "gammas": [0.05, 0.5], "cv": cv}
    chosen = model.select(X, y, criterion=ABSOLUTE, **options)
    expected = np.concatenate(
        [
            brute(clone(model).set_params(gamma=gamma), "penalty_strength", [0.01, 0.1], X, y, cv, ABSOLUTE)
            for gamma in (0.05, 0.5)
        ]
    )
    assert_allclose(chosen.curve, expected, rtol=1e-6)
    assert chosen.best == chosen.values[int(np.argmin(expected))]
    squared = Criterion("mse", lambda y, said, chances, rows: float(np.mean((y - said) ** 2)))
    own, same = model.select(X, y, **options), model.select(X, y, criterion=squared, **options)
    assert own.criterion == "validation loss"
    assert_allclose(own.curve, same.curve)
    some = model.select(X, y, max_rows=45, random_state=0, criterion=ABSOLUTE, **options)
    assert not np.allclose(some.curve, chosen.curve)  # a sample of the rows of the same folds


def test_folds_that_do_not_tell_are_left_out_and_none_is_one_sentence(table):
    X, y = table

    def loss(y, said, chances, rows):
        return np.nan if rows.min() == 0 else np.mean(np.abs(y - said))

    some = Criterion("half", loss)
    chosen = Ridge().select(X, y, alphas=[1.0, 10.0], cv=KFold(3), criterion=some)
    assert chosen.fold_scores.shape == (2, 2)
    assert np.isfinite(chosen.curve).all()
    none = Criterion("the area", lambda y, said, chances, rows: np.nan)
    with pytest.raises(ValueError, match="the area cannot be measured on any fold"):
        Ridge().select(X, y, alphas=[1.0], criterion=none)
