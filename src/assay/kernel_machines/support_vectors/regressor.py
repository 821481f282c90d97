"""Support vector regression."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.bounds import RiskBound, svr_oracle_bound
from assay.kernel_machines.support_vectors.base import LIMIT, MACHINE_DOMAINS, uniqueness
from assay.kernel_machines.support_vectors.machine import MachineData, Standings
from assay.kernel_machines.support_vectors.regression import KernelResiduals
from assay.kernel_machines.support_vectors.selection import Search
from assay.losses import EpsilonInsensitive, SidedLoss, SquaredEpsilonInsensitive
from assay.models.selection import Selection
from assay.parameters import Domain
from assay.solvers.rkhs.problem import Array
from assay.suitability import Suitability

TUBES = parameters.array(
    "a list of finite numbers at least 0",
    lambda values: values.ndim == 1 and values.size > 0 and bool((values >= 0).all()),
)


class SVR(KernelResiduals):
    """Support vector regression in the Hilbert space of a kernel.

    Minimises over h in the space of the kernel and over b

        ½‖h‖² + C Σ_i s_i max(0, |y_i − h(x_i) − b| − ε),        b not penalised,

    by its dual: max Σ (ν_i y_i − ε|ν_i|) − ½ νᵀKν over |ν_i| ≤ C s_i and Σν = 0, with ν = α⁺ − α⁻ and
    h = Σ ν_i k(x_i, ·). Rows strictly inside the tube have ν = 0. ε = 0 is median regression.

    The fit compares all pairs of rows: n_samples² kernel values in time; in memory the kernel rows of
    `cache_size`. Predictions are made block by block, from any source.

    Assumes: a positive semi-definite kernel.

    Certificates: relative duality gap by a feasible dual point, optimality conditions row by row,
    feasibility; `certify` makes the kernel values afresh and compares all that is stored.

    Parameters
    ----------
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    C : float above 0, default=1.0
        The cost of an error beyond the tube. Sangnier's (λ/2)‖h‖² + (1/n) Σ ℓ has C = 1/(λn).
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.
    shrinking, verbose : bool
        As in scikit-learn; they change nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss of an error e beyond the tube: e, or e², which bends and is minimised by Newton steps.
    radius : float, optional
        Minimises the losses over ‖h‖ ≤ radius in place of the penalty; `C_` is the cost that gives the same.
    dual : {"box", "joint"}, default="box"
        Whether α⁺ and α⁻ have a bound C each, as two slacks give, or their sum has, as a single slack does.
        Both have the same solution, as no row is above and below the tube: it is found in ν = α⁺ − α⁻.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for as many as bring it nearer.
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
    working_set : {"second_order", "max_violating_pair", "random"}, default="second_order"
        How pairs are chosen; see `SVC`.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    random_state : int, Generator or None, default=None
        Draws the pairs of `working_set="random"`.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the machine of features of the kernel in place of the kernel's own, by walks over rows that may
        be anywhere: so many Nyström landmarks, or those of a transformer, whose kernel becomes that of this
        model. The attributes are then `features_`, `feature_coef_` and `feature_dual_` with w and ν of each
        machine, `intercept_`, `rkhs_norm_` and those of values and penalties; those per row are left out.

    Attributes
    ----------
    support_ : array of shape (n_SV,)
        Places of the support vectors: rows outside the tube, or on its edge.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    n_support_ : array of shape (1,)
    dual_coef_ : array of shape (1, n_SV)
        ν of each support vector.
    intercept_ : array of shape (1,)
    intercept_interval_ : array of shape (1, 2)
        Intercepts that are as good.
    C_, penalty_strength_ : float
    slack_, kkt_violations_ : arrays of shape (n_samples,)
        Loss of each row, and how far it is from the optimality conditions.
    point_sets_ : array of shape (n_samples,)
        0 inside the tube (ν = 0), 1 on its edge, 2 outside (at the bound).
    rkhs_norm_, primal_value_, dual_value_, loss_value_ : arrays of shape (1,)
    alpha_unique_ : array of bool of shape (1,)
        Whether no other coefficients give the same machine; see `SVC`.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import SVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> model.certificates_.holds, bool(np.abs(model.residuals(X, np.sin(X[:, 0]))).max() < 0.06)
    (True, True)

    References
    ----------
    Sangnier §1.5.3.
    """

    _source: ClassVar[str] = "Sangnier §1.5.3"
    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=5, max_rows=5000, select={"Cs": (1.0, 10.0, 100.0), "max_rows": 400, "standardise": True}
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **MACHINE_DOMAINS,
        "epsilon": parameters.real(at_least=0.0),
        "loss": parameters.one_of("epsilon_insensitive", "squared_epsilon_insensitive"),
        "radius": LIMIT,
        "dual": parameters.one_of("box", "joint"),
        "approximation": APPROXIMATION,
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 1000,
        verbose: bool = False,
        max_iter: int = -1,
        loss: str = "epsilon_insensitive",
        radius: float | None = None,
        dual: str = "box",
        penalty_strength: float | None = None,
        fit_intercept: bool = True,
        kernel_params: dict[str, Any] | None = None,
        working_set: str = "second_order",
        history: bool = False,
        random_state: Any = None,
        approximation: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.radius = radius
        self.dual = dual
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.kernel_params = kernel_params
        self.working_set = working_set
        self.history = history
        self.random_state = random_state
        self.approximation = approximation

    def _loss(self) -> SidedLoss:
        squared = self.loss == "squared_epsilon_insensitive"
        return (SquaredEpsilonInsensitive if squared else EpsilonInsensitive)(float(self.epsilon))

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        alone = uniqueness(self.kernel_, machines, standings)
        return {**super()._implied(machines, standings, n), "alpha_unique_": alone}

    def oracle_bound(self, X: Any, y: Any, *, largest_target: float, delta: float = 0.05) -> RiskBound:
        """Bound how much worse than the best function of the ball the fit is (Corollary 47).

        It holds with probability 1 − δ. Needs a fit over a ball (`radius`) that was fixed before the data,
        the loss that is linear, and no intercept.

        Parameters
        ----------
        X, y
            The data of the fit.
        largest_target : float
            B with |y| ≤ B, known beforehand.
        delta : float, default=0.05
        """
        if self.fit_intercept or self.radius is None or self.loss != "epsilon_insensitive":
            raise ValueError(
                "oracle_bound is a theorem on the least loss over a ball that was fixed before the data: fit "
                "SVR(radius=..., fit_intercept=False) with the ε-insensitive loss."
            )
        data: Any = self._open_new_vector(X, y)
        if float(np.abs(data.y).max()) > largest_target:
            raise ValueError(f"'largest_target' must be at least every |y|. Got {largest_target} instead.")
        kappa = math.sqrt(float(np.max(self.kernel_.diagonal(data.X))))
        return svr_oracle_bound(float(self.radius), kappa, largest_target, len(data.y), delta)

    def select_tube(self, X: Any, y: Any, epsilons: Any, **options: Any) -> Selection:
        """Choose the cost, the width of the kernel and the tube by folds, and fit at the choice.

        Parameters
        ----------
        X, y
            As in `fit`.
        epsilons : array-like of numbers at least 0
            Half widths of the tube to choose from.
        **options
            As in `select`: `Cs`, `gammas`, `rule`, `cv`, `max_rows`, `criterion` (by default the squared
            error), `random_state`, `standardise`.
        """
        parameters.require("SVR.select_tube", TUBES, epsilons=epsilons)
        tubes = np.unique(np.asarray(epsilons, dtype=np.float64))
        return self._selected(X, y, Search(**options), epsilon=tubes)

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return (y[:, None] - predictions) ** 2
