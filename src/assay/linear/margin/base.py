"""What linear machines share: how they are fitted, one engine for sided losses, their certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.linear.classifier import LinearClassifier
from assay.linear.least_squares.engine import Array
from assay.linear.predictor import LinearPredictor, LinearRegressor, vector_target
from assay.losses import SidedLoss
from assay.losses import loss as named_loss
from assay.losses.residual import LEVEL as LEVEL
from assay.models.convergence import warn
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.randomness import generator, spawn
from assay.rows import Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import MachineProblem
from assay.solvers.piecewise.machine import (
    SOLVERS,
    JudgedMachine,
    Report,
    choose_solver,
    fit_machine,
    judge,
    local_rows,
    machine_claims,
)

Fit = TypeVar("Fit")

MACHINE_DOMAINS: Mapping[str, Domain] = {
    "C": parameters.real(above=0, squared=True),
    "penalty_strength": parameters.nothing | parameters.real(above=0, squared=True),
    "fit_intercept": parameters.boolean,
    "intercept_scaling": parameters.nothing | parameters.real(above=0, squared=True),
    "solver": parameters.one_of(*SOLVERS),
    "tol": parameters.real(above=0),
    "max_iter": parameters.integer(at_least=1),
    "history": parameters.boolean,
    "random_state": parameters.random_state,
}


class FittedByRows(IterativeModel):
    """A linear model with one machine, or one per class: `fit` opens the rows and `_fit_rows` walks them.

    `_measure` gives the certificates from the attributes and the rows of the fit, opened by `_reopen`.
    """

    max_iter: int
    coef_: NDArray
    _opened: Callable[..., tuple[Rows, NDArray | None]]
    _fit_rows: Callable[..., None]
    _measure: Callable[..., Certificates]
    _reopen: Callable[..., Rows]
    _shaped: Callable[[list[Array], list[float], Any], dict[str, Any]]

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Numbers, or for a classifier labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._fit_rows(X, y, *self._opened(X, y, sample_weight))
        self._require_finite()
        return self

    def _require_finite(self) -> None:
        """Raise where the numbers of the rows were too large or too small for those of the fit."""
        numbers = (getattr(self, name, None) for name in ("coef_", "intercept_", "dual_coef_"))
        if not all(np.isfinite(values).all() for values in numbers if values is not None):
            raise ValueError(
                f"The coefficients of {type(self).__name__} do not fit into {self.coef_.dtype.name}. Divide "
                "the columns and the target by their scale, by StandardScaler for instance."
            )

    def _run(
        self, X: Any, y: Any, name: str, fits: Sequence[Callable[[Report], Fit]], dtype: Any = np.float64
    ) -> list[Fit]:
        """Call one fit per machine with what it reports its coefficients and intercept to, under watch."""
        watch = self._watch_fit(X, y, n_runs=len(fits), max_iter=self.max_iter)

        def report(coef: Array, intercept: float, **more: Any) -> bool:
            return watch.iteration(lambda: {**self._shaped([coef], [intercept], dtype), **more})

        results = []
        for fit in fits:
            with watch.run(name):
                results.append(fit(report))
        watch.finish()
        return results

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk per machine.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        return self._measure(self._reopen(X, y, sample_weight))


class OneTarget(FittedByRows, LinearRegressor):
    """One machine, for a number as target."""

    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, None]:
        return vector_target(self._open_rows(X, y, sample_weight, with_target=True), self), None

    def _reopen(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return vector_target(self._open_new_rows(X, y, sample_weight, with_target=True), self)

    def _positives(self) -> list[Any]:
        """No class: the target is a number."""
        return [None]

    def _per_machine(self, values: Sequence[Any]) -> Any:
        """What an attribute keeps of one value per machine: that of the only one."""
        return values[0]

    def _shaped(self, coefs: list[Array], intercepts: list[float], dtype: Any) -> dict[str, Any]:
        """`coef_` and `intercept_` from those of the machines."""
        return {"coef_": coefs[0].astype(dtype), "intercept_": np.dtype(dtype).type(intercepts[0])}


class OneAgainstRest(FittedByRows, LinearClassifier):
    """One machine for two classes, else one per class against the rest."""

    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray]:
        return self._open_classes(X, y, sample_weight)

    def _reopen(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        return self._open_new_classes(X, y, sample_weight)

    def _positives(self) -> list[Any]:
        """Class numbers whose label is +1, one per machine."""
        return list(range(len(self.classes_))) if len(self.classes_) > 2 else [1]

    def _per_machine(self, values: Sequence[Any]) -> Any:
        """What an attribute keeps of one value per machine: all of them."""
        return list(values)

    def _shaped(self, coefs: list[Array], intercepts: list[float], dtype: Any) -> dict[str, Any]:
        """`coef_` and `intercept_` from those of the machines."""
        return {"coef_": np.array(coefs, dtype=dtype), "intercept_": np.array(intercepts, dtype=dtype)}


class SupportVectors(HasPenaltyPath, LinearPredictor):
    """Machines that minimise ½‖w‖² + ½ρb² + C Σ s ℓ for a sided loss ℓ."""

    C: float
    penalty_strength: float | None
    loss: str
    fit_intercept: bool
    intercept_scaling: float | None
    solver: str
    tol: float
    max_iter: int
    history: bool
    random_state: Any
    dual_coef_: NDArray | None
    _penalty_name = "penalty_strength"
    _source: ClassVar[str]
    _positives: Callable[[], list[Any]]
    _per_machine: Callable[[Sequence[Any]], Any]
    _run: Callable[..., list[Any]]
    _shaped: Callable[[list[Array], list[float], Any], dict[str, Any]]

    def _loss(self) -> SidedLoss:
        loss = named_loss(self.loss)
        assert isinstance(loss, SidedLoss)
        return loss

    def _n_support(self, counts: NDArray) -> Any:
        """`n_support_` from the numbers of rows with ν above and below zero, one pair per machine."""
        raise NotImplementedError

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        total = data.total_weight if weights is None else float(weights.sum())
        self.C_ = float(self.C) if self.penalty_strength is None else 1 / (2 * self.penalty_strength * total)
        self.penalty_strength_ = 1 / (2 * self.C_ * total)
        self.solver_ = choose_solver(self.solver, data)
        problems = self._problems()
        data = local_rows(data, self.solver_, problems[0], type(self).__name__)
        rngs = [generator(self.random_state)]
        if weights is not None:
            rngs = spawn(self.random_state, len(problems))
        settings: dict[str, Any] = {"solver": self.solver_, "tol": self.tol, "max_iter": self.max_iter}
        fits = [
            partial(fit_machine, data, problem, rng, **settings)
            for problem, rng in zip(problems, rngs, strict=True)
        ]
        machines = self._run(X, y, self.solver_, fits)
        coefs, intercepts, duals, n_iters, converged, traces = zip(*machines, strict=True)
        self.__dict__.update(self._shaped(list(coefs), list(intercepts), data.dtype))
        kept = None if duals[0] is None else self._per_machine(duals)
        self.dual_coef_ = None if kept is None else np.array(kept, dtype=data.dtype)
        self.n_iter_, self.converged_ = max(n_iters), all(converged)
        if self.history:
            self.history_ = self._per_machine(traces)
        judged = self._judged(data)
        self.n_support_ = self._n_support(np.array([item.evidence.n_support for item in judged]))
        self.certificates_ = self._certificates(judged)
        self.dual_gap_, self.optimality_ = (item.value for item in self.certificates_[:2])
        if not np.isfinite(self.dual_gap_):
            raise ValueError(
                f"The objective of {type(self).__name__} is too large for floating point. Divide the columns "
                "and the target by their scale."
            )
        self.converged_ = self.converged_ or self.certificates_.holds
        if not self.converged_:
            warn_unfinished(self, f"iterations of {self.solver_}")

    def _problems(self) -> list[MachineProblem]:
        """What each machine minimises."""
        free = self.intercept_scaling is None or not self.fit_intercept
        rho = 0.0 if free else 1 / float(self.intercept_scaling or 1.0) ** 2
        factors = getattr(self, "class_weight_", None)
        return [
            MachineProblem(MachineLoss(self._loss(), self.C_, positive, factors), self.fit_intercept, rho)
            for positive in self._positives()
        ]

    def _judged(self, data: Rows) -> list[JudgedMachine]:
        """Every machine measured on the rows, from the attributes alone."""
        coefs = np.atleast_2d(self.coef_).astype(np.float64)
        duals = None if self.dual_coef_ is None else np.atleast_2d(self.dual_coef_)
        return judge(data, self._problems(), coefs, np.atleast_1d(self.intercept_), duals)

    def _certificates(self, judged: list[JudgedMachine]) -> Certificates:
        """Duality gap, stationarity and, for losses with corners, feasibility: the worst of the machines."""
        kind: Any = {"cornered": self._loss().cornered, "single": self.coef_.dtype == np.float32}
        return Certificates(machine_claims(judged, self.tol, self._source, **kind))

    def _measure(self, data: Rows) -> Certificates:
        if self.dual_coef_ is not None:
            require_rows_of_the_fit(data, self.dual_coef_)
            data = local_rows(data, "newton", self._problems()[0], type(self).__name__)
        judged = self._judged(data)
        pairs = {"penalty_strength_": (self.penalty_strength_, 1 / (2 * self.C_ * data.total_weight))}
        if self.dual_coef_ is not None:
            counts = np.array([item.evidence.n_support for item in judged])
            pairs["n_support_"] = self.n_support_, self._n_support(counts)
        claim = "The strength of the penalty and the number of support vectors are those of the rows."
        return Certificates([*self._certificates(judged), agreement(claim, pairs, self._source)])


def warn_unfinished(model: Any, steps: str) -> None:
    """Say that an iteration ended above its tolerance, and what would help."""
    way_out = "Increase max_iter."
    if model.n_iter_ < model.max_iter:
        way_out = "More of them do not help: divide the columns and the target by their scale."
    warn(
        f"{type(model).__name__} stopped after {model.n_iter_} {steps} with a relative duality gap of "
        f"{model.dual_gap_:.2g} and an optimality of {model.optimality_:.2g}, before it converged. {way_out}"
    )


def majorant_claim(wrong: float, loss: float, claim: str) -> Certificate:
    """The training error is at most a mean loss that majorises it: true of any fit."""
    source, name = "Sangnier §1.2.1", "training error"
    details: Any = {"trivial": 1.0, "tolerance": 1e-12, "informative": True}
    return at_most(claim, name, wrong, loss, source=source, **details)


def require_rows_of_the_fit(data: Rows, dual: NDArray) -> None:
    """Raise when there is not one row for each dual coefficient."""
    if dual.shape[-1] != data.shape[0]:
        raise ValueError(
            f"certify needs the {dual.shape[-1]} rows of the fit, one for each dual coefficient. "
            f"Got {data.shape[0]} rows instead."
        )
