"""Pictures of sparse linear models: coefficients along the path, the curve that selects a penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.columns import column_names
from assay.display.linear.pictures import LINEAR, PathDisplay, mark_alpha
from assay.display.registry import Default, declare
from assay.display.style import ACCENT, PALETTE
from assay.linear.sparse.base import SparseModel

N_ALPHAS = 60


class SparsePathDisplay(PathDisplay):
    """Coefficients of a sparse model as the penalty grows, and how many of them are not zero.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import SparsePathDisplay
    >>> from assay.linear import Lasso
    >>> X, y = diabetes(return_X_y=True)
    >>> SparsePathDisplay.from_estimator(Lasso(alpha=1.0).fit(X, y), X, y).title
    '0 to 8 features along the path'
    """

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, alphas: Any = None, feature_names: Any = None
    ) -> Self:
        grid = {"n_alphas": N_ALPHAS} if alphas is None else {"alphas": alphas}
        path = estimator.path(X, y, **grid)
        coefficients = path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray()
        names = column_names(estimator, X, feature_names, coefficients.shape[1])
        title = f"{path.n_nonzero[0]} to {path.n_nonzero[-1]} features along the path"
        return cls(np.asarray(path.alphas), coefficients, names, float(estimator.alpha_), title)


@dataclass
class SelectionDisplay(Display):
    """The criterion that chooses a penalty, with its standard errors.

    The dot is the least value, the diamond the largest penalty within one standard error of it, the dashed
    line the choice.

    Parameters
    ----------
    alphas, criterion, standard_error : arrays of shape (n_alphas,)
    criterion_name : str
    alpha : float
        The penalty chosen.
    one_se_index : int
        Place of the largest penalty within one standard error.
    rule : str
        The rule that chose.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import SelectionDisplay
    >>> from assay.linear import Lasso
    >>> X, y = diabetes(return_X_y=True)
    >>> SelectionDisplay.from_estimator(Lasso().fit(X, y), X, y, rule="bic").criterion_name
    'BIC'
    """

    needs: ClassVar[tuple[str, ...]] = ("X", "y")
    alphas: NDArray
    criterion: NDArray
    standard_error: NDArray
    criterion_name: str
    alpha: float
    one_se_index: int
    rule: str

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Draw what `select` returned."""
        return cls._read(selection).plot(ax=ax)

    @classmethod
    def _read(cls, selection: Any) -> Self:
        return cls(
            np.asarray(selection.alphas),
            np.asarray(selection.criterion),
            np.asarray(selection.standard_error),
            selection.criterion_name,
            float(selection.alpha),
            int(selection.one_se_index),
            str(selection.rule),
        )

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, **options: Any) -> Self:
        return cls._read(estimator.select(X, y, **options))

    def _draw(self, ax: Any) -> None:
        noisy = bool(np.any(self.standard_error > 0))
        ax.plot(self.alphas, self.criterion, color=PALETTE[0])
        if noisy:
            low, high = self.criterion - self.standard_error, self.criterion + self.standard_error
            ax.fill_between(self.alphas, low, high, color=PALETTE[0], alpha=0.18, lw=0)
        best = int(np.argmin(self.criterion))
        ax.plot(self.alphas[best], self.criterion[best], "o", color=PALETTE[0], markersize=7)
        if noisy:
            place = self.one_se_index
            ax.plot(self.alphas[place], self.criterion[place], "D", color=ACCENT, markersize=6)
        mark_alpha(ax, self.alpha, self.alphas)
        ax.set_xscale("log")
        ax.set(
            xlabel="alpha (penalty)",
            ylabel=self.criterion_name,
            title=f"rule {self.rule!r} chooses alpha = {self.alpha:.3g}",
        )


declare(
    SparseModel,
    default=Default("path", "coefficients", target=True),
    path=SparsePathDisplay,
    selection=SelectionDisplay,
    **LINEAR,
)
