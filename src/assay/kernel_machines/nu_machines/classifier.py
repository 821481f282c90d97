"""Support vector classification by a share of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.approximation.machines import FitProblem
from assay.kernel_machines.nu_machines.on_features import (
    SharesOnFeatures,
    largest_share,
    margin_of_share,
)
from assay.kernel_machines.nu_machines.share import (
    SHARE_DOMAINS,
    Told,
    described,
    is_flat,
    scaled,
    share_claims,
)
from assay.kernel_machines.support_vectors.classification import SupportVectorClassifier
from assay.kernel_machines.support_vectors.machine import MachineData, Standing, Standings
from assay.models.classes import CLASS_WEIGHT
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.solvers.piecewise.machine import Machine
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.fixed_sums import FixedSums, solve_fixed_sums
from assay.solvers.rkhs.problem import Array, RKHSSolution

ROUNDING = 1e-12


class NuSVC(SharesOnFeatures, SupportVectorClassifier):
    """Support vector classification in which a share ν of the rows may be within the margin.

    Minimises over h in the space of the kernel, over b and over the margin ρ

        ½‖h‖² − ν ρ Σ_i s_i + Σ_i s_i max(0, ρ − y_i (h(x_i) + b)),        y_i = ±1, b and ρ not penalised,

    by its dual: min ½ αᵀQα over 0 ≤ α_i ≤ s_i, where the α of either class have the sum ν Σ s / 2. At most a
    share ν of the rows is beyond the margin, at least a share ν are support vectors. Divided by ρ it is the
    machine of `SVC` with C = 1/ρ: coefficients, intercept and values are given so. Several classes are told
    apart by one machine for each two. The fit compares all pairs of rows; predictions are made block by
    block, from any source.

    Assumes: a positive semi-definite kernel; ν of at most twice the share of the smaller class, and large
    enough that the classes, each shrunk towards its middle by ν, do not meet.

    Certificates: those of `SVC` at C = 1/ρ; the sums of the dual, the relative gap of the problem of ν by a
    feasible point of its dual, share of errors ≤ ν ≤ share of support vectors. `certify` makes the kernel
    values afresh and compares all that is stored.

    Parameters
    ----------
    nu : float above 0 and at most 1, default=0.5
        The share ν.
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`.
    shrinking, verbose : bool
        As in scikit-learn; they change nothing.
    probability, decision_function_shape, break_ties : as in `SVC`
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    class_weight : dict or "balanced", optional
        Factors of the weights s of each class. (scikit-learn takes this parameter and leaves it unused.)
    max_iter : int, default=-1
        Most steps per machine; −1 for as many as bring it nearer.
    random_state : int, Generator or None, default=None
        Draws the landmarks of `approximation`.
    history : bool, default=False
        Whether `history_` keeps the dual value after each round.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the machine of features of the kernel in place of the kernel's own, as in `SVC`: ρ is closed in
        by some ten to thirty machines of a given cost.

    Attributes
    ----------
    C_ : array of shape (n_machines,)
        1/ρ, the cost of a slack at which `SVC` gives the same machine.
    error_share_, support_share_ : arrays of shape (n_machines,)
        Shares of the rows beyond the margin, and of support vectors.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, intercept_interval_
        As those of `SVC`.
    slack_, kkt_violations_, point_sets_, rkhs_norm_, margin_, primal_value_, dual_value_, loss_value_
        As those of `SVC` with the cost `C_`.
    penalty_strength_ : array of shape (n_machines,)
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.kernel_machines import NuSVC
    >>> X, y = TwoMoons(noise_std=0.2).sample(200, random_state=0)
    >>> model = NuSVC(nu=0.2).fit(X, y)
    >>> model.certificates_.holds, bool(model.error_share_[0] <= 0.2 <= model.support_share_[0])
    (True, True)

    References
    ----------
    Sangnier §1.4.6; Schölkopf, Smola, Williamson & Bartlett, New support vector algorithms (2000).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SHARE_DOMAINS,
        "probability": parameters.boolean | parameters.one_of("deprecated"),
        "class_weight": CLASS_WEIGHT,
        "decision_function_shape": parameters.one_of("ovr", "ovo"),
        "break_ties": parameters.boolean,
        "random_state": parameters.random_state,
        "approximation": APPROXIMATION,
    }
    fit_intercept = True
    working_set = "second_order"
    C_: Any

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        kernel_params: dict[str, Any] | None = None,
        history: bool = False,
        approximation: Any = None,
    ) -> None:
        self.nu = nu
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
        self.kernel_params = kernel_params
        self.history = history
        self.approximation = approximation

    def _set_strength(self, total_weight: float) -> None:
        """The cost 1/ρ comes out of the fit."""
        self.C_, self.penalty_strength_ = 1.0, 1 / (2 * total_weight)

    def _solved_on_features(self, mapped: Rows, fit: FitProblem, watch: Any) -> list[Machine]:
        problems, found = self._feature_problems(), []
        shares = [largest_share(mapped, problem.machine) for problem in problems]
        self._require_share(shares)
        for problem, share in zip(problems, shares, strict=True):
            with watch.run("machine"):
                found.append(margin_of_share(mapped, fit, problem, min(self.nu, share), float(self.tol)))
            if found[-1] is None:
                raise self._without_margin()
        at: list[Any] = found
        self.C_ = np.array([1 / each.level for each in at])
        self.penalty_strength_ = self.penalty_strength_ / self.C_
        return [each.machine for each in at]

    def _opened_machines(self, data: MemoryRows, *, fitting: bool) -> list[MachineData]:
        assert data.y is not None
        codes = data.y.astype(np.intp)
        gram = self._gram_of(data.X, fitting=fitting)
        machines = self._machines(data.X, codes, self._costs(codes, data.weight), gram)
        return machines if fitting else self._at_their_costs(machines)

    def _at_their_costs(self, machines: Sequence[MachineData]) -> list[MachineData]:
        pairs = zip(machines, self.C_.tolist(), strict=True)
        return [
            data._replace(problem=data.problem._replace(cost=cost * data.problem.cost))
            for data, cost in pairs
        ]

    def _solved_machines(
        self, X: Any, y: Any, opened: MemoryRows
    ) -> tuple[list[MachineData], list[RKHSSolution]]:
        machines = self._opened_machines(opened, fitting=True)
        self._require_share([_largest_share(data) for data in machines])
        machines, solutions = self._solve_all(X, y, machines)  # type: ignore[assignment]
        # The sum of α is ν Σ s, that of what is given 1/ρ times as much.
        totals = [self.nu * float(data.problem.cost.sum()) for data in machines]
        sums = [float(np.abs(solution.coef).sum()) for solution in solutions]
        self.C_ = np.array(sums) / np.array(totals)
        self.penalty_strength_ = 1 / (2 * self.C_ * opened.total_weight)
        return self._at_their_costs(machines), list(solutions)

    def _require_share(self, shares: Sequence[float]) -> None:
        """Refuse a share that the smaller class of two cannot give half of; `shares` are the largest."""
        worst: tuple[float, Any, Any] = (np.inf, None, None)
        for (positive, negative), share in zip(self._duels, shares, strict=True):
            worst = min(worst, (share, positive, negative), key=lambda item: item[0])
        if self.nu > worst[0] * (1 + ROUNDING):
            names = " and ".join(repr(self.classes_[place].item()) for place in worst[1:])
            raise self._refuse(
                "nu",
                "at most twice the share of the smaller of any two classes, which is "
                f"{worst[0]:.6g} for the classes {names}",
            )

    def _solve_one(self, data: MachineData, options: BoxOptions, start: RKHSSolution | None) -> RKHSSolution:
        sign, weight = data.problem.target, data.problem.cost
        half = min(self.nu, _largest_share(data)) * float(weight.sum()) / 2
        upper, lower = np.where(sign > 0, weight, 0.0), np.where(sign < 0, weight, 0.0)
        problem = FixedSums(np.zeros(len(sign)), upper, lower, (half, half))
        solution = solve_fixed_sums(problem, self.kernel_, data.X, options, gram=data.matrix)
        diagonal = self.kernel_.diagonal(data.X) if data.gram is None else data.gram.diagonal()
        if is_flat(solution, float(np.max(diagonal))):
            raise self._without_margin()
        p, m = solution.levels
        values = solution.products[:, 0] - solution.products[:, 1]
        # At a minimum ρ Σ|ν| is ‖h‖² and the slacks; a machine that was stopped may be short of it.
        rho = max((m - p) / 2, 0.5 * float(solution.coef @ values) / (2 * half))
        return scaled(solution, rho, (p + m) / 2)

    def _without_margin(self) -> ValueError:
        return ValueError(
            f"NuSVC finds no margin between two classes at nu={self.nu:g}: shrunk towards their middles "
            "they meet; give a larger 'nu' or another kernel."
        )

    def _told(self, standings: Sequence[Standing]) -> list[Told]:
        halves = [self.nu * float(standing.problem.cost.sum()) / 2 for standing in standings]
        return [Told(each, (half, half), -1.0) for each, half in zip(standings, halves, strict=True)]

    def _claims(self, standings: Standings, dtype: Any) -> list[Any]:
        claims = super()._claims(standings, dtype)
        single = dtype == np.float32
        told = self._told(standings)
        return [*claims, *share_claims(told, self.nu, self.tol, single=single, source=self._source)]

    def _implied(self, machines: Sequence[MachineData], standings: Standings, n: int) -> dict[str, Any]:
        implied = super()._implied(machines, standings, n)
        implied.pop("leave_one_out_bound_", None)  # the cost changes when a row is left out
        return {**implied, **described(self._told(standings), self.tol)}

    def _leave_one_out_claim(self, *data: Any) -> Any:
        raise ValueError(
            "The bound on the leave-one-out error is that of a given cost: fit SVC with the 'C_' of NuSVC."
        )

    def _for_fold(self, codes: NDArray[np.intp], weight: Array) -> Any:
        """With a share that the fold can give."""
        model, sums = super()._for_fold(codes, weight), np.bincount(codes, weight, len(self.classes_))
        sums = sums * self.class_weight_
        least, most = float(sums.min()), float(sums.max())
        return model.set_params(nu=min(self.nu, 2 * least / (least + most)))


def _largest_share(data: MachineData) -> float:
    """Twice the share of the smaller class."""
    sign, weight = data.problem.target, data.problem.cost
    return 2 * min(float(weight[sign > 0].sum()), float(weight[sign < 0].sum())) / float(weight.sum())
