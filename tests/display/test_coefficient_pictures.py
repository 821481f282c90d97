"""Coefficients are drawn with their intervals where the model has them, and alone where it has none."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from assay.datasets import breast_cancer, diabetes, iris
from assay.display import CoefficientsDisplay
from assay.linear import (
    GeneralizedLinear,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PolynomialRegression,
    Ridge,
)


def whiskers(ax) -> np.ndarray:
    """Lower and upper ends of the whiskers, in the order in which they are drawn."""
    lines = [line for line in ax.collections if isinstance(line, LineCollection)]
    return np.array([segment[:, 0] for line in lines for segment in line.get_segments()])


@pytest.fixture(scope="module")
def table():
    return diabetes(as_frame=True)


def test_least_squares_shows_its_intervals(table):
    model = LinearRegression().fit(table.X, table.y)
    shown = CoefficientsDisplay.from_estimator(model)
    expected = model.inference().conf_int(0.95)[1:]
    np.testing.assert_allclose(shown.intervals[0], expected)
    order = np.argsort(np.abs(model.coef_))
    np.testing.assert_allclose(whiskers(shown.ax_), expected[order])
    assert shown.ax_.get_title() == "coefficients, with 95% intervals"


def test_several_targets_have_their_own_intervals(table):
    Y = np.column_stack([table.y, table.y[::-1]])
    model = LinearRegression(fit_intercept=False).fit(table.X, Y)
    shown = CoefficientsDisplay.from_estimator(model)
    expected = model.inference().conf_int(0.95)
    for target in range(2):
        np.testing.assert_allclose(shown.intervals[target], expected[:, :, target])


def test_likelihood_fits_show_their_intervals(table):
    model = GeneralizedLinear(family="gamma", link="log").fit(table.X, table.y)
    shown = CoefficientsDisplay.from_estimator(model)
    np.testing.assert_allclose(shown.intervals[0], model.inference().conf_int(0.95)[1:])
    X, y = breast_cancer(return_X_y=True)
    model = LogisticRegression(C=np.inf).fit(X[:, :2], y)
    np.testing.assert_allclose(
        CoefficientsDisplay.from_estimator(model).intervals[0], model.inference().conf_int(0.95)[1:]
    )
    assert len(whiskers(model.plot())) == 2


def test_the_reference_class_has_no_interval():
    X, y = iris(return_X_y=True)
    model = LogisticRegression(C=np.inf, reference_class=1).fit(X[:, :1], y)
    shown = CoefficientsDisplay.from_estimator(model)
    assert np.isnan(shown.intervals[1]).all()
    expected = model.inference().conf_int(0.95).reshape(2, 2, 2)[:, 1:]
    np.testing.assert_allclose(shown.intervals[[0, 2]], expected)


def test_features_of_a_column_have_intervals_too(table):
    model = PolynomialRegression(2).fit(table.X[["bmi"]], table.y)
    assert len(whiskers(model.plot(kind="coefficients"))) == 2


@pytest.mark.parametrize(
    "model",
    [Ridge(alpha=0.1), Lasso(alpha=0.1), GeneralizedLinear(family="gamma", link="log", alpha=0.1)],
    ids=["ridge", "lasso", "penalised likelihood"],
)
def test_a_penalised_fit_shows_bars_only(model, table):
    ax = model.fit(table.X, table.y).plot(kind="coefficients")
    assert len(ax.patches) == 10
    assert not len(whiskers(ax))
    assert ax.get_title() == "coefficients"


def test_columns_of_deficient_rank_show_bars_only(table):
    X = table.X.to_numpy()
    model = LinearRegression().fit(np.column_stack([X[:, :2], X[:, 0]]), table.y)
    shown = CoefficientsDisplay.from_estimator(model)
    assert shown.intervals is None
    assert len(shown.ax_.patches) == 3


def test_separable_classes_show_bars_only():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    ax = LogisticRegression().fit(X, [0, 0, 1, 1]).plot()
    assert len(ax.patches) == 1
    assert not len(whiskers(ax))


def test_a_fit_without_freedom_shows_bars_only():
    model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    shown = CoefficientsDisplay.from_estimator(model)
    assert shown.intervals is None
    np.testing.assert_allclose([bar.get_width() for bar in shown.ax_.patches], [2.0])
