"""The support of a law: a half-space of the kernel's space that holds all but a share of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from assay.certificates import Certificates
from assay.kernel_machines.approximation.base import APPROXIMATION, feature_values
from assay.kernel_machines.nu_machines.half_space import HalfSpaceOnFeatures
from assay.kernel_machines.nu_machines.share import (
    SHARE_DOMAINS,
    Told,
    described,
    is_flat,
    scaled,
    share_claims,
)
from assay.kernel_machines.support_vectors.base import (
    SupportVectorModel,
    implied,
    values_block,
)
from assay.kernel_machines.support_vectors.certificates import stored_certificate
from assay.kernel_machines.support_vectors.machine import MachineData, Standing, Standings
from assay.losses import Hinge
from assay.models.capabilities import require_memory
from assay.parameters import Domain
from assay.rows import Block, MemoryRows
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.fixed_sums import FixedSums, solve_fixed_sums
from assay.solvers.rkhs.problem import RKHSProblem, RKHSSolution

EDGE = 0.1
"""Distance from the edge, over the level and the root of the precision, up to which a row is on it."""


class OneClassSVM(OutlierMixin, HalfSpaceOnFeatures, SupportVectorModel):
    """The half-space of a kernel's space, far from 0, that holds all but a share ν of the rows.

    Minimises over h in the space of the kernel and over the level ρ

        ½‖h‖² − ν ρ Σ_i s_i + Σ_i s_i max(0, ρ − h(x_i)),

    by its dual: min ½ αᵀKα over 0 ≤ α_i ≤ s_i and Σα = ν Σ s, with h = Σ α_i k(x_i, ·). Rows with h(x) < ρ
    are outliers: at most a share ν of those of the fit, while at least a share ν are support vectors. The fit
    compares all pairs of rows; predictions are made block by block, from any source.

    Assumes: a positive semi-definite kernel of whose functions k(x_i, ·) no weighted mean with weights of at
    most 1/(νn) is 0, as for every kernel that is positive.

    Certificates: the optimality conditions row by row and the duality gap at ρ; the sum of the dual, the
    relative gap of the problem of ν by a feasible point of its dual, share of errors ≤ ν ≤ share of support
    vectors. `certify` makes the kernel values afresh and compares all that is stored.

    Parameters
    ----------
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    nu : float above 0 and at most 1, default=0.5
        The share ν.
    shrinking, verbose : bool
        As in scikit-learn; they change nothing.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for as many as bring it nearer.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the half-space of features of the kernel in place of the kernel's own, by walks over rows that
        may be anywhere but on a cluster: ρ is closed in by some ten to thirty machines of a given cost. The
        attributes are then `features_`, `feature_coef_` and `feature_dual_` with w and α, `offset_`,
        `intercept_`, `rkhs_norm_`, `margin_`, both shares and values; none is per row. A number draws other
        landmarks at every fit: a `Nystroem` takes a `random_state`.

    Attributes
    ----------
    offset_ : array of shape (1,)
        The level ρ: `decision_function` is `score_samples` less this.
    intercept_ : array of shape (1,)
        −ρ.
    support_, support_vectors_ : arrays
        Places and rows of the support vectors.
    n_support_ : array of shape (1,)
    dual_coef_ : array of shape (1, n_SV)
        α of each support vector.
    error_share_, support_share_ : arrays of shape (1,)
        Shares of the rows beyond the level, and of support vectors.
    slack_, kkt_violations_ : arrays of shape (n_samples,)
        max(0, ρ − h(x)), and how far each row is from the optimality conditions.
    point_sets_ : array of shape (n_samples,)
        0 inside (α = 0), 1 on the level, 2 beyond it (at the bound).
    rkhs_norm_, margin_ : arrays of shape (1,)
        ‖h‖, and the distance ρ/‖h‖ of the half-space from 0.
    primal_value_, dual_value_ : arrays of shape (1,)
        The objective and the value of its dual.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.certificates_.holds, model.predict([[0.0, 0.0], [6.0, 6.0]])
    (True, array([ 1, -1]))

    References
    ----------
    Sangnier §1.4.6; Schölkopf, Platt, Shawe-Taylor, Smola & Williamson, Estimating the support of a
    high-dimensional distribution (2001).
    """

    _source: ClassVar[str] = "Sangnier §1.4.6"
    _domains: ClassVar[Mapping[str, Domain]] = {**SHARE_DOMAINS, "approximation": APPROXIMATION}
    working_set = "second_order"
    random_state = None
    fit_intercept = False  # what is free is the level
    offset_: NDArray

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-6,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 1000,
        verbose: bool = False,
        max_iter: int = -1,
        kernel_params: dict[str, Any] | None = None,
        history: bool = False,
        approximation: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.kernel_params = kernel_params
        self.history = history
        self.approximation = approximation

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the half-space.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        if self.approximation is None:
            require_memory(self, X, instead=self._instead)
        self._forget()
        opened: Any = self._open_rows(X, None, sample_weight)
        if self.approximation is not None:
            self._fit_on_features(X, None, opened, opened.total_weight)
            return self
        self.kernel_ = self._kernel_for(opened)
        (data,), (solution,) = self._solve_all(X, None, [self._opened_machine(opened, fitting=True)])
        # Divided by ρ it is a machine whose level is 1, with costs s/ρ.
        rho = self.nu * float(data.problem.cost.sum()) / float(solution.coef.sum())
        data = _at_level(data, rho)
        standings = self._judge([data], [solution], opened.X.dtype)
        support = np.flatnonzero(solution.coef)
        self.support_ = data.rows[support].astype(np.int32)
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        vectors, dtype = opened.X[self.support_], opened.X.dtype
        self.support_vectors_ = np.empty((0, 0), dtype=dtype) if self._is_precomputed else vectors
        self.dual_coef_ = (rho * solution.coef[None, support]).astype(dtype)
        self.offset_ = np.array([rho], dtype=dtype)
        self.intercept_ = -self.offset_
        self.n_iter_ = solution.n_iter
        self.fit_status_, self.shape_fit_ = int(not self.converged_), opened.X.shape
        self.__dict__.update(self._implied(standings, rho, opened.X.shape[0]))
        return self

    def _opened_machine(self, data: MemoryRows, *, fitting: bool) -> MachineData:
        gram = self._gram_of(data.X, fitting=fitting)
        n = data.X.shape[0]
        weight = np.ones(n) if data.weight is None else data.weight.astype(np.float64)
        rows = None if weight.all() else np.flatnonzero(weight)
        problem: RKHSProblem[Any] = RKHSProblem(Hinge(), np.ones(n), weight, False)
        return self._machine(data.X, gram, rows, problem if rows is None else problem.take(rows))

    def _solve_one(self, data: MachineData, options: BoxOptions, start: RKHSSolution | None) -> RKHSSolution:
        weight = data.problem.cost
        total = self.nu * float(weight.sum())
        problem = FixedSums(np.zeros(len(weight)), weight, np.zeros(len(weight)), (total, 0.0))
        solution = solve_fixed_sums(problem, self.kernel_, data.X, options, gram=data.matrix)
        diagonal = self.kernel_.diagonal(data.X) if data.gram is None else data.gram.diagonal()
        if is_flat(solution, float(np.max(diagonal))):
            raise self._without_half_space()
        values = solution.products[:, 0] - solution.products[:, 1]
        # At a minimum ρ Σα is ‖h‖² and the slacks; a machine that was stopped may be short of it.
        return scaled(solution, max(-solution.levels[0], 0.5 * float(solution.coef @ values) / total), 0.0)

    def _unit_of_slacks(self, data: Any) -> float:
        return float(self.offset_[0])

    def _without_half_space(self) -> ValueError:
        return ValueError(
            f"OneClassSVM finds no half-space at nu={self.nu:g}: a mean of the rows in its space is 0; "
            "give a smaller 'nu', or a kernel that is positive, such as 'rbf'."
        )

    def _told(self, standing: Standing) -> Told:
        return Told(standing, (self.nu * float(standing.problem.cost.sum()), 0.0), -1.0)

    def _claims(self, standings: Standings, dtype: Any) -> list[Any]:
        claims = super()._claims(standings, dtype)
        told, single = [self._told(each) for each in standings], dtype == np.float32
        return [*claims, *share_claims(told, self.nu, self.tol, single=single, source=self._source)]

    def _implied(self, standings: Standings, rho: float, n: int) -> dict[str, Any]:
        """Slacks, sets and norm in the unit of α, and both values of the problem of ν."""
        told, unit = self._told(standings[0]), implied(standings.machines, standings, n)
        norm = rho * unit["rkhs_norm_"]
        return {
            "slack_": rho * unit["slack_"],
            "kkt_violations_": rho * unit["kkt_violations_"],
            "point_sets_": unit["point_sets_"],
            "rkhs_norm_": norm,
            "margin_": rho / norm,
            "primal_value_": rho**2 * (unit["primal_value_"] - told.total),
            "dual_value_": -0.5 * norm**2,
            **described([told], self.tol),
        }

    @property
    def coef_(self) -> NDArray:
        """Coefficients of the columns, for the linear kernel: shape (1, n_features)."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _values(self, X: Any, *, said: str) -> Any:
        check_is_fitted(self)
        dtype = np.dtype(np.intp) if said == "labels" else self.offset_.dtype
        if self._is_approximate:
            mapped = self.features_._map(), self.feature_coef_, self.offset_
            return self._open_new_rows(X).map(half_space_on_features, mapped, said, dtype=dtype)
        data = self._open_new_rows(X)
        support = (self.support_vectors_, self.support_)
        fitted = self.kernel_, support, np.ascontiguousarray(self.dual_coef_.T), self.offset_
        return data.map(half_space_block, fitted, said, dtype=dtype)

    def decision_function(self, X: Any) -> Any:
        """h(x) − ρ of each row: below 0 for outliers; 0 where it is rounding, as for rows on the edge."""
        return self._values(X, said="values")

    def score_samples(self, X: Any) -> Any:
        """h(x) of each row."""
        return self._values(X, said="scores")

    def predict(self, X: Any) -> Any:
        """1 for rows of the half-space with its edge, −1 for outliers, block by block.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.
        """
        return self._values(X, said="labels")

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, sample_weight
            The data that the model was fitted on.
        y : ignored
        """
        if not self._is_approximate:
            require_memory(self, X, instead="certify on a sample of them")
        opened: Any = self._open_new_rows(X, None, sample_weight)
        if self._is_approximate:
            return Certificates(
                self._certify_on_features(opened, {"intercept_": (self.intercept_, -self.offset_)})
            )
        rho = float(self.offset_[0])
        data = _at_level(self._opened_machine(opened, fitting=False), rho)
        coefs = np.zeros((opened.X.shape[0], 1))
        coefs[self.support_] = self.dual_coef_.T / rho
        standings = self._standings([data], coefs, np.zeros(1))
        pairs = self._stored(self._implied(standings, rho, opened.X.shape[0]), opened)
        pairs["intercept_"] = self.intercept_, -self.offset_
        pairs["n_support_"] = self.n_support_, np.array([len(self.support_)])
        single = self.dual_coef_.dtype == np.float32
        claims = self._claims(standings, self.dual_coef_.dtype)
        return Certificates([*claims, stored_certificate(pairs, self._source, single=single)])


def _at_level(data: MachineData, rho: float) -> MachineData:
    """The machine of level 1 that is the one of level ρ, divided by it."""
    return data._replace(problem=data.problem._replace(cost=data.problem.cost / rho))


def half_space_block(block: Block, fitted: tuple[Any, ...], said: str) -> NDArray:
    """What is said of the rows of a block; see `said_of`."""
    kernel, support, coefs, offset = fitted
    return said_of(values_block(block, kernel, support, coefs, np.zeros_like(offset))[:, 0], offset, said)


def half_space_on_features(block: Block, fitted: tuple[Any, ...], said: str) -> NDArray:
    """The same by features of the rows."""
    mapping, coefs, offset = fitted
    return said_of(feature_values(block, mapping, coefs, np.zeros_like(offset))[:, 0], offset, said)


def said_of(scores: NDArray, offset: NDArray, said: str) -> NDArray:
    """What is said of rows with the scores h: these, the "values" h − ρ, or "labels", their signs."""
    # A row on the edge is given the level itself: which side of it rounding takes is no statement.
    rounding = np.sqrt(np.finfo(offset.dtype).eps) * EDGE * np.abs(offset[0])
    scores = np.where(np.abs(scores - offset[0]) <= rounding, offset[0], scores)
    if said == "scores":
        return scores
    values = scores - offset[0]
    return np.where(values >= 0, 1, -1).astype(np.intp) if said == "labels" else values
