"""Logistic regression and generalised linear models at the same objective."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer


@pytest.fixture(scope="session")
def labelled():
    """A million rows, correlated columns, two classes."""
    rng = np.random.default_rng(0)
    n, d = rows(1_000_000), 50
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    score = X @ (rng.standard_normal(d) / np.sqrt(d)) + 0.5
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(np.int64)


@pytest.fixture(scope="session")
def counts(labelled):
    """The same rows with counts."""
    X, _ = labelled
    rng = np.random.default_rng(1)
    mean = np.exp(0.2 * (X @ (rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1]))) + 0.3)
    return X, rng.poisson(mean).astype(np.float64)


@pytest.fixture(scope="session")
def images():
    """Sixty thousand smooth pictures of 28 × 28 pixels, ten classes that overlap."""
    rng = np.random.default_rng(2)
    n, side, k = rows(60_000), 28, 10
    grid = np.linspace(-1, 1, side)

    def picture() -> np.ndarray:
        spots = rng.uniform(-0.6, 0.6, size=(4, 2))
        away = [(grid[:, None] - x) ** 2 + (grid[None, :] - y) ** 2 for x, y in spots]
        return np.exp(-np.array(away) / 0.05).sum(axis=0).ravel()

    means, modes = np.array([picture() for _ in range(k)]), np.array([picture() for _ in range(60)])
    y = rng.integers(0, k, size=n)
    X = means[y] + 0.2 * rng.standard_normal((n, 60)) @ modes + 0.1 * rng.standard_normal((n, side**2))
    return np.clip(X - 0.3, 0, 1), y


def mean_loss(model, X, y, strength: float) -> float:
    """Penalised mean log-loss, from coefficients alone."""
    scores = X @ model.coef_.T + model.intercept_
    penalty = strength / 2 * float(np.sum(np.asarray(model.coef_, dtype=float) ** 2))
    if scores.shape[1] == 1:
        margin = np.where(y > 0, scores[:, 0], -scores[:, 0])
        return float(np.mean(np.logaddexp(0, -margin))) + penalty
    top = scores.max(axis=1)
    own = scores[np.arange(len(y)), y]
    return float(np.mean(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - own)) + penalty


LOGISTIC = {
    "assay": ("assay.linear", {}),
    "sklearnex": ("sklearnex.linear_model", {"tol": 1e-6, "max_iter": 1000}),
    "scikit-learn newton-cholesky": (
        "sklearn.linear_model",
        {"solver": "newton-cholesky", "tol": 1e-6, "max_iter": 1000},
    ),
    "scikit-learn lbfgs": ("sklearn.linear_model", {"tol": 1e-6, "max_iter": 1000}),
}


@pytest.mark.parametrize("library", LOGISTIC)
def test_logistic(contest: Contest, labelled, library: str) -> None:
    X, y = labelled
    module, options = LOGISTIC[library]
    kind = peer(module, "LogisticRegression")
    contest.run(
        "LogisticRegression, C=1",
        f"n={len(X):.0e} d={X.shape[1]}",
        library,
        lambda: kind(**options).fit(X, y),
        lambda model: mean_loss(model, X, y, 1 / len(y)),
        rounds=5 if library == "assay" else 3,
    )


def test_logistic_inference(contest: Contest, labelled) -> None:
    kind = peer("assay.linear", "LogisticRegression")
    X, y = labelled
    contest.run(
        "logistic regression with standard errors",
        f"n={len(X):.0e} d={X.shape[1]}",
        "assay",
        lambda: kind(C=float("inf")).fit(X, y).inference(),
        lambda inference: float(inference.llf),
    )


def test_logistic_inference_statsmodels(contest: Contest, labelled) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    X, y = labelled
    contest.run(
        "logistic regression with standard errors",
        f"n={len(X):.0e} d={X.shape[1]}",
        "statsmodels",
        lambda: api.Logit(y, api.add_constant(X)).fit(disp=False),
        lambda inference: float(inference.llf),
        rounds=1,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_multinomial(contest: Contest, images, library: str) -> None:
    X, y = images
    module = {"assay": "assay.linear", "scikit-learn": "sklearn.linear_model"}[library]
    options = {"tol": 1e-3} if library == "assay" else {"tol": 1e-4, "max_iter": 1000}
    kind = partial(peer(module, "LogisticRegression"), C=0.01, **options)

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind().fit(X, y)

    contest.run(
        "multinomial, C=0.01",
        f"n={len(X):.0e} d=784 k=10",
        library,
        fit,
        lambda model: mean_loss(model, X, y, 1 / (0.01 * len(y))),
        rounds=2,
    )


POISSON = {
    "assay": ("assay.linear", "GeneralizedLinear", {"family": "poisson"}),
    "scikit-learn newton-cholesky": (
        "sklearn.linear_model",
        "PoissonRegressor",
        {"alpha": 0.0, "solver": "newton-cholesky", "tol": 1e-6, "max_iter": 1000},
    ),
    "scikit-learn lbfgs": (
        "sklearn.linear_model",
        "PoissonRegressor",
        {"alpha": 0.0, "tol": 1e-6, "max_iter": 1000},
    ),
}


def poisson_loss(coef, intercept, X, y) -> float:
    score = X @ coef + intercept
    return float(np.mean(np.exp(score) - y * score))


@pytest.mark.parametrize("library", POISSON)
def test_poisson(contest: Contest, counts, library: str) -> None:
    X, y = counts
    module, name, options = POISSON[library]
    kind = peer(module, name)
    contest.run(
        "Poisson",
        f"n={len(X):.0e} d={X.shape[1]}",
        library,
        lambda: kind(**options).fit(X, y),
        lambda model: poisson_loss(model.coef_, model.intercept_, X, y),
        rounds=3,
    )


def test_poisson_statsmodels(contest: Contest, counts) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    X, y = counts
    contest.run(
        "Poisson",
        f"n={len(X):.0e} d={X.shape[1]}",
        "statsmodels",
        lambda: api.GLM(y, api.add_constant(X), family=api.families.Poisson()).fit(),
        lambda result: poisson_loss(result.params[1:], result.params[0], X, y),
        rounds=1,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_iris(contest: Contest, small, library: str) -> None:
    X, _ = small
    y = np.repeat([0, 1, 2], 50)
    module = {"assay": "assay.linear", "scikit-learn": "sklearn.linear_model"}[library]
    kind = peer(module, "LogisticRegression")
    contest.run(
        "LogisticRegression, C=1",
        "iris",
        library,
        lambda: kind(max_iter=1000).fit(X, y),
        lambda model: mean_loss(model, X, y, 1 / len(y)),
        rounds=50,
    )
