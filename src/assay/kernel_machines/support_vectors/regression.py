"""What regressors carried by support vectors share: one machine, its predictions and certificates."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay.certificates import Certificates
from assay.kernel_machines.approximation.base import first_value
from assay.kernel_machines.approximation.machines import OnFeatures
from assay.kernel_machines.support_vectors.base import (
    SupportVectorModel,
    implied,
    values_block,
)
from assay.kernel_machines.support_vectors.certificates import stored_certificate
from assay.kernel_machines.support_vectors.machine import (
    MachineData,
    Machines,
    Solved,
    Standings,
)
from assay.kernel_machines.support_vectors.selection import SelectsMachines
from assay.losses import SidedLoss
from assay.models.capabilities import Regressor, require_memory
from assay.rows import Block, MemoryRows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.rkhs.machines.solver import Span
from assay.solvers.rkhs.problem import RKHSProblem, RKHSSolution

LARGEST_TARGET = 1e100


class MachineRegressor(Regressor, OnFeatures, SupportVectorModel):
    """Base of regressors of one machine of the loss of a residual, ℓ(y − h(x) − b)."""

    @abstractmethod
    def _loss(self) -> SidedLoss:
        """The loss of the residual."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed. With `approximation` also
            a path, Arrow dataset or Dask collection.
        y : array of shape (n_samples,) or column name
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        if self.approximation is None:
            require_memory(self, X, instead=self._instead)
        self._forget()
        opened: Any = self._open_vector(X, y, sample_weight)
        if self.approximation is not None:
            self._fit_on_features(X, y, opened, opened.total_weight)
            return self
        if not float(np.abs(opened.y).max(initial=0.0)) < LARGEST_TARGET:
            raise ValueError(
                f"Input y is too large for {type(self).__name__}: it overflows. Divide it by its scale."
            )
        self.kernel_ = self._kernel_for(opened)
        self._set_strength(opened.total_weight)
        machines, solutions = self._solve_all(X, y, self._opened_machines(opened, fitting=True))
        solved = Solved.of(solutions)
        standings = self._judge(machines, solved, opened.X.dtype)
        support = np.flatnonzero(solved.coef)
        self.support_ = standings.machines.rows[support].astype(np.int32)
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        vectors = opened.X[self.support_]
        self.support_vectors_ = np.empty((0, 0), dtype=opened.X.dtype) if self._is_precomputed else vectors
        self.dual_coef_ = solved.coef[None, support].astype(opened.X.dtype)
        self.intercept_ = solved.intercepts.astype(opened.X.dtype)
        self.n_iter_ = int(solved.n_iter[0])
        self.fit_status_, self.shape_fit_ = int(not self.converged_), opened.X.shape
        self.__dict__.update(self._implied(machines, standings, opened.X.shape[0]))
        return self

    def _opened_machines(self, data: MemoryRows, *, fitting: bool) -> Machines:
        """The machine of opened rows."""
        assert data.y is not None
        gram = self._gram_of(data.X, fitting=fitting)
        weight = np.ones(len(data.y)) if data.weight is None else data.weight.astype(np.float64)
        target = data.y.astype(np.float64)
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), target, self.C_ * weight, self.fit_intercept)
        if gram is not None and weight.all():
            n = len(target)
            return Machines(problem, np.arange(n), np.array([n]), data.X, gram, [Span(0, n)])
        rows = None if weight.all() else np.flatnonzero(weight)
        one = self._machine(data.X, gram, rows, problem if rows is None else problem.take(rows))
        return Machines.of([one])

    def _solve_all(
        self, X: Any, y: Any, machines: Sequence[MachineData]
    ) -> tuple[Sequence[MachineData], Sequence[RKHSSolution]]:
        """Solve for targets less their middle where that is farther from 0 than they are from one another.

        With an intercept the machine is the same; what constant targets leave is exactly 0, and not rounding.
        """
        target = machines[0].problem.target
        low, high = float(target.min()), float(target.max())
        if not self.fit_intercept or abs(low + high) <= high - low:
            return super()._solve_all(X, y, machines)
        middle, stack = 0.5 * (low + high), Machines.of(machines)
        done, solutions = super()._solve_all(X, y, stack.aimed_at(target - middle))
        solved = Solved.of(solutions)
        solved = dataclasses.replace(solved, intercepts=solved.intercepts + middle)
        return Machines.of(done).aimed_at(target), solved

    def _feature_machines(self) -> list[MachineLoss[SidedLoss]]:
        return [MachineLoss(self._loss(), self.C_)]

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        """Slacks, sets, norms and values of the machine."""
        return implied(machines, standings, n)

    @property
    def coef_(self) -> NDArray:
        """Coefficients of the columns, for the linear kernel: shape (1, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def predict(self, X: Any) -> Any:
        """Predict the target of new rows, block by block.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.
        """
        if self._is_approximate:
            return self._values_on_features(X, first_value, dtype=self.intercept_.dtype, width=None)
        data = self._open_new_rows(X)
        support = (self.support_vectors_, self.support_)
        fitted = self.kernel_, support, np.ascontiguousarray(self.dual_coef_.T), self.intercept_
        return data.map(predicted_block, fitted, dtype=self.intercept_.dtype)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        """
        if not self._is_approximate:
            require_memory(self, X, instead="certify on a sample of them")
        opened: Any = self._open_new_vector(X, y, sample_weight)
        if self._is_approximate:
            return Certificates(self._certify_on_features(opened, {}))
        machines = self._opened_machines(opened, fitting=False)
        coefs = np.zeros((opened.X.shape[0], 1))
        coefs[self.support_] = self.dual_coef_.T
        standings = self._standings(machines, coefs, self.intercept_.astype(np.float64))
        again = self._implied(machines, standings, opened.X.shape[0])
        single = self.dual_coef_.dtype == np.float32
        pairs = self._stored(again, opened)
        pairs["n_support_"] = self.n_support_, np.array([len(self.support_)])
        claims = self._claims(standings, self.dual_coef_.dtype)
        return Certificates([*claims, stored_certificate(pairs, self._source, single=single)])


class KernelResiduals(SelectsMachines, MachineRegressor):
    """Base of regressors that minimise ½‖h‖² + C Σ s ℓ(y − h(x) − b) for a loss ℓ with corners."""

    def _in_units(self, y: NDArray) -> tuple[dict[str, float], float]:
        # With h, y and ε in another unit, ½‖h‖² changes by its square and a loss of degree one by itself.
        unit = float(y.std()) or 1.0
        tube = {"epsilon": float(self.epsilon) * unit} if hasattr(self, "epsilon") else {}
        return tube, 1.0 if getattr(self, "loss", "").startswith("squared") else unit

    def _gram_problems(self, y: NDArray, weight: NDArray | None, gram: NDArray | None) -> list[MachineData]:
        """The machine of a unit cost."""
        cost = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), y.astype(np.float64), cost, self.fit_intercept)
        return [self._machine(np.empty((len(y), 0)), gram, None, problem)]

    def _predictions_of(self, values: NDArray) -> NDArray:
        return values[:, :, 0]


def predicted_block(block: Block, fitted: tuple[Any, ...]) -> NDArray:
    """Predictions of the rows of a block."""
    kernel, support, coefs, intercept = fitted
    return values_block(block, kernel, support, coefs, intercept)[:, 0]
