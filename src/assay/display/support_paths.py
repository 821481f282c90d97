"""Pictures of machines along the cost C, of the dual over rounds, and of the weights of support vectors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from assay.display.base import Display
from assay.display.plane import plain, shortened
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption, colors, whole_numbers
from assay.display.support_sets import BOUND, is_cornered, is_on_features, kernel_name, sets_of_fit
from assay.kernel_machines.support_vectors.pairs import duels

MOST_STEPS, N_TIMES, MOST_NAMED = 2**24, 3, 10
SMALLEST_SHOWN = 1e-17
"""Gaps below are drawn there: zero has no place on a logarithmic axis."""


class SupportPathDisplay(Display, needs=("X", "y")):
    """Support vectors, norm ‖h‖ and training loss along the cost C, one below the other.

    Parameters
    ----------
    Cs : array of shape (n_costs,)
    n_support : array of shape (n_costs,)
    rkhs_norm, loss : arrays of shape (n_costs, n_machines)
        ‖h‖, which rises with C, and the sum of the losses of the rows, which falls.
    chosen : float or None
        The cost of the model.
    names : sequence of str
        Of the machines, where they are several.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import SupportPathDisplay
    >>> norms, losses = np.array([[0.5], [1.0]]), np.array([[9.0], [4.0]])
    >>> shown = SupportPathDisplay(np.array([0.1, 1.0]), np.array([20, 8]), norms, losses, 1.0)
    >>> [each.get_ylabel() for each in shown.plot().ax_.child_axes]
    ['support vectors', 'norm ‖h‖', 'training loss']
    """

    Cs: NDArray
    n_support: NDArray
    rkhs_norm: NDArray
    loss: NDArray
    chosen: float | None
    names: Sequence[str] = ()

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, Cs: Any = None, feature_names: Any = None) -> Self:
        path = estimator.path(X, y, Cs)
        return cls._read_off(path, chosen=float(estimator.C_), names=_machine_names(estimator))

    def _draw(self, ax: Any) -> None:
        ax.axis("off")
        ax.set_title("along the cost C")
        parts = (
            (self.n_support[:, None], "support vectors"),
            (self.rkhs_norm, "norm ‖h‖"),
            (self.loss, "training loss"),
        )
        for place, (curves, name) in enumerate(parts):
            inset = ax.inset_axes((0.0, (2 - place) / 3 + 0.01, 1.0, 0.28))
            palette = [PALETTE[0]] if curves.shape[1] == 1 else colors(curves.shape[1])
            for curve, color in zip(curves.T, palette, strict=True):
                inset.plot(self.Cs, curve, color=color, marker="o", markersize=3.5)
            if self.chosen is not None and self.Cs[0] <= self.chosen <= self.Cs[-1]:
                inset.axvline(self.chosen, color=ACCENT, linewidth=1.2, linestyle=DASHES, zorder=1)
            inset.set(xscale="log", ylabel=name)
            inset.set_ylim(bottom=0.0)
            inset.yaxis.label.set_fontsize(8.5)
            inset.tick_params(labelsize=8.5)
            if place < 2:
                inset.set_xticklabels([])
        inset.set_xlabel("cost C" + (" (dashed: this model)" if self.chosen is not None else ""))
        if 1 < len(self.names) <= MOST_NAMED:
            for name, color in zip(self.names, palette, strict=True):
                ax.plot([], [], color=color, marker="o", markersize=3.5, label=name)
            look = {"loc": "upper left", "bbox_to_anchor": (1.01, 0.66), "borderaxespad": 0.0}
            ax.legend(title="machine", **look)


def _machine_names(model: Any) -> list[str]:
    """What each of several machines tells apart."""
    if len(model.intercept_) == 1:
        return []
    names = [plain(shortened(str(label), 12)) for label in model.classes_]
    return [
        f"{names[duel.positive]} or {'another' if duel.negative is None else names[duel.negative]}"
        for duel in duels(len(names), against_rest=model.multi_class == "ovr")
    ]


class GapTimeDisplay(Display, needs=("X", "y")):
    """The duality gap that a fit proves, against the time that it takes.

    The model is fitted again with one step, two, four and so on: each point is a whole fit that was stopped,
    with the gap of its certificate and the shortest of three times.

    Parameters
    ----------
    seconds, gaps : arrays of shape (n_fits,)
        Wall time, and the duality gap relative to the objective.
    tol : float
        The gap at which a fit ends by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import GapTimeDisplay
    >>> GapTimeDisplay(np.array([0.01, 0.02]), np.array([0.5, 1e-9]), 1e-6).plot().ax_.get_title()
    'a gap of 1e-09 proved in 0.02 s'
    """

    seconds: NDArray
    gaps: NDArray
    tol: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        points, steps = [], 1
        while True:
            model, seconds = clone(estimator).set_params(max_iter=steps), np.inf
            for _ in range(N_TIMES):
                begun = perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(X, y)
                seconds = min(seconds, perf_counter() - begun)
            points.append((seconds, float(model.dual_gap_)))
            if model.converged_ or steps > MOST_STEPS:
                break
            steps *= 2
        times, gaps = (np.array(column) for column in zip(*points, strict=True))
        # Fewer steps take no longer than more: what was slower was disturbed.
        return cls(np.minimum.accumulate(times[::-1])[::-1], gaps, float(estimator.tol))

    def _draw(self, ax: Any) -> None:
        shown = np.maximum(self.gaps, SMALLEST_SHOWN)
        ax.plot(self.seconds, shown, color=PALETTE[0], marker="o", markersize=4)
        ax.axhline(self.tol, color=INK, linewidth=1.1, linestyle=DASHES, zorder=1)
        ax.set(yscale="log")
        ax.set_xlim(left=0.0)
        title = f"a gap of {self.gaps[-1]:.3g} proved in {self.seconds[-1]:.2g} s"
        caption(ax, "seconds of a fit that is stopped", "relative duality gap (dashed: tol)", title)


class DualTraceDisplay(Display):
    """The value of the dual after each round of the solver, which rises to the least primal value.

    Parameters
    ----------
    traces : sequence of arrays
        Of each machine.
    primal : array of shape (n_machines,)
        Primal values at the end, which no dual value exceeds.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import DualTraceDisplay
    >>> DualTraceDisplay([np.array([0.0, 2.0, 3.0])], np.array([3.0])).plot().ax_.get_title()
    'dual value 3 of at most 3'
    """

    traces: Sequence[NDArray]
    primal: NDArray

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if not hasattr(estimator, "history_"):
            raise ValueError(
                f"The 'history' picture of {type(estimator).__name__} needs it kept: fit with history=True."
            )
        traces = [np.asarray(trace, dtype=float) for trace in estimator.history_]
        return cls(traces, np.asarray(estimator.primal_value_, dtype=float))

    def _draw(self, ax: Any) -> None:
        one = len(self.traces) == 1
        palette = [PALETTE[0]] if one else colors(len(self.traces))
        for trace, primal, color in zip(self.traces, self.primal, palette, strict=True):
            mark = "o" if len(trace) <= 40 else ""
            ax.plot(np.arange(len(trace)), trace, color=color, marker=mark, markersize=4)
            ax.axhline(primal, color=INK if one else color, linewidth=1.1, linestyle=DASHES, zorder=1)
        whole_numbers(ax)
        reached, most = sum(float(trace[-1]) for trace in self.traces), float(self.primal.sum())
        title = f"dual value {reached:.4g} of at most {most:.4g}"
        title += "" if one else f", {len(self.traces)} machines together"
        caption(ax, "round of the solver", "dual value (dashed: primal)", title)


class DualWeightsDisplay(Display):
    """Weights |ν| of the support vectors in order, with those at their bound set apart.

    It shows fitted attributes alone: there is one of every machine, whatever its kernel and rows.

    Parameters
    ----------
    weights : array of shape (n_weights,)
        Largest first; those of all machines where there are several.
    at_bound : array of shape (n_weights,) or None
        None where there are several machines, or a loss without a bound.
    n_rows : int
        Training rows.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import DualWeightsDisplay
    >>> shown = DualWeightsDisplay(np.array([1.0, 0.4]), np.array([True, False]), 9, "two of nine rows")
    >>> shown.plot().ax_.get_title()
    'two of nine rows'
    """

    weights: NDArray
    at_bound: NDArray | None
    n_rows: int
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if is_on_features(estimator):
            raise ValueError(
                f"The 'weights' picture of {type(estimator).__name__} is that of support vectors, and the "
                "machine is one on features: draw another kind."
            )
        weights = np.abs(np.asarray(estimator.dual_coef_, dtype=float))
        places = np.nonzero(weights.ravel())[0]
        order = places[np.argsort(-weights.ravel()[places], kind="stable")]
        sets, at_bound = sets_of_fit(estimator), None
        if len(estimator.intercept_) == 1 and is_cornered(estimator):
            at_bound = sets[np.asarray(estimator.support_)][order] == BOUND
        n_support, n_rows = len(estimator.support_), int(estimator.shape_fit_[0])
        title = f"{kernel_name(estimator)} kernel: {n_support} of {n_rows} rows are support vectors"
        return cls(weights.ravel()[order], at_bound, n_rows, title)

    def _draw(self, ax: Any) -> None:
        ranks = np.arange(1, len(self.weights) + 1)
        groups: list[tuple[NDArray, str, str]] = [(np.ones(len(ranks), dtype=bool), PALETTE[0], "")]
        if self.at_bound is not None:
            bound = self.at_bound
            groups = [(bound, ACCENT, "at the bound"), (~bound, PALETTE[0], "below the bound")]
        for rows, color, name in groups:
            if rows.any():
                label = f"{name} ({np.count_nonzero(rows)})" if name else None
                ax.vlines(ranks[rows], 0.0, self.weights[rows], color=color, linewidth=1.2, alpha=0.6)
                ax.plot(ranks[rows], self.weights[rows], "o", color=color, markersize=3.5, label=label)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
        ax.set_ylim(bottom=0.0)
        if self.at_bound is not None and len(ranks):
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        whole_numbers(ax)
        caption(ax, "support vectors, in order of weight", "weight |ν| (dual_coef_)", self.title)
