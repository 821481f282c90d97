"""Pictures of how a tree is pruned: the path of subtrees, and the choice among them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.pictures import OfSelection
from assay.display.style import (
    ACCENT,
    DASHES,
    FAINT_INK,
    PALETTE,
    caption,
)
from assay.numbers import shown


class PruningDisplay(Display):
    """Cost of the best subtree of each penalty, and its leaves.

    Parameters
    ----------
    alphas, impurities : arrays of shape (n_subtrees,)
    n_leaves : int array of shape (n_subtrees,)
    alpha : float
        The penalty of the model.

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> model = trees.DecisionTreeClassifier().fit(*iris(return_X_y=True))
    >>> int(display.PruningDisplay.from_estimator(model).n_leaves[-1])
    1
    """

    alphas: NDArray
    impurities: NDArray
    n_leaves: NDArray
    alpha: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        path = estimator.pruning_path()
        return cls(path.ccp_alphas, path.impurities, path.n_leaves, float(estimator.ccp_alpha))

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_leaves, self.impurities, "o-", color=PALETTE[0], markersize=4, drawstyle="default")
        place = int(np.searchsorted(self.alphas, self.alpha, side="right")) - 1
        ax.plot(self.n_leaves[place], self.impurities[place], "D", color=ACCENT, markersize=7)
        if self.n_leaves.max() > 20:
            ax.set_xscale("log")
        kept = f"α = {shown(self.alpha, 3)} keeps {self.n_leaves[place]} leaves"
        title = f"{len(self.alphas)} nested subtrees; {kept}"
        caption(ax, "leaves", "impurity of the leaves", title)


class PruningSelectionDisplay(OfSelection, needs=("X", "y")):
    """Held-out loss of the subtrees against their leaves, with the choice of one standard error.

    Parameters
    ----------
    n_leaves, loss, standard_error : arrays of shape (n_subtrees,)
    index, one_se_index : int
        The subtree chosen, and the smallest within one standard error of the least loss.
    alpha : float
    rule : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> display.PruningSelectionDisplay.from_estimator(trees.DecisionTreeClassifier().fit(X, y), X, y).rule
    'one_se'
    """

    n_leaves: NDArray
    loss: NDArray
    standard_error: NDArray
    index: int
    one_se_index: int
    alpha: float
    rule: str

    @classmethod
    def _read(cls, selection: Any) -> Self:
        places = (int(selection.index), int(selection.one_se_index))
        curves = np.asarray(selection.curve), np.asarray(selection.standard_error)
        return cls(selection.table["n_leaves"], *curves, *places, float(selection.best), selection.rule)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, **options: Any) -> Self:
        return cls._read(estimator.select(X, y, **options))

    def _draw(self, ax: Any) -> None:
        low, high = self.loss - self.standard_error, self.loss + self.standard_error
        ax.fill_between(self.n_leaves, low, high, color=PALETTE[0], alpha=0.18, lw=0)
        ax.plot(self.n_leaves, self.loss, "o-", color=PALETTE[0], markersize=4)
        best = int(np.argmin(self.loss))
        bar = self.loss[best] + self.standard_error[best]
        ax.axhline(bar, color=FAINT_INK, linewidth=1.1, linestyle=DASHES, label="plus one s.e.")
        right = self.n_leaves.max()
        ax.plot(self.n_leaves[best], self.loss[best], "o", color=PALETTE[0], markersize=8, label="least loss")
        place = self.one_se_index
        ax.plot(
            self.n_leaves[place],
            self.loss[place],
            "D",
            color=ACCENT,
            markersize=7,
            label="fewest leaves within",
        )
        if right > 20:
            ax.set_xscale("log")
        ax.legend()
        title = f"rule {self.rule!r} keeps {self.n_leaves[self.index]} leaves (α = {shown(self.alpha, 3)})"
        caption(ax, "leaves", "validation loss", title)
