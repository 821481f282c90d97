"""What machines carried by support vectors share: parameters, solutions, certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificates
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    overflow,
    require_psd,
    require_range,
    training_gram,
)
from assay.kernel_machines.parameters import KERNEL_DOMAINS, kernel_of
from assay.kernel_machines.support_vectors.certificates import allowed_gap, machine_certificates
from assay.kernel_machines.support_vectors.machine import (
    Limit,
    MachineData,
    Machines,
    Solved,
    Standings,
    largest_of,
    machine_products,
    part_of,
    solve_constrained,
    solve_machine,
    stand_all,
)
from assay.kernel_machines.support_vectors.uniqueness import has_unique_coefficients
from assay.kernels import Custom, Kernel, Precomputed
from assay.losses import SidedLoss
from assay.models.capabilities import PairwiseModel
from assay.models.convergence import warn_of_gap
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, ordered_map
from assay.solvers.rkhs.box import RULES, BoxOptions
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.machines.judging import GAP, HIGH, LOSS, LOW, PRIMAL, SQUARED_NORM
from assay.solvers.rkhs.machines.loops import ALONE, CONVERGED, INTERCEPT, N_ITER, REACH
from assay.solvers.rkhs.machines.solver import SMALL, SmallMachines, solve_small
from assay.solvers.rkhs.problem import Array, RKHSProblem, RKHSSolution

INSTEAD = (
    "map the rows by Nystroem, and fit LinearSVC, LogisticRegression or Ridge to what comes out, which stream"
)

SHARED_GRAM = 3000
"""Rows up to which one Gram matrix of all rows serves every machine."""

UNLIMITED = 10**9

SLIGHT = 1e-6
"""Slacks below this share of their unit may be off by rounding."""

FEW = 2000
"""Rows of all machines together up to which one thread is as fast."""

LIMIT = parameters.nothing | parameters.real(above=0.0, squared=True)

MACHINE_DOMAINS: Mapping[str, Domain] = {
    **KERNEL_DOMAINS,
    "C": parameters.real(above=0.0, squared=True),
    "penalty_strength": parameters.nothing | parameters.real(above=0.0, squared=True),
    "fit_intercept": parameters.boolean,
    "working_set": parameters.one_of(*RULES),
    "shrinking": parameters.boolean,
    "tol": parameters.real(above=0.0),
    "cache_size": parameters.real(above=0.0),
    "max_iter": Domain("-1 (no limit)", lambda value: isinstance(value, Integral) and value == -1)
    | parameters.integer(at_least=1),
    "verbose": parameters.boolean | parameters.integer(at_least=0),
    "history": parameters.boolean,
    "random_state": parameters.random_state,
}


class SupportVectorModel(IterativeModel, PairwiseModel):
    """Base of machines that minimise ½‖h‖² + C Σ s ℓ(y, h(x) + b) for a loss with corners."""

    _comparison: ClassVar[str] = "kernel"
    _source: ClassVar[str]
    C: float
    penalty_strength: float | None
    fit_intercept: bool
    working_set: str
    tol: float
    cache_size: float
    max_iter: int
    history: bool
    random_state: Any
    kernel_: Kernel
    support_: NDArray
    support_vectors_: Any
    dual_coef_: NDArray
    intercept_: NDArray

    @property
    def _instead(self) -> str:
        """What to take for rows outside memory."""
        return f"give 'approximation', or {INSTEAD}" if "approximation" in self._domains else INSTEAD

    def _set_strength(self, total_weight: float) -> None:
        """C and λ, each from the other: λ‖h‖² on the mean loss is C = 1/(2λn) on the sum."""
        given = self.penalty_strength
        if self._limit is not None:  # costs are found relative to 1
            self.C_, self.penalty_strength_ = 1.0, 1 / (2 * total_weight)
            return
        self.C_ = float(self.C) if given is None else 1 / (2 * given * total_weight)
        self.penalty_strength_ = 1 / (2 * self.C_ * total_weight)

    def _gram_of(self, X: Any, *, fitting: bool) -> NDArray | None:
        """The Gram matrix in double precision, if it is small, given, or that of a function of two rows."""
        kernel = self.kernel_
        require_range(kernel, X)
        if X.shape[0] > SHARED_GRAM and not isinstance(kernel, (Precomputed, Custom)):
            return None
        gram = training_gram(kernel, X.astype(np.float64))
        if fitting and not kernel.positive_definite:
            require_psd(GramSystem(gram), kernel)
        return gram

    def _machine(
        self, X: Any, gram: NDArray | None, rows: NDArray[np.intp] | None, problem: RKHSProblem[SidedLoss]
    ) -> MachineData:
        """A machine on some of the rows, on all of them with None."""
        lines = None if gram is None else GramLines(gram, rows)
        if rows is None:
            return MachineData(np.arange(X.shape[0]), problem, X, lines)
        return MachineData(rows, problem, X[rows], lines)

    @property
    def _limit(self) -> Limit | None:
        """The constraint that takes the place of the penalty, if there is one."""
        radius, budget = getattr(self, "radius", None), getattr(self, "budget", None)
        if radius is not None and budget is not None:
            raise ValueError(
                f"{type(self).__name__} takes one constraint: give 'radius' or 'budget', not both."
            )
        if radius is not None:
            return Limit("radius", float(radius))
        return None if budget is None else Limit("budget", float(budget))

    def _solve_all(
        self, X: Any, y: Any, machines: Sequence[MachineData]
    ) -> tuple[Sequence[MachineData], Sequence[RKHSSolution]]:
        """Solve every machine; several at a time where nobody watches.

        With a constraint the cost at which the penalty gives the same is found, and becomes `C_`.
        """
        keeps = "_start" in self.__dict__
        options, watch = self._options(X, y, len(machines))
        if isinstance(machines, Machines) and watch.is_idle and self._are_small(machines):
            return machines, self._solve_small(machines, options)
        starts = self.__dict__.pop("_start", None) or [None] * len(machines)
        limit = self._limit

        def solve(item: tuple[MachineData, RKHSSolution | None]) -> RKHSSolution:
            return self._solve_one(item[0], options, item[1])

        pairs = list(zip(machines, starts, strict=True))
        several = len(machines) > 1 and sum(len(data.rows) for data in machines) > FEW
        if limit is not None:
            if len(machines) > 1:
                raise ValueError(
                    f"A {limit.kind} is that of one machine, so that there must be two classes. Got "
                    f"{len(machines)} machines; give 'C' instead."
                )
            with watch.run("machine"):
                data, solution, cost = solve_constrained(self.kernel_, machines[0], options, limit)
            self.penalty_strength_ = self.penalty_strength_ * self.C_ / (cost * self.C_)
            self.C_ = cost * self.C_
            machines, solutions = [data], [solution]
        elif watch.is_idle and options.draws is None and several:
            solutions = list(ordered_map(solve, pairs))
        else:
            solutions = []
            for pair in pairs:
                with watch.run("machine"):
                    solutions.append(solve(pair))
        watch.finish()
        if keeps:
            self._solved = solutions
        return machines, solutions

    def _are_small(self, machines: Machines) -> bool:
        """Whether each machine is solved by one compiled call: see `assay.solvers.rkhs.machines`."""
        usual = self.working_set == "second_order" and not self.history and self._limit is None
        own = type(self)._solve_one is SupportVectorModel._solve_one and "_start" not in self.__dict__
        placed = self.fit_intercept and bool(machines.spans) and int(machines.sizes.max()) <= SMALL
        return usual and own and placed and machines.problem.loss.cornered

    def _solve_small(self, machines: Machines, options: BoxOptions) -> Solved:
        """Solve all machines by a compiled call each; those that it leaves unfinished by pairs."""
        problem, kernel = machines.problem, self.kernel_
        upper, lower = machines.box
        epsilon = float(problem.loss.row_form.epsilon)
        stack = SmallMachines(problem.target, upper, lower, epsilon, machines.spans)
        gram: Any = machines.gram
        if gram is None:
            table = machines.X[machines.order].astype(np.float64)
            gram = kernel._open(table, table), table.shape[0]
        coef, products, numbers = solve_small(stack, gram, tol=options.tol, max_iter=options.max_iter)
        if not np.isfinite(products.sum()):
            raise overflow(kernel)
        converged, n_iter = numbers[:, CONVERGED] > 0, numbers[:, N_ITER].astype(np.intp)
        for m in np.flatnonzero(~converged & (n_iter < options.max_iter)).tolist():
            part = part_of(machines.sizes, m)
            left = options._replace(max_iter=options.max_iter - int(n_iter[m]))
            at = numbers[m, INTERCEPT]
            begun = RKHSSolution(coef[part], at, (at, at), products[part], 0, False, [])
            solution = solve_machine(kernel, machines[m], left, begun)
            coef[part], products[part] = solution.coef, solution.products
            numbers[m, INTERCEPT], numbers[m, ALONE] = solution.intercept, 0.0
            converged[m], n_iter[m] = solution.converged, n_iter[m] + solution.n_iter
        alone = numbers[:, ALONE] > 0
        ended = n_iter, converged
        reach = numbers[:, REACH]
        return Solved(machines.sizes, coef, products, numbers[:, INTERCEPT], *ended, reach=reach, alone=alone)

    def _solve_one(self, data: MachineData, options: BoxOptions, start: RKHSSolution | None) -> RKHSSolution:
        """The solution of one machine, from one to start at where there is one."""
        return solve_machine(self.kernel_, data, options, start)

    def _options(self, X: Any, y: Any, n_machines: int) -> tuple[BoxOptions, Any]:
        """How to solve, and who watches."""
        max_iter = UNLIMITED if self.max_iter == -1 else int(self.max_iter)
        watch = self._watch_fit(X, y, n_runs=n_machines, max_iter=max_iter)
        options = BoxOptions(
            float(self.tol),
            max_iter,
            1e6 * float(self.cache_size),
            self.working_set,
            draws_of(self.random_state) if self.working_set == "random" else None,
            lambda value: watch.iteration(dict),
        )
        return options, watch

    def _judge(
        self, machines: Sequence[MachineData], solutions: Sequence[RKHSSolution], dtype: Any
    ) -> Standings:
        """Measure the solutions, set what certifies them, and warn where a machine has not converged."""
        solved = Solved.of(solutions)
        standings = stand_all(self.kernel_, machines, solved)
        self.certificates_ = Certificates(self._claims(standings, dtype))
        self.dual_gap_ = largest_of(standings.relative)
        self.optimality_ = self.certificates_[1].value
        # Pairs may creep for ever where rounding alone keeps them apart, and rounding may hide that they are
        # apart: the gap decides.
        ended = zip(solved.converged.tolist(), standings.relative, strict=True)
        said = all(converged or gap <= self.tol for converged, gap in ended)
        self.converged_ = said and self.dual_gap_ <= allowed_gap(self.tol)
        if self.history:
            self.history_ = [np.array(trace) for trace in solved.traces]
        if not self.converged_:
            warn_of_gap(self, int(solved.n_iter.max()), int(self.max_iter), self.dual_gap_)
        return standings

    def _claims(self, standings: Standings, dtype: Any) -> list[Any]:
        return machine_certificates(standings, self.tol, single=dtype == np.float32, source=self._source)

    def _standings(self, machines: Sequence[MachineData], coefs: Array, intercepts: Array) -> Standings:
        """The machines measured from stored coefficients, one column each, on kernel values made afresh."""
        digits = 1e-6 if self.dual_coef_.dtype == np.float32 else 1e-13
        columns = [coefs[data.rows, place] for place, data in enumerate(machines)]
        pairs = zip(machines, columns, strict=True)
        products = [machine_products(self.kernel_, data, coef) for data, coef in pairs]
        sizes, nothing = np.array([len(column) for column in columns]), np.zeros(len(columns), dtype=np.intp)
        stored = np.concatenate(columns), np.concatenate(products), intercepts
        given = Solved(sizes, *stored, nothing, nothing > 0)
        return stand_all(self.kernel_, machines, given, digits=digits)

    def _stored(self, again: dict[str, Any], data: Any) -> dict[str, tuple[Any, Any]]:
        """What is kept beside what the rows give again; violations that small are rounding."""
        pairs = {
            name: (getattr(self, name), value) for name, value in again.items() if name != "kkt_violations_"
        }
        # Slacks that are all rounding are not compared by their last digits.
        room = SLIGHT * self._unit_of_slacks(data)
        kept, fresh = pairs["slack_"]
        pairs["slack_"] = np.append(kept, room), np.append(fresh, room)
        # Nor is a norm whose square is rounding beside the objective.
        room = np.sqrt(2 * np.abs(again["primal_value_"])) * SLIGHT
        kept, fresh = pairs["rkhs_norm_"]
        pairs["rkhs_norm_"] = np.append(kept, room), np.append(fresh, room)
        if "margin_" in pairs:
            with np.errstate(divide="ignore"):
                pairs["margin_"] = tuple(np.minimum(each, 1 / room) for each in pairs["margin_"])
        if not self._is_precomputed:
            both = (self.support_vectors_, data.X[self.support_])
            kept, fresh = (each.toarray() if hasattr(each, "toarray") else each for each in both)
            pairs["support_vectors_"] = kept, fresh
        if hasattr(self, "C_"):
            pairs["penalty_strength_"] = self.penalty_strength_, 1 / (2 * self.C_ * data.total_weight)
        return pairs

    def _unit_of_slacks(self, data: Any) -> float:
        """What slacks are measured in: the targets."""
        return 1.0 if hasattr(self, "classes_") else float(np.abs(data.y).max(initial=0.0))

    def _with(self, **changed: Any) -> Any:
        """An unfitted model with some parameters changed."""
        return type(self)(**{**self.get_params(deep=False), **changed})

    def _kernel_for(self, data: Any) -> Kernel:
        return kernel_of(self, data.X, data.weight)


def draws_of(random_state: Any) -> Callable[[int], NDArray[np.int64]]:
    """A function that draws pairs of whole numbers."""
    rng = generator(random_state)

    def draws(count: int) -> NDArray[np.int64]:
        return rng.integers(0, 2**62, size=(count, 2), dtype=np.int64)

    return draws


def uniqueness(kernel: Kernel, machines: Sequence[MachineData], standings: Standings) -> NDArray:
    """Whether the coefficients of each machine are the only ones, None where it was left open."""
    told: list[bool | None] = (
        [False] * len(standings) if standings.alone is None else standings.alone.tolist()
    )
    for place in [place for place, alone in enumerate(told) if not alone]:
        told[place] = has_unique_coefficients(kernel, machines[place], standings[place])
    return np.array(told, dtype=object if None in told else bool)


def implied(machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
    """What the coefficients of machines on n rows imply, a line per machine (none for one)."""
    stack, numbers, several = standings.machines, standings.numbers, len(standings) > 1
    places = stack.rows
    if several:
        places = places + np.repeat(n * np.arange(len(stack.sizes)), stack.sizes)

    def spread(values: NDArray) -> NDArray:
        if not several and len(values) == n:
            return values.copy()
        table = np.zeros(len(stack.sizes) * n, dtype=values.dtype)
        table[places] = values
        return table.reshape(-1, n) if several else table

    primal = numbers[:, PRIMAL].copy()
    return {
        "slack_": spread(standings.slack),
        "kkt_violations_": spread(standings.violations),
        "point_sets_": spread(standings.sets),
        "intercept_interval_": numbers[:, [LOW, HIGH]],
        "rkhs_norm_": np.sqrt(numbers[:, SQUARED_NORM]),
        "primal_value_": primal,
        "dual_value_": primal - numbers[:, GAP],
        "loss_value_": numbers[:, LOSS].copy(),
    }


def values_block(
    block: Block, kernel: Kernel, support: tuple[Any, NDArray], coefs: NDArray, intercept: NDArray
) -> NDArray:
    """Values of every machine at the rows of a block."""
    vectors, places = support
    if len(places) == 0:
        return np.broadcast_to(intercept, (block.X.shape[0], len(intercept))).astype(intercept.dtype)
    if isinstance(kernel, Precomputed):
        return np.asarray(block.X[:, places] @ coefs) + intercept
    return kernel.apply(block.X, vectors, coefs) + intercept
