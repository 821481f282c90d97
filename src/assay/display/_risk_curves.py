"""Pictures of risks: over- and under-fitting, the dimension-free bound, a penalty on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import legendre

from assay.display._columns import dense, sampled
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors, house_style, new_axes
from assay.theory import DimensionFree, Overfitting


def plot_overfitting(found: Overfitting, *, kind: str = "risk", ax: Any = None) -> Any:
    """Draw the training and the true risk against the degree, or the fitted polynomials.

    Parameters
    ----------
    found : Overfitting
        Result of `assay.theory.polynomial_overfitting`.
    kind : {"risk", "fits"}, default="risk"
    ax : matplotlib Axes, optional

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import plot_overfitting
    >>> from assay.theory import polynomial_overfitting
    >>> found = polynomial_overfitting(lambda x: np.sin(4 * x), range(12), random_state=0)
    >>> plot_overfitting(found).get_xlabel()
    'degree'
    """
    if kind not in ("risk", "fits"):
        raise ValueError(f"The 'kind' of plot_overfitting must be 'risk' or 'fits'. Got {kind!r} instead.")
    with house_style():
        axes = new_axes(ax)
        (_risks if kind == "risk" else _fits)(found, axes)
        return axes


def _risks(found: Overfitting, ax: Any) -> None:
    ax.plot(found.degrees, np.maximum(found.train_risk, 1e-6), "o-", color=PALETTE[0], label="training risk")
    ax.plot(found.degrees, found.true_risk, "o-", color=PALETTE[1], label="true risk")
    if found.noise_variance > 0:
        ax.axhline(found.noise_variance, color=FAINT_INK, linewidth=1.1, linestyle=(0, (4, 3)), label="noise")
    ax.axvline(found.best_degree, color=ACCENT, linewidth=1.2, linestyle=(0, (1, 2)))
    ax.set_yscale("log")
    ax.legend()
    title = f"too simple, right (degree {found.best_degree}), too rich"
    ax.set(xlabel="degree", ylabel="mean squared error", title=title)


def _fits(found: Overfitting, ax: Any) -> None:
    x = np.linspace(-1, 1, 500)
    ax.scatter(found.x, found.y, s=26, color=FAINT_INK, zorder=3, linewidths=0)
    for color, degree, coef in zip(colors(len(found.coef)), found.degrees, found.coef, strict=True):
        ax.plot(x, legendre.legval(x, coef), color=color, linewidth=1.6, label=f"degree {degree}")
    margin = 0.6 * float(np.ptp(found.y))
    ax.set_ylim(found.y.min() - margin, found.y.max() + margin)
    if len(found.coef) <= 8:
        ax.legend()
    ax.set(xlabel="x", ylabel="y", title="polynomials of several degrees on one sample")


def plot_dimension_free(found: DimensionFree, *, ax: Any = None) -> Any:
    """Draw the exact risks of least squares and ridge against the dimension, with the bound of ridge.

    Parameters
    ----------
    found : DimensionFree
        Result of `assay.theory.dimension_free_experiment`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.display import plot_dimension_free
    >>> from assay.theory import dimension_free_experiment
    >>> plot_dimension_free(dimension_free_experiment([2, 20], random_state=0)).get_xlabel()
    'number of features'
    """
    with house_style():
        axes = new_axes(ax)
        axes.plot(found.n_features, found.least_squares, "o-", color=PALETTE[1], label="least squares")
        axes.plot(found.n_features, found.ridge, "o-", color=PALETTE[0], label="ridge at λ*")
        axes.axhline(found.bound, color=ACCENT, linewidth=1.3, linestyle=(0, (4, 3)), label="R σ ‖θ*‖/(2√n)")
        axes.set(xscale="log", yscale="log")
        axes.legend()
        axes.set(
            xlabel="number of features",
            ylabel="expected excess risk",
            title="the bound of ridge does not see the dimension",
        )
        return axes


def plot_penalty_error(path: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the error of a regularisation path on held-out rows against the penalty.

    Parameters
    ----------
    path : RidgePath
        Result of `Ridge.path` on the training rows.
    X, y : array-like
        Rows that the path has not seen; one target.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import plot_penalty_error
    >>> from assay.linear import Ridge
    >>> X, y = diabetes(return_X_y=True)
    >>> ax = plot_penalty_error(Ridge().path(X[:300], y[:300]), X[300:], y[300:])
    >>> ax.get_xlabel()
    'alpha (penalty)'
    """
    error = penalty_error(path, X, y)
    best = int(np.argmin(error))
    with house_style():
        axes = new_axes(ax)
        axes.plot(path.alphas, error, color=PALETTE[0])
        axes.plot(path.alphas[best], error[best], "o", color=ACCENT, markersize=7)
        axes.set_xscale("log")
        axes.set(
            xlabel="alpha (penalty)",
            ylabel="mean squared error on held-out rows",
            title=f"least error {error[best]:.4g} at alpha = {path.alphas[best]:.3g}",
        )
        return axes


def penalty_error(path: Any, X: Any, y: Any) -> Any:
    """Mean squared error of each point of a path on rows, shape (n_alphas,)."""
    coef, intercept = np.asarray(path.coef)[:, 0], np.asarray(path.intercept)[:, 0]
    return np.mean((np.asarray(y, dtype=float) - (coef @ dense(X).T + intercept[:, None])) ** 2, axis=1)


def plot_principal_plane(X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least two columns that vary.
    y : array-like of shape (n_samples,), optional
        Shown by colour.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import plot_principal_plane
    >>> plot_principal_plane(*diabetes(return_X_y=True)).get_xlabel()
    'first component (40 % of the variance)'
    """
    rows = dense(X)
    rows = rows - rows.mean(axis=0)
    spread = rows.std(axis=0)
    if np.count_nonzero(spread) < 2:
        raise ValueError("A principal plane needs at least two columns that vary.")
    left, values, _ = np.linalg.svd(rows[:, spread > 0] / spread[spread > 0], full_matrices=False)
    share = values**2 / np.sum(values**2)
    scores = left[:, :2] * values[:2]
    shown = sampled(len(scores))
    with house_style():
        axes = new_axes(ax)
        color: dict[str, Any] = {"color": PALETTE[0]}
        if y is not None:
            color = {"c": np.asarray(y, dtype=float)[shown], "cmap": "viridis"}
        points = axes.scatter(*scores[shown].T, s=18, alpha=0.75, linewidths=0, **color)
        if y is not None:
            axes.figure.colorbar(points, ax=axes, label=str(getattr(y, "name", None) or "target"))
        axes.set(
            xlabel=f"first component ({share[0]:.0%} of the variance)".replace("%", " %"),
            ylabel=f"second component ({share[1]:.0%})".replace("%", " %"),
            title="rows in their principal plane",
        )
        return axes
