"""Quantiles in the Hilbert space of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.support_vectors.base import MACHINE_DOMAINS
from assay.kernel_machines.support_vectors.regression import KernelResiduals
from assay.losses import Quantile, SidedLoss
from assay.losses.residual import LEVEL
from assay.parameters import Domain
from assay.solvers.rkhs.problem import Array


class KernelQuantileRegressor(KernelResiduals):
    """Quantiles of the target in the Hilbert space of a kernel; the median by default.

    Minimises over h in the space of the kernel and over b

        ½‖h‖² + C Σ_i s_i ρ(y_i − h(x_i) − b),        ρ(r) = τ r for r ≥ 0, (τ − 1) r elsewhere,

    by its dual: max Σ ν_i y_i − ½ νᵀKν over −C s_i (1 − τ) ≤ ν_i ≤ C s_i τ and Σν = 0. With an intercept, at
    most a share τ of the rows is below the fit and at most 1 − τ above.

    The fit compares all pairs of rows. Predictions are made block by block, from any source.

    Assumes: a positive semi-definite kernel.

    Certificates: as `SVR`, and the shares of rows below and above the fit.

    Parameters
    ----------
    quantile : float above 0 and below 1, default=0.5
        The level τ. The loss of level ½ is half of the absolute error.
    C : float above 0, default=1.0
        The cost of a unit of loss.
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for as many as bring it nearer.
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the machine of features of the kernel in place of the kernel's own, by walks over rows that may
        be anywhere: so many Nyström landmarks, or those of a transformer, whose kernel becomes that of this
        model. The attributes are then `features_`, `feature_coef_` and `feature_dual_` with w and ν of each
        machine, `intercept_`, `rkhs_norm_` and those of values and penalties; those per row are left out.
        A number draws other landmarks at every fit: a `Nystroem` takes a `random_state`.

    Attributes
    ----------
    support_ : array of shape (n_SV,)
        Places of the support vectors; most rows are.
    support_vectors_ : array or CSR matrix of shape (n_SV, n_features)
    dual_coef_ : array of shape (1, n_SV)
        ν of each support vector.
    intercept_ : array of shape (1,)
    intercept_interval_ : array of shape (1, 2)
        Intercepts that are as good.
    C_, penalty_strength_ : float
    slack_, kkt_violations_ : arrays of shape (n_samples,)
        Loss of each row, and how far it is from the optimality conditions.
    point_sets_ : array of shape (n_samples,)
        0 where ν = 0, 1 on the fit, 2 above or below it (at the bound).
    rkhs_norm_, primal_value_, dual_value_, loss_value_ : arrays of shape (1,)
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import KernelQuantileRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([0.0, 0.5, -0.5], 20)
    >>> upper = KernelQuantileRegressor(quantile=0.9, C=5.0).fit(X, y)
    >>> upper.certificates_.holds, bool(0.85 < np.mean(y <= upper.predict(X) + 1e-6) < 1.0)
    (True, True)

    References
    ----------
    Sangnier §1.5.2.
    """

    _source: ClassVar[str] = "Sangnier §1.5.2"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **{
            name: domain
            for name, domain in MACHINE_DOMAINS.items()
            if name not in ("shrinking", "verbose", "working_set", "random_state")
        },
        "quantile": LEVEL,
        "approximation": APPROXIMATION,
    }
    working_set = "second_order"
    random_state = None

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        tol: float = 1e-6,
        cache_size: float = 1000,
        max_iter: int = -1,
        penalty_strength: float | None = None,
        fit_intercept: bool = True,
        history: bool = False,
        approximation: Any = None,
    ) -> None:
        self.quantile = quantile
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.history = history
        self.approximation = approximation

    def _loss(self) -> SidedLoss:
        return Quantile(float(self.quantile))

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return self._loss().value(y[:, None], predictions)
