"""Pictures of densities: the curve with its band and a rug, densities of rows in order, steps, criteria."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.density import (
    BinnedKernelDensity,
    EmpiricalDistribution,
    HistogramDensity,
    KernelDensity,
    MovingWindowDensity,
)
from assay.display.base import Display
from assay.display.plane import column_names, dense, sampled
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption, whole_numbers
from assay.numbers import shown as written

N_POINTS = 512
N_DRAWN = 400
MARGIN = 0.1
"""Share of the range that is shown on either side of the rows."""


class DensityCurveDisplay(Display):
    """The density of one column, with the band of pointwise intervals and a rug of the rows.

    Parameters
    ----------
    grid, pdf : arrays of shape (n_points,)
    low, high : arrays of shape (n_points,) or None
        Band of 95% intervals, where the model has them.
    rug : array of shape (n_rows,)
        The rows shown.
    band_name, rug_name, name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import density, display
    >>> X = np.random.default_rng(0).standard_normal((200, 1))
    >>> shown = display.DensityCurveDisplay.from_estimator(density.KernelDensity(bandwidth=0.2).fit(X), X)
    >>> shown.pdf.shape, len(shown.rug)
    ((512,), 200)
    """

    grid: NDArray
    pdf: NDArray
    low: NDArray | None
    high: NDArray | None
    rug: NDArray
    band_name: str
    rug_name: str
    name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if estimator.n_features_in_ != 1:
            raise ValueError(
                f"The 'curve' picture of {type(estimator).__name__} needs one column; the model has "
                f"{estimator.n_features_in_}: draw kind='ranks' instead."
            )
        rows = _rows_of(estimator, X)[:, 0]
        margin = MARGIN * (float(np.ptp(rows)) or 1.0)
        grid = np.linspace(rows.min() - margin, rows.max() + margin, N_POINTS)
        low, high, band = None, None, "95% interval"
        if hasattr(estimator, "pdf_interval"):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always", UserWarning)
                pdf, low, high = estimator.pdf_interval(grid[:, np.newaxis])
            band += ", bias not included" if told else ""
        else:
            pdf = estimator.pdf(grid[:, np.newaxis])
        (name,) = column_names(estimator, X, feature_names, 1)
        drawn = X is None and not hasattr(estimator, "rows_kept_")
        words = band, "drawn from the model" if drawn else "rows", name, _settings(estimator)
        return cls(grid, np.asarray(pdf), low, high, rows[sampled(rows.size)], *words)

    def _draw(self, ax: Any) -> None:
        if self.low is not None and self.high is not None:
            ax.fill_between(
                self.grid,
                self.low,
                self.high,
                color=PALETTE[0],
                alpha=0.18,
                linewidth=0,
                label=self.band_name,
            )
        ax.plot(self.grid, self.pdf, color=PALETTE[0], label="density")
        top = float(np.max(self.pdf if self.high is None else self.high))
        bottom = min(float(self.pdf.min()), 0.0)
        look = {"color": FAINT_INK, "alpha": 0.6, "markersize": 7, "label": self.rug_name}
        ax.plot(self.rug, np.full(len(self.rug), bottom - 0.04 * top), "|", **look)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.8)
        ax.set_ylim(bottom - 0.08 * top, 1.05 * top)
        ax.legend()
        caption(ax, self.name, "density", self.title)


class DensityRanksDisplay(Display):
    """Densities of rows in order, the strangest first: a model of any number of columns.

    Parameters
    ----------
    log_density : array of shape (n_rows,)
        Increasing.
    what, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import density, display
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> display.DensityRanksDisplay.from_estimator(density.KernelDensity().fit(X), X).log_density.shape
    (200,)
    """

    log_density: NDArray
    what: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows = _rows_of(estimator, X)
        values = np.sort(np.asarray(estimator.log_density(rows), dtype=float))
        drawn = X is None and not hasattr(estimator, "rows_kept_")
        what = "rows drawn from the model" if drawn else "rows"
        return cls(values, what, _settings(estimator))

    def _draw(self, ax: Any) -> None:
        finite = np.isfinite(self.log_density)
        ranks = np.arange(1, len(self.log_density) + 1)
        ax.plot(ranks[finite], self.log_density[finite], ".-", color=PALETTE[0], markersize=4, linewidth=1.0)
        n_outside = int(np.count_nonzero(~finite))
        told = f", {n_outside} of density zero not shown" if n_outside else ""
        caption(ax, f"{self.what}, the strangest first{told}", "log-density", self.title)


class StepsDisplay(Display):
    """The empirical distribution function of a column with its band.

    Parameters
    ----------
    jumps, heights : arrays of shape (n_values,)
    half_width : float
        Of the band.
    name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import density, display
    >>> model = density.EmpiricalDistribution().fit(np.arange(4.0)[:, None])
    >>> display.StepsDisplay.from_estimator(model).heights
    array([0.25, 0.5 , 0.75, 1.  ])
    """

    jumps: NDArray
    heights: NDArray
    half_width: float
    name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, column: int = 0, feature_names: Any = None) -> Self:
        names = column_names(estimator, X, feature_names, estimator.n_features_in_)
        part = slice(estimator.offsets_[column], estimator.offsets_[column + 1])
        title = f"{100 * estimator.coverage:g}% band of half-width {estimator.half_width_:.3f}"
        values = estimator.jumps_[part], estimator.heights_[part], float(estimator.half_width_)
        return cls(*values, names[column], title)

    def _draw(self, ax: Any) -> None:
        margin = MARGIN * (float(np.ptp(self.jumps)) or 1.0)
        x = np.concatenate([[self.jumps[0] - margin], self.jumps, [self.jumps[-1] + margin]])
        f = np.concatenate([[0.0], self.heights, [1.0]])
        low, high = np.maximum(f - self.half_width, 0.0), np.minimum(f + self.half_width, 1.0)
        ax.fill_between(x, low, high, step="post", color=PALETTE[0], alpha=0.18, linewidth=0, label="band")
        ax.step(x, f, where="post", color=PALETTE[0], label="share of the rows up to here")
        ax.legend()
        caption(ax, self.name, "distribution function", self.title)


class BandwidthCriterionDisplay(Display):
    """A criterion of cross-validation over what was tried, beside the true error where it is known.

    Parameters
    ----------
    values, criterion : arrays of shape (n_values,)
        Bandwidths or numbers of bins, and J of each.
    chosen : float
    truth : array of shape (n_values,) or None
        The true integrated squared error less ∫p².
    xlabel, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import density, display
    >>> X = np.random.default_rng(0).standard_normal((100, 1))
    >>> model = density.KernelDensity(bandwidth="ucv").fit(X)
    >>> display.BandwidthCriterionDisplay.from_estimator(model).criterion.shape
    (50,)
    """

    values: NDArray
    criterion: NDArray
    chosen: float
    truth: NDArray | None
    xlabel: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, truth: Any = None) -> Self:
        criterion = np.asarray(estimator.criterion_)
        if len(criterion) == 0:
            raise ValueError(
                f"The 'criterion' picture of {type(estimator).__name__} needs a choice by 'ucv'."
            )
        if isinstance(estimator, HistogramDensity):
            values, chosen, xlabel = estimator.candidates_, float(estimator.bins_), "bins of a column"
        else:
            several = estimator.n_features_in_ > 1
            values = estimator.bandwidths_
            chosen = float(values[np.argmin(criterion)]) if several else float(estimator.bandwidth_)
            xlabel = "multiple of Silverman's bandwidth" if several else "bandwidth h"
        curve = None if truth is None else np.asarray(truth, dtype=float)
        return cls(np.asarray(values), criterion, chosen, curve, xlabel, f"chosen: {written(chosen)}")

    def _draw(self, ax: Any) -> None:
        ax.plot(self.values, self.criterion, color=PALETTE[0], label="J, unbiased from the rows")
        if self.truth is not None:
            ax.plot(self.values, self.truth, color=PALETTE[1], label="true error less ∫p²")
        ax.axvline(self.chosen, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        # From below the least value up to what shows its valley: small bandwidths are far above.
        seen = self.criterion if self.truth is None else np.append(self.criterion, self.truth)
        seen = seen[np.isfinite(seen)]
        depth = 4.0 * float(np.median(seen) - seen.min()) or 1.0
        top = min(float(seen.max()), float(seen.min()) + depth)
        ax.set_ylim(
            float(seen.min()) - 0.08 * (top - float(seen.min())), top + 0.05 * (top - float(seen.min()))
        )
        if self.xlabel.startswith("bins"):
            whole_numbers(ax)
        else:
            ax.set_xscale("log")
        ax.legend()
        caption(ax, self.xlabel, "criterion", self.title)


def _rows_of(estimator: Any, X: Any) -> NDArray:
    if X is not None:
        return dense(X)
    kept = getattr(estimator, "rows_kept_", None)
    return np.asarray(estimator.sample(N_DRAWN, random_state=0) if kept is None else kept, dtype=float)


def _settings(model: Any) -> str:
    if isinstance(model, HistogramDensity):
        return f"histogram of {model.bins_} bins"
    name = model.kernel_.name if isinstance(model, KernelDensity) else "gaussian"
    name = "window" if isinstance(model, MovingWindowDensity) else f"{name} kernel"
    bandwidth = np.ravel(model.bandwidth_)
    shown = (
        written(float(bandwidth[0])) if bandwidth.size == 1 else f"{written(float(bandwidth.min()))} and more"
    )
    return f"{name}, bandwidth {shown}"


def _default(model: Any, X: Any, y: Any) -> str:
    """The curve of one column, else the rows in order."""
    return "curve" if model.n_features_in_ == 1 else "ranks"


declare(
    KernelDensity,
    HistogramDensity,
    default=_default,
    curve=DensityCurveDisplay,
    ranks=DensityRanksDisplay,
    criterion=BandwidthCriterionDisplay,
)
declare(
    MovingWindowDensity,
    BinnedKernelDensity,
    default=_default,
    curve=DensityCurveDisplay,
    ranks=DensityRanksDisplay,
)
declare(EmpiricalDistribution, default=Default("steps", "steps"), steps=StepsDisplay)
