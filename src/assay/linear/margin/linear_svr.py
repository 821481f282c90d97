"""Linear support vector regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from assay import parameters
from assay.linear.margin.base import MACHINE_DOMAINS, OneTarget, SupportVectors
from assay.losses import EpsilonInsensitive, SidedLoss, SquaredEpsilonInsensitive
from assay.parameters import Domain


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
