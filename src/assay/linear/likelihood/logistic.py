"""Logistic regression of two or more classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificates
from assay.linear.likelihood.base import LikelihoodPath, likelihood_path, strength_grid
from assay.linear.likelihood.certificates import finite_or_none, logistic_certificates, stored_numbers
from assay.linear.likelihood.logistic_fit import (
    coordinate_path,
    fit_logistic,
    loss_of_classes,
    null_risk,
    null_scores,
    of_scores,
    overlap_proofs,
)
from assay.linear.likelihood.logistic_results import ONE_SCORE, LogisticResults
from assay.models.classes import CLASS_WEIGHT, class_factors
from assay.models.selection import FoldTable, Said
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows, class_weights, merge_weights
from assay.solvers import RowRisk, SmoothFit
from assay.suitability import Suitability

LABEL = Domain("a label of y", lambda value: isinstance(value, (str, bool, int, float, np.generic)))
INVERSE_PENALTY = Domain(
    "a number above 0 (inf for no penalty)",
    lambda value: (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and bool(0 < value <= float(np.finfo(float).max) or value == np.inf)
    ),
)


class LogisticRegression(LogisticResults):
    """Logistic regression: log-odds of the classes that are linear in the features.

    Minimises over (w, b), with λ = 1/(C n) and n = Σ s,

        (1/n) Σ_i s_i log(1 + e^{−y_i(x_iᵀw + b)}) + λ (ρ‖w‖₁ + (1 − ρ)/2 ‖w‖²),        b not penalised,

    for labels y = ±1, the negative log-likelihood of P(Y = 1) = 1/(1 + e^{−(xᵀw + b)}); with more classes the
    loss is log Σ_k e^{s_k} − s_y for a score s_k of each class, or with `reference_class` of each other one.
    Newton steps (iteratively reweighted least squares), each one walk over the rows; for many rows in
    memory, quasi-Newton steps from the fit of a part of them; with an l1 penalty, coordinate descent on
    working sets, or accelerated proximal steps for several classes and rows out of memory.

    Assumes: independent rows, and log-odds that are linear in the columns: then probabilities are calibrated.
    Without a penalty, that the classes overlap.

    Certificates: duality gap (penalised) or Newton decrement (not penalised); without a penalty, that the
    classes overlap; on `certify`, that the numbers behind inference are those of the rows. As a bound, the
    logistic loss in base 2, which is above the training error of any fit.

    Parameters
    ----------
    C : float, default=1.0
        Inverse penalty on the scale of the sum, as in scikit-learn; inf for none.
    penalty_strength : float, optional
        λ, the penalty on the scale of the mean; takes the place of `C` when given.
    l1_ratio : float, default=0.0
        ρ: 0 for the squared norm, 1 for the l1 norm.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    reference_class : label, optional
        With more than two classes: the class whose score is 0, so that the others are log-odds against it and
        have standard errors. Without it every class has a score, of sum zero.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes; "balanced" makes them weigh the same.
    solver : {"auto", "newton", "quasi_newton", "gradient_descent"}, default="auto"
        "gradient_descent" is the plain method with its trace. An l1 penalty needs "auto".
    tol : float, default=1e-9
        The fit stops when the objective is within tol²/2 of its minimum, relative to the risk without
        features: by the Newton decrement, or by the duality gap with an l1 penalty (not below 1e-10 then).
        Gradient descent stops when the gradient has shrunk by this factor.
    max_iter : int, default=1000
        Most iterations.
    history : bool, default=False
        Whether the objective of every iteration is kept in `history_` (the last one only where an l1 penalty
        is fitted by coordinates).

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    C_, penalty_strength_ : float
        The penalty on both scales.
    class_weight_ : array of shape (n_classes,)
        Factor of the weights of each class.
    empirical_risk_ : float
        Mean loss, without the penalty.
    log_likelihood_, null_log_likelihood_ : float
        −n times the mean loss: of the model, and of the best constant score beside the offsets.
    training_error_ : float
        Share of the rows on the wrong side.
    dual_gap_ : float or None
        Duality gap relative to the risk without features; None without a penalty, where there is no dual, or
        where no dual point was found.
    information_ : array or None
        Hessian of the mean loss about `center_`, where the solver formed it.
    center_ : array of shape (n_features,)
    total_weight_ : float
        n.
    solver_ : str
        What "auto" chose.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the Newton decrement or relative gap.
    history_ : array
        With `history=True`.

    Examples
    --------
    >>> from assay.datasets import breast_cancer
    >>> from assay.linear import LogisticRegression
    >>> X, y = breast_cancer(return_X_y=True)
    >>> Z = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = LogisticRegression(C=0.1).fit(Z, y)
    >>> model.certificates_.holds, round(model.training_error_, 3)
    (True, 0.019)
    >>> LogisticRegression(l1_ratio=1.0).path(Z, y, n_strengths=5).n_nonzero
    array([ 0,  4,  9, 17, 22])
    >>> LogisticRegression().select(Z, y, rule="one_se", random_state=0).model.certificates_.holds
    True

    References
    ----------
    Sangnier §1.2; Rudi & Şimşekli §2.1; Wei §7.3.3; Peyré, logistic classification; Douc & Le Corff §3.2.2,
    §8.6.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2,
        max_side=2000,
        max_class_numbers=10_000_000,
        select={"penalty_strengths": np.logspace(-5.0, 0.0, 11)},
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "C": INVERSE_PENALTY,
        "penalty_strength": parameters.nothing | parameters.real(at_least=0, squared=True),
        "l1_ratio": parameters.real(at_least=0, at_most=1),
        "fit_intercept": parameters.boolean,
        "reference_class": parameters.nothing | LABEL,
        "class_weight": CLASS_WEIGHT,
        "solver": parameters.one_of("auto", "newton", "quasi_newton", "gradient_descent"),
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }
    _checks_finite = True
    _penalty_name = "penalty_strength"

    def __init__(
        self,
        C: Any = 1.0,
        *,
        penalty_strength: float | None = None,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        reference_class: Any = None,
        class_weight: Any = None,
        solver: str = "auto",
        tol: float = 1e-9,
        max_iter: int = 1000,
        history: bool = False,
    ) -> None:
        self.C = C
        self.penalty_strength = penalty_strength
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.reference_class = reference_class
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    @with_callbacks
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> LogisticRegression:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Labels of any kind in memory, numbers elsewhere.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        offset : array-like of shape (n_samples,) or column name, optional
            Known part of the score, for two classes.
        """
        data, weights = self._open_classes(X, y, sample_weight, offset=offset)
        if offset is not None and len(weights) > 2:
            raise ValueError(ONE_SCORE)
        risk = self._risk(data, weights, has_offset=offset is not None)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        report = partial(self._report, watch, risk)
        l1 = np.full(risk.alpha.shape, self.penalty_strength_ * self.l1_ratio)
        with watch.run(self.solver):
            null = null_scores(self.class_weight_ * weights, risk)
            fit, first, overlap = fit_logistic(risk, l1=l1, null=null, report=report, **self._stop)
        watch.finish()
        self._store(fit, risk, first)
        evidence = fit.point, fit.measured, fit.split, l1, first
        self.certificates_ = logistic_certificates(risk, *evidence, overlap=overlap)
        self.optimality_ = finite_or_none(self.certificates_[0].value)
        self.dual_gap_ = self.optimality_ if self.penalty_strength_ > 0 else None
        return self

    def _risk(self, data: Rows, weights: NDArray, *, has_offset: bool) -> RowRisk:
        """The objective without its l1 part; sets the penalty on both scales."""
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        total = float(self.class_weight_ @ weights)
        strength, inverse = self._strengths(total)
        if self.l1_ratio > 0 and strength > 0 and self.solver != "auto":
            raise self._refuse("solver", "'auto' with an l1 penalty (l1_ratio above 0)")
        self.total_weight_, self.penalty_strength_ = total, strength
        self.C_ = inverse
        return self._problem(data, has_offset)

    def _strengths(self, total: float) -> tuple[float, float]:
        """The penalty on the scale of the mean, λ, and on that of the sum, C."""
        if self.penalty_strength is None:
            return 1 / (float(self.C) * total), float(self.C)
        strength = float(self.penalty_strength)
        return strength, 1 / (strength * total) if strength > 0 else np.inf

    def _problem(self, data: Rows, has_offset: bool) -> RowRisk:
        alpha = np.full(data.shape[1], self.penalty_strength_ * (1 - self.l1_ratio))
        plain = bool(np.all(self.class_weight_ == 1))
        return RowRisk(
            data,
            loss_of_classes(len(self.classes_), self._reference()),
            alpha,
            fit_intercept=self.fit_intercept,
            has_offset=has_offset,
            weight=self.total_weight_,
            class_weight=None if plain else self.class_weight_,
        )

    def _attributes(self, risk: RowRisk, point: NDArray) -> dict[str, Any]:
        coef, intercept = risk.split_point(point)
        reference = self._reference()
        if reference is not None:
            coef = np.insert(coef, reference, 0.0, axis=1)
            intercept = np.insert(intercept, reference, 0.0)
        dtype = risk.data.dtype
        return {"coef_": coef.T.astype(dtype), "intercept_": intercept.astype(dtype)}

    def _store(self, fit: SmoothFit, risk: RowRisk, first: float) -> None:
        self.__dict__.update(self._attributes(risk, fit.point))
        self.null_log_likelihood_ = -self.total_weight_ * first
        self.empirical_risk_, self.training_error_ = fit.measured.risk, fit.measured.mistakes
        self.log_likelihood_ = -self.total_weight_ * fit.measured.risk
        self.information_, self.center_ = fit.measured.hessian, risk.center
        self.n_iter_, self.converged_, self.solver_ = max(fit.n_iter, 1), fit.converged, fit.solver
        if self.history:
            self.history_ = np.array(fit.values)

        self._warn_unless_converged("" if self.penalty_strength_ > 0 else ", or use a finite C")

    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk.

        Parameters
        ----------
        X, y, sample_weight, offset
            The data of the fit.
        """
        risk, point, measured = self._measure(X, y, sample_weight, offset)
        l1 = np.full(risk.alpha.shape, self.penalty_strength_ * self.l1_ratio)
        held = risk.source.reduce(class_weights, combine=merge_weights)
        weights = np.array([held.get(float(k), 0.0) for k in range(len(self.classes_))])
        factors = class_factors(self.class_weight, self.classes_, weights)
        total = float(factors @ weights)
        null = null_scores(factors * weights, risk)
        first = null_risk(risk, null)
        numbers = {
            "total_weight_": (self.total_weight_, total, 0.0),
            "class_weight_": (self.class_weight_, factors, 0.0),
            "C_": (self.C_, self._strengths(total)[1], 0.0),
            "empirical_risk_": (self.empirical_risk_, measured.risk, 0.0),
            "log_likelihood_": (self.log_likelihood_, -total * measured.risk, 0.0),
            "null_log_likelihood_": (self.null_log_likelihood_, -total * first, 0.0),
        }
        stored = stored_numbers(risk, point, measured, (self.information_, self.center_), numbers)
        several = sum(weight > 0 for weight in held.values()) > 1
        overlap = overlap_proofs(risk, measured, null)[0] if several and self.penalty_strength_ == 0 else []
        evidence = point, measured, measured.split, l1, first
        return logistic_certificates(risk, *evidence, overlap=[stored, *overlap])

    def _proven_numbers(self) -> tuple[str, ...]:
        return (*super()._proven_numbers(), "training_error_")

    def _measure(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> Any:
        risk = self._fitted_problem(X, y, sample_weight, offset)
        point = self._point(risk)
        if self.penalty_strength_ * self.l1_ratio > 0:  # an l1 norm holds the features too
            risk.free = risk.free & (np.arange(len(risk.free)) >= risk.data.shape[1])
        curved = self.penalty_strength_ == 0 or self.information_ is not None
        return risk, point, risk.measure(point, hessian=curved, split=True)

    def _fitted_problem(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> RowRisk:
        data = self._open_new_classes(X, y, sample_weight, offset=offset)
        return self._problem(data, offset is not None)

    def _path(self, X: Any, y: Any, alphas: Any, sample_weight: Any, **grid: Any) -> LikelihoodPath:
        return self._path_of(*self._open_classes(X, y, sample_weight), alphas, **grid)

    def _path_of(
        self, data: Rows, weights: NDArray, strengths: Any, *, evidence: bool = True, **size: Any
    ) -> LikelihoodPath:
        risk = self._risk(data, weights, has_offset=False)
        null, owner = null_scores(self.class_weight_ * weights, risk), "LogisticRegression.path"
        grid, first = strength_grid(risk, null, strengths, owner, self.l1_ratio, **size)
        if self.l1_ratio > 0 and len(weights) == 2 and isinstance(data, MemoryRows):
            return coordinate_path(risk, data, grid, self.l1_ratio, self.tol, self.max_iter)

        def solve(risk: RowRisk, l1: NDArray, start: NDArray | None) -> SmoothFit:
            return fit_logistic(risk, l1=l1, null=null, start=start, **self._stop).fit

        return likelihood_path(risk, grid, solve, first, l1_ratio=self.l1_ratio, evidence=evidence)

    def _fold_path(self, table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
        present = np.bincount(table.y.astype(np.intp), table.weight, minlength=len(self.classes_))
        if not present.all():
            raise ValueError("A fold has no row of some class; use fewer folds or a stratified splitter.")
        fold, rows = self._fold(evidence), MemoryRows(table.X, table.y, table.weight)
        fold.classes_ = self.classes_
        return fold._path_of(rows, present.astype(np.float64), strengths, evidence=evidence)

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        """Log-loss of each row under each model of a path."""
        n, n_models, k = predictions.shape
        flat = predictions[:, :, 0].ravel() if k == 1 else predictions.reshape(-1, k)
        loss = loss_of_classes(len(self.classes_), self._reference())
        return loss.value(np.repeat(y, n_models), flat).reshape(n, n_models)

    def _said(self, predictions: NDArray) -> Said:
        """Classes and probabilities from the scores of each model of a path."""
        n, n_models, k = predictions.shape
        flat, reference = predictions.reshape(-1, k), self._reference()
        flat = flat if reference is None else np.insert(flat, reference, 0.0, axis=1)
        chances = of_scores(flat).reshape(n, n_models, -1)
        return Said(chances.argmax(axis=2), chances)
