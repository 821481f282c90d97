"""Bounds of the risk of functions in a ball of an RKHS, and how they fare on training sets of a law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines.bounds import RiskBound as RiskBound
from assay.kernel_machines.bounds import hinge_risk_bound as hinge_risk_bound
from assay.kernel_machines.bounds import lipschitz_oracle_bound as lipschitz_oracle_bound
from assay.kernel_machines.bounds import lipschitz_risk_bound as lipschitz_risk_bound
from assay.kernel_machines.bounds import svr_oracle_bound as svr_oracle_bound
from assay.losses import EpsilonInsensitive, Hinge
from assay.parameters import integer, real, require
from assay.randomness import RandomState, generator

Array = NDArray[np.float64]


class BoundTrial(NamedTuple):
    """How a bound fared over training sets of a law.

    Attributes
    ----------
    bound : array of shape (n_repeats,)
    truth : array of shape (n_repeats,)
        What it bounds, on many fresh rows.
    surrogate : array of shape (n_repeats,)
        The same with the loss of the fit in place of errors, where the theorem bounds that too.
    complexity, confidence : float
        The last two terms of the bound.
    standard_error : float
        Largest, of truth and surrogate.
    trivial : float
    delta : float
    """

    bound: Array
    truth: Array
    surrogate: Array
    complexity: float
    confidence: float
    standard_error: float
    trivial: float
    delta: float

    @property
    def share_above(self) -> float:
        """Share of the training sets on which the truth is above the bound; promised at most δ."""
        return float(np.mean(np.maximum(self.truth, self.surrogate) > self.bound))

    @property
    def bites(self) -> bool:
        """Whether the bound says something on every training set."""
        return bool(self.bound.max() < self.trivial)


def _signed_rows(
    n_rows: int, n_features: int, signal: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Rows on the unit sphere, and labels that follow the sign of the first column."""
    rows = rng.standard_normal((n_rows, n_features))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chance = 0.5 * (1.0 + signal * np.sign(rows[:, 0]))
    return rows, np.where(rng.random(n_rows) < chance, 1.0, -1.0)


def hinge_bound_trial(
    *,
    n_samples: int = 2000,
    n_features: int = 5,
    radius: float = 2.0,
    signal: float = 0.8,
    delta: float = 0.05,
    n_repeats: int = 50,
    n_test: int = 20_000,
    random_state: RandomState = None,
) -> BoundTrial:
    """Try the bound of `hinge_risk_bound` on training sets of a law.

    Rows are uniform on the unit sphere (the linear kernel has κ = 1), and P(Y = 1 | x) = (1 + s x₁/|x₁|)/2.
    The function is the member of the ball that correlates most with the labels, h = c Σ Y_i x_i/‖Σ Y_i x_i‖:
    with signal 0 it knows nothing, and its mean hinge loss is below its risk by as much as the complexity
    allows.

    Parameters
    ----------
    n_samples, n_features : int
    radius : float
        c.
    signal : float in [0, 1]
        s.
    delta : float
    n_repeats, n_test : int
        Training sets, and fresh rows for the truth.
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> from assay.theory import hinge_bound_trial
    >>> trial = hinge_bound_trial(n_repeats=5, n_test=2000, random_state=0)
    >>> trial.share_above, trial.bites
    (0.0, True)

    References
    ----------
    Sangnier §1.4.7, corollary 43.
    """
    counts = {"n_samples": n_samples, "n_features": n_features, "n_repeats": n_repeats, "n_test": n_test}
    require("hinge_bound_trial", integer(at_least=1), **counts)
    require("hinge_bound_trial", real(at_least=0.0, at_most=1.0), signal=signal)
    rng, hinge = generator(random_state), Hinge()

    bounds, truth, risk = [], [], []
    for _ in range(n_repeats):
        X, y = _signed_rows(n_samples, n_features, signal, rng)
        fresh, labels = _signed_rows(n_test, n_features, signal, rng)
        pull = y @ X
        coef = radius * pull / np.linalg.norm(pull)
        mean_hinge = float(hinge.value(y, X @ coef).mean())
        bounds.append(hinge_risk_bound(mean_hinge, radius, 1.0, n_samples, delta))
        truth.append(np.mean(labels * (fresh @ coef) <= 0))
        risk.append(hinge.value(labels, fresh @ coef).mean())
    last = bounds[-1]
    return BoundTrial(
        np.array([bound.value for bound in bounds]),
        np.array(truth),
        np.array(risk),
        float(last.complexity[0]),
        float(last.confidence[0]),
        (1.0 + radius) / (2.0 * float(np.sqrt(n_test))),
        last.trivial,
        delta,
    )


def svr_bound_trial(
    *,
    n_samples: int = 2000,
    radius: float = 1.0,
    epsilon: float = 0.1,
    noise: float = 0.3,
    delta: float = 0.05,
    n_repeats: int = 50,
    n_test: int = 20_000,
    random_state: RandomState = None,
) -> BoundTrial:
    """Try the bound of `svr_oracle_bound` on training sets of a law.

    Rows are uniform on [−1, 1] (κ = 1) and Y = clip(0.8x + σ·noise, −1, 1). The minimiser over the ball
    |w| ≤ c is found among 201 slopes, for which the population risks are known to the same error.

    Parameters
    ----------
    n_samples : int
    radius, epsilon, noise : float
        c, ε and σ.
    delta : float
    n_repeats, n_test : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> from assay.theory import svr_bound_trial
    >>> trial = svr_bound_trial(n_repeats=5, random_state=0)
    >>> trial.share_above, trial.bites
    (0.0, True)

    References
    ----------
    Sangnier §1.5.3, corollary 47.
    """
    counts = {"n_samples": n_samples, "n_repeats": n_repeats, "n_test": n_test}
    require("svr_bound_trial", integer(at_least=1), **counts)
    rng, loss = generator(random_state), EpsilonInsensitive(float(epsilon))
    slopes = np.linspace(-radius, radius, 201)

    def risks(n_rows: int) -> Array:
        x = rng.uniform(-1.0, 1.0, n_rows)
        y = np.clip(0.8 * x + noise * rng.standard_normal(n_rows), -1.0, 1.0)
        return np.array([loss.value(y, slope * x).mean() for slope in slopes])

    population = risks(n_test)
    bound = svr_oracle_bound(radius, 1.0, 1.0, n_samples, delta)
    excess = np.array([population[risks(n_samples).argmin()] - population.min() for _ in range(n_repeats)])
    return BoundTrial(
        np.full(n_repeats, bound.value),
        excess,
        excess,
        float(bound.complexity[0]),
        float(bound.confidence[0]),
        (1.0 + radius) / float(np.sqrt(n_test)),
        bound.trivial,
        delta,
    )
