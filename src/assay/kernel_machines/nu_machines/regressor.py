"""Support vector regression whose tube holds all but a share of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from assay import parameters
from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.approximation.machines import FitProblem
from assay.kernel_machines.nu_machines.on_features import SharesOnFeatures, ToldOnFeatures, tube_of_share
from assay.kernel_machines.nu_machines.share import SHARE_DOMAINS, Told, described, share_claims
from assay.kernel_machines.support_vectors.machine import MachineData, Standing, Standings
from assay.kernel_machines.support_vectors.regression import MachineRegressor
from assay.losses import EpsilonInsensitive, SidedLoss
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers.piecewise.machine import Machine
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.fixed_sums import FixedSums, solve_fixed_sums
from assay.solvers.rkhs.problem import RKHSSolution


class NuSVR(SharesOnFeatures, MachineRegressor):
    """Support vector regression whose tube is as wide as all but a share ν of the rows need.

    Minimises over h in the space of the kernel, over b and over ε ≥ 0

        ½‖h‖² + C (ν ε Σ_i s_i + Σ_i s_i max(0, |y_i − h(x_i) − b| − ε)),        b not penalised,

    by its dual: max Σ β_i y_i − ½ βᵀKβ over |β_i| ≤ C s_i, Σβ = 0 and Σ|β| ≤ C ν Σ s. It is the machine of
    `SVR` with the ε that comes out (`epsilon_`): at most a share ν of the rows is outside the tube, and where
    the tube is open at least a share ν are support vectors. The fit compares all pairs of rows; predictions
    are made block by block, from any source.

    Assumes: a positive semi-definite kernel.

    Certificates: those of `SVR` at ε; the sums of the dual, the relative gap of the problem of ν by a
    feasible point of its dual, share of errors ≤ ν ≤ share of support vectors. `certify` makes the kernel
    values afresh and compares all that is stored.

    Parameters
    ----------
    nu : float above 0 and at most 1, default=0.5
        The share ν.
    C : float above 0, default=1.0
        The cost of an error beyond the tube.
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`.
    shrinking, verbose : bool
        As in scikit-learn; they change nothing.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps; −1 for as many as bring it nearer.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the machine of features of the kernel in place of the kernel's own, as in `SVR`: ε is closed in
        by some ten to thirty machines of a given tube. A number draws other landmarks at every fit: a
        `Nystroem` takes a `random_state`.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube; 0 where even all errors together weigh less than ν.
    error_share_, support_share_ : arrays of shape (1,)
        Shares of the rows outside the tube, and of support vectors.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, intercept_interval_, C_,
    penalty_strength_, slack_, kkt_violations_, point_sets_, rkhs_norm_, primal_value_, dual_value_,
    loss_value_
        As those of `SVR` with ε = `epsilon_`.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import NuSVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([0.0, 0.5, -0.5], 20)
    >>> model = NuSVR(nu=0.5, C=10.0).fit(X, y)
    >>> model.certificates_.holds, bool(model.error_share_[0] <= 0.5 <= model.support_share_[0])
    (True, True)

    References
    ----------
    Sangnier §1.5.3; Schölkopf, Smola, Williamson & Bartlett, New support vector algorithms (2000).
    """

    _source: ClassVar[str] = "Sangnier §1.5.3"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **SHARE_DOMAINS,
        "C": parameters.real(above=0.0, squared=True),
        "approximation": APPROXIMATION,
    }
    penalty_strength = None
    fit_intercept = True
    working_set = "second_order"
    random_state = None
    epsilon_: float

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-6,
        cache_size: float = 1000,
        verbose: bool = False,
        max_iter: int = -1,
        kernel_params: dict[str, Any] | None = None,
        history: bool = False,
        approximation: Any = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.kernel_params = kernel_params
        self.history = history
        self.approximation = approximation

    def _loss(self) -> SidedLoss:
        return EpsilonInsensitive(self.epsilon_)

    def _set_strength(self, total_weight: float) -> None:
        super()._set_strength(total_weight)
        self.epsilon_ = 0.0  # it comes out of the fit

    def _solve_all(
        self, X: Any, y: Any, machines: Sequence[MachineData]
    ) -> tuple[Sequence[MachineData], Sequence[RKHSSolution]]:
        """The machine of the tube that comes out."""
        (data,), solutions = super()._solve_all(X, y, machines)
        return [data._replace(problem=data.problem._replace(loss=self._loss()))], solutions

    def _solve_one(self, data: MachineData, options: BoxOptions, start: RKHSSolution | None) -> RKHSSolution:
        cost = data.problem.cost
        half = self.nu * float(cost.sum()) / 2
        problem = FixedSums(data.problem.target, cost, cost, (half, half))
        solution = solve_fixed_sums(problem, self.kernel_, data.X, options, gram=data.matrix)
        p, m = solution.levels
        self.epsilon_, intercept = max((p - m) / 2, 0.0), (p + m) / 2
        return RKHSSolution(solution.coef, intercept, (intercept, intercept), *solution[2:5], solution.trace)

    def _solved_on_features(self, mapped: Rows, fit: FitProblem, watch: Any) -> list[Machine]:
        (problem,) = self._feature_problems()
        with watch.run("machine"):
            found = tube_of_share(mapped, fit, problem, self.nu, float(self.tol))
        self.epsilon_ = found.level
        return [found.machine]

    def _told_on_features(self, told: ToldOnFeatures) -> ToldOnFeatures:
        return super()._told_on_features(told)._replace(level=self.epsilon_, regression=True)

    def _told(self, standing: Standing, target: Any) -> Told:
        half = self.nu * float(standing.problem.cost.sum()) / 2
        # Σν = 0: the dual does not change with where targets are counted from, its rounding does.
        middle = 0.5 * (float(target.min()) + float(target.max()))
        return Told(standing, (half, half), self.epsilon_, target - middle)

    def _claims(self, standings: Standings, dtype: Any) -> list[Any]:
        claims = super()._claims(standings, dtype)
        standing = standings[0]
        told, single = self._told(standing, standing.problem.target), dtype == np.float32
        return [*claims, *share_claims([told], self.nu, self.tol, single=single, source=self._source)]

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        told = self._told(standings[0], standings[0].problem.target)
        return {**super()._implied(machines, standings, n), **described([told], self.tol)}
