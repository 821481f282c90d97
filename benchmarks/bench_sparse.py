"""Sparse linear models: paths of the lasso on wide, tall and sparse tables, and of l1 logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse, special

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

GAP = 1e-6


def worst_gap(X: Any, y: np.ndarray, alphas: np.ndarray, coefs: np.ndarray) -> float:
    """Largest relative duality gap of a path of the lasso with intercept, for any contestant."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    centred = y - y.mean()
    worst = 0.0
    for alpha, coef in zip(alphas, coefs, strict=True):
        residual = centred - (X @ coef - mean @ coef)
        slope = X.T @ residual / len(y) - mean * residual.mean()
        scale = min(1.0, alpha / np.abs(slope).max())
        primal = residual @ residual / (2 * len(y)) + alpha * np.abs(coef).sum()
        dual = (scale * (centred @ residual) - scale**2 * (residual @ residual) / 2) / len(y)
        worst = max(worst, (primal - dual) / (centred @ centred / (2 * len(y))))
    return float(worst)


def critical(X: Any, y: np.ndarray) -> float:
    return float(np.abs(X.T @ (y - y.mean())).max() / len(y))


def linear_target(X: Any, n_active: int, signal_to_noise: float, rng: np.random.Generator) -> np.ndarray:
    coef = np.zeros(X.shape[1])
    coef[rng.choice(X.shape[1], n_active, replace=False)] = rng.standard_normal(n_active)
    signal = X @ coef
    return signal + rng.standard_normal(X.shape[0]) * np.std(signal) / np.sqrt(signal_to_noise)


def scattered(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """A square CSR array with a value in about one place of a thousand."""
    width = max(1, n // 1000)
    places = rng.integers(0, n, n * width, dtype=np.int32)
    starts = (np.arange(n + 1) * width).astype(np.int32)
    table = sparse.csr_array((rng.random(n * width), places, starts), shape=(n, n))
    table.sum_duplicates()
    return table


def contestants(alphas: np.ndarray) -> dict[str, Callable[[Any, np.ndarray], np.ndarray]]:
    """Coefficients of a path, of shape (n_alphas, n_features), all with an intercept and at equal quality."""

    def ours(X: Any, y: np.ndarray) -> np.ndarray:
        return peer("assay.linear", "Lasso")(tol=GAP).path(X, y, alphas).coef

    def scikit_learn(X: Any, y: np.ndarray) -> np.ndarray:
        # Its lasso_path has no intercept: centred here, as its own Lasso does.
        if sparse.issparse(X):
            kind = peer("sklearn.linear_model", "Lasso")
            model = kind(tol=GAP, warm_start=True, max_iter=5000, random_state=0)
            return np.array([model.set_params(alpha=alpha).fit(X, y).coef_.copy() for alpha in alphas])
        options = {"alphas": alphas, "tol": GAP, "max_iter": 5000}
        return peer("sklearn.linear_model", "lasso_path")(X - X.mean(axis=0), y - y.mean(), **options)[1].T

    def celer(X: Any, y: np.ndarray) -> np.ndarray:
        # Its stopping rule is relative to ‖y‖²/n, ours to ‖y‖²/2n.
        options = {"alphas": alphas, "tol": GAP / 2, "max_iter": 100}
        return peer("celer", "celer_path")(X - X.mean(axis=0), y - y.mean(), "lasso", **options)[1].T

    return {"assay": ours, "celer": celer, "scikit-learn": scikit_learn}


@pytest.mark.parametrize("library", ["assay", "celer", "scikit-learn"])
@pytest.mark.parametrize(("n_active", "signal_to_noise"), [(20, 1000.0), (100, 30.0)])
def test_wide(contest: Contest, n_active: int, signal_to_noise: float, library: str) -> None:
    if library == "scikit-learn" and n_active > 20:
        pytest.skip("more than a minute a path")
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((1000, 10_000)))
    y = linear_target(X, n_active, signal_to_noise, rng)
    alphas = np.geomspace(1.0, 0.01, 100) * critical(X - X.mean(axis=0), y)
    contest.run(
        "lasso path",
        f"n=1e3 p=1e4, {n_active} active",
        library,
        lambda: contestants(alphas)[library](X, y),
        lambda coefs: worst_gap(X, y, alphas, coefs),
        rounds=1 if library == "scikit-learn" else 3,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_tall(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows(100_000), 500))
    y = linear_target(X, 50, 1.0, rng)
    alphas = np.geomspace(1.0, 0.01, 100) * critical(X, y)
    contest.run(
        "lasso path",
        f"n={len(y):.0e} p=500",
        library,
        lambda: contestants(alphas)[library](X, y),
        lambda coefs: worst_gap(X, y, alphas, coefs),
        rounds=2,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_tall_single(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows(100_000), 500))
    y = linear_target(X, 50, 1.0, rng)
    alpha = 0.05 * critical(X, y)
    kind = peer({"assay": "assay.linear", "scikit-learn": "sklearn.linear_model"}[library], "Lasso")
    contest.run(
        "lasso",
        f"n={len(y):.0e} p=500",
        library,
        lambda: kind(alpha, tol=GAP).fit(X, y),
        lambda model: worst_gap(X, y, np.array([alpha]), model.coef_[None]),
        rounds=3,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_sparse_rows(contest: Contest, library: str) -> None:
    n = rows(100_000)
    X = scattered(n, np.random.default_rng(2))
    y = linear_target(X, 200, 10.0, np.random.default_rng(3))
    alphas = np.geomspace(1.0, 0.1, 10) * critical(X, y)
    contest.run(
        "lasso path, 10 penalties",
        f"CSR {n:.0e}×{n:.0e}, density 1e-3",
        library,
        lambda: contestants(alphas)[library](X, y),
        lambda coefs: worst_gap(X, y, alphas, coefs.toarray() if sparse.issparse(coefs) else coefs),
        rounds=1,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_logistic(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(4)
    n, p = rows(100_000), 1000
    X = rng.standard_normal((n, p))
    coef = np.zeros(p)
    coef[:50] = 0.3 * rng.standard_normal(50)
    y = np.where(rng.random(n) < special.expit(X @ coef + 0.3), 1.0, -1.0)
    alphas = np.geomspace(1.0, 0.05, 10) * critical(X, (y + 1) / 2)

    def ours() -> Any:
        loss = peer("assay.losses", "Logistic")()
        path = peer("assay.solvers", "sparse_path")(X, y, None, alphas, loss=loss, tol=GAP)
        return path.coef, path.intercept

    def liblinear() -> Any:
        # Faster than saga here at this quality; its intercept is penalised, hence the large scaling.
        options = {"l1_ratio": 1.0, "solver": "liblinear", "tol": 1e-3, "intercept_scaling": 100.0}
        kind = peer("sklearn.linear_model", "LogisticRegression")
        models = [kind(C=1 / (n * alpha), random_state=0, **options).fit(X, y) for alpha in alphas]
        return np.array([m.coef_[0] for m in models]), np.array([m.intercept_[0] for m in models])

    def mean_objective(path: Any) -> float:
        values = [
            np.logaddexp(0, -y * (X @ w + b)).mean() + alpha * np.abs(w).sum()
            for alpha, w, b in zip(alphas, *path, strict=True)
        ]
        return float(np.mean(values))

    contest.run(
        "l1 logistic path, 10 penalties",
        f"n={n:.0e} p={p}",
        library,
        ours if library == "assay" else liblinear,
        mean_objective,
        rounds=1,
    )
