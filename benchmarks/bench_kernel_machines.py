"""Kernel ridge: all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.kernel_machines", "scikit-learn": "sklearn.kernel_ridge"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_gaussian(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((rows(5000), 20))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(len(X))
    kind = peer(LIBRARIES[library], "KernelRidge")
    contest.run(
        "KernelRidge, rbf",
        f"n={len(X)} d=20",
        library,
        lambda: kind(alpha=0.1, kernel="rbf").fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=5,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, y = small
    kind = peer(LIBRARIES[library], "KernelRidge")
    contest.run(
        "KernelRidge, rbf",
        "iris",
        library,
        lambda: kind(kernel="rbf").fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=100,
        iterations=3,
    )


PROCESSES = {"assay": "assay.kernel_machines", "scikit-learn": "sklearn.gaussian_process"}


@pytest.mark.parametrize("library", PROCESSES)
def test_kernel_logistic(contest: Contest, library: str) -> None:
    """The mode of a Gaussian process classifier, its parameters held; quality is the objective."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows(5000), 10))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X)) > 0).astype(int)
    gamma, sign = 0.1, 2.0 * y - 1.0
    if library == "assay":
        kind = peer(PROCESSES[library], "KernelLogisticRegression")

        def fit():
            return kind(gamma=gamma, fit_intercept=False).fit(X, y)

        def objective(model):
            return float(model.objective_)

    else:
        kind = peer(PROCESSES[library], "GaussianProcessClassifier")
        kernel = peer("sklearn.gaussian_process.kernels", "RBF")(np.sqrt(1 / (2 * gamma)))

        def fit():
            return kind(kernel, optimizer=None).fit(X, y)

        def objective(model):
            base = model.base_estimator_
            coef = base.y_train_ - base.pi_
            scores = kernel(X) @ coef
            return float(0.5 * coef @ scores + np.logaddexp(0, -sign * scores).sum())

    contest.run("KernelLogisticRegression, rbf", f"n={len(X)} d=10", library, fit, objective, rounds=3)
