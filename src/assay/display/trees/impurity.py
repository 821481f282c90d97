"""The three impurities of two classes."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.style import DASHES, PALETTE, caption
from assay.theory import ImpurityCurves, impurity_curves


class ImpurityCurvesDisplay(Display):
    """Misclassification, Gini index and entropy against the share of one of two classes.

    Parameters
    ----------
    p, misclassification, gini, entropy, scaled_entropy : arrays of shape (n_points,)

    Examples
    --------
    >>> from assay import display, theory
    >>> display.ImpurityCurvesDisplay.from_result(theory.impurity_curves()).ax_.get_xlabel()
    'share p of the second class'
    """

    p: NDArray
    misclassification: NDArray
    gini: NDArray
    entropy: NDArray
    scaled_entropy: NDArray

    @classmethod
    def from_result(cls, result: ImpurityCurves | None = None, *, ax: Any = None) -> Self:
        """Draw what `assay.theory.impurity_curves` returned.

        Parameters
        ----------
        result : ImpurityCurves, optional
            Computed by default.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls._read_off(impurity_curves() if result is None else result).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.p, self.entropy, color=PALETTE[2], label="entropy")
        ax.plot(self.p, self.scaled_entropy, color=PALETTE[2], linestyle=DASHES, label="entropy, scaled to ½")
        ax.plot(self.p, self.gini, color=PALETTE[1], label="Gini index")
        ax.plot(self.p, self.misclassification, color=PALETTE[0], label="misclassification")
        ax.legend()
        title = "Gini and entropy reward purer sides, misclassification does not"
        caption(ax, "share p of the second class", "impurity", title)


plot_impurity_curves = drawn_by(ImpurityCurvesDisplay.from_result, "plot_impurity_curves", axes_of)
