"""Laws with a known best method, and quick methods whose true score is known: what verdicts are tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import PolynomialFeatures

from assay.report.trials.scoring.resampling import splits

Draw = Callable[[np.random.Generator, int], tuple[NDArray, NDArray]]
Fit = Callable[[NDArray, NDArray], Callable[[NDArray], NDArray]]


def least_squares(map_: Callable[[NDArray], NDArray], penalty: float = 0.0) -> Fit:
    """Ridge on features that a map makes of the columns; the penalty is per row."""

    def fit(X: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
        Z, mean = map_(X), y.mean()
        center = Z.mean(axis=0)
        W = Z - center
        grown = np.vstack([W, np.sqrt(penalty * len(y)) * np.eye(W.shape[1])])
        coef = np.linalg.lstsq(grown, np.concatenate([y - mean, np.zeros(W.shape[1])]), rcond=None)[0]
        return lambda rows: mean + (map_(rows) - center) @ coef

    return fit


def polynomial(degree: int) -> Callable[[NDArray], NDArray]:
    return PolynomialFeatures(degree, include_bias=False).fit_transform


def robust(X: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    """Huber's line, by reweighting."""
    Z, weights = np.column_stack([np.ones(len(y)), X]), np.ones(len(y))
    coef = np.zeros(Z.shape[1])
    for _ in range(30):
        coef = np.linalg.lstsq(Z * np.sqrt(weights)[:, None], y * np.sqrt(weights), rcond=None)[0]
        size = np.abs(y - Z @ coef)
        weights = np.minimum(1, 1.345 * 1.4826 * np.median(size) / np.maximum(size, 1e-300))
    return lambda rows: np.column_stack([np.ones(len(rows)), rows]) @ coef


def mean(X: NDArray, y: NDArray) -> Callable[[NDArray], NDArray]:
    level = y.mean()
    return lambda rows: np.full(len(rows), level)


class Method(NamedTuple):
    fit: Fit
    complexity: int


METHODS = {
    "line": Method(least_squares(lambda X: X), 1),
    "ridge": Method(least_squares(lambda X: X, 0.1), 2),
    "robust": Method(robust, 2),
    "sparse": Method(least_squares(lambda X: X[:, :1]), 2),
    "squares": Method(least_squares(polynomial(2), 0.01), 4),
    "waves": Method(least_squares(lambda X: np.column_stack([np.sin(2 * X), np.cos(2 * X), X]), 0.01), 4),
    "erratic": Method(least_squares(lambda X: np.column_stack([X**power for power in range(1, 8)])), 3),
}


def noise(rng: np.random.Generator, n: int, p: int = 4) -> tuple[NDArray, NDArray]:
    return rng.normal(size=(n, p)), rng.normal(size=n)


def of(signal: Callable[[NDArray], NDArray], error: Callable[[np.random.Generator, int], NDArray]) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[NDArray, NDArray]:
        X = rng.normal(size=(n, 4))
        return X, signal(X) + error(rng, n)

    return draw


def mistyped(draw: Draw, share: float = 0.02, factor: float = 1000.0) -> Draw:
    """The same rows, some targets of which have three zeros too many."""

    def spoilt(rng: np.random.Generator, n: int) -> tuple[NDArray, NDArray]:
        X, y = draw(rng, n)
        wrong = rng.choice(n, max(1, int(share * n)), replace=False)
        y[wrong] = factor * (5.0 + y[wrong])
        return X, y

    return spoilt


@dataclass(frozen=True)
class Law:
    """Where rows come from; `clean` draws the rows that the model will be used on."""

    n_rows: int
    draw: Draw
    clean: Draw | None = None

    @property
    def later(self) -> Draw:
        return self.clean or self.draw


def normal(rng, n):
    return rng.normal(size=n)


def heavy(rng, n):
    return rng.standard_t(2.5, size=n)


def line(X):
    return X[:, 0] + 0.5 * X[:, 1]


def wave(X):
    return 1.5 * np.sin(2 * X[:, 0])


LAWS = {
    "pure noise": Law(80, noise),
    "pure noise, few rows": Law(24, noise),
    "heavy noise alone": Law(80, of(lambda X: np.zeros(len(X)), heavy)),
    "line": Law(150, of(line, normal)),
    "line, few rows": Law(30, of(line, normal)),
    "line, heavy tails": Law(150, of(line, heavy)),
    "weak line": Law(100, of(lambda X: 0.25 * X[:, 0], normal)),
    "wave": Law(150, of(wave, normal)),
    "wave, few rows": Law(40, of(wave, normal)),
    "wave, heavy tails": Law(150, of(wave, heavy)),
    "squares": Law(120, of(lambda X: X[:, 0] * X[:, 1] + X[:, 2], normal)),
    "one mistyped": Law(150, mistyped(of(line, normal), 0.0), of(line, normal)),
    "some mistyped": Law(150, mistyped(of(line, normal), 0.02, 100.0), of(line, normal)),
}


class Trial(NamedTuple):
    """Scores of all methods on the folds of one table, and their true scores; the baseline is apart."""

    scores: list[NDArray]
    truth: NDArray
    baseline: NDArray
    baseline_truth: float


def r2(y: NDArray, predicted: NDArray) -> float:
    return float(1 - np.mean((y - predicted) ** 2) / np.var(y))


def run(law: Law, seed: int, *, folds: int = 5, repeats: int = 3, n_later: int = 20_000) -> Trial:
    """Draw a table of a law, cross-validate every method, and measure each on rows drawn later."""
    rng = np.random.default_rng(seed)
    X, y = law.draw(rng, law.n_rows)
    later, wanted = law.later(np.random.default_rng(10**6 + seed), n_later)
    fits = [mean, *(method.fit for method in METHODS.values())]
    parts = splits(len(y), folds=folds, repeats=repeats, seed=seed)
    scores = np.array(
        [[r2(y[test], fit(X[train], y[train])(X[test])) for train, test in parts] for fit in fits]
    )
    truth = np.array([r2(wanted, fit(X, y)(later)) for fit in fits])
    return Trial(list(scores[1:]), truth[1:], scores[0], float(truth[0]))
