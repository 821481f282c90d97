"""The ridge oracle, its bound, and why the bound does not see the dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.certificates import Certificate, at_most
from assay.parameters import integer, real, refusal
from assay.randomness import RandomState, generator
from assay.theory._ridge import ridge_risk

Array = NDArray[np.float64]


class RidgeOracle(NamedTuple):
    """Ridge at the penalty that minimises a bound of its excess risk.

    Attributes
    ----------
    penalty_strength : float
        λ* = σ √(tr Σ)/(‖θ*‖ √n).
    risk : float
        Exact expected excess risk at λ*.
    bound : float
        σ √(tr Σ) ‖θ*‖/(2√n).
    printed_bound : float
        σ √(2 tr(Σ) ‖θ*‖)/√n, as the notes print it; false where ‖θ*‖ is large.
    best_penalty_strength, best_risk : float
        Exact minimiser of the risk over λ, and the risk there.
    certificate : Certificate
        That the risk at λ* is at most the bound.
    """

    penalty_strength: float
    risk: float
    bound: float
    printed_bound: float
    best_penalty_strength: float
    best_risk: float
    certificate: Certificate


def ridge_oracle_lambda(X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> float:
    """λ* = σ √(tr Σ)/(‖θ*‖ √n) with Σ = XᵀX/n, on the scale of the mean; infinite without a signal.

    It minimises λ‖θ*‖²/4 + σ² tr(Σ)/(4λn), a bound of the excess risk: each λ_j λ²/(λ_j + λ)² of the bias is
    at most λ/4, and each λ_j²/(λ_j + λ)² of the variance at most λ_j/(4λ).

    Parameters
    ----------
    X : array-like of shape (n, d)
        The fixed design; there is no intercept.
    true_coef : array-like of shape (d,)
        θ*; give a fitted coefficient for the plug-in version.
    noise_std : float
        σ.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_oracle_lambda
    >>> ridge_oracle_lambda(2.0 * np.eye(4), [1.0, 0.0, 0.0, 0.0], 0.5)
    0.5

    References
    ----------
    Rudi & Şimşekli §1.5.2, Property 1.6.
    """
    table, truth = _model("ridge_oracle_lambda", X, true_coef, noise_std)
    size = float(np.linalg.norm(truth))
    top = noise_std * float(np.linalg.norm(table)) / len(table)
    return top / size if size > 0 else (np.inf if top > 0 else 0.0)


def ridge_oracle(X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> RidgeOracle:
    """Exact risk of ridge at λ*, its bound, and what the best λ would reach.

    Parameters
    ----------
    X, true_coef, noise_std
        As in `ridge_oracle_lambda`; the signal must not vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import ridge_oracle
    >>> found = ridge_oracle(np.eye(4), [1.0, 1.0, 0.0, 0.0], 1.0)
    >>> found.risk <= found.bound, found.best_risk <= found.risk
    (True, True)

    References
    ----------
    Rudi & Şimşekli §1.5.2, Property 1.6, with the bound corrected.
    """
    table, truth = _model("ridge_oracle", X, true_coef, noise_std)
    size, n = float(np.linalg.norm(truth)), len(table)
    if size == 0:
        raise refusal("ridge_oracle", "true_coef", "different from zero", truth.tolist())
    strength = ridge_oracle_lambda(table, truth, noise_std)
    trace = float(np.sum(table**2)) / n
    risk = ridge_risk(table, truth, noise_std, [strength])
    best = risk.best_penalty_strength
    # As λ → ∞ the fit is zero and all of the signal is bias.
    least = float(np.sum((table @ truth) ** 2)) / n
    if np.isfinite(best):
        least = float(ridge_risk(table, truth, noise_std, [best]).risk[0])
    bound = noise_std * np.sqrt(trace / n) * size / 2
    exact = float(risk.risk[0])
    return RidgeOracle(
        strength,
        exact,
        float(bound),
        float(noise_std * np.sqrt(2 * trace * size / n)),
        best,
        min(least, exact),
        at_most(
            "The excess risk of ridge at λ* is at most σ √(tr Σ) ‖θ*‖/(2√n).",
            "expected excess risk",
            exact,
            bound,
            source="Rudi & Şimşekli §1.5.2",
            assumptions=("Y = Xθ* + ε with X fixed", "the errors are independent, centred, of variance σ²"),
            trivial=float(np.sum((table @ truth) ** 2)) / n,
            tolerance=1e-12 * float(bound),
        ),
    )


class DimensionFree(NamedTuple):
    """Least squares and ridge as the dimension grows, at one bound R of the norms of the rows.

    Attributes
    ----------
    n_features : array of int
    least_squares : array
        Exact excess risk σ² rank/n of least squares.
    ridge : array
        Exact excess risk of ridge at λ*.
    bound : float
        R σ ‖θ*‖/(2√n), for every dimension.
    """

    n_features: NDArray[np.int64]
    least_squares: Array
    ridge: Array
    bound: float


def dimension_free_experiment(
    n_features: ArrayLike,
    *,
    n_samples: int = 200,
    radius: float = 1.0,
    coef_norm: float = 1.0,
    noise_std: float = 1.0,
    random_state: RandomState = None,
) -> DimensionFree:
    """Exact risks on designs whose rows lie on a sphere of one radius, in ever more dimensions.

    tr Σ = (1/n) Σ ‖x_i‖² ≤ R², so that the bound of ridge at λ* has no d in it, while the risk σ² d/n of
    least squares grows until d = n.

    Parameters
    ----------
    n_features : array-like of int
        Dimensions d.
    n_samples : int, default=200
    radius, coef_norm, noise_std : float, default=1.0
        R, ‖θ*‖ and σ.
    random_state : int, Generator, SeedSequence, RandomState or None
        Draws the directions of the rows and of θ*.

    Examples
    --------
    >>> from assay.theory import dimension_free_experiment
    >>> found = dimension_free_experiment([5, 50, 500], random_state=0)
    >>> bool((found.ridge <= found.bound).all()), found.least_squares.round(3)
    (True, array([0.025, 0.25 , 1.   ]))

    References
    ----------
    Rudi & Şimşekli §1.5.3.
    """
    owner = "dimension_free_experiment"
    grid = np.atleast_1d(np.asarray(n_features))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or grid.size == 0 or grid.min() < 1:
        raise refusal(owner, "n_features", "a list of ints at least 1", n_features)
    _checked(owner, n_samples=n_samples, radius=radius, coef_norm=coef_norm, noise_std=noise_std)
    rng = generator(random_state)
    risks = np.empty((2, grid.size))
    for index, d in enumerate(grid):
        X = rng.standard_normal((n_samples, d))
        X *= radius / np.linalg.norm(X, axis=1, keepdims=True)
        truth = rng.standard_normal(d)
        truth *= coef_norm / np.linalg.norm(truth)
        risks[0, index] = noise_std**2 * np.linalg.matrix_rank(X) / n_samples
        risks[1, index] = ridge_oracle(X, truth, noise_std).risk
    bound = radius * noise_std * coef_norm / (2 * np.sqrt(n_samples))
    return DimensionFree(grid.astype(np.int64), risks[0], risks[1], float(bound))


def crossover_samples(n_features: int, *, radius: float, coef_norm: float, noise_std: float) -> float:
    """Rows n from which σ² d/n of least squares is below R σ ‖θ*‖/(2√n) of ridge: (2σd/(R‖θ*‖))².

    The first falls like 1/n and the second like 1/√n; but the first has σ² where the second has σ.

    Examples
    --------
    >>> from assay.theory import crossover_samples
    >>> crossover_samples(10, radius=1.0, coef_norm=1.0, noise_std=1.0)
    400.0

    References
    ----------
    Rudi & Şimşekli §1.5.3.
    """
    owner = "crossover_samples"
    _checked(owner, n_features=n_features, radius=radius, coef_norm=coef_norm, noise_std=noise_std)
    return float((2 * noise_std * n_features / (radius * coef_norm)) ** 2)


def _checked(owner: str, **values: float) -> None:
    for name, value in values.items():
        domain = integer(at_least=1) if name.startswith("n_") else real(above=0)
        if not domain.contains(value):
            raise refusal(owner, name, domain.words, value)


def _model(owner: str, X: ArrayLike, true_coef: ArrayLike, noise_std: float) -> tuple[Array, Array]:
    table, truth = np.asarray(X, dtype=float), np.asarray(true_coef, dtype=float)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise refusal(owner, "X", "a matrix of finite numbers", X)
    if truth.shape != table.shape[1:] or not np.isfinite(truth).all():
        raise refusal(owner, "true_coef", f"{table.shape[1]} finite numbers, one a column of X", true_coef)
    if not real(at_least=0).contains(noise_std):
        raise refusal(owner, "noise_std", "a finite number at least 0", noise_std)
    return table, truth
