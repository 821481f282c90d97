"""Picture of how the error of a density falls with the number of rows."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption
from assay.theory import RateExperiment


class DensityRateDisplay(Display):
    """Mean squared error at a point over the number of rows, with its bound and the line of the theorem.

    Parameters
    ----------
    n_samples, mse, bound : arrays of shape (k,)
    slope, expected : float
        Of log error over log n: found, and by the theorem.

    Examples
    --------
    >>> from scipy import stats
    >>> from assay import display, theory
    >>> bound = lambda n: theory.mse_bound("gaussian", n, [1.0], sup=0.4, curvature=0.4)
    >>> result = theory.density_rate(stats.norm(), "gaussian", [100, 10_000], 0.0, bound)
    >>> display.DensityRateDisplay.from_result(result).ax_.get_title()
    'error falls like n^−0.72, by the theorem n^−0.80'
    """

    n_samples: NDArray
    mse: NDArray
    bound: NDArray
    slope: float
    expected: float

    @classmethod
    def from_result(cls, result: RateExperiment, *, ax: Any = None) -> Self:
        """Draw what `assay.theory.density_rate` returned."""
        return cls._read_off(result).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.loglog(self.n_samples, self.mse, "o-", color=PALETTE[0], label="exact error")
        ax.loglog(self.n_samples, self.bound, "s--", color=FAINT_INK, linewidth=1.2, label="bound")
        line = self.mse[-1] * (self.n_samples / self.n_samples[-1]) ** self.expected
        name = f"slope {self.expected:.2f}".replace("-", "−")
        ax.loglog(self.n_samples, line, color=ACCENT, linewidth=1.2, linestyle=DASHES, label=name)
        ax.legend()
        title = f"error falls like n^{self.slope:.2f}, by the theorem n^{self.expected:.2f}".replace("-", "−")
        caption(ax, "rows", "mean squared error at a point", title)


plot_density_rate = drawn_by(DensityRateDisplay.from_result, "plot_density_rate", axes_of)
