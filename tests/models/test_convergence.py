"""A warning points at the line that called for the fit, whatever stands between."""

from __future__ import annotations

import inspect
import warnings

import joblib
import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.linear import Lasso

X = np.random.default_rng(0).normal(size=(60, 20))
Y = X @ np.arange(20) + np.random.default_rng(1).normal(size=60)


def stopped() -> Lasso:
    return Lasso(alpha=1e-6, max_iter=1, tol=1e-12)


ROADS = {
    "itself": lambda: stopped().fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), stopped()).fit(X, Y),
    "grid search": lambda: GridSearchCV(stopped(), {"alpha": [1e-6, 1e-5]}, cv=2).fit(X, Y),
    "grid search of a pipeline": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), stopped()), {"lasso__alpha": [1e-6]}, cv=2
    ).fit(X, Y),
    "cross-validation": lambda: cross_val_score(stopped(), X, Y, cv=2),
    "ensemble": lambda: BaggingRegressor(stopped(), n_estimators=2, random_state=0).fit(X, Y),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_warning_points_at_the_line_of_the_caller(road, n_jobs):
    lines = inspect.getsource(inspect.getmodule(stopped)).splitlines()
    with warnings.catch_warnings(record=True) as caught, joblib.parallel_config("threading", n_jobs=n_jobs):
        warnings.simplefilter("always")
        ROADS[road]()
    told = [warning for warning in caught if warning.category is ConvergenceWarning]
    assert told
    for warning in told:
        assert warning.filename == __file__
        assert "X, Y" in lines[warning.lineno - 1]
