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
from sklearn.base import clone

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificate, Certificates, agreement
from assay.kernel_machines.features.base import KernelFeatures, mapped_block
from assay.kernel_machines.features.nystroem import Nystroem
from assay.kernel_machines.scale import kernel_of_rows
from assay.kernels import Gaussian, Kernel, Laplacian
from assay.losses import SidedLoss
from assay.models.convergence import warn_of_gap
from assay.parameters import Domain
from assay.rows import Block, MappedRows, MemoryRows, Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import MachineProblem
from assay.solvers.piecewise.machine import JudgedMachine, fit_machine, judge, local_rows, machine_claims

APPROXIMATION = (
    parameters.nothing
    | parameters.integer(at_least=1)
    | Domain("Nystroem or RandomFourierFeatures", lambda value: isinstance(value, KernelFeatures))
)

HELD = 2**26
"""Features that are held in memory (512 MiB); more are made anew in every walk."""

PRECISE = 1e-11
MOST_STEPS = 1000
"""Steps for each machine where no limit was given."""


def features_of_kernel(model: Any, kernel: Kernel) -> KernelFeatures:
    """The transformer that a model's `approximation` asks for, with the kernel of the model."""
    given = model.approximation
    if not isinstance(given, KernelFeatures):
        return Nystroem(kernel, n_components=int(given), random_state=model.random_state)
    if isinstance(given, Nystroem):
        return clone(given).set_params(kernel=kernel)
    if not isinstance(kernel, (Gaussian, Laplacian)):
        raise ValueError(
            f"{type(given).__name__} draws the frequencies of the Gaussian or the Laplacian kernel. Got "
            f"{kernel} instead; take Nystroem."
        )
    name = "rbf" if isinstance(kernel, Gaussian) else "laplacian"
    return clone(given).set_params(kernel=name, gamma=kernel.gamma)


class OnFeatures(IterativeModel):
    """Gives machines of a sided loss a fit on features of their kernel."""

    approximation: Any = None
    _source: ClassVar[str]
    fit_intercept: bool
    _limit: Any
    _is_precomputed: Any
    tol: float
    features_: KernelFeatures
    feature_coef_: NDArray
    feature_dual_: NDArray | None
    intercept_: NDArray
    C_: float
    penalty_strength_: float
    _loss: Callable[[], SidedLoss]
    _set_strength: Callable[[float], None]
    _feature_machines: Callable[[], list[MachineLoss[SidedLoss]]]

    @property
    def _is_approximate(self) -> bool:
        """Whether the last fit was one on features."""
        return "features_" in self.__dict__

    def _forget(self) -> None:
        """Drop what an earlier fit left: an exact machine and one on features have other attributes."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            del self.__dict__[name]

    def _require_approximable(self) -> None:
        owner = type(self).__name__
        if self._is_precomputed:
            raise ValueError(f"{owner} with 'approximation' needs rows, not a precomputed matrix.")
        if self._limit is not None:
            raise ValueError(f"{owner} with 'approximation' has a penalty: leave 'radius' and 'budget' out.")

    def _fit_on_features(self, X: Any, y: Any, data: Rows, total_weight: float) -> None:
        """Fit features, then the machines on them, and measure these on the rows."""
        self._require_approximable()
        self.kernel_ = kernel_of_rows(self, data)
        self._set_strength(total_weight)
        self.features_ = features_of_kernel(self, self.kernel_).fit(_only_features(data))
        mapped, problems = self._featured(data), self._feature_problems()
        # One step more, near the end of Newton's, takes the conditions of each column along.
        most = MOST_STEPS if self.max_iter == -1 else int(self.max_iter)
        limits: dict[str, Any] = {"tol": min(float(self.tol), PRECISE), "max_iter": most}
        watch = self._watch_fit(X, y, n_runs=len(problems), max_iter=limits["max_iter"])
        machines = []
        for problem in problems:
            with watch.run("machine"):
                draws = np.random.default_rng(0)  # for coordinates in random order, which are not taken
                machines.append(
                    fit_machine(mapped, problem, draws, watched(watch), solver="newton", **limits)
                )
        watch.finish()
        self.feature_coef_ = np.array([machine.coef for machine in machines], dtype=data.dtype)
        self.intercept_ = np.array([machine.intercept for machine in machines], dtype=data.dtype)
        duals = [machine.dual for machine in machines]
        self.feature_dual_ = None if duals[0] is None else np.array(duals, dtype=data.dtype)
        steps = [machine.n_iter for machine in machines]
        several: Any = np.array(steps, dtype=np.int32)
        self.n_iter_ = several if hasattr(self, "classes_") else max(steps)
        judged = self._judged_on_features(mapped)
        self.__dict__.update(self._feature_numbers(judged))
        claims = self._feature_claims(judged)
        self.certificates_ = Certificates([*claims, *self.features_.certificates_])
        self.dual_gap_, self.optimality_ = claims[0].value, claims[1].value
        self.converged_ = all(machine.converged for machine in machines) or claims[0].holds
        self.fit_status_, self.shape_fit_ = int(not self.converged_), data.shape
        if not self.converged_:
            warn_of_gap(self, max(steps), int(limits["max_iter"]), self.dual_gap_)

    def _featured(self, data: Rows) -> Rows:
        """The features of the rows: in memory where they are few, else made anew in every walk."""
        mapping = self.features_._map()
        if isinstance(data, MemoryRows) and data.shape[0] * mapping.width <= HELD:
            held = np.asarray(self.features_.transform(data.X))
            return MemoryRows(held, data.y, data.weight)
        mapped = MappedRows(data, mapped_block, mapping, width=mapping.width)
        return local_rows(mapped, "newton", self._feature_problems()[0], type(self).__name__)

    def _feature_problems(self) -> list[MachineProblem]:
        """What each machine minimises."""
        return [
            MachineProblem(machine, bool(self.fit_intercept), 0.0) for machine in self._feature_machines()
        ]

    def _judged_on_features(self, mapped: Rows) -> list[JudgedMachine]:
        coefs, intercepts = self.feature_coef_.astype(np.float64), self.intercept_.astype(np.float64)
        return judge(mapped, self._feature_problems(), coefs, intercepts, self.feature_dual_)

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
        judged = self._judged_on_features(self._featured(data))
        again: dict[str, Any] = dict(self._feature_numbers(judged))
        pairs = {name: (getattr(self, name), value) for name, value in again.items()}
        pairs["penalty_strength_"] = self.penalty_strength_, 1 / (2 * self.C_ * data.total_weight)
        rtol = 1e-3 if self.feature_coef_.dtype == np.float32 else 1e-5
        claim = "Norms, margins, values and the strength of the penalty are those of the rows."
        stored = agreement(claim, {**pairs, **others}, self._source, rtol=rtol)
        return [*self._feature_claims(judged), stored, *self.features_.certify(_only_features(data))]


def _only_features(data: Rows) -> Any:
    """A table as features are fitted to: an array, or open rows, whose target is left alone."""
    return data.X if isinstance(data, MemoryRows) else data


def watched(watch: Any) -> Callable[..., bool]:
    """What tells a fit's watch of each step."""

    def report(coef: Any, intercept: float, **more: Any) -> bool:
        return bool(watch.iteration(dict))

    return report


def feature_values(block: Block, mapping: Any, coefs: NDArray, intercept: NDArray) -> NDArray:
    """Values of every machine at the rows of a block, from their features."""
    return (mapping(block.X) @ coefs.T + intercept).astype(intercept.dtype, copy=False)
