"""Coefficients of a linear model, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display._columns import column_names, shortened
from assay.display._display import Display
from assay.display._style import FAINT_INK, PALETTE

MAX_COEFFICIENTS = 20


@dataclass
class CoefficientsDisplay(Display):
    """Coefficients of a linear model, the largest first.

    Parameters
    ----------
    coefficients : array of shape (n_targets, n_features)
    names : sequence of str
        Names of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CoefficientsDisplay
    >>> CoefficientsDisplay(np.array([[2.0, -1.0]]), ["age", "dose"]).plot().ax_.get_xlabel()
    'coefficient'
    """

    coefficients: NDArray
    names: Sequence[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=float))
        return cls(coefficients, column_names(estimator, X, feature_names, coefficients.shape[1]))

    def _draw(self, ax: Any) -> None:
        n_targets, n_features = self.coefficients.shape
        size = np.abs(self.coefficients).max(axis=0)
        order = np.argsort(-size, kind="stable")[:MAX_COEFFICIENTS][::-1]
        places = np.arange(order.size)
        height = 0.72 / n_targets
        for target, values in enumerate(self.coefficients):
            ax.barh(
                places - (target - (n_targets - 1) / 2) * height,
                values[order],
                height=height,
                color=PALETTE[target % len(PALETTE)],
                label=f"target {target}",
            )
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
        small = 9 if order.size <= 14 else 7.5
        ax.set_yticks(places, [shortened(self.names[index]) for index in order], fontsize=small)
        ax.grid(axis="y", visible=False)
        if n_targets > 1:
            ax.legend()
        some = f"the {order.size} largest of {n_features} coefficients"
        ax.set(xlabel="coefficient", title=some if order.size < n_features else "coefficients")
