"""Linear support vector regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning

from assay import parameters
from assay.certificates import Certificates
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
    require_rows_of_the_fit,
)
from assay.linear.predictor import LinearRegressor, vector_target
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Rows
from assay.solvers.piecewise.tilted import Tilt

SOURCE = "Sangnier §1.5; Rudi & Şimşekli §2.2.1"


class LinearSVR(HasPenaltyPath, LinearRegressor):
    """Linear support vector regression: errors up to ε cost nothing.

    Minimises over (w, b)

        ½ ‖w‖² + C Σ_i s_i max(0, |y_i − x_iᵀw − b| − ε)ᵖ,        p = 1 or 2, b not penalised,

    which is 1/(2λ) times the mean loss plus λ‖w‖² with C = 1/(2λn) (n = Σ s). Few columns: an interior point
    (p = 1) or Newton steps (p = 2); many columns: dual coordinate descent with shrinking.

    Assumes: a prediction that is linear in columns of comparable scales, and that errors below ε do not
    matter.

    Certificates: relative duality gap from a feasible dual point, KKT residual, box feasibility (p = 1).

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube, ε.
    C : float, default=1.0
        Factor of the sum of losses, as in scikit-learn.
    penalty_strength : float, optional
        λ, the penalty on the scale of the mean of losses; takes the place of `C` when given.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        p = 1 or p = 2.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    intercept_scaling : float, optional
        With a number γ the intercept is penalised by ½ b²/γ², the objective of liblinear (1 is its default);
        without, b is free.
    solver : {"auto", "newton", "dual_coordinate"}, default="auto"
        As in `LinearSVC`.
    tol : float, default=1e-8
        Relative duality gap at which to stop.
    max_iter : int, default=2000
        Most Newton steps, or passes of coordinate descent.
    history : bool, default=False
        Whether to keep the objective (Newton) or the relative gap (otherwise) of every iteration.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows in coordinate descent.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    C_, penalty_strength_ : float
        The penalty on both scales.
    dual_coef_ : array of shape (n_samples,) or None
        ν with w = Σ ν x, for p = 1; for p = 2 it follows from the residuals, and is not kept.
    n_support_ : int
        Rows with ν ≠ 0, outside the tube or on its border.
    dual_gap_ : float
        Relative duality gap, never negative.
    solver_ : str
        What "auto" chose.
    history_ : list of float
        With `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the KKT residual.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import LinearSVR
    >>> X, y = diabetes(return_X_y=True)
    >>> model = LinearSVR(epsilon=10.0, C=100.0).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> int(model.n_support_) < len(X)
    True

    References
    ----------
    Sangnier §1.5; Rudi & Şimşekli §2.2.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "epsilon": parameters.real(at_least=0),
        "loss": parameters.one_of("epsilon_insensitive", "squared_epsilon_insensitive"),
    }

    _penalty_name = "penalty_strength"

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        """The loss of the fit."""
        excess = np.maximum(np.abs(y[:, None] - predictions) - self.epsilon, 0.0)
        return excess if self.loss == "epsilon_insensitive" else excess**2

    def __init__(
        self,
        epsilon: float = 0.0,
        *,
        C: float = 1.0,
        penalty_strength: float | None = None,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 2000,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.C = C
        self.penalty_strength = penalty_strength
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVR:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row stands there twice.
        """
        data = vector_target(self._open_rows(X, y, sample_weight, with_target=True), self)
        total = data.total_weight
        self.C_ = float(self.C) if self.penalty_strength is None else 1 / (2 * self.penalty_strength * total)
        self.penalty_strength_ = 1 / (2 * self.C_ * total)
        self.solver_ = choose_solver(self.solver, data)
        problem = self._problem()
        data = local_rows(data, self.solver_, problem, type(self).__name__)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)

        def report(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: {"coef_": coef, "intercept_": intercept})

        with watch.run(self.solver_):
            machine = fit_machine(
                data,
                problem,
                solver=self.solver_,
                tol=self.tol,
                max_iter=self.max_iter,
                rng=generator(self.random_state),
                report=report,
            )
        watch.finish()
        self.coef_ = machine.coef.astype(data.dtype)
        self.intercept_ = data.dtype.type(machine.intercept)
        self.dual_coef_ = None if machine.dual is None else machine.dual.astype(data.dtype)
        self.n_iter_, self.converged_ = machine.n_iter, machine.converged
        if self.history:
            self.history_ = machine.trace
        judged = self._judged(data)
        self.n_support_ = int(judged.evidence.n_support.sum())
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

    def _problem(self) -> Problem:
        free = self.intercept_scaling is None or not self.fit_intercept
        rho = 0.0 if free else 1 / float(self.intercept_scaling or 1.0) ** 2
        squared = self.loss == "squared_epsilon_insensitive"
        return Problem(Tilt(self.C_, self.C_, float(self.epsilon), squared), self.fit_intercept, rho)

    def _judged(self, data: Rows) -> Judged:
        coef, intercept = self.coef_.astype(np.float64), float(self.intercept_)
        return judge(data, self._problem(), coef, intercept, self.dual_coef_)

    def _certificates(self, judged: Judged) -> Certificates:
        squared, dtype = self._problem().tilt.squared, self.coef_.dtype
        return Certificates(
            machine_certificates([judged], tol=self.tol, squared=squared, dtype=dtype, source=SOURCE)
        )

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = vector_target(self._open_new_rows(X, y, sample_weight, with_target=True), self)
        if self.dual_coef_ is not None:
            require_rows_of_the_fit(data, self.dual_coef_)
            data = local_rows(data, "newton", self._problem(), type(self).__name__)
        return self._certificates(self._judged(data))
