"""Linear support vector classification."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from assay import parameters
from assay.certificates import Certificates
from assay.linear.classifier import LinearClassifier
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import (
    MACHINE_DOMAINS,
    Judged,
    Problem,
    choose_solver,
    fit_machine,
    judge,
    local_rows,
    machine_certificates,
    majorant,
    require_rows_of_the_fit,
)
from assay.models.classes import CLASS_WEIGHT, class_factors
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.randomness import spawn
from assay.rows import Rows
from assay.solvers.piecewise.tilted import Tilt
from assay.suitability import Suitability

SOURCE = "Rudi & Şimşekli §2.1.2, §2.2.1"


class LinearSVC(HasPenaltyPath, LinearClassifier):
    """Linear support vector machine: hinge or squared hinge loss with a squared-norm penalty.

    Minimises over (w, b), with labels t = ±1,

        ½ ‖w‖² + C Σ_i s_i max(0, 1 − t_i (x_iᵀw + b))ᵖ,        p = 1 or 2, b not penalised,

    which is 1/(2λ) times (1/n) Σ s max(0, 1 − tf)ᵖ + λ‖w‖² with C = 1/(2λn) (n = Σ s): give `C` or
    `penalty_strength` (λ). Few columns: Newton steps (p = 2) or an interior point (p = 1) with one matrix of
    size n_features each; many: dual coordinate descent with shrinking. Several classes: one against the rest.

    Assumes: classes that a plane separates but for some rows, and columns of comparable scales. It gives
    scores and no probabilities.

    Certificates: relative duality gap from a feasible dual point, KKT residual, box feasibility (p = 1), and
    training error below the mean loss that majorises it.

    Parameters
    ----------
    C : float, default=1.0
        Factor of the sum of losses, as in scikit-learn.
    penalty_strength : float, optional
        λ, the penalty on the scale of the mean of losses; takes the place of `C` when given.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        p = 2 or p = 1.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    intercept_scaling : float, optional
        With a number γ the intercept is penalised by ½ b²/γ², the objective of liblinear (1 is its default);
        without, b is free.
    class_weight : mapping, "balanced" or None, default=None
        Factor of the weight of each class; "balanced" makes all classes weigh the same.
    solver : {"auto", "newton", "dual_coordinate"}, default="auto"
        "newton" needs a matrix of the number of columns squared (the interior point for p = 1); with p = 2 it
        walks rows anywhere. "dual_coordinate" needs the rows in memory. "auto" chooses by the columns.
    tol : float, default=1e-8
        Relative duality gap at which to stop.
    max_iter : int, default=2000
        Most Newton steps, or passes of coordinate descent, a class.
    history : bool, default=False
        Whether to keep the objective (Newton) or the relative gap (otherwise) of every iteration.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows in coordinate descent.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    class_weight_ : array of shape (n_classes,)
        Factor of each class.
    C_, penalty_strength_ : float
        The penalty on both scales.
    dual_coef_ : array of shape (1, n_samples) or (n_classes, n_samples), or None
        ν with w = Σ ν x, for the hinge loss; for the squared hinge it is 2Cs t max(0, 1 − tf), and not kept.
    n_support_ : array of shape (2,) or (n_classes, 2)
        Support rows, of label −1 and of label +1.
    dual_gap_ : float
        Relative duality gap, never negative: the worst class.
    solver_ : str
        What "auto" chose.
    history_ : list of lists of float
        One a machine, with `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations (the slowest class), whether all ended by `tol`, and the KKT residual.

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> from assay.linear import LinearSVC
    >>> X, y = GaussianClasses([[1.0, 0.0], [-1.0, 0.5]]).sample(200, random_state=0)
    >>> model = LinearSVC(loss="hinge", penalty_strength=0.01).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> round(model.C_, 3), bool(model.dual_gap_ < 1e-8)
    (0.25, True)

    References
    ----------
    Rudi & Şimşekli §2.1.1, §2.1.2, §2.2.1; Sangnier §1.2.1.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=3,
        max_rows=200_000,
        max_features=2000,
        select={"alphas": np.logspace(-5.0, 0.0, 6)},
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "loss": parameters.one_of("squared_hinge", "hinge"),
        "class_weight": CLASS_WEIGHT,
    }

    _penalty_name = "penalty_strength"

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty_strength: float | None = None,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 2000,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.penalty_strength = penalty_strength
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row stands there twice.
        """
        data, weights = self._open_classes(X, y, sample_weight)
        total = float(weights.sum())
        self.C_ = float(self.C) if self.penalty_strength is None else 1 / (2 * self.penalty_strength * total)
        self.penalty_strength_ = 1 / (2 * self.C_ * total)
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        self.solver_ = choose_solver(self.solver, data)
        problems = self._problems()
        data = local_rows(data, self.solver_, problems[0], type(self).__name__)
        watch = self._watch_fit(X, y, n_runs=len(problems), max_iter=self.max_iter)
        machines = []
        for problem, rng in zip(problems, spawn(self.random_state, len(problems)), strict=True):

            def report(coef: Array, intercept: float) -> bool:
                return watch.iteration(lambda: {"coef_": coef[None], "intercept_": np.array([intercept])})

            with watch.run(self.solver_):
                machines.append(
                    fit_machine(
                        data,
                        problem,
                        solver=self.solver_,
                        tol=self.tol,
                        max_iter=self.max_iter,
                        rng=rng,
                        report=report,
                    )
                )
        watch.finish()
        self.coef_ = np.array([machine.coef for machine in machines], dtype=data.dtype)
        self.intercept_ = np.array([machine.intercept for machine in machines], dtype=data.dtype)
        duals = [machine.dual for machine in machines]
        self.dual_coef_ = None if duals[0] is None else np.array(duals, dtype=data.dtype)
        self.n_iter_ = max(machine.n_iter for machine in machines)
        self.converged_ = all(machine.converged for machine in machines)
        if self.history:
            self.history_ = [machine.trace for machine in machines]
        judged = self._judged(data)
        counts = np.array([item.evidence.n_support[::-1] for item in judged])
        self.n_support_ = counts if len(counts) > 1 else counts[0]
        self.certificates_ = self._certificates(judged)
        self.dual_gap_, self.optimality_ = (item.value for item in self.certificates_[:2])
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} iterations of {self.solver_} with a "
                f"relative duality gap of {self.dual_gap_:.2g}, above tol. Increase max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _problems(self) -> list[Problem]:
        """The machine of each class, or the one of two classes."""
        several = len(self.classes_) > 2
        free = self.intercept_scaling is None or not self.fit_intercept
        rho = 0.0 if free else 1 / float(self.intercept_scaling or 1.0) ** 2
        return [
            Problem(
                Tilt(
                    self.C_,
                    self.C_,
                    squared=self.loss == "squared_hinge",
                    positive=positive,
                    class_weight=self.class_weight_,
                ),
                self.fit_intercept,
                rho,
            )
            for positive in (range(len(self.classes_)) if several else (1,))
        ]

    def _judged(self, data: Rows) -> list[Judged]:
        """Every machine measured on the rows, from the attributes alone."""
        duals = [None] * len(self.coef_) if self.dual_coef_ is None else self.dual_coef_
        return [
            judge(data, problem, coef.astype(np.float64), float(intercept), dual)
            for problem, coef, intercept, dual in zip(
                self._problems(), self.coef_, self.intercept_, duals, strict=True
            )
        ]

    def _certificates(self, judged: list[Judged]) -> Certificates:
        squared, dtype = self.loss == "squared_hinge", self.coef_.dtype
        machines = machine_certificates(judged, tol=self.tol, squared=squared, dtype=dtype, source=SOURCE)
        return Certificates([*machines, majorant(judged)])

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk a machine.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        if self.dual_coef_ is not None:
            require_rows_of_the_fit(data, self.dual_coef_)
            data = local_rows(data, "newton", self._problems()[0], type(self).__name__)
        return self._certificates(self._judged(data))
