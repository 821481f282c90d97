"""Theorems seen at work: overfitting, far points, the price of squaring, dimensions that do not count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from assay.losses import chosen
from assay.optimize import logistic_objective, newton
from assay.parameters import integer, real, refusal, require
from assay.randomness import RandomState, generator
from assay.rows import rows
from assay.solvers import by_cholesky, by_dual, minimum_norm, moments
from assay.theory.least_squares import Array, noise_deviation
from assay.theory.ridge import ridge_oracle

N_NODES = 200
"""Nodes of the quadrature: exact for the squares of polynomials of degree below this."""


class Overfitting(NamedTuple):
    """Least squares by polynomials of several degrees on one noisy sample, or on many.

    Attributes
    ----------
    degrees : array of int of shape (k,)
    train_risk : array of shape (k,)
        (1/n) Σ (y_i − f(x_i))², mean over the samples; it falls with the degree.
    true_risk : array of shape (k,)
        E (Y − f(X))² for X uniform on [−1, 1], by quadrature, median over the samples; it falls and rises
        again.
    x, y : arrays of shape (n,)
        The last sample.
    coef : list of arrays
        Legendre coefficients of the fits to the last sample.
    noise_variance : float
        σ², the least risk there is.
    """

    degrees: NDArray[np.int64]
    train_risk: Array
    true_risk: Array
    x: Array
    y: Array
    coef: list[Array]
    noise_variance: float

    @property
    def best_degree(self) -> int:
        """The degree of least true risk."""
        return int(self.degrees[np.argmin(self.true_risk)])


def polynomial_overfitting(
    regression_function: Callable[[Array], Array],
    degrees: ArrayLike,
    *,
    n_samples: int = 20,
    noise_std: float = 0.3,
    n_draws: int = 1,
    random_state: RandomState = None,
) -> Overfitting:
    """Fit polynomials of several degrees to noisy points y = f*(x) + σε, x uniform on [−1, 1].

    Parameters
    ----------
    regression_function : callable
        f*, from an array of points to an array of values.
    degrees : array-like of int
    n_samples : int, default=20
        Points of a sample.
    noise_std : float, default=0.3
        σ.
    n_draws : int, default=1
        Samples drawn.
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import polynomial_overfitting
    >>> fits = polynomial_overfitting(lambda x: np.sin(4 * x), [1, 5, 15], random_state=0)
    >>> bool(np.all(np.diff(fits.train_risk) < 0)), fits.best_degree
    (True, 5)

    References
    ----------
    Rudi & Şimşekli §1.2, figures on over- and under-fitting.
    """
    owner = "polynomial_overfitting"
    grid = np.atleast_1d(np.asarray(degrees))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or not 0 <= grid.min() <= grid.max() < N_NODES:
        raise refusal(owner, "degrees", f"a list of ints from 0 to {N_NODES - 1}", degrees)
    require(owner, integer(at_least=1), n_samples=n_samples, n_draws=n_draws)
    noise_std = noise_deviation(owner, noise_std)
    rng = generator(random_state)
    nodes, weights = legendre.leggauss(N_NODES)
    truth = np.asarray(regression_function(nodes), dtype=float)
    train, true = np.empty((2, n_draws, grid.size))
    for draw in range(n_draws):
        x = rng.uniform(-1, 1, n_samples)
        y = np.asarray(regression_function(x), dtype=float) + noise_std * rng.standard_normal(n_samples)
        coef = []
        for index, degree in enumerate(grid):
            table = np.asarray(legendre.legvander(x, int(degree)), dtype=np.float64)
            coef.append(minimum_norm(table, y[:, None]).coef[:, 0])
            train[draw, index] = np.mean((y - table @ coef[-1]) ** 2)
            gap = truth - legendre.legval(nodes, coef[-1])
            true[draw, index] = weights @ gap**2 / 2 + noise_std**2
    risks = train.mean(axis=0), np.median(true, axis=0)
    return Overfitting(grid.astype(np.int64), *risks, x, y, coef, noise_std**2)


class Sensitivity(NamedTuple):
    """Two linear rules for two classes as one added point moves away.

    Attributes
    ----------
    distances : array of shape (k,)
    moment_angle, logistic_angle : arrays of shape (k,)
        Angle in degrees between the direction of the rule with the point and without it.
    moment_error, logistic_error : arrays of shape (k,)
        Share of the other points that the rule with the point puts on the wrong side.
    logistic_weight : array of shape (k,)
        p(1 − p) of the added point, what it weighs in the logistic likelihood's curvature.
    """

    distances: Array
    moment_angle: Array
    logistic_angle: Array
    moment_error: Array
    logistic_error: Array
    logistic_weight: Array


def outlier_sensitivity(
    X: ArrayLike, y: ArrayLike, direction: ArrayLike, distances: ArrayLike, *, label: int = 1
) -> Sensitivity:
    """Add one point of a class at growing distances along a direction, and fit two rules each time.

    The first is the linear discriminant Σ̂⁻¹(μ̂₁ − μ̂₀) with pooled covariance, made of first and second
    moments, in which a point weighs the more the farther it is; the second is logistic regression, in which
    a point on its right side weighs p(1 − p), which vanishes with the distance.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Labels 0 and 1 that no hyperplane separates.
    direction : array-like of shape (d,)
        From the mean of all points.
    distances : array-like of non-negative numbers
    label : {0, 1}, default=1
        Class of the added point.

    References
    ----------
    Sangnier §1.2, on the choice between discriminant analysis and logistic regression.
    """
    table, labels = np.asarray(X, dtype=float), np.asarray(y)
    owner = "outlier_sensitivity"
    if table.ndim != 2 or labels.shape != table.shape[:1] or set(np.unique(labels)) != {0, 1}:
        raise refusal(owner, "y", "labels 0 and 1, one per row of a matrix X", labels.tolist())
    toward = np.asarray(direction, dtype=float)
    if toward.shape != table.shape[1:] or not np.linalg.norm(toward) > 0:
        raise refusal(owner, "direction", f"{table.shape[1]} numbers, not all zero", direction)
    grid = np.atleast_1d(np.asarray(distances, dtype=float))
    if not all(real(at_least=0).contains(float(value)) for value in grid):
        raise refusal(owner, "distances", "numbers at least 0", distances)
    if label not in (0, 1):
        raise refusal(owner, "label", "0 or 1", label)
    toward = toward / np.linalg.norm(toward)
    plain = linear_discriminant(table, labels), _logistic(table, labels)
    result = np.empty((5, grid.size))
    for index, distance in enumerate(grid):
        point = table.mean(axis=0) + distance * toward
        more, classes = np.vstack([table, point]), np.append(labels, label)
        for which, fit in enumerate((linear_discriminant, _logistic)):
            rule = fit(more, classes)
            first, second = rule[:-1], plain[which][:-1]
            cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
            result[which, index] = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
            wrong = chosen(table @ rule[:-1] + rule[-1]) != labels
            result[2 + which, index] = wrong.mean()
        chance = expit(point @ rule[:-1] + rule[-1])
        result[4, index] = chance * (1 - chance)
    return Sensitivity(grid, *result)


def linear_discriminant(X: Array, y: NDArray) -> Array:
    """Slope and intercept of the linear discriminant with pooled covariance."""
    zero, one = X[y == 0], X[y == 1]
    means = zero.mean(axis=0), one.mean(axis=0)
    scatter = sum((part - mean).T @ (part - mean) for part, mean in zip((zero, one), means, strict=True))
    slope = np.linalg.solve(scatter / len(X), means[1] - means[0])
    return np.append(slope, np.log(len(one) / len(zero)) - slope @ (means[0] + means[1]) / 2)


def _logistic(X: Array, y: NDArray) -> Array:
    """Slope and intercept of logistic regression."""
    table = np.column_stack([X, np.ones(len(X))])
    return newton(logistic_objective(table, y), np.zeros(table.shape[1]), tol=1e-12).point


class Crossover(NamedTuple):
    """Seconds that the two forms of ridge took, and how far apart their coefficients are."""

    n_features: NDArray
    primal: Array
    dual: Array
    largest_difference: Array


def primal_dual_crossover(
    n_features: ArrayLike, *, n_samples: int = 300, alpha: float = 1.0, repeats: int = 3
) -> Crossover:
    """Time ridge in its primal form (size d) and dual form (size n) as d grows past n.

    w = (XᵀX + αI_d)⁻¹Xᵀy = Xᵀ(XXᵀ + αI_n)⁻¹y: the same vector; the smaller system wins (Peyré, ridge).

    Parameters
    ----------
    n_features : array-like of int
    n_samples : int, default=300
    alpha : float, default=1.0
    repeats : int, default=3
        The shortest of so many runs is kept.
    """
    rng = np.random.default_rng(11)
    grid = np.asarray(n_features, dtype=int)
    seconds, difference = np.empty((2, grid.size)), np.empty(grid.size)
    for index, d in enumerate(grid):
        X, y = rng.standard_normal((n_samples, d)), rng.standard_normal((n_samples, 1))
        primal, seconds[0, index] = _shortest(partial(_primal_form, X, y, alpha), repeats)
        dual, seconds[1, index] = _shortest(lambda: by_dual(X, y, np.array([alpha])).coef, repeats)  # noqa: B023
        difference[index] = np.abs(primal - dual).max()
    return Crossover(grid, seconds[0], seconds[1], difference)


def _primal_form(X: Array, y: Array, alpha: float) -> Array:
    solution = by_cholesky(moments(rows(X, y), center=False), np.array([alpha]))
    if solution is None:
        raise refusal("primal_dual_crossover", "alpha", "large enough for a Cholesky factorisation", alpha)
    return solution.coef


def _shortest(form: Callable[[], Array], repeats: int) -> tuple[Array, float]:
    """The coefficients, and the shortest time of several runs."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        coef = form()
        times.append(perf_counter() - start)
    return coef, min(times)


class Stability(NamedTuple):
    """Relative errors of two solvers as the condition number grows."""

    condition: Array
    normal_equations: Array
    qr: Array


def squaring_experiment(conditions: ArrayLike, *, n_samples: int = 60, n_features: int = 8) -> Stability:
    """Solve least squares with a known answer by normal equations and by QR, for growing cond(X).

    X = U diag(s) Vᵀ with singular values from 1 down to 1/cond, y = X·1 exactly. The error of the normal
    equations grows like cond², that of QR like cond (Rudi & Şimşekli §1.3.3).
    """
    rng = np.random.default_rng(7)
    u, _ = np.linalg.qr(rng.standard_normal((n_samples, n_features)))
    v, _ = np.linalg.qr(rng.standard_normal((n_features, n_features)))
    truth = np.ones(n_features)
    grid = np.asarray(conditions, dtype=float)
    errors = np.empty((2, grid.size))
    for index, condition in enumerate(grid):
        X = (u * np.geomspace(1, 1 / condition, n_features)) @ v.T
        y = X @ truth
        normal = np.linalg.solve(X.T @ X, X.T @ y)
        q, r = np.linalg.qr(X)
        triangular = np.linalg.solve(r, q.T @ y)
        for row, coef in enumerate((normal, triangular)):
            errors[row, index] = np.linalg.norm(coef - truth) / np.linalg.norm(truth)
    return Stability(grid, errors[0], errors[1])


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
    >>> curves = dimension_free_experiment([5, 50, 500], random_state=0)
    >>> bool((curves.ridge <= curves.bound).all()), curves.least_squares.round(3)
    (True, array([0.025, 0.25 , 1.   ]))

    References
    ----------
    Rudi & Şimşekli §1.5.3.
    """
    owner = "dimension_free_experiment"
    grid = np.atleast_1d(np.asarray(n_features))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or grid.size == 0 or grid.min() < 1:
        raise refusal(owner, "n_features", "a list of ints at least 1", n_features)
    require(owner, integer(at_least=1), n_samples=n_samples)
    require(owner, real(above=0), radius=radius, coef_norm=coef_norm, noise_std=noise_std)
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
    require("crossover_samples", integer(at_least=1), n_features=n_features)
    require("crossover_samples", real(above=0), radius=radius, coef_norm=coef_norm, noise_std=noise_std)
    return float((2 * noise_std * n_features / (radius * coef_norm)) ** 2)
