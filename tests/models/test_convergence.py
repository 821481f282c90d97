"""A warning points at the line that called for the fit, whatever stands between."""

from __future__ import annotations

import inspect
import re
import warnings
from inspect import signature

import joblib
import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.linear import Lasso
from estimators import estimator_classes, variants
from samples import prepared, sample

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


ITERATIVE = [kind for kind in estimator_classes() if "max_iter" in signature(kind).parameters]
each_iterative = pytest.mark.parametrize("kind", ITERATIVE, ids=lambda kind: kind.__name__)


def told_by(model, limits):
    """What a fit within these limits warns of."""
    X, y = sample(model)
    known = {name: value for name, value in limits.items() if name in model.get_params()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = prepared(model).set_params(**known).fit(X, y)
    return model, [warning for warning in caught if warning.category is ConvergenceWarning]


@each_iterative
@pytest.mark.parametrize(
    "limits", [{"max_iter": 1}, {"max_iter": 3, "tol": 1e-13}, {"max_iter": 400, "tol": 1e-17}], ids=repr
)
def test_a_warning_agrees_with_the_fit_it_is_about(kind, limits):
    for start in (kind(), *variants(kind)):
        model, told = told_by(start, limits)
        if not told:
            continue
        assert not model.converged_
        ended = int(np.max(model.n_iter_))
        for warning in told:
            words = str(warning.message)
            assert warning.filename == __file__, words
            assert kind.__name__ in words, words
            counts = [int(count) for count in re.findall(r"(?:max_iter=|after |in )(\d+)", words)]
            # A limit that counts passes or splits is reached before as many iterations.
            assert ended in counts or (model.max_iter in counts and ended >= model.max_iter), (words, ended)
            if re.search(r"([Ii]ncrease|[Rr]aise) max_iter", words) and "may not" not in words:
                assert ended >= model.max_iter, words
            gap = re.search(r"gap (?:of )?([0-9.e+-]+)(?:,| and)? ?.*above tol", words)
            if gap:
                assert float(gap[1].rstrip(".")) > model.tol, words
