"""Pictures of risks: over- and under-fitting, the dimension-free bound, a penalty on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.linear.pictures import draw_errors
from assay.display.plane import dense
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption, colors
from assay.theory import DimensionFree, Overfitting


class OverfittingDisplay(Display):
    """Training and true risk against the degree of a polynomial: too simple, right, too rich.

    Parameters
    ----------
    degrees, train_risk, true_risk : arrays of shape (n_degrees,)
    noise_variance : float
        The risk that no function undercuts.
    best_degree : int

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, theory
    >>> result = theory.polynomial_overfitting(lambda x: np.sin(4 * x), range(12), random_state=0)
    >>> display.OverfittingDisplay.from_result(result).true_risk.shape
    (12,)
    """

    degrees: NDArray
    train_risk: NDArray
    true_risk: NDArray
    noise_variance: float
    best_degree: int

    @classmethod
    def from_result(cls, result: Overfitting, *, ax: Any = None) -> Self:
        """Draw what `assay.theory.polynomial_overfitting` returned."""
        return cls._read_off(result).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        train = np.maximum(self.train_risk, 1e-6)
        ax.plot(self.degrees, train, "o-", color=PALETTE[0], label="training risk")
        ax.plot(self.degrees, self.true_risk, "o-", color=PALETTE[1], label="true risk")
        if self.noise_variance > 0:
            ax.axhline(self.noise_variance, color=FAINT_INK, linewidth=1.1, linestyle=DASHES, label="noise")
        ax.axvline(self.best_degree, color=ACCENT, linewidth=1.2, linestyle=(0, (1, 2)))
        ax.set_yscale("log")
        ax.legend()
        title = f"too simple, right (degree {self.best_degree}), too rich"
        ax.set(xlabel="degree", ylabel="mean squared error", title=title)


class PolynomialFitsDisplay(Display):
    """Polynomials of several degrees on one sample.

    Parameters
    ----------
    x, y : arrays of shape (n_rows,)
        The sample.
    grid : array of shape (n_points,)
    curves : array of shape (n_degrees, n_points)
    degrees : sequence of int

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, theory
    >>> result = theory.polynomial_overfitting(lambda x: np.sin(4 * x), range(4), random_state=0)
    >>> display.PolynomialFitsDisplay.from_result(result).curves.shape
    (4, 500)
    """

    x: NDArray
    y: NDArray
    grid: NDArray
    curves: NDArray
    degrees: Sequence[int]

    @classmethod
    def from_result(cls, result: Overfitting, *, ax: Any = None) -> Self:
        """Draw the fits of what `assay.theory.polynomial_overfitting` returned."""
        grid = np.linspace(-1, 1, 500)
        curves = np.array([legendre.legval(grid, coef) for coef in result.coef])
        degrees = [int(degree) for degree in result.degrees]
        return cls(np.asarray(result.x), np.asarray(result.y), grid, curves, degrees).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.scatter(self.x, self.y, s=26, color=FAINT_INK, zorder=3, linewidths=0)
        for color, degree, curve in zip(colors(len(self.curves)), self.degrees, self.curves, strict=True):
            ax.plot(self.grid, curve, color=color, linewidth=1.6, label=f"degree {degree}")
        margin = 0.6 * float(np.ptp(self.y))
        ax.set_ylim(self.y.min() - margin, self.y.max() + margin)
        if len(self.curves) <= 8:
            ax.legend()
        ax.set(xlabel="x", ylabel="y", title="polynomials of several degrees on one sample")


def plot_overfitting(result: Overfitting, *, kind: str = "risk", ax: Any = None) -> Any:
    """Draw the training and the true risk against the degree, or the fitted polynomials.

    Parameters
    ----------
    result : Overfitting
        Result of `assay.theory.polynomial_overfitting`.
    kind : {"risk", "fits"}, default="risk"
    ax : matplotlib Axes, optional

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, theory
    >>> result = theory.polynomial_overfitting(lambda x: np.sin(4 * x), range(12), random_state=0)
    >>> display.plot_overfitting(result).get_xlabel()
    'degree'
    """
    if kind not in ("risk", "fits"):
        raise ValueError(f"The 'kind' of plot_overfitting must be 'risk' or 'fits'. Got {kind!r} instead.")
    if kind == "risk":
        return OverfittingDisplay.from_result(result, ax=ax).ax_
    return PolynomialFitsDisplay.from_result(result, ax=ax).ax_


class DimensionFreeDisplay(Display):
    """Exact risks of least squares and ridge against the dimension, with the bound of ridge.

    Parameters
    ----------
    n_features, least_squares, ridge : arrays of shape (n_dimensions,)
        Dimensions, and the expected excess risk of each method.
    bound : float
        R σ ‖θ*‖/(2√n), the same for all dimensions.

    Examples
    --------
    >>> from assay.display import DimensionFreeDisplay, plot_dimension_free
    >>> from assay.theory import dimension_free_experiment
    >>> DimensionFreeDisplay.from_result(dimension_free_experiment([2, 20], random_state=0)).ridge.shape
    (2,)
    >>> plot_dimension_free(dimension_free_experiment([2, 20], random_state=0)).get_xlabel()
    'number of features'
    """

    n_features: NDArray
    least_squares: NDArray
    ridge: NDArray
    bound: float

    @classmethod
    def from_result(cls, result: DimensionFree, *, ax: Any = None) -> Self:
        """Draw the exact risks of least squares and ridge against the dimension, with the bound of ridge.

        Parameters
        ----------
        result : DimensionFree
            Result of `assay.theory.dimension_free_experiment`.
        ax : matplotlib Axes, optional
        """
        return cls._read_off(result).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_features, self.least_squares, "o-", color=PALETTE[1], label="least squares")
        ax.plot(self.n_features, self.ridge, "o-", color=PALETTE[0], label="ridge at λ*")
        ax.axhline(self.bound, color=ACCENT, linewidth=1.3, linestyle=DASHES, label="R σ ‖θ*‖/(2√n)")
        ax.set(xscale="log", yscale="log")
        ax.legend()
        title = "the bound of ridge does not see the dimension"
        caption(ax, "number of features", "expected excess risk", title)


plot_dimension_free = drawn_by(DimensionFreeDisplay.from_result, "plot_dimension_free", axes_of)


class PenaltyErrorDisplay(Display):
    """Error of a regularisation path on held-out rows, by penalty.

    Parameters
    ----------
    alphas, errors : arrays of shape (n_alphas,)

    Examples
    --------
    >>> import numpy as np
    >>> from assay import datasets, display, linear
    >>> display.PenaltyErrorDisplay(np.array([0.1, 1.0]), np.array([3.0, 2.0])).plot().ax_.get_title()
    'least error 2 at alpha = 1'
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.plot_penalty_error(linear.Ridge().path(X[:300], y[:300]), X[300:], y[300:]).get_xlabel()
    'alpha (penalty)'
    """

    alphas: NDArray
    errors: NDArray

    @classmethod
    def from_path(cls, path: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the error of a regularisation path on held-out rows against the penalty.

        Parameters
        ----------
        path : RidgePath
            Result of `Ridge.path` on the training rows.
        X, y : array-like
            Rows that the path has not seen; one target.
        ax : matplotlib Axes, optional
        """
        return cls(np.asarray(path.alphas), np.asarray(penalty_error(path, X, y))).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        draw_errors(self.alphas, self.errors, "mean squared error on held-out rows", ACCENT, ax)


plot_penalty_error = drawn_by(PenaltyErrorDisplay.from_path, "plot_penalty_error", axes_of)


def penalty_error(path: Any, X: Any, y: Any) -> NDArray:
    """Mean squared error of each point of a path on rows, shape (n_alphas,)."""
    coef, intercept = np.asarray(path.coef)[:, 0], np.asarray(path.intercept)[:, 0]
    misses = np.asarray(y, dtype=float) - (coef @ dense(X).T + intercept[:, None])
    return np.asarray(np.mean(misses**2, axis=1))
