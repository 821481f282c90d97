"""The classifier of the largest margin, where some hyperplane of the kernel's space separates the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from assay import parameters
from assay.certificates import Certificates, at_least
from assay.kernel_machines.kernel_ridge.gram_system import require_range
from assay.kernel_machines.support_vectors.base import MACHINE_DOMAINS
from assay.kernel_machines.support_vectors.classification import SupportVectorClassifier
from assay.kernel_machines.support_vectors.machine import MachineData, Standings
from assay.parameters import Domain
from assay.rows import MemoryRows
from assay.solvers.rkhs.box import BoxOptions
from assay.solvers.rkhs.problem import RKHSSolution

MOST_STEPS = 1_000_000
COSTS = 10.0 ** np.arange(0, 13, 2)
"""Costs of a slack, times the largest k(x, x), that are tried in turn."""


class HardMarginSVC(SupportVectorClassifier):
    """The hyperplane of the largest margin in the Hilbert space of a kernel.

    Minimises over h in the space of the kernel and over b

        ½‖h‖²    subject to    y_i (h(x_i) + b) ≥ 1 for every row,

    which has a solution exactly when a hyperplane separates the classes. Its dual is that of `SVC` without an
    upper bound: costs are raised until no coefficient is at its bound, and then the machine with slacks is
    the machine without. If that does not come about, the coefficients are two points, one in the hull of each
    class, whose distance is at least twice the margin of any hyperplane: the refusal says how far apart they
    are.

    Assumes: a positive semi-definite kernel, two classes that it separates.

    Certificates: those of `SVC`, every row is on its side of the margin, and the smallest distance of a row
    from the hyperplane is 1/‖h‖.

    Parameters
    ----------
    kernel, degree, gamma, coef0, kernel_params : as in `SVC`
        The kernel; see `SVC`. The Gaussian one separates any rows that differ.
    tol : float above 0, default=1e-6
        Relative duality gap to reach.
    cache_size : float, default=1000
        Megabytes for kernel rows.
    max_iter : int, default=-1
        Most steps for each cost; −1 for as many as bring it nearer.
    fit_intercept : bool, default=True
    smallest_margin : float above 0, default=1e-5
        Margin, relative to the largest √k(x, x), below which the classes count as not separable.

    Attributes
    ----------
    margin_ : array of shape (1,)
        1/‖h‖, the distance of the nearest rows from the hyperplane.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, intercept_interval_
        As those of `SVC`.
    C_ : float
        A cost at which slacks are not worth it.
    slack_, kkt_violations_, point_sets_, rkhs_norm_, primal_value_, dual_value_, loss_value_,
    leave_one_out_bound_
        As those of `SVC`.
    kernel_ : Kernel
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.kernel_machines import HardMarginSVC
    >>> X = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]]
    >>> model = HardMarginSVC(kernel="linear").fit(X, [0, 0, 1, 1])
    >>> model.margin_.round(6), model.coef_.round(6)
    (array([1.]), array([[1., 0.]]))

    References
    ----------
    Sangnier §1.4.1; Wei §8.4.
    """

    _source: ClassVar[str] = "Sangnier §1.4.1"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **{
            name: MACHINE_DOMAINS[name]
            for name in (
                "kernel",
                "gamma",
                "degree",
                "coef0",
                "kernel_params",
                "tol",
                "cache_size",
                "max_iter",
            )
        },
        "fit_intercept": parameters.boolean,
        "smallest_margin": parameters.real(above=0.0),
    }
    C = 1.0
    penalty_strength = None
    working_set = "second_order"
    random_state = None
    history = False

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
        tol: float = 1e-6,
        cache_size: float = 1000,
        max_iter: int = -1,
        fit_intercept: bool = True,
        smallest_margin: float = 1e-5,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.smallest_margin = smallest_margin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _solved_machines(
        self, X: Any, y: Any, opened: MemoryRows
    ) -> tuple[Sequence[MachineData], Sequence[RKHSSolution]]:
        """Raise the cost until no coefficient is at its bound."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. HardMarginSVC separates two classes. Got "
                f"{len(self.classes_)} classes instead; use SVC."
            )
        require_range(self.kernel_, opened.X)
        reach = float(np.max(self.kernel_.diagonal(opened.X)))
        start: list[RKHSSolution] | None = None
        total = opened.total_weight
        for cost in COSTS / (reach if reach > 0 else 1.0):
            self.C_, self.penalty_strength_ = float(cost), 1 / (2 * float(cost) * total)
            machines = self._opened_machines(opened, fitting=start is None)
            self._start = start
            _, solutions = self._solve_all(X, y, machines)
            (solution,), (data,) = solutions, machines
            alpha = np.abs(solution.coef)
            cut_short = not solution.converged and self.max_iter != -1
            if cut_short or (solution.converged and (alpha < data.problem.cost).all()):
                self.__dict__.pop("_solved", None)
                return machines, solutions
            start = [solution]
            apart = self._distance(solution)
            if apart / 2 < self.smallest_margin * np.sqrt(reach):
                break
        self.__dict__.pop("_solved", None)
        raise ValueError(
            "HardMarginSVC needs classes that a hyperplane of the kernel's space separates. Two points, one "
            f"in the hull of each class, are {apart:.2g} apart, so that no hyperplane has a margin above "
            f"{apart / 2:.2g}; use SVC, another kernel, or a smaller 'smallest_margin'."
        )

    def _options(self, X: Any, y: Any, n_machines: int) -> tuple[BoxOptions, Any]:
        """Rows that no hyperplane separates would take steps without end."""
        options, watch = super()._options(X, y, n_machines)
        return options._replace(max_iter=min(options.max_iter, MOST_STEPS)), watch

    def _distance(self, solution: RKHSSolution) -> float:
        """Distance of two points, one in the hull of each class, with the coefficients as weights.

        Without an intercept the hyperplane goes through 0: the distance is twice that of the signed rows'
        hull.
        """
        values = solution.products[:, 0] - solution.products[:, 1]
        norm = np.sqrt(max(float(solution.coef @ values), 0.0))
        mass = float(np.abs(solution.coef).sum())
        return 2 * norm / mass if mass > 0 else np.inf

    def _claims(self, standings: Standings, dtype: Any) -> list[Any]:
        claims = super()._claims(standings, dtype)
        (standing,) = standings
        smallest = 1.0 - float(standing.slack.max())
        room = 1e-2 if dtype == np.float32 else 1e-3
        claim = "Every row is on its side of the margin, 1/‖h‖ from the hyperplane at least."
        return [*claims, at_least(claim, "smallest y(h(x) + b)", smallest, 1.0 - room, self._source)]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any) -> Certificates:
        """Measure every certificate afresh on the data of the fit; see `SVC.certify`."""
        return super().certify(X, y, sample_weight, **options)
