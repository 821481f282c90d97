"""The half-space of a share on features: a machine of one class, without an intercept, in the unit of α."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines.approximation.machines import FitProblem
from assay.kernel_machines.nu_machines.on_features import SharesOnFeatures, ToldOnFeatures, margin_of_share
from assay.losses import Hinge, SidedLoss
from assay.rows import Block, MappedRows, MemoryRows, Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.machine import Machine


class HalfSpaceOnFeatures(SharesOnFeatures):
    """Gives the half-space a fit on features of its kernel."""

    offset_: NDArray
    _without_half_space: Callable[[], ValueError]

    def _set_strength(self, total_weight: float) -> None:
        """The cost is 1/ρ."""
        self.offset_ = np.ones(1)

    def _loss(self) -> SidedLoss:
        return Hinge()

    def _feature_machines(self) -> list[MachineLoss[SidedLoss]]:
        return [MachineLoss(self._loss(), 1 / float(self.offset_[0]), 1)]

    def _featured(self, data: Rows) -> Rows:
        """The features of the rows, all of one class."""
        mapped = super()._featured(data)
        if isinstance(mapped, MemoryRows):
            return MemoryRows(mapped.X, np.ones(mapped.shape[0]), mapped.weight)
        return MappedRows(mapped, of_one_class)

    def _solved_on_features(self, mapped: Rows, fit: FitProblem, watch: Any) -> list[Machine]:
        (problem,) = self._feature_problems()
        with watch.run("machine"):
            found = margin_of_share(mapped, fit, problem, self.nu, float(self.tol))
        if found is None:
            raise self._without_half_space()
        self.offset_ = np.array([found.level])
        return [found.machine]

    def _store_on_features(self, machines: Sequence[Machine], dtype: Any) -> None:
        (machine,), rho = machines, float(self.offset_[0])
        dual = rho * np.asarray(machine.dual)
        unit = machine._replace(coef=rho * machine.coef, dual=dual)
        super()._store_on_features([unit], dtype)
        self.offset_ = self.offset_.astype(dtype)
        self.intercept_ = -self.offset_

    def _feature_points(self) -> tuple[NDArray, NDArray]:
        return self.feature_coef_.astype(np.float64) / float(self.offset_[0]), np.zeros(1)

    def _feature_duals(self) -> NDArray:
        assert self.feature_dual_ is not None
        return self.feature_dual_.astype(np.float64) / float(self.offset_[0])

    def _told_on_features(self, told: ToldOnFeatures) -> ToldOnFeatures:
        return told._replace(sums=(self.nu * told.rows.weight, 0.0))

    def _feature_numbers(self, judged: Sequence[Any]) -> dict[str, NDArray]:
        """Norm and both values of the problem of ν, in the unit of α."""
        rho, unit, (told,) = float(self.offset_[0]), super()._feature_numbers(judged), judged
        norm = np.linalg.norm(self.feature_coef_.astype(np.float64), axis=1)
        pull = rho * told.evidence.pulls.sum(axis=0)
        return {
            **{name: unit[name] for name in ("error_share_", "support_share_")},
            "rkhs_norm_": norm,
            "margin_": rho / norm,
            "primal_value_": rho**2 * (unit["primal_value_"] - told.total),
            "dual_value_": np.array([-0.5 * float(pull @ pull)]),
        }


def of_one_class(block: Block) -> Block:
    """The rows of a block as those of class 1."""
    return block._replace(y=np.ones(block.X.shape[0]))
