"""Pictures of problems of the plane: a constrained minimum with its multipliers, a path of descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import drawn_by, itself
from assay.display.optimize.sets import ConvexPicture
from assay.display.plane import label, level_lines, on_grid, plane_points, view_of
from assay.display.style import ACCENT, INK, PALETTE, new_axes
from assay.optimize import ConvexProgram, Smooth, solve_program
from assay.parameters import refusal


class ProgramDisplay(ConvexPicture):
    """A constrained problem of the plane: level lines, feasible set, solution and multipliers.

    At the solution −∇f is the sum of the gradients of the constraints times their multipliers.

    Parameters
    ----------
    point : array of shape (2,)
        The solution.
    value : float
        The minimum.
    multipliers, equality_multipliers : arrays
    status : str
        How the solver ended.
    grid : array of shape (side,)
        Abscissas and ordinates of the heights.
    heights, worst : arrays of shape (side, side)
        The objective, and the largest of the inequality constraints.
    equalities : sequence of arrays of shape (side, side)
        The equality constraints.
    n_inequalities : int
    pull : array of shape (2,)
        −∇f at the solution.

    Examples
    --------
    >>> import numpy as np
    >>> from assay import display, optimize, penalties
    >>> nearest = optimize.ConvexProgram(penalties.Quadratic(2 * np.eye(2), [-4.0, -2.0], 5.0),
    ...                         [penalties.Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)], start=[0.0, 0.0])
    >>> display.ProgramDisplay.from_program(nearest).multipliers.round(2)
    array([1.24])
    >>> display.plot_program(nearest).data["point"].round(3)
    array([0.894, 0.447])
    """

    point: NDArray
    value: float
    multipliers: NDArray
    equality_multipliers: NDArray
    status: str
    grid: NDArray
    heights: NDArray
    worst: NDArray
    equalities: Sequence[NDArray]
    n_inequalities: int
    pull: NDArray

    @classmethod
    def from_program(cls, program: ConvexProgram, *, view: float | None = None, ax: Any = None) -> Self:
        """Draw a constrained problem of the plane: level lines, feasible set, solution and multipliers.

        At the solution −∇f is the sum of the gradients of the constraints times their multipliers. The
        picture reaches from −view to view.
        """
        if not isinstance(program, ConvexProgram) or program.n_variables != 2:
            raise refusal("plot_program", "program", "a ConvexProgram of two variables", program)
        solution = solve_program(program)
        reach = view or 2 * max(1.0, float(np.abs(solution.point).max()))
        grid = np.linspace(-reach, reach, 241)
        heights = on_grid(program.objective.value, grid, grid)
        worst = on_grid(lambda z: max((g.value(z) for g in program.inequalities), default=-1.0), grid, grid)
        equalities = [on_grid(h.value, grid, grid) for h in program.equalities]
        pull = -np.asarray(program.objective.gradient(solution.point), dtype=float)
        fields = {"grid": grid, "heights": heights, "worst": worst, "equalities": equalities, "pull": pull}
        return cls._read_off(solution, n_inequalities=len(program.inequalities), **fields).plot(ax=ax)

    @property
    def data(self) -> dict[str, Any]:
        """The fields by name, and `feasible`: where on the grid the inequalities hold."""
        return {**super().data, "feasible": self.worst <= 0}

    def _draw(self, ax: Any) -> None:
        reach = self.grid[-1]
        ax.grid(visible=False)
        level_lines(ax, self.grid, self.grid, self.heights)
        if self.n_inequalities:
            field = (self.grid, self.grid, self.worst)
            ax.contourf(*field, levels=[-np.inf, 0], colors=[PALETTE[0]], alpha=0.18)
            ax.contour(*field, levels=[0], colors=[PALETTE[0]], linewidths=2)
        for level in self.equalities:
            ax.contour(self.grid, self.grid, level, levels=[0], colors=[PALETTE[2]], linewidths=2)
        ax.plot(*self.point, "o", color=ACCENT, markersize=8, zorder=5)
        length = float(np.linalg.norm(self.pull))
        if length > 1e-6:
            tip = self.point + 0.35 * reach * self.pull / length
            ax.annotate("", tip, self.point, arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.8})
            terms = [*["Σ μ∇g"] * bool(self.n_inequalities), *["Σ ν∇h"] * bool(self.equalities)]
            label(ax, f"−∇f = {' + '.join(terms)}", tip, ACCENT)
        shown = ", ".join(f"{m:.3g}" for m in (*self.multipliers, *self.equality_multipliers))
        title = f"minimum {self.value:.3g}{', multipliers ' + shown if shown else ''}".replace("-", "−")
        ax.set(xlabel="x₁", ylabel="x₂", xlim=(-reach, reach), ylim=(-reach, reach), title=title)
        ax.set_aspect("equal", adjustable="box")


plot_program = drawn_by(ProgramDisplay.from_program, "plot_program", itself)


class DescentDisplay(ConvexPicture):
    """The points of a descent in the plane over level lines, or on the surface of the function.

    Parameters
    ----------
    points : array of shape (n_steps + 1, 2)
    values : array of shape (n_steps + 1,)
        The function at the points.
    columns, rows : arrays of shape (side,)
        Abscissas and ordinates of the heights.
    heights : array of shape (side, side)
        The function around the points.
    surface : bool, default=False

    Examples
    --------
    >>> from assay import display, optimize
    >>> f = optimize.quadratic([[1.0, 0.0], [0.0, 6.0]], [0.0, 0.0])
    >>> display.DescentDisplay.from_path(f, [[3.0, 1.0], [1.0, 0.0]]).values
    array([7.5, 0.5])
    >>> run = optimize.gradient_descent(f, [3.0, 1.0], step=0.28, max_iter=30, keep_points=True)
    >>> float(display.plot_descent(f, run.trace).data["values"][0])
    7.5
    """

    points: NDArray
    values: NDArray
    columns: NDArray
    rows: NDArray
    heights: NDArray
    surface: bool = False

    @classmethod
    def from_path(cls, objective: Smooth, path: Any, *, surface: bool = False, ax: Any = None) -> Self:
        """Draw the points of a descent in the plane over level lines, or on the surface of the function.

        `path` is an array of points or a trace that kept them.
        """
        points = plane_points("plot_descent", "path", getattr(path, "points", path))
        values = np.array([float(objective.value(point)) for point in points])
        low, high = view_of(points, 0.5, slimmest=0.7)
        columns, rows = np.linspace(low[0], high[0], 161), np.linspace(low[1], high[1], 161)
        heights = on_grid(objective.value, columns, rows)
        return cls(points, values, columns, rows, heights, surface).plot(ax=ax)

    def _new_axes(self, ax: Any) -> Any:
        if ax is not None or not self.surface:
            return new_axes(ax)
        import matplotlib.pyplot as plt

        return plt.subplots(layout="constrained", subplot_kw={"projection": "3d"})[1]

    def _draw(self, ax: Any) -> None:
        if self.surface:
            across, along = np.meshgrid(self.columns, self.rows)
            ax.plot_surface(across, along, self.heights, cmap="Blues_r", alpha=0.75, linewidth=0)
            lift = 0.02 * float(np.ptp(self.heights))
            ax.plot(*self.points.T, self.values + lift, color=ACCENT, marker="o", markersize=3.5, zorder=10)
            ax.set_zlabel("f(x)")
        else:
            ax.grid(visible=False)
            level_lines(ax, self.columns, self.rows, self.heights)
            ax.plot(*self.points.T, color=ACCENT, marker="o", markersize=4, linewidth=1.6)
            label(ax, "start", self.points[0], INK)
            label(ax, f"after {len(self.points) - 1} steps", self.points[-1], INK, below=True)
        largest = max(1.0, float(np.abs(self.values).max()))
        rises = bool(np.any(np.diff(self.values) > 1e-12 * largest))
        word = "not always down" if rises else "always down"
        title = f"f from {self.values[0]:.3g} to {self.values[-1]:.3g}, {word}".replace("-", "−")
        ax.set(xlabel="x₁", ylabel="x₂", title=title)


plot_descent = drawn_by(DescentDisplay.from_path, "plot_descent", itself)
