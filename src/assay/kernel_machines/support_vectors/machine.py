"""One machine with a sided loss: what it minimises, how it is solved, where its rows stand."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.box import BoxOptions, exact_products, solve_box
from assay.solvers.rkhs.constraint import strength_of_budget, strength_of_radius
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.machines.judging import (
    BEYOND,
    GAP,
    HIGH,
    IMBALANCE,
    LOW,
    N_NUMBERS,
    PRIMAL,
    SCALE,
    SQUARED_NORM,
    judge_machines,
)
from assay.solvers.rkhs.machines.solver import Span
from assay.solvers.rkhs.newton import solve_newton
from assay.solvers.rkhs.problem import (
    Array,
    RKHSGap,
    RKHSProblem,
    RKHSSolution,
    box,
    measure,
    sides_of,
    stacked,
)

NEWTON_STEPS = 1000


class Limit(NamedTuple):
    """A constraint in the place of the penalty: its kind, "radius" or "budget", and its size."""

    kind: str
    size: float


class MachineData(NamedTuple):
    """The training rows of a machine: their places in the table, and what it minimises on them.

    `gram` is their Gram matrix where it is in memory.
    """

    rows: NDArray[np.intp]
    problem: RKHSProblem[SidedLoss]
    X: Any
    gram: GramLines | None

    @property
    def matrix(self) -> Array | None:
        """The Gram matrix as an array."""
        return None if self.gram is None else np.asarray(self.gram)


class Standing(NamedTuple):
    """A machine measured on its rows, from coefficients and intercept alone."""

    coef: Array
    gap: RKHSGap
    violations: Array
    """How far each residual is from where its ν says it must be."""
    outside: float
    """Largest violation of the box of ν, relative to its width."""
    imbalance: float
    """|Σν| over Σ|ν|, 0 without an intercept."""
    slack: Array
    sets: NDArray[np.int8]
    interval: tuple[float, float]
    reach: float
    """The largest k(x, x)."""
    problem: RKHSProblem[SidedLoss]
    slope: Array
    """Residual of each row, y − h(x) − b; of squares less what their conjugate bends."""


def largest_of(values: Sequence[float]) -> float:
    """The largest of a few numbers, NaN if one is: NumPy takes longer to begin."""
    return math.nan if math.isnan(sum(values)) else max(values)


def part_of(sizes: NDArray[np.intp], index: int) -> slice:
    """The rows of one machine among stacked ones."""
    if not 0 <= index < len(sizes):
        raise IndexError(index)
    start = int(sizes[:index].sum()) if index else 0
    return slice(start, start + int(sizes[index]))


class Machines(Sequence[MachineData]):
    """Machines with one loss, their rows one after the other.

    Parameters
    ----------
    problem : RKHSProblem
        What they minimise, rows stacked.
    rows : array
        Places of the rows in the table.
    sizes : array of shape (n_machines,)
    X : array or CSR matrix
        The table.
    gram : array, optional
        The Gram matrix of the rows of the table in some order, `order` (all of them as they are by default).
    spans : sequence of Span, optional
        Where in that order the rows of each machine are.
    """

    def __init__(
        self,
        problem: RKHSProblem[SidedLoss],
        rows: NDArray[np.intp],
        sizes: NDArray[np.intp],
        X: Any,
        gram: NDArray | None = None,
        spans: Sequence[Span] = (),
        order: NDArray[np.intp] | None = None,
    ) -> None:
        self.problem, self.rows, self.sizes, self.X = problem, rows, sizes, X
        self.gram, self.spans, self.order = gram, spans, order
        self._each: Sequence[MachineData] | None = None

    @classmethod
    def of(cls, machines: Sequence[MachineData]) -> Machines:
        """The stack of machines that are there already."""
        if isinstance(machines, cls):
            return machines
        sizes = np.array([len(data.rows) for data in machines])
        rows = machines[0].rows if len(machines) == 1 else np.concatenate([data.rows for data in machines])
        stack = cls(stacked([data.problem for data in machines]), rows, sizes, None)
        stack._each = machines
        return stack

    def aimed_at(self, target: Array) -> Machines:
        """The same machines with other targets."""
        problem = self.problem._replace(target=target)
        stack = Machines(problem, self.rows, self.sizes, self.X, self.gram, self.spans, self.order)
        if self._each is not None:
            parts = [target[part_of(self.sizes, place)] for place in range(len(self))]
            each = zip(self._each, parts, strict=True)
            stack._each = [data._replace(problem=data.problem._replace(target=part)) for data, part in each]
        return stack

    @functools.cached_property
    def box(self) -> tuple[Array, Array]:
        """Largest ν of each row, and the largest −ν."""
        return box(self.problem)

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> MachineData: ...
    @overload
    def __getitem__(self, index: slice) -> list[MachineData]: ...
    def __getitem__(self, index: int | slice) -> MachineData | list[MachineData]:
        if self._each is not None:
            return self._each[index] if isinstance(index, int) else list(self._each[index])
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        part = part_of(self.sizes, index)
        problem = self.problem._replace(target=self.problem.target[part], cost=self.problem.cost[part])
        lines = None
        if self.gram is not None:
            a, a_end, b, b_end = self.spans[index]
            everything = a == 0 and a_end == len(self.gram)
            places = None if everything else np.concatenate([np.arange(a, a_end), np.arange(b, b_end)])
            lines = GramLines(self.gram, places)
        rows = self.rows[part]
        everything = self.order is None and len(rows) == self.X.shape[0]
        return MachineData(rows, problem, self.X if everything else self.X[rows], lines)

    def reach(self, kernel: Kernel) -> Array:
        """The largest k(x, x) of each machine."""
        if self._each is None and self.gram is not None:
            diagonal = self.gram.diagonal()
            tops = [
                max(float(diagonal[a:e].max(initial=0.0)), float(diagonal[b:f].max(initial=0.0)))
                for a, e, b, f in self.spans
            ]
            return np.array(tops)
        diagonals = [kernel.diagonal(data.X) if data.gram is None else data.gram.diagonal() for data in self]
        return np.array([float(diagonal.max()) for diagonal in diagonals])


@dataclass(frozen=True, eq=False)
class Solved(Sequence[RKHSSolution]):
    """Solutions of machines, their rows one after the other.

    `reach` are the largest k(x, x) and `alone` says of which machine it is sure that its coefficients are
    unique, where the solver knows.
    """

    sizes: NDArray[np.intp]
    coef: Array
    products: Array
    intercepts: Array
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    traces: Sequence[list[float]] = ()
    reach: Array | None = None
    alone: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, solutions: Sequence[RKHSSolution]) -> Solved:
        """The stack of solutions that are there already."""
        if isinstance(solutions, cls):
            return solutions
        first, several = solutions[0], len(solutions) > 1
        return cls(
            np.array([len(one.coef) for one in solutions]),
            np.concatenate([one.coef for one in solutions]) if several else first.coef,
            np.concatenate([one.products for one in solutions]) if several else first.products,
            np.array([one.intercept for one in solutions]),
            np.array([one.n_iter for one in solutions]),
            np.array([one.converged for one in solutions]),
            [one.trace for one in solutions],
        )

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, index: int) -> RKHSSolution: ...
    @overload
    def __getitem__(self, index: slice) -> list[RKHSSolution]: ...
    def __getitem__(self, index: int | slice) -> RKHSSolution | list[RKHSSolution]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        part, at = part_of(self.sizes, index), float(self.intercepts[index])
        ended = int(self.n_iter[index]), bool(self.converged[index])
        trace = self.traces[index] if self.traces else []
        return RKHSSolution(self.coef[part], at, (at, at), self.products[part], *ended, trace)


class Standings(Sequence[Standing]):
    """Machines measured on their rows: arrays of rows, numbers of machines; see `judge_machines`."""

    def __init__(
        self, machines: Machines, of_rows: tuple[NDArray, ...], numbers: Array, reach: Array
    ) -> None:
        self.machines, self.numbers, self.reach = machines, numbers, reach
        self.alone: NDArray[np.bool_] | None = None
        self.coef, self.losses, self.slack, self.slopes, self.violations, self.gaps, self.sets = of_rows

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> Standing: ...
    @overload
    def __getitem__(self, index: slice) -> list[Standing]: ...
    def __getitem__(self, index: int | slice) -> Standing | list[Standing]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        part = part_of(self.machines.sizes, index)
        stack, numbers = self.machines.problem, self.numbers[index].tolist()
        problem = stack._replace(target=stack.target[part], cost=stack.cost[part])
        losses, gaps = self.losses[part], self.gaps[part]
        gap = RKHSGap(numbers[PRIMAL], numbers[GAP], numbers[SQUARED_NORM], losses, gaps, numbers[SCALE])
        return Standing(
            self.coef[part],
            gap,
            self.violations[part],
            numbers[BEYOND],
            numbers[IMBALANCE],
            self.slack[part],
            self.sets[part],
            (numbers[LOW], numbers[HIGH]),
            float(self.reach[index]),
            problem,
            self.slopes[part],
        )

    @functools.cached_property
    def relative(self) -> list[float]:
        """The relative gap of each machine."""
        gaps, scales = self.numbers[:, GAP].tolist(), self.numbers[:, SCALE].tolist()
        return [gap / scale if scale > 0 else 0.0 for gap, scale in zip(gaps, scales, strict=True)]

    def largest(self, column: int) -> float:
        """The largest of one of the numbers; NaN if one is."""
        return largest_of(self.numbers[:, column].tolist())


def solve_machine(
    kernel: Kernel, data: MachineData, options: BoxOptions, start: RKHSSolution | None = None
) -> RKHSSolution:
    """Minimise the objective of a machine: pairs of rows for a loss with corners, Newton steps for squares.

    A solution for another cost to start from is brought into the box of this one.
    """
    problem = data.problem
    if not problem.loss.cornered:
        limits: dict[str, Any] = {"tol": options.tol, "max_iter": min(options.max_iter, NEWTON_STEPS)}
        return solve_newton(problem, kernel, data.X, gram=data.matrix, start=start, **limits)
    point = None
    if start is not None:
        upper, lower = box(problem)
        inside = np.all((start.coef <= upper) & (start.coef >= -lower))
        share = 1.0 if inside else float(problem.cost.min() / max(np.abs(start.coef).max(), 1e-300))
        point = min(share, 1.0) * start.coef
    return solve_box(problem, kernel, data.X, options, gram=data.gram, start=point)


def solve_constrained(
    kernel: Kernel, data: MachineData, options: BoxOptions, limit: Limit
) -> tuple[MachineData, RKHSSolution, float]:
    """The machine of a ball ‖h‖ ≤ c or of a budget Σ s ℓ ≤ B, and the cost at which the penalty gives it."""

    def solve(cost: float, start: RKHSSolution | None) -> tuple[float, float, RKHSSolution]:
        problem = data.problem._replace(cost=cost * data.problem.cost)
        solution = solve_machine(kernel, data._replace(problem=problem), options, start)
        gap = measure(problem, solution.coef, solution.intercept, solution.products)
        return float(np.sqrt(gap.squared_norm)), float(gap.row_loss.sum()) / cost, solution

    # A gap moves the norm by its root: the constraint is met to the root of what the solver reaches.
    options = options._replace(tol=min(options.tol, 1e-10))
    meet = strength_of_radius if limit.kind == "radius" else strength_of_budget
    point = meet(solve, limit.size, tol=1e-6)
    problem = data.problem._replace(cost=point.cost * data.problem.cost)
    return data._replace(problem=problem), point.solution, point.cost


def machine_products(kernel: Kernel, data: MachineData, coef: Array) -> Array:
    """K ν⁺ and K ν⁻ in double precision, afresh."""
    if data.gram is not None:
        return np.column_stack([data.gram.product(side) for side in sides_of(coef).T])
    return exact_products(kernel, data.X.astype(np.float64), coef)


def stand_all(
    kernel: Kernel,
    machines: Sequence[MachineData],
    solved: Solved,
    *,
    digits: float = 1e-13,
) -> Standings:
    """Measure machines on their rows, all at once; a coefficient within `digits` of its bound is at it."""
    stack = machines if isinstance(machines, Machines) else Machines.of(machines)
    problem, total = stack.problem, len(solved.coef)
    of_rows = (*np.empty((6, total)), np.empty(total, dtype=np.int8))
    numbers = np.empty((len(stack), N_NUMBERS))
    rows = problem.target, problem.cost, *stack.box
    point = solved.coef, solved.products, solved.intercepts
    form, free = problem.loss.row_form, bool(problem.fit_intercept)
    judge_machines(form, rows, point, stack.sizes, free, digits, of_rows, numbers)
    reach = stack.reach(kernel) if solved.reach is None else solved.reach
    standings = Standings(stack, of_rows, numbers, reach)
    standings.alone = solved.alone
    return standings
