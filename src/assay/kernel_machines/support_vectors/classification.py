"""What classifiers carried by support vectors share: their machines, values, classes and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from assay.certificates import Certificates, at_most
from assay.kernel_machines.approximation.machines import OnFeatures
from assay.kernel_machines.kernel_ridge.gram_system import require_range
from assay.kernel_machines.support_vectors.base import SupportVectorModel, implied
from assay.kernel_machines.support_vectors.certificates import stored_certificate
from assay.kernel_machines.support_vectors.leave_one_out import leave_one_out_error, xi_alpha_bound
from assay.kernel_machines.support_vectors.machine import (
    MachineData,
    Machines,
    Solved,
    Standing,
    Standings,
)
from assay.kernel_machines.support_vectors.pairs import (
    Duel,
    classes_of,
    duel_table,
    duels,
    packed,
    unpacked,
)
from assay.kernel_machines.support_vectors.probabilities import inverse_temperature
from assay.kernel_machines.support_vectors.values import (
    Decide,
    Probabilities,
    Scores,
    as_they_are,
    class_counts,
    first_column,
    machines_block,
)
from assay.kernels import Custom, Precomputed
from assay.losses import Hinge, SidedLoss
from assay.models.capabilities import require_memory
from assay.models.classes import Classifier, class_factors
from assay.rows import MemoryRows, Rows, is_external
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.rkhs.machines.solver import Span
from assay.solvers.rkhs.problem import Array, RKHSProblem, RKHSSolution

FEW_ROWS = 600
"""Rows up to which one Gram matrix of all of them is made for the machines of several classes."""


def _has_probabilities(model: Any) -> bool:
    if model.probability is True:
        return True
    raise AttributeError("predict_proba is not available when probability is not True")


class SupportVectorClassifier(Classifier, OnFeatures, SupportVectorModel):
    """Base of classifiers that minimise ½‖h‖² + C Σ s max(0, 1 − y(h(x) + b)), one machine or several."""

    _source: ClassVar[str] = "Sangnier §1.4.6"
    n_iter_: Any
    class_weight: Any = None
    probability: Any = False
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    multi_class: str = "ovo"

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machines.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed. With `approximation` also
            a path, Arrow dataset or Dask collection.
        y : array of shape (n_samples,) or column name
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        if self.approximation is None:
            require_memory(self, X, instead=self._instead)
        self._forget()
        opened, weights = self._open_classes(X, y, sample_weight)
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        if self.approximation is not None:
            if self.probability is True and is_external(X):
                raise self._refuse("probability", "False for rows outside memory: it fits folds of them")
            self._fit_on_features(X, y, opened, float(weights.sum()))
            if self.probability is True:
                self.inverse_temperature_ = inverse_temperature(self, X, y, sample_weight)
            return self
        assert isinstance(opened, MemoryRows)
        assert opened.y is not None
        self.kernel_ = self._kernel_for(opened)
        self._set_strength(float(weights.sum()))
        machines, solutions = self._solved_machines(X, y, opened)
        codes = opened.y.astype(np.intp)
        solved = Solved.of(solutions)
        standings = self._judge(machines, solved, opened.X.dtype)
        self._store(opened, codes, standings.machines, solved)
        self._positive = codes == 1
        self.__dict__.update(self._implied(machines, standings, opened.X.shape[0]))
        self.n_iter_ = solved.n_iter.astype(np.int32)
        self.fit_status_, self.shape_fit_ = int(not self.converged_), opened.X.shape
        if self.probability is True:
            self.inverse_temperature_ = inverse_temperature(self, X, y, sample_weight)
        return self

    def _solved_machines(
        self, X: Any, y: Any, opened: MemoryRows
    ) -> tuple[Sequence[MachineData], Sequence[RKHSSolution]]:
        """The machines and their solutions."""
        return self._solve_all(X, y, self._opened_machines(opened, fitting=True))

    def _feature_machines(self) -> list[MachineLoss[SidedLoss]]:
        """What each machine charges: the rows of a third class have a factor of 0."""
        machines: list[tuple[int, Array]] = []
        for positive, negative in self._duels:
            factors = self.class_weight_.astype(np.float64)
            if negative is not None:
                factors[[code for code in range(len(factors)) if code not in (positive, negative)]] = 0.0
            machines.append((positive, factors))
        costs = np.broadcast_to(self.C_, len(machines)).tolist()
        return [MachineLoss(self._loss(), cost, *each) for cost, each in zip(costs, machines, strict=True)]

    def _gram_problems(self, y: NDArray, weight: NDArray | None, gram: Array | None) -> list[MachineData]:
        """The machines of a unit cost."""
        nothing = np.empty((len(y), 0))
        return self._machines(nothing, y.astype(np.intp), self._costs(y.astype(np.intp), weight), gram)

    def _costs(self, codes: NDArray[np.intp], weight: NDArray | None) -> Array:
        """Cost of each row for C = 1."""
        counts = np.bincount(codes, weight, minlength=len(self.classes_)).astype(np.float64)
        factors = class_factors(self.class_weight, self.classes_, counts)[codes]
        return factors if weight is None else factors * weight

    def _loss(self) -> SidedLoss:
        return Hinge()

    def _machines(
        self, X: Any, codes: NDArray[np.intp], cost: Array, gram: NDArray | None
    ) -> list[MachineData]:
        """The rows and the objective of each machine."""
        machines = []
        for positive, negative in self._duels:
            taken = cost > 0
            if negative is not None:
                taken = taken & ((codes == positive) | (codes == negative))
            rows = None if taken.all() else np.flatnonzero(taken)
            sign = np.where(codes == positive, 1.0, -1.0)
            problem: RKHSProblem[Any] = RKHSProblem(self._loss(), sign, cost, self.fit_intercept)
            problem = problem if rows is None else problem.take(rows)
            machines.append(self._machine(X, gram, rows, problem))
        return machines

    def _opened_machines(self, data: MemoryRows, *, fitting: bool) -> Sequence[MachineData]:
        """The machines of opened rows."""
        assert data.y is not None
        codes = data.y.astype(np.intp)
        cost = self.C_ * self._costs(codes, data.weight)
        if len(self._duels) > 1 and self.multi_class == "ovo":
            order = np.argsort(codes, kind="stable")
            order = order if cost.all() else order[cost[order] > 0]
            machines = self._duelling(data.X, codes, cost, order)
            if fitting and self._takes_blocks(machines, len(order)):
                return machines
            if isinstance(self.kernel_, (Precomputed, Custom)):
                gram = self._gram_of(data.X, fitting=fitting)
                machines.gram = None if gram is None else gram[np.ix_(order, order)]
            else:
                machines.gram = self._gram_of(data.X[order], fitting=fitting)
            return machines
        gram = self._gram_of(data.X, fitting=fitting)
        if len(self._duels) > 1 or gram is None or not cost.all():
            return self._machines(data.X, codes, cost, gram)
        sign, n = np.where(codes == 1, 1.0, -1.0), len(codes)
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), sign, cost, self.fit_intercept)
        return Machines(problem, np.arange(n), np.array([n]), data.X, gram, [Span(0, n)])

    def _duelling(self, X: Any, codes: NDArray[np.intp], cost: Array, order: NDArray[np.intp]) -> Machines:
        """A machine for each two classes, on rows sorted by class."""
        counts = np.bincount(codes[order], minlength=len(self.classes_))
        ends = np.cumsum(counts).tolist()
        parts = list(zip([0, *ends], ends, strict=False))
        spans = [Span(*parts[i], *parts[j]) for i, j in self._duels if j is not None]
        rows = order[np.concatenate([np.arange(*part) for span in spans for part in (span[:2], span[2:])])]
        lengths = np.array([[a_end - a, b_end - b] for a, a_end, b, b_end in spans])
        sign = np.repeat(np.tile([1.0, -1.0], len(spans)), lengths.ravel())
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), sign, cost[rows], self.fit_intercept)
        return Machines(problem, rows, lengths.sum(axis=1), X, None, spans, order)

    def _takes_blocks(self, machines: Machines, n_rows: int) -> bool:
        """Whether blocks of the Gram matrix serve, each made when a machine asks for it."""
        kernel = self.kernel_
        given = isinstance(kernel, (Precomputed, Custom)) or not kernel.positive_definite
        if given or n_rows <= FEW_ROWS or not self._are_small(machines):
            return False
        require_range(kernel, machines.X)
        return True

    def _predictions_of(self, values: NDArray) -> NDArray:
        """Places of the classes, from values of shape (n_rows, n_models, n_machines)."""
        flat = values.reshape(-1, values.shape[2])
        places = np.arange(len(self.classes_))
        decided = classes_of(
            flat, places, against_rest=self.multi_class == "ovr", break_ties=bool(self.break_ties)
        )
        return decided.reshape(values.shape[:2])

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return (predictions != y[:, None]).astype(np.float64)

    @property
    def _duels(self) -> list[Duel]:
        return duels(len(self.classes_), against_rest=self.multi_class == "ovr")

    def _store(self, data: MemoryRows, codes: NDArray[np.intp], machines: Machines, solved: Solved) -> None:
        """What predictions read, support vectors sorted by class."""
        n, dtype = len(codes), data.X.dtype
        if machines.order is None:
            coefs, start = np.zeros((n, len(machines))), 0
            for place, size in enumerate(machines.sizes.tolist()):
                part = slice(start, start + size)
                coefs[machines.rows[part], place] = solved.coef[part]
                start += size
            support = np.flatnonzero(coefs.any(axis=1))
            support = support[np.argsort(codes[support], kind="stable")]
            columns = packed(coefs[support], codes[support], len(self.classes_), self._duels)
        else:
            table = duel_table(solved.coef, machines.spans, self._duels, len(machines.order))
            there = table.any(axis=0)
            support, columns = machines.order[there], table[:, there]
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = data.X[support]
        if self._is_precomputed:
            self.support_vectors_ = np.empty((0, 0), dtype=dtype)
        self.n_support_ = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_, self.intercept_ = columns.astype(dtype), solved.intercepts.astype(dtype)

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        """Slacks, sets, norms and values of the machines; the leave-one-out bound of two classes."""
        described = implied(machines, standings, n)
        with np.errstate(divide="ignore"):
            described["margin_"] = 1 / described["rkhs_norm_"]
        if len(machines) == 1:
            described["leave_one_out_bound_"] = xi_alpha_bound(
                machines[0], standings[0], self.kernel_, self.C_
            )
        return described

    def _for_fold(self, codes: NDArray[np.intp], weight: Array) -> Any:
        """The model whose values at unseen rows probabilities are fitted to, of rows of these classes."""
        return self._with(probability=False, decision_function_shape="ovr")

    def point_sets(self) -> dict[str, NDArray[np.intp]]:
        """Places of the rows on the margin (M), at the bound (I) and outside (O), by the sign of their class.

        Two classes only. Support vectors are those on the margin and at the bound.
        """
        if len(self.classes_) != 2:
            raise ValueError("point_sets tells the rows of two classes; with more, read 'point_sets_'.")
        sign = np.where(self._positive, "+", "-")
        names = np.array(["O", "M", "I"])[self.point_sets_]
        both = np.char.add(names, sign)
        return {name: np.flatnonzero(both == name) for name in ("M+", "M-", "I+", "I-", "O+", "O-")}

    @property
    def coef_(self) -> NDArray:
        """Coefficients of the columns, for the linear kernel: shape (n_machines, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(self._columns.T @ self.support_vectors_)

    @property
    def _columns(self) -> NDArray:
        """Coefficients of the support vectors, one column per machine."""
        codes = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        return unpacked(self.dual_coef_, codes, len(self.classes_), self._duels)

    def _values(self, X: Any, after: Any, *, dtype: Any, width: int | None) -> Any:
        if self._is_approximate:
            return self._values_on_features(X, after, dtype=dtype, width=width)
        data = self._open_new_rows(X)
        support = (self.support_vectors_, self.support_)
        fitted = self.kernel_, support, self._columns, self.intercept_
        return data.map(machines_block, fitted, after, dtype=dtype, width=width)

    def decision_function(self, X: Any) -> Any:
        """Values of the machine of two classes, shape (n_samples,); else a score per class or machine."""
        check_is_fitted(self)
        n_classes, dtype = len(self.classes_), self.intercept_.dtype
        if n_classes == 2:
            return self._values(X, first_column, dtype=dtype, width=None)
        if self.multi_class == "ovr" or self.decision_function_shape == "ovo":
            return self._values(X, as_they_are, dtype=dtype, width=len(self.intercept_))
        return self._values(X, Scores(n_classes), dtype=dtype, width=n_classes)

    def predict(self, X: Any) -> Any:
        """Class of each row: an array, or a lazy Dask array for Dask input."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        ties = bool(self.break_ties) or self.probability is True
        decide = Decide(self.classes_, self.multi_class == "ovr", ties)
        return self._values(X, decide, dtype=self.classes_.dtype, width=None)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class; needs `probability=True`."""
        shape = Probabilities(len(self.classes_), self.multi_class == "ovr", self.inverse_temperature_)
        return self._values(X, shape, dtype=self.intercept_.dtype, width=len(self.classes_))

    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, leave_one_out: bool = False
    ) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        leave_one_out : bool, default=False
            Whether to fit the model without each support vector in turn, and compare the error with its
            bound.
        """
        if not self._is_approximate:
            require_memory(self, X, instead="certify on a sample of them")
        opened = self._open_new_classes(X, y, sample_weight)
        if self._is_approximate:
            if leave_one_out:
                raise ValueError("The bound on the leave-one-out error is that of a machine of all pairs.")
            return Certificates(
                self._certify_on_features(opened, self._stored_beside(opened, X, y, sample_weight))
            )
        assert isinstance(opened, MemoryRows)
        assert opened.y is not None
        machines, codes = self._opened_machines(opened, fitting=False), opened.y.astype(np.intp)
        coefs = np.zeros((opened.X.shape[0], len(machines)))
        coefs[self.support_] = self._columns
        standings = self._standings(machines, coefs, self.intercept_.astype(np.float64))
        pairs = self._stored(self._implied(machines, standings, opened.X.shape[0]), opened)
        pairs |= self._stored_beside(opened, X, y, sample_weight)
        pairs["n_support_"] = self.n_support_, np.bincount(codes[self.support_], minlength=len(self.classes_))
        single = self.dual_coef_.dtype == np.float32
        claims = [
            *self._claims(standings, self.dual_coef_.dtype),
            stored_certificate(pairs, self._source, single=single),
        ]
        if leave_one_out:
            claims.append(self._leave_one_out_claim(X, y, sample_weight, machines[0], standings[0]))
        return Certificates(claims)

    def _stored_beside(self, data: Rows, X: Any, y: Any, sample_weight: Any) -> dict[str, tuple[Any, Any]]:
        """Factors of the classes and the slope of the probabilities, each beside what the rows give again."""
        counts = data.reduce(class_counts, len(self.classes_))
        pairs: dict[str, tuple[Any, Any]] = {
            "class_weight_": (self.class_weight_, class_factors(self.class_weight, self.classes_, counts))
        }
        if self.probability is True:
            again = inverse_temperature(self, X, y, sample_weight)
            pairs["inverse_temperature_"] = self.inverse_temperature_, again
        return pairs

    def _leave_one_out_claim(
        self, X: Any, y: Any, sample_weight: Any, data: MachineData, standing: Standing
    ) -> Any:
        if len(self.classes_) != 2:
            raise ValueError("The bound on the leave-one-out error is that of two classes.")
        error = leave_one_out_error(self, X, y, sample_weight)
        bound = xi_alpha_bound(data, standing, self.kernel_, self.C_)
        claim = (
            "Leaving out one row at a time, the share of errors is at most that of rows with 2αR² + ξ ≥ 1."
        )
        return at_most(
            claim,
            "leave-one-out error",
            error,
            bound,
            "Joachims (2000)",
            assumptions=("a support vector on the margin",),
            trivial=1.0,
        )
