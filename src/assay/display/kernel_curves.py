"""Picture of a kernel ridge regression at several widths and penalties: from too smooth to too local."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.display.base import Display, drawn_by, itself
from assay.display.kernel_machines import KernelCurveDisplay
from assay.display.style import ACCENT


class CurvePanelsDisplay(Display):
    """Curves of one feature for several widths (a line each) and penalties, with the errors of each.

    The panel of the least leave-one-out error is framed. Where both errors are large the curve is too
    smooth; where that of training is far below the other it follows single rows.

    Parameters
    ----------
    panels : sequence of sequences of KernelCurveDisplay
    gammas, alphas : arrays of shape (n_widths,) and (n_penalties,)
        Scales of the kernel, narrower as they rise, and penalties.
    training, leave_one_out : arrays of shape (n_widths, n_penalties)
        Mean squared errors.

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display
    >>> from assay.kernel_machines import KernelRidge
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(kernel="rbf")
    >>> shown = display.plot_curves(model, x, np.sin(x[:, 0]), gammas=[0.1, 1.0], alphas=[0.01, 1.0, 100.0])
    >>> shown.leave_one_out.shape
    (2, 3)
    """

    panels: Sequence[Sequence[KernelCurveDisplay]]
    gammas: NDArray
    alphas: NDArray
    training: NDArray
    leave_one_out: NDArray

    @classmethod
    def from_model(
        cls,
        model: Any,
        X: Any,
        y: Any,
        gammas: Any = (0.1, 1.0, 100.0),
        alphas: Any = (1e-3, 0.1, 10.0),
        *,
        ax: Any = None,
    ) -> Self:
        """Fit a kernel ridge regression of one feature at every pair, and draw each.

        Parameters
        ----------
        model : KernelRidge
            It needs no fit, and stays as it is.
        X, y : array-like
            Rows of one column, and their targets.
        gammas : sequence of float, default=(0.1, 1, 100)
        alphas : sequence of float, default=(0.001, 0.1, 10)
        ax : matplotlib Axes, optional
        """
        widths, penalties = np.sort(np.asarray(gammas, float)), np.sort(np.asarray(alphas, float))
        lines = [clone(model).set_params(gamma=gamma, penalty_strength=None) for gamma in widths.tolist()]
        fits = [
            [clone(line).set_params(alpha=alpha).fit(X, y) for alpha in penalties.tolist()] for line in lines
        ]
        panels = [[KernelCurveDisplay._collect(fit, X, y) for fit in line] for line in fits]
        training = np.array([[np.mean(np.square(fit.residuals_)) for fit in line] for line in fits])
        left_out = np.array([line.path(X, y, alphas=penalties).leave_one_out_error for line in lines])
        return cls(panels, widths, penalties, training, left_out).plot(ax=ax)

    def _new_axes(self, ax: Any) -> Any:
        if ax is not None:
            return ax
        import matplotlib.pyplot as plt

        size = (0.9 + 2.7 * len(self.alphas), 0.6 + 2.1 * len(self.gammas))
        return plt.subplots(figsize=size, layout="constrained")[1]

    def _draw(self, ax: Any) -> None:
        ax.axis("off")
        width, height = 1 / len(self.alphas), 1 / len(self.gammas)
        best = divmod(int(np.argmin(self.leave_one_out)), len(self.alphas))
        for line, column in np.ndindex(self.training.shape):
            corner = (column * width, 1 - (line + 1) * height)
            inset = ax.inset_axes((*corner, 0.93 * width, 0.68 * height))
            panel = self.panels[line][column]
            panel._draw(inset)
            assert panel.observed is not None
            low, high = panel.observed.min(), panel.observed.max()
            inset.get_legend().remove()
            inset.set_ylim(low - 0.25 * (high - low), high + 0.25 * (high - low))
            errors = f"{self.training[line, column]:.2g}, left out {self.leave_one_out[line, column]:.2g}"
            words = f"γ = {self.gammas[line]:.3g}, penalty {self.alphas[column]:.3g}\nerror {errors}"
            inset.set_title(words, fontsize=8.5, fontweight="normal")
            inset.set(xlabel="", ylabel="", xticks=[], yticks=[])
            if (line, column) == best:
                for spine in inset.spines.values():
                    spine.set(visible=True, color=ACCENT, linewidth=1.8)


plot_curves = drawn_by(CurvePanelsDisplay.from_model, "plot_curves", itself)
