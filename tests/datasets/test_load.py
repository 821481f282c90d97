"""Electricity demand and house prices: the laws, and the studies they are made for."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.datasets import HOUSE_FEATURES, ElectricityLoad, house_prices_law
from assay.display.theory import penalty_error
from assay.linear import LinearRegression, Ridge, SplineRegression


@pytest.mark.spec("rudi/F1.4", "rudi/M1.8")
def test_cyclic_splines_and_temperature_forecast_the_load():
    pd = pytest.importorskip("pandas")
    law = ElectricityLoad()
    X, y = law.series(24 * 365, random_state=0)
    frame = pd.DataFrame(X, columns=law.feature_names)
    model = SplineRegression(9, cyclic=["hour", "weekday"], period=[24.0, 7.0]).fit(frame, y)
    straight = LinearRegression().fit(X, y)
    spline_risk = law.risk(
        lambda rows: model.predict(pd.DataFrame(rows, columns=law.feature_names)), 50_000, 1
    )
    linear_risk = law.risk(straight, 50_000, 1)
    noise = law.bayes_risk().value
    assert spline_risk.value < 1.1 * noise
    assert linear_risk.value > 5 * noise
    assert model.certificates_.holds
    # The additive parts are found up to a constant, and midnight joins midnight.
    grid = pd.DataFrame(np.tile(X.mean(axis=0), (25, 1)), columns=law.feature_names)
    grid["hour"] = np.arange(25.0)
    found, true = model.predict(grid), law.parts(grid.to_numpy())[:, 0]
    assert np.abs((found - found.mean()) - (true - true.mean())).max() < 0.6
    assert found[0] == pytest.approx(found[24])


def test_the_series_walks_through_the_hours_and_the_sample_does_not():
    law = ElectricityLoad(0.0)
    X, y = law.series(24 * 14, random_state=3)
    assert_allclose(X[:, 0], np.tile(np.arange(24), 14))
    assert_allclose(X[::24, 1], np.tile(np.arange(7), 2))
    assert_allclose(y, law.regression_function(X))
    temperature = X[:, 2]
    assert np.corrcoef(temperature[1:], temperature[:-1])[0, 1] > 0.9
    drawn = law.sample(500, random_state=3).X
    assert abs(np.corrcoef(drawn[1:, 2], drawn[:-1, 2])[0, 1]) < 0.2
    assert_allclose(law.parts(X).sum(axis=1) + 55, y)


@pytest.mark.parametrize(
    "make", [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)]
)
def test_the_law_is_frozen_survives_pickling_and_repeats_with_its_seed(make):
    law = ElectricityLoad(2.0)
    with pytest.raises(FrozenInstanceError):
        law.noise_std = 1.0
    again = pickle.loads(pickle.dumps(law))
    for draw in ("sample", "series"):
        first, second = (getattr(one, draw)(40, random_state=make()) for one in (law, again))
        np.testing.assert_array_equal(first.X, second.X)
        np.testing.assert_array_equal(first.y, second.y)
    assert repr(law) == "ElectricityLoad(noise_std=2.0)"


def test_the_load_is_cyclic_and_wants_heating():
    law = ElectricityLoad()
    row = np.array([[10.0, 2.0, 5.0, 0.5]])
    assert_allclose(law.regression_function(row), law.regression_function(row + [24, 7, 0, 0]))
    cold, mild = law.regression_function(row - [0, 0, 10, 0]), law.regression_function(row + [0, 0, 15, 0])
    assert cold - law.regression_function(row) == pytest.approx(23, abs=0.1)
    assert cold > law.regression_function(row) > mild
    X, y = law.sample(40_000, random_state=0)
    noise = y - law.regression_function(X)
    assert abs(noise.var() - law.noise_variance) < 4 * law.noise_variance * np.sqrt(2 / len(y))
    with pytest.raises(ValueError, match="'noise_std' parameter of ElectricityLoad"):
        ElectricityLoad(-1.0)
    with pytest.raises(ValueError, match="'n_hours' parameter of ElectricityLoad"):
        law.series(0)


@pytest.mark.spec("peyre/X8")
def test_house_prices_least_squares_then_ridge_on_held_out_rows():
    law = house_prices_law()
    X, y = law.sample(506, random_state=0)
    assert X.shape == (506, len(HOUSE_FEATURES)) == (506, 13)
    order = np.random.default_rng(1).permutation(506)
    train, test = order[:253], order[253:]
    plain = LinearRegression().fit(X[train], y[train])
    path = Ridge().path(X[train], y[train])
    error = penalty_error(path, X[test], y[test])
    for index in (0, len(path.alphas) // 2, -1):
        model = Ridge(path.alphas[index]).fit(X[train], y[train])
        assert error[index] == pytest.approx(np.mean((y[test] - model.predict(X[test])) ** 2))
    assert error[0] == pytest.approx(np.mean((y[test] - plain.predict(X[test])) ** 2), rel=1e-3)
    best = int(np.argmin(error))
    assert 0 < best < len(error) - 1  # the curve over λ falls and rises
    assert error[best] < error[0] < error[-1]
    assert error[-1] == pytest.approx(np.mean((y[test] - y[train].mean()) ** 2), rel=1e-2)
    assert law.risk_of_coef(plain.coef_, plain.intercept_) < 1.2 * law.noise_variance


def test_house_features_are_correlated_and_of_unit_variance():
    covariance = house_prices_law().covariance
    assert_allclose(np.diag(covariance), 1)
    assert np.linalg.eigvalsh(covariance)[0] > 0
    assert np.max(np.abs(covariance - np.eye(13))) > 0.6
