"""Machines on features of their kernel: the way out for rows that do not fit in memory.

Features φ of a kernel k have a kernel of their own, φ(x)ᵀφ(z), near k. The machine of that kernel is the
linear one on the features,

    min over (w, b)   ½‖w‖² + C Σ s ℓ(y, wᵀφ(x) + b),

which walks rows anywhere. With Nyström features it is the machine of k itself, minimised over the functions
that the landmarks span.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement
from assay.kernel_machines.approximation.base import ApproximatesKernel, only_features, watched
from assay.losses import SidedLoss
from assay.models.convergence import warn_of_gap
from assay.rows import Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import MachineProblem
from assay.solvers.piecewise.machine import (
    JudgedMachine,
    Machine,
    fit_machine,
    judge,
    local_rows,
    machine_claims,
)

PRECISE = 1e-11
MOST_STEPS = 1000
"""Steps for each machine where no limit was given."""

FitProblem = Callable[[MachineProblem], Machine]


class OnFeatures(ApproximatesKernel):
    """Gives machines of a sided loss a fit on features of their kernel."""

    _source: ClassVar[str]
    fit_intercept: bool
    _limit: Any
    tol: float
    feature_dual_: NDArray | None
    C_: Any
    penalty_strength_: Any
    _loss: Callable[[], SidedLoss]
    _set_strength: Callable[[float], None]
    _feature_machines: Callable[[], list[MachineLoss[SidedLoss]]]

    def _fit_on_features(self, X: Any, y: Any, data: Rows, total_weight: float) -> None:
        """Fit features, then the machines on them, and measure these on the rows."""
        if self._limit is not None:
            raise ValueError(
                f"{type(self).__name__} with 'approximation' has a penalty: leave 'radius' and 'budget' out."
            )
        self._set_strength(total_weight)
        mapped = self._local(self._fit_features(data))
        # One step more, near the end of Newton's, takes the conditions of each column along.
        most = MOST_STEPS if self.max_iter == -1 else int(self.max_iter)
        limits: dict[str, Any] = {"tol": min(float(self.tol), PRECISE), "max_iter": most}
        watch = self._watch_fit(X, y, n_runs=len(self._feature_machines()), max_iter=most)

        def fit(problem: MachineProblem) -> Machine:
            draws = np.random.default_rng(0)  # for coordinates in random order, which are not taken
            return fit_machine(mapped, problem, draws, watched(watch), solver="newton", **limits)

        machines = self._solved_on_features(mapped, fit, watch)
        watch.finish()
        self._store_on_features(machines, data.dtype)
        steps = [machine.n_iter for machine in machines]
        several: Any = np.array(steps, dtype=np.int32)
        self.n_iter_ = several if hasattr(self, "classes_") else max(steps)
        judged = self._judged_on_features(mapped)
        self.__dict__.update(self._feature_numbers(judged))
        claims = self._feature_claims(judged)
        self.certificates_ = Certificates([*claims, *self.features_.certificates_])
        self.dual_gap_, self.optimality_ = claims[0].value, claims[1].value
        self.converged_ = claims[0].holds  # the gap decides, not what the solver says
        self.fit_status_, self.shape_fit_ = int(not self.converged_), data.shape
        if not self.converged_:
            warn_of_gap(self, max(steps), most, self.dual_gap_)

    def _solved_on_features(self, mapped: Rows, fit: FitProblem, watch: Any) -> list[Machine]:
        """The machines that solve what `_feature_problems` gives."""
        machines = []
        for problem in self._feature_problems():
            with watch.run("machine"):
                machines.append(fit(problem))
        return machines

    def _store_on_features(self, machines: Sequence[Machine], dtype: Any) -> None:
        self.feature_coef_ = np.array([machine.coef for machine in machines], dtype=dtype)
        self.intercept_ = np.array([machine.intercept for machine in machines], dtype=dtype)
        duals = [machine.dual for machine in machines]
        self.feature_dual_ = None if duals[0] is None else np.array(duals, dtype=dtype)

    def _local(self, mapped: Rows) -> Rows:
        """The rows where the machines can walk them."""
        problem = MachineProblem(self._feature_machines()[0], bool(self.fit_intercept), 0.0)
        return local_rows(mapped, "newton", problem, type(self).__name__)

    def _feature_problems(self) -> list[MachineProblem]:
        """What each machine minimises."""
        return [
            MachineProblem(machine, bool(self.fit_intercept), 0.0) for machine in self._feature_machines()
        ]

    def _feature_points(self) -> tuple[NDArray, NDArray]:
        """Coefficients and intercepts as the machines are judged by them."""
        return self.feature_coef_.astype(np.float64), self.intercept_.astype(np.float64)

    def _feature_duals(self) -> NDArray | None:
        """Their dual points, None where these follow from the coefficients."""
        return self.feature_dual_

    def _judged_on_features(self, mapped: Rows) -> Sequence[JudgedMachine]:
        return judge(mapped, self._feature_problems(), *self._feature_points(), self._feature_duals())

    def _feature_numbers(self, judged: Sequence[JudgedMachine]) -> dict[str, NDArray]:
        """What the machines imply: norms, margins, the terms of their objectives, the dual values."""
        norms = np.linalg.norm(self.feature_coef_.astype(np.float64), axis=1)
        primal = np.array([item.gap.objective for item in judged])
        with np.errstate(divide="ignore"):
            margins = {"margin_": 1 / norms} if hasattr(self, "classes_") else {}
        return {
            "rkhs_norm_": norms,
            **margins,
            "primal_value_": primal,
            "dual_value_": primal - np.array([item.gap.gap for item in judged]),
            "loss_value_": np.array([item.evidence.loss for item in judged]),
        }

    def _feature_claims(self, judged: Sequence[JudgedMachine]) -> list[Certificate]:
        kind: Any = {"cornered": self._loss().cornered, "single": self.feature_coef_.dtype == np.float32}
        return machine_claims(judged, float(self.tol), self._source, **kind)

    def _certify_on_features(self, data: Rows, others: dict[str, tuple[Any, Any]]) -> list[Certificate]:
        """Every certificate afresh; `others` are further numbers, each beside what the rows give again."""
        if self.feature_dual_ is not None and self.feature_dual_.shape[1] != data.shape[0]:
            raise ValueError(
                f"certify needs the rows of the fit: {self.feature_dual_.shape[1]} of them. "
                f"Got {data.shape[0]} instead."
            )
        judged = self._judged_on_features(self._local(self._featured(data)))
        again: dict[str, Any] = dict(self._feature_numbers(judged))
        pairs = {name: (getattr(self, name), value) for name, value in again.items()}
        if hasattr(self, "C_"):
            pairs["penalty_strength_"] = self.penalty_strength_, 1 / (2 * self.C_ * data.total_weight)
        rtol = 1e-3 if self.feature_coef_.dtype == np.float32 else 1e-5
        claim = "Norms, margins, values and the strength of the penalty are those of the rows."
        stored = agreement(claim, {**pairs, **others}, self._source, rtol=rtol)
        return [*self._feature_claims(judged), stored, *self.features_.certify(only_features(data))]
