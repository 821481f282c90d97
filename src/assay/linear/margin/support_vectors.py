"""Linear support vector machines: classification and regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.linear.margin.base import (
    MACHINE_DOMAINS,
    OneAgainstRest,
    OneTarget,
    SupportVectors,
    majorant_claim,
)
from assay.losses import EpsilonInsensitive, SidedLoss, SquaredEpsilonInsensitive
from assay.models.classes import CLASS_WEIGHT, class_factors
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers.piecewise.machine import JudgedMachine
from assay.suitability import Suitability


class LinearSVC(SupportVectors, OneAgainstRest):
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
        Most Newton steps, or passes of coordinate descent, per class.
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
        One per machine, with `history=True`.
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
        max_features=1000,  # of 2,000 of a dense law a fit took more than 40 seconds
        max_numbers=10_000_000,
        per_class=True,
        select={"alphas": np.logspace(-5.0, 0.0, 6)},
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "loss": parameters.one_of("squared_hinge", "hinge"),
        "class_weight": CLASS_WEIGHT,
    }
    _source = "Rudi & Şimşekli §2.1.2, §2.2.1"

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

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        assert weights is not None
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        super()._fit_rows(X, y, data, weights)

    def _n_support(self, counts: NDArray) -> NDArray:
        return counts[:, ::-1] if len(counts) > 1 else counts[0, ::-1]

    def _certificates(self, judged: list[JudgedMachine]) -> Certificates:
        """Those of the machines, and the training error against the mean loss, summed over the machines.

        A row that the largest score puts in a wrong class has a loss of at least 1 in one of the machines.
        """
        total = judged[0].evidence.total
        wrong = sum(item.evidence.wrong for item in judged) / total
        loss = sum(item.evidence.loss for item in judged) / total
        claim = "The training error is at most the mean loss, which majorises it."
        return Certificates([*super()._certificates(judged), majorant_claim(wrong, loss, claim)])


class LinearSVR(SupportVectors, OneTarget):
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
    _source = "Sangnier §1.5; Rudi & Şimşekli §2.2.1"

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

    def _loss(self) -> SidedLoss:
        kind = EpsilonInsensitive if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
        return kind(float(self.epsilon))

    def _n_support(self, counts: NDArray) -> int:
        return int(counts.sum())

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        """The loss of the fit."""
        return self._loss().value(y[:, None], predictions)
