"""Pictures of what boosting does as shrinkage, noise in the labels and the number of rounds change."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.style import (
    ACCENT,
    DASHES,
    FAINT_INK,
    INK,
    PALETTE,
    caption,
    require_matplotlib,
)
from assay.numbers import shown
from assay.theory import ErrorDecomposition, FlippedWeight


class ShrinkageGridDisplay(Display):
    """Risk over rounds and shrinkage: small steps need many rounds.

    Parameters
    ----------
    rates : array of shape (n_rates,)
    risks : array of shape (n_rates, n_rounds)
        Mean loss of every pair, on rows that the fits have not seen.
    measure, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import ShrinkageGridDisplay
    >>> grid = ShrinkageGridDisplay(np.array([0.1, 1.0]), np.array([[3.0, 2.0], [1.0, 2.0]]), "risk", "grid")
    >>> grid.plot().ax_.get_xlabel()
    'rounds'
    """

    rates: NDArray
    risks: NDArray
    measure: str
    title: str

    @classmethod
    def from_path(cls, path: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """The grid of a path over shrinkage and rounds, measured on other rows than those of its fits."""
        risks = path.risks(X, y)
        row, column = np.unravel_index(np.argmin(risks), risks.shape)
        words = f"least {shown(float(risks.min()), 3)} at ν = {path.rates[row]:g} after {column + 1} rounds"
        return cls(np.asarray(path.rates), risks, path.measure, words).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, self.risks.shape[1] + 1)
        map_ = require_matplotlib().colormaps["viridis"]
        for place, (rate, values) in enumerate(zip(self.rates, self.risks, strict=True)):
            color = map_(0.05 + 0.85 * place / max(len(self.rates) - 1, 1))
            ax.plot(rounds, values, color=color, label=f"ν = {rate:g}")
            best = int(np.argmin(values))
            ax.plot(best + 1, values[best], "o", color=color, markersize=5, zorder=4)
        row, column = np.unravel_index(np.argmin(self.risks), self.risks.shape)
        ax.plot(column + 1, self.risks[row, column], "o", color=ACCENT, markersize=8, zorder=5, label="least")
        ax.set_xscale("log")
        ax.legend(loc="best")
        caption(ax, "rounds", self.measure, self.title)


class FlippedWeightDisplay(Display):
    """Share of the final weight on rows with flipped labels, and what that costs, by the rate of flips.

    Parameters
    ----------
    rates, weight, accuracy : arrays of shape (n_rates,)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import FlippedWeightDisplay
    >>> shown = FlippedWeightDisplay(np.array([0.0, 0.1]), np.array([0.0, 0.5]), np.array([0.9, 0.8]), "a")
    >>> shown.plot().ax_.get_xlabel()
    'share of flipped labels'
    """

    rates: NDArray
    weight: NDArray
    accuracy: NDArray
    title: str

    @classmethod
    def from_result(cls, result: FlippedWeight, *, ax: Any = None) -> Self:
        """The picture of `assay.theory.flipped_weight`."""
        words = f"{result.rates[-1]:.0%} flipped labels hold {result.weight[-1]:.0%} of the weight"
        return cls(result.rates, result.weight, result.accuracy, words).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.rates, self.weight, "o-", color=ACCENT, label="weight on flipped rows")
        ax.plot(self.rates, self.accuracy, "o-", color=PALETTE[0], label="accuracy on true labels")
        ax.plot(self.rates, self.rates, color=FAINT_INK, linewidth=1.0, linestyle=DASHES, label="their share")
        ax.set_ylim(0.0, 1.02)
        ax.legend(loc="best")
        caption(ax, "share of flipped labels", "share", self.title)


class ErrorDecompositionDisplay(Display):
    """Bayes risk, risk of the best in the class and risk of the fit, as the class grows with the rounds.

    Parameters
    ----------
    rounds : int array of shape (n_rounds,)
    bayes : float
    best, fit : arrays of shape (n_rounds,)
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import ErrorDecompositionDisplay
    >>> shown = ErrorDecompositionDisplay(
    ...     np.array([1, 2]), 0.1, np.array([0.2, 0.12]), np.array([0.21, 0.15]), "parts")
    >>> shown.plot().ax_.get_xlabel()
    'rounds'
    """

    rounds: NDArray
    bayes: float
    best: NDArray
    fit: NDArray
    title: str

    @classmethod
    def from_result(cls, result: ErrorDecomposition, *, ax: Any = None) -> Self:
        """The picture of `assay.theory.error_decomposition`."""
        least = int(np.argmin(result.fit))
        words = f"least risk {result.fit[least]:.3f} after {result.rounds[least]} rounds"
        words += f"; Bayes {result.bayes:.3f}"
        return cls(result.rounds, result.bayes, result.best, result.fit, words).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        bayes = np.full(len(self.rounds), self.bayes)
        ax.fill_between(self.rounds, bayes, self.best, color=PALETTE[0], alpha=0.2, label="approximation")
        ax.fill_between(self.rounds, self.best, self.fit, color=PALETTE[1], alpha=0.25, label="estimation")
        ax.plot(self.rounds, self.fit, color=PALETTE[1], label="fit")
        ax.plot(self.rounds, self.best, color=PALETTE[0], label="best in class")
        ax.plot(self.rounds, bayes, color=INK, linewidth=1.2, linestyle=DASHES, label="Bayes")
        ax.set_xscale("log")
        ax.legend(loc="best")
        caption(ax, "rounds", "risk", self.title)
