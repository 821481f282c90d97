"""Which pictures there are of discriminant analysis."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.discriminant import (
    FisherDiscriminant,
    GaussianRegression,
    KernelFisherDiscriminant,
    LinearDiscriminantAnalysis,
    NearestCentroid,
    QuadraticDiscriminantAnalysis,
    Whitener,
)
from assay.display.base import Display
from assay.display.classes.curves import CalibrationDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.discriminant.ellipses import EllipsesDisplay
from assay.display.discriminant.frontier import FrontierDisplay
from assay.display.discriminant.projections import ProjectedDensitiesDisplay
from assay.display.kernel_machines import KernelWeightsDisplay
from assay.display.linear.coefficients import ClassCoefficientsDisplay, CoefficientsDisplay, draw_tinted
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import column_names, sampled
from assay.display.registry import Default, declare
from assay.display.style import PALETTE, caption


class AxesDisplay(Display):
    """Entries of the discriminant axes, each column in units of its deviation within the classes.

    Parameters
    ----------
    loadings : array of shape (n_axes, n_features)
    shares : array of shape (n_axes,)
        Share of each axis in the variance between the classes.
    names : list of str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import FisherDiscriminant
    >>> from assay.display import AxesDisplay
    >>> X, y = iris(return_X_y=True)
    >>> AxesDisplay.from_estimator(FisherDiscriminant().fit(X, y)).loadings.shape
    (2, 4)
    """

    loadings: NDArray
    shares: NDArray
    names: list[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        axes = estimator.components_ if hasattr(estimator, "components_") else estimator.scalings_.T
        units = np.sqrt(np.diagonal(estimator.covariance_))
        names = column_names(estimator, X, feature_names, axes.shape[1])
        shares = np.asarray(estimator.explained_variance_ratio_, dtype=float)
        return cls(np.asarray(axes, dtype=float) * units, shares[: len(axes)], names)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.names))
        width = 0.8 / max(len(self.loadings), 1)
        for axis, loadings in enumerate(self.loadings):
            label = f"axis {axis + 1} ({self.shares[axis]:.0%})" if axis < len(self.shares) else None
            offset = (axis - (len(self.loadings) - 1) / 2) * width
            color = PALETTE[axis % len(PALETTE)]
            ax.barh(places + offset, loadings, height=0.9 * width, color=color, label=label)
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        if len(self.loadings):
            ax.legend()
        caption(ax, "entry × deviation within the classes", "", "discriminant axes")


class WhitenedDisplay(Display):
    """Whitened rows in their first two coordinates, or the whitening matrix where there are no rows.

    Parameters
    ----------
    points : array of shape (n_rows, 2) or None
    matrix : array of shape (n_features, n_coordinates)
    names : list of str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import Whitener
    >>> from assay.display import WhitenedDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> WhitenedDisplay.from_estimator(Whitener().fit(X)).matrix.shape
    (4, 4)
    """

    points: NDArray | None
    matrix: NDArray
    names: list[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        matrix = np.asarray(estimator.whitening_, dtype=float)
        points = None
        if X is not None:
            rows = np.asarray(estimator.transform(X), dtype=float)
            points = rows[sampled(len(rows)), :2]
            if points.shape[1] == 1:
                points = np.column_stack([points, np.zeros(len(points))])
        return cls(points, matrix, column_names(estimator, X, feature_names, len(matrix)))

    def _draw(self, ax: Any) -> None:
        if self.points is None:
            draw_tinted(np.abs(self.matrix) / (np.abs(self.matrix).max() or 1.0), ax)
            ax.set_yticks(range(len(self.names)), self.names)
            ax.set_xticks(range(self.matrix.shape[1]))
            caption(ax, "coordinate", "column", "whitening matrix, in size")
            return
        ax.scatter(*self.points.T, s=14, alpha=0.6, color=PALETTE[0], linewidths=0)
        angle = np.linspace(0, 2 * np.pi, 181)
        ax.plot(np.cos(angle), np.sin(angle), color=PALETTE[1])
        ax.set_aspect("equal", adjustable="datalim")
        caption(ax, "first coordinate", "second coordinate", "whitened rows and the unit circle")


class RowWeightsDisplay(KernelWeightsDisplay):
    """Weights of the training rows in the projection of a kernel Fisher discriminant, in order.

    Parameters
    ----------
    weights : array of shape (n_rows, 1)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import RowWeightsDisplay
    >>> RowWeightsDisplay(np.array([[0.5], [-0.2]]), "two rows").plot().ax_.get_title()
    'two rows'
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        name = estimator.kernel if isinstance(estimator.kernel, str) else type(estimator.kernel_).__name__
        weights = np.asarray(estimator.dual_coef_, dtype=float)
        return cls(weights[:, None], f"{name} kernel, reg = {estimator.reg:.3g}")


SCORED = {
    "confusion": ConfusionDisplay,
    "roc": RocCurveDisplay,
    "precision_recall": PrecisionRecallDisplay,
    "calibration": CalibrationDisplay,
}


def _default(model: Any, X: Any, y: Any) -> str:
    """The frontier on data of two features or more, projections of one, else ellipses or coefficients."""
    alone = model.n_features_in_ == 1
    if X is None or (alone and y is None):
        return "coefficients" if alone and hasattr(model, "coef_") else "ellipses"
    return "projections" if alone else "frontier"


declare(
    LinearDiscriminantAnalysis,
    default=_default,
    frontier=FrontierDisplay,
    ellipses=EllipsesDisplay,
    projections=ProjectedDensitiesDisplay,
    axes=AxesDisplay,
    coefficients=ClassCoefficientsDisplay,
    **SCORED,
)
declare(
    QuadraticDiscriminantAnalysis,
    NearestCentroid,
    default=_default,
    frontier=FrontierDisplay,
    ellipses=EllipsesDisplay,
    projections=ProjectedDensitiesDisplay,
    **SCORED,
)
declare(
    FisherDiscriminant,
    default=Default("projections", "axes", target=True),
    projections=ProjectedDensitiesDisplay,
    axes=AxesDisplay,
    frontier=FrontierDisplay,
    confusion=ConfusionDisplay,
)
declare(
    KernelFisherDiscriminant,
    default=Default("projections", "weights", target=True),
    projections=ProjectedDensitiesDisplay,
    frontier=FrontierDisplay,
    weights=RowWeightsDisplay,
    confusion=ConfusionDisplay,
)
declare(Whitener, default=Default("whitened", "whitened"), whitened=WhitenedDisplay)
declare(
    GaussianRegression,
    default=Default("predictions", "coefficients", target=True),
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
    coefficients=CoefficientsDisplay,
)
