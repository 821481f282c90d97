"""What Gaussian classifiers gather of the rows: moments, and what a rule of shrinkage asks beside them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay import parameters
from assay.discriminant.gaussian.covariance import fourth_powers, shrunk, shrunk_in_units
from assay.discriminant.gaussian.moments import ClassMoments, class_moments
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows

Array = NDArray[np.float64]

SHRINKAGE = parameters.nothing | parameters.one_of("auto", "oas") | parameters.real(at_least=0, at_most=1)
"""None, a share, or the rule that finds it: "auto" for Ledoit and Wolf's, "oas" for that of Gaussian rows."""

ESTIMATOR = parameters.nothing | Domain(
    "an object with a method fit and then an attribute covariance_", lambda value: hasattr(value, "fit")
)

ROUNDING = 1e-13
"""A variance below this share of the square of the mean, or of the variance in other classes, is rounding."""


class Gathered(NamedTuple):
    """Statistics of Gaussian classes.

    Attributes
    ----------
    moments : ClassMoments
    fourth : array of shape (K,) or None
        (1/w_k) Σ s ‖z‖⁴ of the standardised rows of each class, where a rule asks for it.
    given : array of shape (K, d, d) or None
        Covariances of the classes by an estimator of the user.
    """

    moments: ClassMoments
    fourth: Array | None = None
    given: Array | None = None

    def class_covariances(self, shrinkage: Any) -> Array:
        """Covariance of each class with divisor w_k, shrunk; of shape (K, d, d)."""
        if self.given is not None:
            return self.given
        weight = np.where(self.moments.weight > 0, self.moments.weight, 1.0)
        covariances = self.moments.scatters / weight[:, None, None]
        if shrinkage is None:
            return np.asarray(covariances)
        if not isinstance(shrinkage, str):
            return np.array([shrunk(covariance, float(shrinkage)) for covariance in covariances])
        fourth = np.zeros(len(weight)) if self.fourth is None else self.fourth
        covariances = without_rounding(covariances, self.moments.means)
        return np.array(
            [
                shrunk_in_units(covariance, shrinkage, float(power), float(count))
                for covariance, power, count in zip(covariances, fourth, weight, strict=True)
            ]
        )


def without_rounding(covariances: Array, means: Array) -> Array:
    """Covariances of the classes, 0 where a column does not vary in a class but for rounding.

    What rounding leaves of a constant may be negative, or a unit that magnifies it.
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    noise = ROUNDING * (means**2 + variances.max(axis=0, initial=0.0))
    varies = variances > noise
    return np.asarray(np.where(varies[:, :, None] & varies[:, None, :], covariances, 0.0))


def gather_gaussian(
    data: Rows, n_classes: int, *, apart: bool, shrinkage: Any, estimator: Any, owner: str
) -> Gathered:
    """Walk the rows for the moments of their classes, and once more where a rule asks for fourth powers."""
    apart = apart or isinstance(shrinkage, str)
    if estimator is not None:
        moments = class_moments(data, n_classes, apart=apart)
        return Gathered(moments, given=_estimated(data, n_classes, estimator, owner))
    moments = class_moments(data, n_classes, apart=apart)
    if not (isinstance(shrinkage, str) and shrinkage == "auto"):
        return Gathered(moments)
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    covariances = without_rounding(moments.scatters / weight[:, None, None], moments.means)
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    return Gathered(moments, fourth_powers(data, moments.means, variances) / weight)


def _estimated(data: Rows, n_classes: int, estimator: Any, owner: str) -> Array:
    """The covariance that the user's estimator finds for each class."""
    if not isinstance(data, MemoryRows) or data.is_sparse or data.y is None:
        raise ValueError(
            f"The 'covariance_estimator' of {owner} needs dense rows in memory; use shrinkage='auto' instead."
        )
    if data.weight is not None:
        raise ValueError(
            f"The 'covariance_estimator' of {owner} takes no sample_weight; use shrinkage='auto' instead."
        )
    found = []
    for k in range(n_classes):
        fitted = clone(estimator).fit(data.X[data.y == k])
        if not hasattr(fitted, "covariance_"):
            name = type(estimator).__name__
            raise ValueError(
                f"The 'covariance_estimator' of {owner} must have an attribute covariance_ after its fit. "
                f"Got {name}, which has none."
            )
        found.append(np.asarray(fitted.covariance_, dtype=np.float64))
    return np.array(found)
