"""Kernel logistic regression along penalties, and the choice of penalty and width by validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.kernel_machines.likelihood.solver import ClassProblem, fit_classes, gather
from assay.kernel_machines.parameters import kernel_of
from assay.kernels import Kernel
from assay.models.capabilities import PairwiseModel
from assay.models.classes import class_of
from assay.models.path import PenaltyPath
from assay.models.selection import (
    Criterion,
    FoldTable,
    Said,
    Selection,
    ValidationCurve,
    criterion_losses,
    folds,
    folds_at,
    one_standard_error,
    over_folds,
)
from assay.parameters import refusal
from assay.randomness import RandomState, generator
from assay.rows import alone
from assay.solvers.rkhs.curved import GramOperator

COSTS = np.logspace(-2.0, 3.0, 6)
WIDTHS = np.array([0.03, 0.1, 0.3, 1.0, 3.0])
"""Scales of a kernel, times one over the number of features times their variance."""

POSITIVE = parameters.array(
    "a list of finite numbers above 0",
    lambda values: values.ndim == 1 and values.size > 0 and bool((values > 0).all()),
)
SEARCH_TOL = 1e-5
"""Relative gap that is enough to compare penalties by their validation loss."""


@dataclass(frozen=True, eq=False)
class KernelLogisticPath(PenaltyPath):
    """Kernel logistic regression for many penalties, from strong to weak; the first axis is the penalty.

    Attributes
    ----------
    alphas : array of shape (n_values,)
        λ, the penalties on the scale of the mean.
    Cs : array of shape (n_values,)
        The same as costs of a row.
    coef : array of shape (n_values, n_samples) or (n_values, n_samples, n_classes)
    intercept : array of shape (n_values, 1) or (n_values, n_classes)
    rkhs_norms : array of shape (n_values,) or (n_values, n_classes)
    losses, dual_gap, n_iter, converged : arrays of shape (n_values,)
        Mean loss, relative duality gap, Newton steps.
    kernel, X_fit, classes
        What predictions are made of.
    """

    Cs: NDArray
    rkhs_norms: NDArray
    losses: NDArray
    dual_gap: NDArray
    n_iter: NDArray
    converged: NDArray
    kernel: Kernel
    X_fit: Any
    classes: NDArray

    @property
    def n_nonzero(self) -> NDArray:
        """Centres with a coefficient that is not zero, for each penalty."""
        return np.count_nonzero(self.coef.reshape(*self.coef.shape[:2], -1).any(axis=2), axis=1)

    def decision_function(self, X: Any) -> NDArray:
        """Scores of every model, shape (n_samples, n_values) or (n_samples, n_values, n_classes)."""
        columns = np.moveaxis(self.coef, 0, 1)
        flat = self.kernel.apply(X, self.X_fit, columns.reshape(len(columns), -1))
        scores = flat.reshape(-1, *columns.shape[1:])
        return scores + (self.intercept if scores.ndim == 3 else self.intercept[:, 0])

    def predict(self, X: Any) -> NDArray:
        """Classes by every model, shape (n_samples, n_values)."""
        scores = self.decision_function(X)
        return np.column_stack([class_of(scores[:, place], self.classes) for place in range(scores.shape[1])])


class HasLogisticPath(PairwiseModel):
    """`path` and `select` of kernel logistic regression."""

    _open_problem: Any
    _gram: Any
    _strengths: Any
    C: float
    penalty: str
    kernel: Any
    gamma: Any
    kernel_: Any
    C_: float
    penalty_strength_: float
    classes_: NDArray
    tol: float
    max_iter: int

    def path(self, X: Any, y: Any, Cs: Any = None, sample_weight: Any = None) -> KernelLogisticPath:
        """Models at every cost of a grid, each started from the one before; leaves this model as it is.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`.
        Cs : array-like of positive numbers, optional
            Costs of a row; 1e-2, …, 1e3 by default. They are put in increasing order.

        Returns
        -------
        path : KernelLogisticPath
        """
        costs = np.sort(_positive("path", "Cs", COSTS if Cs is None else Cs))
        if getattr(self, "approximation", None) is not None:
            raise ValueError("path is that of the model of all pairs: leave 'approximation' out.")
        machine: Any = self._with(penalty_strength=None)
        data, kept, problem = machine._open_problem(X, y, sample_weight)
        machine.kernel_ = kernel_of(machine, data.X, data.weight)
        gram = machine._gram(kept.X)
        operator = GramOperator(machine.kernel_, kept.X, gram)
        total, start, records = float(problem.cost.sum()) / machine.C_, None, []
        for cost in costs:
            here = problem._replace(cost=problem.cost * (cost / machine.C_))
            fit = fit_classes(
                here, machine.kernel_, kept.X, gram, tol=self.tol, max_iter=self.max_iter, start=start
            )
            start = fit.inner
            evidence = gather(here, fit.coef, fit.intercept, operator.__matmul__)
            coef = kept.put_back(fit.coef)
            norms = np.sqrt(evidence.squared_norms)
            records.append(
                (
                    coef[:, 0] if here.is_binary else coef,
                    fit.intercept,
                    norms[0] if here.is_binary else norms,
                    evidence.loss / float(here.cost.sum()),
                    evidence.relative_gap,
                    fit.n_iter,
                    fit.converged or evidence.relative_gap <= self.tol,
                )
            )
        coefs, intercepts, norms, *rest = (np.array(column) for column in zip(*records, strict=True))
        strengths = 1.0 / ((1.0 if self.penalty == "l1" else 2.0) * costs * total)
        losses, gaps, n_iter, converged = rest
        curves = strengths, coefs, intercepts, costs, norms, losses, gaps, n_iter, converged
        return KernelLogisticPath(*curves, machine.kernel_, data.X, machine.classes_)

    def select(
        self,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        gammas: Any = None,
        rule: str = "min",
        cv: Any = 5,
        criterion: Criterion | None = None,
        random_state: RandomState = None,
        max_rows: int = 600,
    ) -> Selection:
        """Choose the cost of a row, and the width of the kernel, by validation; refit on all rows.

        Parameters
        ----------
        X, y
            Data as in `fit`.
        Cs : array-like of positive numbers, optional
            Costs to choose from; 1e-2, …, 1e3 by default.
        gammas : array-like of positive numbers, optional
            Widths to choose from; by default from 0.03 to 3 times "scale". Of no use to a linear or
            precomputed kernel or an object.
        rule : {"min", "one_se"}, default="min"
            Least validation loss, or at its width the least cost within one paired standard error of it.
        cv : int, "split" or splitter, default=5
        criterion : assay.models.Criterion, optional
            What validation makes least in place of the log-loss.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Shuffles the rows before they are cut into folds, and draws those that the search is made on.
        max_rows : int, default=600
            Most rows that the search is made on; the fit is made on all.

        Returns
        -------
        selection : Selection
            `best` holds gamma (NaN where none is searched) and C; `curve` the validation loss of every pair,
            `standard_error` that of each.
        """
        owner = f"{type(self).__name__}.select"
        if rule not in ("min", "one_se"):
            raise refusal(owner, "rule", "'min' or 'one_se'", rule)
        costs = np.sort(_positive("select", "Cs", COSTS if Cs is None else Cs))
        probe: Any = self._with(penalty_strength=None)
        data, _, problem = probe._open_problem(X, y, None)
        places = np.arange(len(data.y))
        if len(places) > max_rows:
            places = np.sort(generator(random_state).choice(len(places), max_rows, replace=False))
        shown = data.X[places][:, places] if probe._is_precomputed else data.X[places]
        table = FoldTable(shown, data.y[places], None)
        pairs = folds(owner, folds_at(cv, places), table, random_state)
        widths, machines = probe._of_widths(gammas, data.X)
        # Costs are on the scale of the sum: a fold sees the same λ at the cost of its share.
        problem = problem._replace(classes=problem.classes[places], cost=problem.cost[places] / probe.C_)
        problem = problem._replace(cost=problem.cost * (len(data.y) / len(places)))
        # Many small systems: a second BLAS thread costs more than it brings.
        judge = None if criterion is None else criterion.at(places)
        curves = [alone(_curve, item, shown, problem, costs, pairs, judge) for item in machines]
        means = np.array([curve.mean for curve in curves])
        width, place = divmod(int(np.argmin(means)), means.shape[1])
        index = place if rule == "min" else _one_se(curves[width])
        tried = [{"gamma": float(w), "C": float(c)} for w in widths for c in costs]
        flat = width * len(costs) + index
        best = machines[width]._with(C=tried[flat]["C"], penalty_strength=None)
        errors = np.array([curve.standard_error for curve in curves]).reshape(-1)
        name = "validation loss" if criterion is None else criterion.name
        model = best.fit(X, y)
        return Selection("gamma, C", tried, name, means.reshape(-1), errors, flat, rule, tried[flat], model)

    def _of_widths(self, gammas: Any, X: Any) -> tuple[NDArray, list[Any]]:
        """The widths to search and the machine of each; NaN and this machine where there is no width."""
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            if not self._is_precomputed:
                self.kernel_ = kernel_of(self, X)
            return np.array([np.nan]), [self]
        if gammas is None:
            unit = kernel_of(self._with(gamma="scale"), X)
            widths = WIDTHS * float(unit.gamma)  # type: ignore[attr-defined]
        else:
            widths = _positive("select", "gammas", gammas)
        return widths, [self._with(gamma=float(width)) for width in widths]

    def _with(self, **changed: Any) -> Any:
        return type(self)(**{**self.get_params(deep=False), **changed})


def _curve(
    machine: Any, X: Any, problem: ClassProblem, costs: NDArray, pairs: Any, criterion: Criterion | None
) -> ValidationCurve:
    """Validation losses of one width: one Gram matrix for all folds, one path of costs for each."""
    machine.kernel_ = kernel_of(machine, X)
    gram = machine._gram(X, fitting=False)
    scores, whole = [], len(problem.cost)
    for train, test in pairs:
        part = problem._replace(classes=problem.classes[train], cost=problem.cost[train] * whole / len(train))
        small, cross, start, columns = gram[np.ix_(train, train)], gram[np.ix_(test, train)], None, []
        for cost in costs:
            here = part._replace(cost=part.cost * cost)
            fit = fit_classes(here, machine.kernel_, None, small, tol=SEARCH_TOL, max_iter=50, start=start)
            start = fit.inner
            columns.append(cross @ fit.coef + fit.intercept)
        said = np.stack(columns, axis=1)
        truth = problem.classes[test]
        if criterion is None:
            weight = problem.cost[test]
            scores.append(weight @ _log_loss(said, truth) / weight.sum())
        else:
            scores.append(criterion_losses(criterion, machine, truth, _said(said), test))
    return over_folds(np.stack(scores), np.array([float(len(test)) for _, test in pairs]))


def _log_loss(scores: NDArray, classes: NDArray) -> NDArray:
    """Log-loss of each row under each model."""
    if scores.shape[2] == 1:
        return -special.log_expit(np.where(classes[:, None] == 1, 1.0, -1.0) * scores[:, :, 0])
    logs = special.log_softmax(scores, axis=2)
    return -np.take_along_axis(logs, classes[:, None, None], axis=2)[:, :, 0]


def _said(scores: NDArray) -> Said:
    if scores.shape[2] == 1:
        positive = special.expit(scores[:, :, 0])
        return Said((scores[:, :, 0] > 0).astype(float), np.stack([1 - positive, positive], axis=2))
    return Said(scores.argmax(axis=2).astype(float), special.softmax(scores, axis=2))


def _one_se(curve: ValidationCurve) -> int:
    """The least cost whose loss exceeds the least by at most its paired error; costs increase."""
    return one_standard_error(curve)


def _positive(method: str, name: str, values: Any) -> NDArray:
    parameters.require(f"KernelLogisticRegression.{method}", POSITIVE, **{name: values})
    return np.asarray(values, dtype=np.float64)
