"""Pictures of feature maps, regressions on features, and risks show what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from assay.datasets import ElectricityLoad, house_prices_law
from assay.display import (
    EffectsDisplay,
    plot_dimension_free,
    plot_overfitting,
    plot_penalty_error,
    plot_principal_plane,
)
from assay.linear import (
    DictionaryRegression,
    FourierMap,
    FunctionMap,
    HistogramMap,
    PolynomialMap,
    ReducedRankRegression,
    Ridge,
    SplineMap,
    SplineRegression,
    WaveletMap,
)
from assay.theory import dimension_free_experiment, polynomial_overfitting


@pytest.fixture
def curve(rng):
    x = rng.uniform(0, 10, (80, 1))
    return x, np.sin(x[:, 0]) + 0.1 * rng.standard_normal(80)


@pytest.mark.parametrize(
    "kind", [PolynomialMap, FourierMap, HistogramMap, SplineMap, WaveletMap, FunctionMap]
)
def test_a_map_draws_its_functions_over_its_range(kind, rng):
    X = rng.uniform(2, 5, (60, 2))
    fitted = kind().fit(X)
    ax = fitted.plot(X)
    x, values = ax.lines[0].get_data()
    assert_allclose([x[0], x[-1]], [X[:, 0].min(), X[:, 0].max()])
    middle = (X[:, 1].min() + X[:, 1].max()) / 2
    features = fitted.transform(np.column_stack([x, np.full(len(x), middle)]))
    assert np.abs(features - np.asarray(values)[:, None]).max(axis=0).min() < 1e-9
    for picture in (ax, fitted.plot()):
        assert kind.__name__ in picture.get_title()
        assert picture.get_xlabel() == "x0"
    assert fitted.plot(X, column=1).get_xlabel() == "x1"
    with pytest.raises(ValueError, match="'column' of the picture"):
        fitted.plot(X, column=2)


def test_the_lines_of_a_map_are_its_features(curve):
    X, _ = curve
    fitted = SplineMap(5).fit(X)
    lines = fitted.plot().lines
    assert len(lines) == fitted.n_features_out_
    x = np.asarray(lines[0].get_xdata())
    assert_allclose(np.column_stack([line.get_ydata() for line in lines]), fitted.transform(x[:, None]))


def test_a_curve_shows_points_fit_and_interval(curve):
    X, y = curve
    model = SplineRegression(8).fit(X, y)
    ax = model.plot(X, y)
    x, fitted = ax.lines[0].get_data()
    assert_allclose(fitted, model.predict(np.asarray(x)[:, None]))
    assert "90%" in ax.get_title()
    penalised = SplineRegression(8, alpha=1.0).fit(X, y).plot(X, y)
    assert penalised.get_title() == "fitted curve"
    several = SplineRegression(8).fit(X, np.column_stack([y, -y])).plot(X, kind="curve")
    assert len(several.lines) == 2
    with pytest.raises(ValueError, match="needs X"):
        model.plot(kind="curve")


def test_of_many_columns_those_of_the_greatest_effects_are_drawn(rng):
    X = rng.normal(size=(300, 12))
    y = X @ np.array([0, 0, 3, 0, 2, 0, 1, 1, 1, 1, 1, 1.0])
    shown = EffectsDisplay.from_estimator(SplineRegression(4).fit(X, y), X)
    assert shown.names == ["x2", "x4", "x6", "x7", "x8", "x9", "x10", "x11"]


@pytest.mark.spec("rudi/F1.4")
def test_effects_of_the_load_are_drawn_for_each_column():
    X, y = ElectricityLoad().series(24 * 60, random_state=0)
    frame = pd.DataFrame(X, columns=ElectricityLoad.feature_names)
    model = SplineRegression(7, cyclic=["hour", "weekday"], period=[24.0, 7.0]).fit(frame, y)
    ax = model.plot(frame, kind="effects")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(frame.columns)
    for j, name in enumerate(frame.columns):
        place, drawn = map(np.asarray, ax.lines[j].get_data())
        assert_allclose([place[0], place[-1]], [0, 1])
        table = pd.DataFrame([frame.mean()] * len(place))
        table[name] = frame[name].min() + place * np.ptp(frame[name])
        expected = model.predict(table)
        assert_allclose(drawn, expected - expected.mean(), atol=1e-9)
    temperature = np.asarray(ax.lines[2].get_ydata())
    assert temperature[0] > temperature[-1] + 5  # cold needs heating
    with pytest.raises(ValueError, match="one column"):
        model.plot(frame, kind="curve")
    with pytest.raises(ValueError, match="must be one of"):
        model.plot(frame, kind="fireworks")


def test_coefficients_carry_the_names_of_the_features(curve):
    X, y = curve
    ax = DictionaryRegression("fourier", size=2).fit(X, y).plot(X, y, kind="coefficients")
    assert {label.get_text() for label in ax.get_yticklabels()} == {
        f"{wave}{k}(x0)" for wave in ("cos", "sin") for k in (1, 2)
    }


def test_a_matrix_of_coefficients_is_an_image(rng):
    X = rng.standard_normal((50, 4))
    Y = X @ rng.standard_normal((4, 3))
    model = ReducedRankRegression(2).fit(X, Y)
    ax = model.plot()
    assert_allclose(ax.images[0].get_array(), model.coef_.T)
    values = model.plot(kind="singular_values").lines[0].get_ydata()
    assert_allclose(values, model.singular_values_)
    assert model.plot(X, Y).get_xlabel() == "observed"


@pytest.mark.spec("rudi/F1.1")
def test_overfitting_is_drawn_as_two_risks_or_as_fits():
    found = polynomial_overfitting(lambda x: np.sin(4 * x), range(12), n_draws=20, random_state=0)
    ax = plot_overfitting(found)
    train, true = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert_allclose(train, found.train_risk)
    assert_allclose(true, found.true_risk)
    for line in ax.lines[:2]:
        assert_allclose(line.get_xdata(), range(12))
    noise, best = ax.lines[2:]
    assert_allclose(noise.get_ydata(), found.noise_variance)
    assert_allclose(best.get_xdata(), np.argmin(found.true_risk))
    assert ax.get_title() == f"too simple, right (degree {np.argmin(found.true_risk)}), too rich"
    fits = plot_overfitting(found, kind="fits")
    assert_allclose(fits.collections[0].get_offsets(), np.column_stack([found.x, found.y]))
    assert len(fits.lines) == 12
    for degree, line in enumerate(fits.lines):
        x, drawn = line.get_data()
        assert_allclose([x[0], x[-1]], [-1, 1])
        assert_allclose(drawn, np.polyval(np.polyfit(found.x, found.y, degree), x), atol=1e-6)
        assert line.get_label() == f"degree {degree}"
    with pytest.raises(ValueError, match="'kind' of plot_overfitting"):
        plot_overfitting(found, kind="nothing")


@pytest.mark.spec("rudi/T1.11")
def test_the_dimension_free_picture_has_the_bound_above_ridge():
    found = dimension_free_experiment([2, 20, 200], n_samples=50, random_state=0)
    ax = plot_dimension_free(found)
    least_squares, ridge, bound = (np.asarray(line.get_ydata()) for line in ax.lines)
    for line, expected in zip(ax.lines, (found.least_squares, found.ridge), strict=False):
        assert_allclose(line.get_xdata(), [2, 20, 200])
        assert_allclose(line.get_ydata(), expected)
    assert_allclose(bound, found.bound)
    assert [text.get_text() for text in ax.get_legend().get_texts()][:2] == ["least squares", "ridge at λ*"]
    assert np.all(ridge <= bound[0])
    assert least_squares[-1] > bound[0]


@pytest.mark.spec("peyre/X8")
def test_house_prices_are_shown_in_their_principal_plane_and_over_the_penalty():
    X, y = house_prices_law().sample(506, random_state=0)
    ax = plot_principal_plane(X, y)
    centred = (X - X.mean(axis=0)) / X.std(axis=0)
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    assert f"{values[0] / values.sum():.0%}" in ax.get_xlabel()
    points = np.asarray(ax.collections[0].get_offsets())
    assert_allclose(np.sort(points.std(axis=0))[::-1] ** 2, values[:2] / 506)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    assert_allclose(points, scores * np.sign(np.sum(points * scores, axis=0)), atol=1e-9)
    assert_allclose(ax.collections[0].get_array(), y)
    path = Ridge().path(X[:300], y[:300])
    curve = plot_penalty_error(path, X[300:], y[300:])
    middle, level = X[:300].mean(axis=0), y[:300].mean()
    Z, t = X[:300] - middle, y[:300] - level
    errors = []
    for alpha in path.alphas:
        coef = np.linalg.solve(Z.T @ Z + alpha * np.eye(13), Z.T @ t)
        errors.append(np.mean((y[300:] - level - (X[300:] - middle) @ coef) ** 2))
    line = curve.lines[0].get_xydata()
    assert_allclose(line, np.column_stack([path.alphas, errors]), rtol=1e-6)
    assert "least error" in curve.get_title()
    assert plot_principal_plane(X).has_data()
    with pytest.raises(ValueError, match="at least two columns"):
        plot_principal_plane(np.ones((5, 3)))
