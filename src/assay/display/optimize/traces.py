"""Pictures of runs side by side: their energies and their gradients, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.style import colors, whole_numbers
from assay.optimize import Trace
from assay.parameters import refusal

LEAST = 1e-17
"""A logarithmic axis has no zero, nor what rounding leaves below a minimum."""


class TracesDisplay(Display):
    """Objective and gradient norm of several runs of descent, one curve each, in two panels.

    Parameters
    ----------
    names : sequence of str
        One for each run, such as its step.
    values, gradient_norms : sequences of arrays of shape (n_points,)
        Heights above `minimum` where it is given, objectives otherwise; and norms of the gradient.
    above_minimum : bool, default=False
        Whether the heights are gaps, on a logarithmic axis.

    Examples
    --------
    >>> from assay.display import TracesDisplay, plot_traces
    >>> from assay.optimize import gradient_descent, quadratic
    >>> f = quadratic([[2.0]], [0.0])
    >>> runs = {f"step {step}": gradient_descent(f, [1.0], step=step).trace for step in (0.1, 0.4)}
    >>> TracesDisplay.from_traces(runs).names
    ('step 0.1', 'step 0.4')
    >>> [panel.get_ylabel() for panel in plot_traces(runs, minimum=f.minimum).child_axes]
    ['objective above its minimum', 'gradient norm']
    """

    names: Sequence[str]
    values: Sequence[NDArray]
    gradient_norms: Sequence[NDArray]
    above_minimum: bool = False

    @classmethod
    def from_traces(
        cls, traces: Mapping[str, Trace], *, minimum: float | None = None, ax: Any = None
    ) -> Self:
        """Draw objective and gradient norm of several runs against the iteration.

        Parameters
        ----------
        traces : mapping of str to Trace
            Names of the runs, and what they saw, such as `gradient_descent(...).trace`.
        minimum : float, optional
            Subtracted from the objectives, which are then shown on a logarithmic axis.
        ax : matplotlib Axes, optional
        """
        if not isinstance(traces, Mapping) or not traces:
            raise refusal("plot_traces", "traces", "a mapping of names to traces, not empty", traces)
        least = 0.0 if minimum is None else float(minimum)
        values = [np.asarray(trace.values, dtype=float) - least for trace in traces.values()]
        norms = [np.asarray(trace.gradient_norms, dtype=float) for trace in traces.values()]
        return cls(tuple(map(str, traces)), values, norms, minimum is not None).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        words = "objective above its minimum" if self.above_minimum else "objective"
        panels = (words, self.values, self.above_minimum), ("gradient norm", self.gradient_norms, True)
        for place, (ylabel, curves, logarithmic) in enumerate(panels):
            panel = ax.inset_axes((0.56 * place, 0.0, 0.44, 1.0))
            for name, curve, color in zip(self.names, curves, colors(len(self.names)), strict=True):
                shown = np.maximum(curve, LEAST) if logarithmic else curve
                panel.plot(np.arange(len(curve)), shown, color=color, linewidth=1.6, label=name)
            if logarithmic:
                panel.set_yscale("log")
            else:
                whole_numbers(panel)
            panel.set(xlabel="iteration", ylabel=ylabel)
        panel.legend(loc="best")
        ax.set_axis_off()


plot_traces = drawn_by(TracesDisplay.from_traces, "plot_traces", axes_of)
