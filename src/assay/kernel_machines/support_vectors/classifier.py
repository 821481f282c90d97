"""Support vector classification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from assay import parameters
from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.bounds import RiskBound, hinge_risk_bound
from assay.kernel_machines.support_vectors.base import LIMIT, MACHINE_DOMAINS, uniqueness
from assay.kernel_machines.support_vectors.classification import SupportVectorClassifier
from assay.kernel_machines.support_vectors.machine import MachineData, Standings
from assay.kernel_machines.support_vectors.selection import SelectsMachines
from assay.losses import SidedLoss
from assay.losses import loss as named_loss
from assay.models.classes import CLASS_WEIGHT
from assay.parameters import Domain
from assay.suitability import Suitability


class SVC(SelectsMachines, SupportVectorClassifier):
    """Support vector classification in the Hilbert space of a kernel.

    Minimises over h in the space of the kernel and over b

        ½‖h‖² + C Σ_i s_i max(0, 1 − y_i (h(x_i) + b)),        y_i = ±1, b not penalised,

    by its dual: max Σ ν_i y_i − ½ νᵀKν over ν_i y_i in [0, C s_i] and Σν = 0, with h = Σ ν_i k(x_i, ·). Pairs
    of rows are solved for in working sets, all rows inside their box at once where that is cheaper, until the
    relative duality gap is at most `tol`. Several classes are told apart by one machine for each two, or each
    against the rest.

    The fit compares all pairs of rows: n_samples² kernel values in time; in memory the kernel rows of
    `cache_size`. Predictions are made block by block, from any source.

    Assumes: a positive semi-definite kernel. The minimiser needs no more; that its error on new rows is near
    the one measured needs independent rows of one law.

    Certificates: relative duality gap by a feasible dual point, optimality conditions row by row,
    feasibility; `certify` makes the kernel values afresh and compares all that is stored. With two classes, a
    bound on the leave-one-out error.

    Parameters
    ----------
    C : float above 0, default=1.0
        The cost of a slack. Sangnier's (λ/2)‖w‖² + (1/n) Σ ξ has C = 1/(λn).
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf" or "gaussian", "laplacian", "polynomial" or "poly", "exponential", "sigmoid",
        "precomputed"), an object of `assay.kernels`, or a function of two rows. With "precomputed", X is the
        Gram matrix at the fit and the cross matrix afterwards.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : "scale", "auto" or float, default="scale"
        Scale of the named kernels: 1/(n_features · variance of X), 1/n_features, or the number.
    coef0 : float, default=0.0
        Constant of the polynomial and sigmoid kernels.
    shrinking : bool, default=True
        As in scikit-learn; working sets leave out what does not move anyway, so that it changes nothing.
    probability : bool or "deprecated", default="deprecated"
        Whether `predict_proba` works: values are turned into probabilities by a sigmoid through 0 (a softmax
        of several classes) whose slope is fitted to five cross-fitted folds, so that the most probable class
        is the one predicted.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    class_weight : dict or "balanced", optional
        Factors of C for each class.
    verbose : bool, default=False
        Accepted; see scikit-learn's callbacks for progress.
    max_iter : int, default=-1
        Most steps per machine; −1 for as many as bring it nearer.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives a score per class or one per machine of two classes.
    break_ties : bool, default=False
        Whether equally many duels are decided by their values in place of the order of the classes.
    random_state : int, Generator or None, default=None
        Draws the pairs of `working_set="random"`.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One machine for each two classes, or each class against the rest.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a slack: ξ, or ξ², which bends and is minimised by Newton steps.
    radius : float, optional
        Minimises the losses over ‖h‖ ≤ radius in place of the penalty (two classes); `C_` is the cost that
        gives the same.
    budget : float, optional
        Minimises ‖h‖ over Σ s ξ ≤ budget in place of the penalty (two classes).
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    working_set : {"second_order", "max_violating_pair", "random"}, default="second_order"
        How pairs are chosen. The other two keep the whole Gram matrix; "random" is the algorithm of the
        notes.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round, which never falls.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the machine of features of the kernel in place of the kernel's own, by walks over rows that may
        be anywhere: so many Nyström landmarks, or those of a transformer, whose kernel becomes that of this
        model. The attributes are then `features_`, `feature_coef_` and `feature_dual_` with w and ν of each
        machine, `intercept_`, `rkhs_norm_`, `margin_` and those of values and penalties; none is per row.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    support_ : array of shape (n_SV,)
        Places of the support vectors, sorted by class.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_classes − 1, n_SV), (n_classes, n_SV) against the rest
        ν of each support vector in each machine, laid out as scikit-learn does.
    intercept_ : array of shape (n_machines,)
    intercept_interval_ : array of shape (n_machines, 2)
        Intercepts that are as good; a single point when a support vector is on the margin.
    C_, penalty_strength_ : float
    slack_, kkt_violations_ : arrays of shape (n_samples,), (n_machines, n_samples) for several classes
        ξ of each row, and how far it is from the optimality conditions.
    point_sets_ : array of the same shape
        0 outside (ν = 0), 1 on the margin, 2 at the bound; see `point_sets`. Squares have no bound: 1 is then
        every support vector.
    rkhs_norm_, margin_ : arrays of shape (n_machines,)
        ‖h‖ and the width 1/‖h‖ on either side of the frontier.
    primal_value_, dual_value_, loss_value_ : arrays of shape (n_machines,)
        The objective, the value of the dual, and C Σ s ξ; the other term of the objective is ½ ‖h‖².
    alpha_unique_ : array of bool of shape (n_machines,)
        Whether no other coefficients give the same machine. None, in an array of objects, where more than
        2,000 rows are on the margin, and some hundreds of them do not span the others: it is left open.
    leave_one_out_bound_ : float
        Share of rows with 2 α R² + ξ ≥ 1; with two classes only. 1 where an intercept has no support vector
        on the margin, which the theorem asks for.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.kernel_machines import SVC
    >>> X, y = TwoMoons(noise_std=0.2).sample(200, random_state=0)
    >>> model = SVC(C=10.0).fit(X, y)
    >>> model.certificates_.holds, bool(model.score(X, y) > 0.9)
    (True, True)

    References
    ----------
    Sangnier §1.4.1, §1.4.3, §1.4.6; Wei §8.4.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=5, max_rows=5000, select={"Cs": (0.1, 1.0, 10.0, 100.0), "max_rows": 600}
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "C": Domain(
            f"{MACHINE_DOMAINS['C'].words}; HardMarginSVC is that of C = ∞", MACHINE_DOMAINS["C"].contains
        ),
        "probability": parameters.boolean | parameters.one_of("deprecated"),
        "class_weight": CLASS_WEIGHT,
        "decision_function_shape": parameters.one_of("ovr", "ovo"),
        "break_ties": parameters.boolean,
        "multi_class": parameters.one_of("ovo", "ovr"),
        "loss": parameters.one_of("hinge", "squared_hinge"),
        "radius": LIMIT,
        "budget": LIMIT,
        "approximation": APPROXIMATION,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-6,
        cache_size: float = 1000,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        loss: str = "hinge",
        radius: float | None = None,
        budget: float | None = None,
        penalty_strength: float | None = None,
        fit_intercept: bool = True,
        kernel_params: dict[str, Any] | None = None,
        working_set: str = "second_order",
        history: bool = False,
        approximation: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.loss = loss
        self.radius = radius
        self.budget = budget
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.kernel_params = kernel_params
        self.working_set = working_set
        self.history = history
        self.approximation = approximation

    def _loss(self) -> SidedLoss:
        loss = named_loss(self.loss)
        assert isinstance(loss, SidedLoss)
        return loss

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        alone = uniqueness(self.kernel_, machines, standings)
        return {**super()._implied(machines, standings, n), "alpha_unique_": alone}

    def risk_certificate(self, X: Any, y: Any, delta: float = 0.05, *, radii: Any = None) -> RiskBound:
        """Bound the probability of error on new rows, with probability 1 − δ (Corollary 43).

        The bound is that of a ball fixed before the data: the `radius` of the fit, or 1/√λ for a penalty λ
        that was given (the objective at 0 is 1, so that no solution is larger). For a cost that was chosen on
        the data a grid of radii, fixed before, shares δ; balls that do not hold the fit say nothing. It needs
        two classes, the hinge loss and no intercept.

        Parameters
        ----------
        X, y
            The data of the fit.
        delta : float, default=0.05
            Probability with which the bound may fail.
        radii : array-like of positive numbers, optional
            Balls that were fixed before the data, in the place of that of the fit.
        """
        plain = self.loss == "hinge" and self.class_weight is None and not self.fit_intercept
        if not plain or len(self.classes_) != 2:
            raise ValueError(
                "risk_certificate is a theorem on machines of two classes with the hinge loss, without an "
                "intercept and class weights: fit SVC(fit_intercept=False) on two classes."
            )
        if self.radius is None and self.penalty_strength is None and radii is None:
            raise ValueError(
                "risk_certificate needs a ball that was fixed before the data: give 'radius' or "
                "'penalty_strength' to the fit, or a grid of 'radii' that did not depend on the data."
            )
        given = self.radius if self.radius is not None else 1 / math.sqrt(self.penalty_strength or 1.0)
        norm = None if radii is None else float(self.rkhs_norm_[0])
        data: Any = self._open_new_classes(X, y)
        margins = np.where(data.y > 0, 1.0, -1.0) * self.decision_function(X)
        kappa = math.sqrt(float(np.max(self.kernel_.diagonal(data.X))))
        mean = float(np.maximum(1 - margins, 0).mean())
        balls = float(given) if radii is None else radii
        return hinge_risk_bound(mean, balls, kappa, len(margins), delta, norm=norm)
