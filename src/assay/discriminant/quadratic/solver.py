"""Quadratic discriminant analysis from the moments of the classes: pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.gaussian.covariance import EPSILON, Factored, factored
from assay.discriminant.gaussian.gathering import Gathered, gather_gaussian
from assay.discriminant.generative import Family, counted
from assay.rows import Rows

Array = NDArray[np.float64]


class QuadraticSolution(NamedTuple):
    """A fitted quadratic discriminant analysis before it becomes attributes.

    Attributes
    ----------
    means : array of shape (K, d)
    covariances : array of shape (K, d, d)
    whitenings : array of shape (K, d, r)
        W_k with W_kᵀ Σ_k W_k = I on the r directions in which the classes vary.
    log_determinants : array of shape (K,)
    basis : array of shape (d, r)
        Orthonormal columns that span those directions.
    condition : float
        Worst condition number of a class, columns of unit variance.
    """

    means: Array
    covariances: Array
    whitenings: Array
    log_determinants: Array
    basis: Array
    condition: float


def kept_basis(pooled: Factored) -> Array:
    """Orthonormal columns that span the directions in which the classes vary."""
    d = len(pooled.covariance)
    return np.eye(d) if pooled.rank == d else np.linalg.qr(pooled.unwhitening)[0]


def solve_quadratic(means: Array, covariances: Array, pooled: Factored, tol: float) -> QuadraticSolution:
    """Whitenings and determinants of the classes, in coordinates where the pooled covariance is the identity.

    Raises
    ------
    SingularClassError
        With the place of a class that does not vary in some direction in which others do.
    """
    values, vectors = np.linalg.eigh(pooled.whitening.T @ covariances @ pooled.whitening)
    floor = np.maximum(tol**2, pooled.rank * EPSILON * values[:, -1])
    singular = np.flatnonzero(values[:, 0] <= floor)
    if singular.size:
        raise SingularClassError(int(singular[0]))
    whitenings = pooled.whitening @ (vectors / np.sqrt(values)[:, None, :])
    logs = np.log(values).sum(axis=1) + pooled.log_determinant
    condition = max(pooled.condition, float((values[:, -1] / values[:, 0]).max()))
    return QuadraticSolution(means, covariances, whitenings, logs, kept_basis(pooled), condition)


class SingularClassError(ValueError):
    """A class has no density: its place is the only argument."""


@dataclass(frozen=True, eq=False)
class QuadraticFamily(Family):
    """Gaussian classes with a covariance each.

    Attributes
    ----------
    owner : str
        Name of the estimator, for errors.
    unbiased : bool
        Whether the divisor is n_k − 1, not n_k.
    shrinkage, estimator : object
        As in `gather_gaussian`.
    reg_param, towards_linear : float
        Shares of the identity and of the pooled covariance in those of the classes.
    tol : float
    labels : array of shape (K,)
        What classes are called in errors.
    """

    owner: str
    unbiased: bool
    shrinkage: Any
    estimator: Any
    reg_param: float
    towards_linear: float
    tol: float
    labels: NDArray

    def gather(self, data: Rows, n_classes: int) -> Gathered:
        """One walk; a second one for Ledoit and Wolf's rule."""
        how: Any = {"shrinkage": self.shrinkage, "estimator": self.estimator, "owner": self.owner}
        return gather_gaussian(data, n_classes, apart=True, **how)

    def class_covariances(self, statistics: Gathered) -> Array:
        """(1 − r)[(1 − t) Σ_k + t Σ] + r I for each class."""
        moments = statistics.moments
        covariances = statistics.class_covariances(self.shrinkage)
        if self.unbiased and statistics.given is None:
            few = np.flatnonzero((moments.weight <= 1) & (moments.weight > 0))
            if few.size:
                raise self._singular(int(few[0]), statistics)
            heavy = np.where(moments.weight > 1, moments.weight, 2.0)
            covariances = covariances * (heavy / (heavy - 1))[:, None, None]
        absent = moments.weight == 0
        shares = moments.weight / moments.total_weight
        pooled = np.tensordot(shares, covariances, axes=1)
        if absent.any():  # the covariance of no row is that of all classes
            covariances = covariances.copy()
            covariances[absent] = pooled
        if self.towards_linear > 0:
            covariances = (1 - self.towards_linear) * covariances + self.towards_linear * pooled
        if self.reg_param > 0:
            covariances = (1 - self.reg_param) * covariances + self.reg_param * np.eye(pooled.shape[0])
        return np.asarray(covariances)

    def estimate(self, statistics: Gathered) -> Any:
        """The solution; a class without a density is refused by name."""
        covariances = self.class_covariances(statistics)
        shares = statistics.moments.weight / statistics.moments.total_weight
        pooled = factored(np.tensordot(shares, covariances, axes=1), self.tol)
        if pooled.rank == 0:
            raise ValueError(
                f"{self.owner} needs a column that varies within some class; every column of X is constant "
                "within each class."
            )
        try:
            return solve_quadratic(statistics.moments.means, covariances, pooled, self.tol)
        except SingularClassError as where:
            raise self._singular(where.args[0], statistics) from None

    def _singular(self, place: int, statistics: Gathered) -> ValueError:
        weight, d = statistics.moments.weight[place], statistics.moments.means.shape[1]
        label = self.labels[place : place + 1].tolist()[0]
        way_out = "shrink it by towards_linear or reg_param above 0"
        if self.shrinkage is None and weight > 2:  # of one row or two no rule finds a sphere
            way_out += ", or use shrinkage='auto'"
        return ValueError(
            f"The covariance of class {label!r} is singular ({counted(weight)}, {d} columns), so that "
            f"{self.owner} has no density for it: {way_out}."
        )
