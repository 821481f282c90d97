"""Support vector regression, and quantiles in the Hilbert space of a kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificates
from assay.kernel_machines.support_vectors.base import (
    INSTEAD,
    MACHINE_DOMAINS,
    SupportVectorModel,
    implied,
    values_block,
)
from assay.kernel_machines.support_vectors.certificates import stored_certificate
from assay.kernel_machines.support_vectors.machine import MachineData, Standing
from assay.kernel_machines.support_vectors.selection import SelectsMachines
from assay.losses import EpsilonInsensitive, Quantile, SidedLoss
from assay.losses.residual import LEVEL
from assay.models.capabilities import Regressor, require_memory
from assay.parameters import Domain
from assay.rows import Block, MemoryRows
from assay.solvers.rkhs.problem import Array, RKHSProblem
from assay.suitability import Suitability


class KernelResiduals(SelectsMachines, Regressor, SupportVectorModel):
    """Base of regressors that minimise ½‖h‖² + C Σ s ℓ(y − h(x) − b) for a loss ℓ with corners."""

    @abstractmethod
    def _loss(self) -> SidedLoss:
        """The loss of the residual."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        require_memory(self, X, instead=INSTEAD)
        opened: Any = self._open_vector(X, y, sample_weight)
        self.kernel_ = self._kernel_for(opened.X)
        self._set_strength(opened.total_weight)
        machine = self._opened_machine(opened, fitting=True)
        (solution,) = self._solve_all(X, y, [machine])
        self._solved = [solution.coef]
        (standing,) = self._judge([machine], [solution], opened.X.dtype)
        support = np.flatnonzero(solution.coef)
        self.support_ = machine.rows[support].astype(np.int32)
        vectors = opened.X[self.support_]
        self.support_vectors_ = np.empty((0, 0), dtype=opened.X.dtype) if self._is_precomputed else vectors
        self.dual_coef_ = solution.coef[None, support].astype(opened.X.dtype)
        self.intercept_ = np.array([solution.intercept], dtype=opened.X.dtype)
        self.n_iter_ = solution.n_iter
        self.fit_status_, self.shape_fit_ = int(not self.converged_), opened.X.shape
        self.__dict__.update(self._implied(machine, standing, opened.X.shape[0]))
        return self

    def _opened_machine(self, data: MemoryRows, *, fitting: bool) -> MachineData:
        assert data.y is not None
        gram = self._gram_of(data.X, fitting=fitting)
        weight = np.ones(len(data.y)) if data.weight is None else data.weight.astype(np.float64)
        target = data.y.astype(np.float64)
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), target, self.C_ * weight, self.fit_intercept)
        rows = None if weight.all() else np.flatnonzero(weight)
        return self._machine(data.X, gram, rows, problem if rows is None else problem.take(rows))

    def _gram_problems(self, y: NDArray, weight: NDArray | None, gram: Array) -> list[MachineData]:
        """The machine of a unit cost on a Gram matrix."""
        cost = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        problem: RKHSProblem[Any] = RKHSProblem(self._loss(), y.astype(np.float64), cost, self.fit_intercept)
        return [self._machine(np.empty((len(y), 0)), gram, None, problem)]

    def _predictions_of(self, values: NDArray) -> NDArray:
        return values[:, :, 0]

    def _implied(self, machine: MachineData, standing: Standing, n: int) -> dict[str, Any]:
        """Slacks, sets, norms and values of the machine."""
        return implied([machine], [standing], n)

    @property
    def coef_(self) -> NDArray:
        """Coefficients of the columns, for the linear kernel: shape (1, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def predict(self, X: Any) -> Any:
        """Predict the target of new rows, block by block.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.
        """
        data = self._open_new_rows(X)
        support = (self.support_vectors_, self.support_)
        fitted = self.kernel_, support, np.ascontiguousarray(self.dual_coef_.T), self.intercept_
        return data.map(predicted_block, fitted, dtype=self.intercept_.dtype)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        """
        require_memory(self, X, instead="certify on a sample of them")
        opened: Any = self._open_new_vector(X, y, sample_weight)
        machine = self._opened_machine(opened, fitting=False)
        coefs = np.zeros((opened.X.shape[0], 1))
        coefs[self.support_] = self.dual_coef_.T
        (standing,) = self._standings([machine], coefs, self.intercept_.astype(np.float64))
        again = self._implied(machine, standing, opened.X.shape[0])
        single = self.dual_coef_.dtype == np.float32
        pairs = self._stored(again, opened)
        claims = self._claims([standing], self.dual_coef_.dtype)
        return Certificates([*claims, stored_certificate(pairs, self._source, single=single)])


def predicted_block(block: Block, fitted: tuple[Any, ...]) -> NDArray:
    """Predictions of the rows of a block."""
    kernel, support, coefs, intercept = fitted
    return values_block(block, kernel, support, coefs, intercept)[:, 0]


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
    kernel, degree, gamma, coef0, kernel_params
        The kernel; see `SVC`.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    C : float above 0, default=1.0
        The cost of an error beyond the tube. Sangnier's (λ/2)‖h‖² + (1/n) Σ ℓ has C = 1/(λn).
    epsilon : float at least 0, default=0.1
        Half the width ε of the tube.
    shrinking, verbose
        As in scikit-learn; they change nothing.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for no limit.
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
    working_set : {"second_order", "max_violating_pair", "random"}, default="second_order"
        How pairs are chosen; see `SVC`.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    random_state : int, Generator or None, default=None
        Draws the pairs of `working_set="random"`.

    Attributes
    ----------
    support_ : array of shape (n_SV,)
        Places of the support vectors: rows outside the tube, or on its edge.
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
        0 inside the tube (ν = 0), 1 on its edge, 2 outside (at the bound).
    rkhs_norm_, primal_value_, dual_value_, loss_value_ : arrays of shape (1,)
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
    _suits: ClassVar[Suitability | None] = Suitability(complexity=5, max_rows=5000, select={}, settings={})
    _domains: ClassVar[Mapping[str, Domain]] = {**MACHINE_DOMAINS, "epsilon": parameters.real(at_least=0.0)}

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
        penalty_strength: float | None = None,
        fit_intercept: bool = True,
        kernel_params: dict[str, Any] | None = None,
        working_set: str = "second_order",
        history: bool = False,
        random_state: Any = None,
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
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.kernel_params = kernel_params
        self.working_set = working_set
        self.history = history
        self.random_state = random_state

    def _loss(self) -> SidedLoss:
        return EpsilonInsensitive(float(self.epsilon))

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return (y[:, None] - predictions) ** 2


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
    kernel, degree, gamma, coef0, kernel_params
        The kernel; see `SVC`.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for no limit.
    penalty_strength : float, optional
        The penalty λ‖h‖² on the mean loss; takes the place of `C`, with C = 1/(2λn).
    fit_intercept : bool, default=True
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.

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

    def _loss(self) -> SidedLoss:
        return Quantile(float(self.quantile))

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return self._loss().value(y[:, None], predictions)
