"""Gaussian regression: the law of a target given features that are jointly Gaussian with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.datasets.requirements import covariance_stack, finite_array
from assay.discriminant.gaussian.covariance import factored
from assay.discriminant.generative import in_precision
from assay.discriminant.linear.certificates import LARGEST_CONDITION, rounding
from assay.models.capabilities import Regressor
from assay.parameters import Domain
from assay.rows import Block, Rows
from assay.solvers import moments

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.2, proposition 8"


class ConditionalLaw(NamedTuple):
    """The law N(mean, deviation²) of the target at each row.

    Attributes
    ----------
    mean : array of shape (n_samples,)
    deviation : float
        The same at every row.
    """

    mean: NDArray
    deviation: float


class JointLaw(NamedTuple):
    """Mean and covariance of (x, y), the target last, and what is conditional in them."""

    mean: Array
    covariance: Array
    coef: Array
    intercept: float
    variance: float
    condition: float


def condition_on_features(mean: Array, covariance: Array, tol: float) -> JointLaw:
    """W = Σ⁻¹ℓ, s′² = s² − ℓᵀΣ⁻¹ℓ; directions in which the features do not vary are left out."""
    factor = factored(covariance[:-1, :-1], tol)
    coef = factor.solve(covariance[:-1, -1])
    explained = float(np.sum((factor.whitening.T @ covariance[:-1, -1]) ** 2))
    variance = max(float(covariance[-1, -1]) - explained, 0.0)
    condition = factor.condition if factor.rank else 1.0
    return JointLaw(mean, covariance, coef, float(mean[-1] - coef @ mean[:-1]), variance, condition)


class GaussianRegression(Regressor):
    """The conditional law of a target that is jointly Gaussian with the features.

    Maximises over (μ, Σ) of the joint law

        (X, Y) ~ N((μ, m), [[Σ, ℓ], [ℓᵀ, s²]])

    the likelihood of the rows; then Y | X = x ~ N(m + ⟨w, x − μ⟩, s′²) with w = Σ⁻¹ℓ and s′² = s² − ℓᵀΣ⁻¹ℓ.
    The conditional mean is that of least squares, from one walk over the rows.

    Assumes: rows and target jointly Gaussian, for the intervals; the mean is the best linear prediction of
    any law with second moments.

    Certificates: Σw = ℓ, condition of Σ; `certify` adds that the residuals of the rows are orthogonal to
    every feature and have the conditional variance.

    Parameters
    ----------
    tol : float, default=1e-7
        Standard deviation, of columns of unit variance, at or below which a direction is left out.

    Attributes
    ----------
    mean_ : array of shape (n_features + 1,)
        μ and m.
    covariance_ : array of shape (n_features + 1, n_features + 1)
        Divisor n.
    coef_ : array of shape (n_features,)
    intercept_ : float
    conditional_variance_ : float
        s′².
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import LinearGaussian
    >>> from assay.discriminant import GaussianRegression
    >>> X, y = LinearGaussian([1.0, -2.0], noise_std=0.5).sample(400, random_state=0)
    >>> model = GaussianRegression().fit(X, y)
    >>> model.coef_.round(0), round(model.conditional_variance_, 1)
    (array([ 1., -2.]), 0.2)
    >>> model.predict_interval(X[:2], coverage=0.95).shape
    (2, 2)

    References
    ----------
    Sangnier §1.1.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {"tol": parameters.real(at_least=0, at_most=1)}
    _checks_finite = True

    def __init__(self, *, tol: float = 1e-7) -> None:
        self.tol = tol

    @classmethod
    def from_parameters(cls, mean: Any, covariance: Any, *, tol: float = 1e-7) -> Self:
        """The oracle: the conditional law of a known joint law, the target last.

        Examples
        --------
        >>> from assay.discriminant import GaussianRegression
        >>> oracle = GaussianRegression.from_parameters([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]])
        >>> oracle.predict([[2.0]]), oracle.conditional_variance_
        (array([2.]), 0.75)
        """
        center = finite_array(cls.__name__, "mean", mean, 1)
        matrix = covariance_stack(cls.__name__, "covariance", covariance, 1, len(center))[0]
        model = cls(tol=tol)
        model.n_features_in_ = len(center) - 1
        law = condition_on_features(np.array(center), np.array(matrix), tol)
        model._store(law, np.dtype(np.float64))
        model.certificates_ = Certificates(model._equations(law, np.dtype(np.float64)))
        return model

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data = self._open_vector(X, y, sample_weight)
        law = self._solve(data)
        self._store(law, data.dtype)
        self.certificates_ = Certificates([*self._equations(law, data.dtype), self._same_moments(law)])
        return self

    def _solve(self, data: Rows) -> JointLaw:
        stats = moments(data, center=True)
        d = data.shape[1]
        covariance = np.empty((d + 1, d + 1))
        covariance[:d, :d], covariance[:d, d] = stats.xx, stats.xy[:, 0]
        covariance[d, :d], covariance[d, d] = stats.xy[:, 0], stats.yy[0]
        mean = np.concatenate([stats.mean_x, stats.mean_y])
        return condition_on_features(mean, covariance / stats.weight, self.tol)

    def _store(self, law: JointLaw, dtype: np.dtype) -> None:
        self.mean_, self.covariance_ = law.mean, law.covariance
        self.coef_, level = in_precision(self, dtype, law.coef, law.intercept)
        self.intercept_ = level[()]
        self.conditional_variance_ = law.variance

    def predict(self, X: Any) -> Any:
        """E[Y | X = x] at each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(mean_block, self.coef_, self.intercept_, dtype=self.coef_.dtype)

    def conditional_law(self, X: Any) -> ConditionalLaw:
        """Mean and standard deviation of Y given each row."""
        return ConditionalLaw(self.predict(X), float(np.sqrt(self.conditional_variance_)))

    def predict_interval(self, X: Any, *, coverage: float = 0.9) -> NDArray:
        """Ends of the central interval of the conditional law at each row, of shape (n_samples, 2).

        Parameters
        ----------
        X : rows
        coverage : float in (0, 1), default=0.9
            Probability of the interval under the fitted law, whose own uncertainty is not added.
        """
        check_is_fitted(self)
        parameters.require("GaussianRegression", COVERAGE, coverage=coverage)
        law = self.conditional_law(X)
        half = float(ndtri((1 + coverage) / 2)) * law.deviation
        mean = np.asarray(law.mean)
        return np.column_stack([mean - half, mean + half])

    def _equations(self, law: JointLaw, dtype: np.dtype) -> list[Certificate]:
        """Σw = ℓ and the conditional variance of the stored numbers, relative to the sizes of the columns."""
        covariance, coef = law.covariance, np.asarray(self.coef_, dtype=np.float64)
        scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        size = np.where(scale > 0, scale, 1.0)
        off = np.abs(covariance[:-1, :-1] @ coef - covariance[:-1, -1]) / size[:-1] / size[-1]
        summands = 1 + np.abs(coef) @ scale[:-1] / size[-1]
        level = abs(float(self.intercept_) + coef @ law.mean[:-1] - law.mean[-1])
        heights = np.abs(coef) @ (np.abs(law.mean[:-1]) + scale[:-1]) + abs(law.mean[-1]) + size[-1]
        heights = heights or 1.0
        left = covariance[-1, -1] - 2 * coef @ covariance[:-1, -1] + coef @ covariance[:-1, :-1] @ coef
        room = abs(left) + 1e-9 * summands**2 * size[-1] ** 2
        spread = abs(self.conditional_variance_ - left) / (room or 1.0)
        claim = "Σw = ℓ: the conditional mean is the linear prediction of least error."
        tolerance = 10 * rounding(dtype)
        worst = max(float(off.max(initial=0.0)) / summands, level / heights)
        variance = "The conditional variance is s² − ℓᵀΣ⁻¹ℓ."
        return [
            at_most(claim, "‖Σw − ℓ‖, relative", worst, tolerance, SOURCE),
            at_most(variance, "relative error of the conditional variance", spread, 1e-3, SOURCE),
            at_most(
                "The condition of Σ leaves four digits.", "condition number", law.condition, LARGEST_CONDITION
            ),
        ]

    def _same_moments(self, law: JointLaw) -> Certificate:
        scale = np.sqrt(np.maximum(np.diagonal(law.covariance), 0.0))
        size = np.where(scale > 0, scale, np.where(law.mean != 0, np.abs(law.mean), 1.0))
        level = np.maximum(1.0, np.abs(law.mean / size).max())
        mean = 1 + (self.mean_ - law.mean) / size / level
        matrix = 1 + (self.covariance_ - law.covariance) / size / size[:, None]
        pairs = {"mean_": (mean, np.ones_like(mean)), "covariance_": (matrix, np.ones_like(matrix))}
        return agreement("Mean and covariance are those of the rows.", pairs, SOURCE)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh, on the residuals of the rows too.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_vector(X, y, sample_weight)
        law = self._solve(data)
        found = [*self._equations(law, data.dtype), self._same_moments(law)]
        coef = np.asarray(self.coef_, dtype=np.float64)
        state = law.mean, coef, float(self.intercept_)
        weight, total, cross, squares = data.reduce(residual_block, *state)
        scale = np.sqrt(np.diagonal(law.covariance))
        noise = np.abs(coef) @ np.hypot(scale[:-1], np.abs(law.mean[:-1])) + np.hypot(scale[-1], law.mean[-1])
        size = np.where(scale[:-1] > 0, scale[:-1], 1.0)
        room = max(float(scale[-1]), float(noise) * np.finfo(data.dtype).eps / rounding(data.dtype), 1e-300)
        off = max(float((np.abs(cross) / weight / size).max(initial=0.0)), abs(total) / weight) / room
        scale_of = squares / weight + 1e-6 * room**2
        gap = abs(squares / weight - self.conditional_variance_) / (scale_of or 1.0)
        tolerance = 10 * rounding(data.dtype)
        claim = "The residuals of the rows are orthogonal to the features and have mean zero."
        variance = "Their mean square is the conditional variance."
        more = [
            at_most(claim, "residual against the features", off, tolerance, SOURCE),
            at_most(variance, "relative error of the variance on the rows", gap, 1e-3, SOURCE),
        ]
        return Certificates([*found, *more])


COVERAGE = Domain(
    "a number between 0 and 1", lambda value: parameters.real(above=0).contains(value) and float(value) < 1
)


def mean_block(block: Block, coef: NDArray, intercept: Any) -> NDArray:
    """Conditional means of one block."""
    return np.asarray(block.X @ coef) + intercept


def residual_block(
    block: Block, mean: Array, coef: Array, intercept: float
) -> tuple[float, float, Array, float]:
    """Σ s, Σ s r, Σ s (x − μ) r and Σ s r² of one block."""
    assert block.y is not None
    weights, X = block.weights, block.dense.astype(np.float64)
    residual = block.y.reshape(len(X)) - X @ coef - intercept
    pull = weights * residual
    return float(weights.sum()), float(pull.sum()), (X - mean[:-1]).T @ pull, float(pull @ residual)
