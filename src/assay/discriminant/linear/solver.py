"""Linear discriminant analysis from the moments of the classes: pure functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.gaussian.axes import Axes, discriminant_axes
from assay.discriminant.gaussian.covariance import Factored, factored, shrunk
from assay.discriminant.gaussian.gathering import Gathered, gather_gaussian
from assay.discriminant.gaussian.laws import SharedGaussian
from assay.discriminant.generative import Family
from assay.rows import Rows

Array = NDArray[np.float64]

NEVER = -1e30
"""In place of the logarithm of a prior of 0: finite, so that differences of two scores are numbers."""


def finite_log(priors: Array) -> Array:
    """Logarithms of the priors, `NEVER` for a class that does not occur."""
    return np.log(priors, out=np.full(len(priors), NEVER), where=priors > 0)


class LinearSolution(NamedTuple):
    """A fitted linear discriminant analysis before it becomes attributes, everything in float64.

    Attributes
    ----------
    means : array of shape (K, d)
    center : array of shape (d,)
        Σ_k π_k μ_k.
    factor : Factored
        The covariance and its whitening.
    axes : Axes
    coef, intercept : arrays of shape (K, d), (K,)
        Scores x ↦ ⟨Σ⁺(μ_k − c), x⟩ + b_k: log π_k + log p_k(x) up to a term that all classes share.
    """

    means: Array
    center: Array
    factor: Factored
    axes: Axes
    coef: Array
    intercept: Array


def solve_linear(means: Array, covariance: Array, priors: Array, tol: float) -> LinearSolution:
    """Scores and axes of classes with one covariance."""
    factor = factored(covariance, tol)
    center = priors @ means
    axes = discriminant_axes(means, priors, factor, tol)
    whitened = (means - center) @ factor.whitening
    coef = whitened @ factor.whitening.T
    level = finite_log(priors) - 0.5 * np.einsum("ij,ij->i", whitened, whitened)
    return LinearSolution(means, center, factor, axes, coef, level - coef @ center)


@dataclass(frozen=True, eq=False)
class LinearFamily(Family):
    """Gaussian classes with one covariance.

    Attributes
    ----------
    owner : str
        Name of the estimator, for errors.
    covariance : {"within", "unbiased", "total"}
        Divisor n, divisor n − K, or scatter about the mean of all rows.
    shrinkage, estimator : object
        As in `gather_gaussian`.
    priors : array of shape (K,)
    by_priors : bool
        Whether the covariances of the classes are averaged with the priors, not with the shares of the rows.
    tol : float
    """

    owner: str
    covariance: str
    shrinkage: Any
    estimator: Any
    priors: Array
    by_priors: bool
    tol: float

    def gather(self, data: Rows, n_classes: int) -> Gathered:
        """One walk; a second one for Ledoit and Wolf's rule."""
        how: Any = {"shrinkage": self.shrinkage, "estimator": self.estimator, "owner": self.owner}
        return gather_gaussian(data, n_classes, apart=self.by_priors, **how)

    def shared_covariance(self, statistics: Gathered) -> Array:
        """The covariance that the parameters ask for."""
        moments = statistics.moments
        n, k = moments.total_weight, np.count_nonzero(moments.weight)
        if self.covariance == "total":
            total = (moments.within + moments.between) / n
            return total if self.shrinkage is None else shrunk(total, float(self.shrinkage))
        if self.by_priors or isinstance(self.shrinkage, str) or statistics.given is not None:
            shares = self.priors if self.by_priors else moments.weight / n
            result = np.tensordot(shares, statistics.class_covariances(self.shrinkage), axes=1)
        else:
            result = moments.within / n
            result = result if self.shrinkage is None else shrunk(result, float(self.shrinkage))
        if self.covariance == "within":
            return np.asarray(result)
        if n <= k:
            raise ValueError(
                f"{self.owner} with covariance='unbiased' divides by n − K: it needs rows of more weight "
                f"({n:g}) than classes ({k}); use covariance='within'."
            )
        return np.asarray(result * (n / (n - k)))

    def estimate(self, statistics: Gathered) -> Any:
        """The solution; `shared_gaussian` makes it class laws."""
        covariance = self.shared_covariance(statistics)
        solution = solve_linear(statistics.moments.means, covariance, self.priors, self.tol)
        if solution.factor.rank == 0:
            raise ValueError(
                f"{self.owner} needs a column that varies within some class; every column of X is constant "
                "within each class."
            )
        return solution


def shared_gaussian(means: Array, center: Array, factor: Factored) -> SharedGaussian:
    """Class laws of one covariance."""
    return SharedGaussian(means, center, factor.whitening, factor.unwhitening, factor.log_determinant)
