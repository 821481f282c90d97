"""Pictures of matrices of coefficients: the matrix as a map, its singular values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.columns import column_names, shortened
from assay.display.linear.pictures import LINEAR
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, DASHES, PALETTE
from assay.linear import ReducedRankRegression


@dataclass
class CoefficientMatrixDisplay(Display):
    """Coefficients of every response on every predictor, as a map.

    Parameters
    ----------
    coefficients : array of shape (n_predictors, n_responses)
    names : sequence of str
        Names of the predictors.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CoefficientMatrixDisplay
    >>> CoefficientMatrixDisplay(np.eye(2), ["a", "b"], "identity").plot().ax_.get_xlabel()
    'response'
    """

    coefficients: NDArray
    names: Sequence[str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        coefficients = np.atleast_2d(np.asarray(estimator.coef_, dtype=float)).T
        names = column_names(estimator, X, feature_names, coefficients.shape[0])
        return cls(coefficients, names, f"coefficients of rank {estimator.rank_}")

    def _draw(self, ax: Any) -> None:
        size = float(np.abs(self.coefficients).max()) or 1.0
        image = ax.imshow(self.coefficients, cmap="RdBu_r", vmin=-size, vmax=size, aspect="auto")
        ax.figure.colorbar(image, ax=ax, label="coefficient")
        if len(self.names) <= 25:
            ax.set_yticks(range(len(self.names)), [shortened(name, 16) for name in self.names])
        n_responses = self.coefficients.shape[1]
        ax.set_xticks(range(n_responses) if n_responses <= 25 else [])
        ax.grid(visible=False)
        ax.set(xlabel="response", ylabel="predictor", title=self.title)


@dataclass
class SingularValuesDisplay(Display):
    """Singular values, and the rank that was kept.

    Parameters
    ----------
    values : array of shape (n_values,)
    rank : int
    what : str, default="of the coefficients"
        Of what they are, for the title.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import SingularValuesDisplay
    >>> SingularValuesDisplay(np.array([3.0, 1.0, 0.1]), 2).plot().ax_.get_title()
    'singular values of the coefficients, rank 2'
    """

    values: NDArray
    rank: int
    what: str = "of the coefficients"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        what = "of the least-squares fit" if estimator.method == "rank" else "of the coefficients"
        return cls(np.asarray(estimator.singular_values_, dtype=float), int(estimator.rank_), what)

    def _draw(self, ax: Any) -> None:
        places = np.arange(1, len(self.values) + 1)
        ax.plot(places, self.values, "o-", color=PALETTE[0])
        if self.rank < len(self.values):
            ax.axvline(self.rank + 0.5, color=ACCENT, linewidth=1.3, linestyle=DASHES)
        ax.set_xticks(places if len(places) <= 20 else [])
        title = f"singular values {self.what}, rank {self.rank}"
        ax.set(xlabel="number", ylabel="singular value", title=title)


declare(
    ReducedRankRegression,
    default=Default("predictions", "matrix", target=True),
    matrix=CoefficientMatrixDisplay,
    singular_values=SingularValuesDisplay,
    **LINEAR,
)
