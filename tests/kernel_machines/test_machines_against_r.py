"""Machines against numbers of e1071 (libsvm), kernlab and quantreg; see tests/reference/make_machines.R."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.kernel_machines import SVC, SVR, KernelQuantileRegressor, NuSVC, NuSVR, OneClassSVM

REFERENCE = Path(__file__).resolve().parent.parent / "reference" / "machines.json"


@pytest.fixture(scope="module")
def told():
    numbers = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return {name: np.array(value) if isinstance(value, list) else value for name, value in numbers.items()}


@pytest.fixture(scope="module")
def X(told):
    return np.column_stack([told["first"], told["second"]])


@pytest.mark.parametrize(
    ("name", "model", "target", "method"),
    [
        ("c_classification", SVC(C=2.0), "label", "decision_function"),
        ("nu_classification", NuSVC(nu=0.4), "label", "decision_function"),
        ("eps_regression", SVR(C=2.0, epsilon=0.2), "y", "predict"),
        ("nu_regression", NuSVR(C=2.0, nu=0.4), "y", "predict"),
        ("one_classification", OneClassSVM(nu=0.3), None, "decision_function"),
    ],
)
def test_values_are_those_of_e1071(told, X, name, model, target, method):
    model.set_params(gamma=told["gamma"], tol=1e-10).fit(X, None if target is None else told[target])
    assert_allclose(getattr(model, method)(X), told[name], atol=5e-6)


@pytest.mark.spec("sangnier/M-1.4.6-b")
def test_coefficients_are_the_solution_of_the_dual_by_an_interior_point_method(told, X):
    model = SVC(C=2.0, gamma=told["gamma"], tol=1e-10).fit(X, told["label"])
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert_allclose(alpha, told["ipop"], atol=1e-7)
    assert_allclose(model.dual_value_[0], told["ipop_value"], rtol=1e-9)


@pytest.mark.parametrize(("level", "name"), [(0.5, "half"), (0.8, "high")])
def test_quantiles_are_those_of_kernlab_and_lines_those_of_quantreg(told, X, level, name):
    curved = KernelQuantileRegressor(quantile=level, C=1.0, gamma=told["gamma"], tol=1e-10).fit(X, told["y"])
    assert_allclose(curved.predict(X), told[f"kqr_{name}"], atol=5e-6)
    # The penalty of a line vanishes as C grows.
    line = KernelQuantileRegressor(quantile=level, C=1e4, kernel="linear", tol=1e-8).fit(X, told["y"])
    assert_allclose([*line.intercept_, *line.coef_[0]], told[f"rq_{name}"], atol=1e-5)
