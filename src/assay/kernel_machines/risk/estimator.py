"""Any convex loss in the Hilbert space of a kernel, under a penalty or in a ball."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement
from assay.kernel_machines.approximation.base import APPROXIMATION, first_value
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    KeptRows,
    require_finite,
    require_psd,
    require_range,
    training_gram,
)
from assay.kernel_machines.parameters import KERNEL_DOMAINS, kernel_of
from assay.kernel_machines.risk.on_features import LOOSE, RiskOnFeatures
from assay.kernel_machines.risk.solver import (
    SOURCE,
    Standing,
    ball_certificates,
    over_ball,
    risk_certificates,
    solution_of_penalty,
    solve_in_ball,
    stand,
)
from assay.kernel_machines.risk.targets import require_targets
from assay.kernels import Custom, Kernel, Precomputed
from assay.losses import LOSS_NAMES, Loss
from assay.losses import loss as loss_of
from assay.models.capabilities import PairwiseModel, Regressor, vector_target
from assay.parameters import Domain
from assay.rows import Block, alone
from assay.solvers.rkhs.constraint import why_unsolvable
from assay.solvers.rkhs.curved import MEMORY, GramOperator
from assay.solvers.rkhs.problem import RKHSProblem

LOSS = Domain(
    f"a Loss or one of {', '.join(map(repr, LOSS_NAMES))}",
    lambda value: isinstance(value, Loss) or (isinstance(value, str) and value in LOSS_NAMES),
    # Those of a target that may be any number.
    ("squared", "huber", "absolute", "epsilon_insensitive"),
)
SMALL = 700
INSTEAD = (
    "give 'approximation', fit a linear model on Nyström or random features of them, which stream, or fit a "
    "sample"
)


class KernelERM(RiskOnFeatures, PairwiseModel, Regressor):
    """Any convex loss, minimised over a reproducing kernel Hilbert space.

    Minimises over f = h + b, with λ = 1/(2 C n) and n = Σ s,

        (1/n) Σ_i s_i ℓ(y_i, f(x_i)) + λ‖h‖²        (constraint="penalty"),
        (1/n) Σ_i s_i ℓ(y_i, f(x_i)),  ‖h‖ ≤ c      (constraint="ball"),

    b not penalised. By the representer theorem h = Σ_i α_i k(x_i, ·) whatever the loss. A loss with corners
    is solved on the box of its dual, a smooth one by Newton steps; the ball by the penalty that has its
    norm, which is found by root finding with warm starts. `predict` gives f: a number, or for losses of
    labels ±1 a score whose sign is the class.

    The fit needs all pairs of rows. A non-convex loss is refused, and so is a problem that has no solution:
    a free intercept under a loss that falls for ever, such as the logistic loss of one class.

    Assumes: a positive semi-definite kernel. The minimiser needs no more; that its error on new rows is near
    the one measured needs independent rows of one law.

    Certificates: duality gap from a feasible point of the dual, the optimality condition of every row, that
    the coefficients are a point of the dual; for the ball that h is in it, that it binds or the penalty is
    nothing, and the gap in it; on `certify` also what the fit stored.

    Parameters
    ----------
    loss : Loss or str, default="huber"
        An object of `assay.losses` or its name.
    constraint : {"penalty", "ball"}, default="penalty"
    C : float, default=1.0
        Cost of a row against ½‖h‖²; not read for the ball.
    penalty_strength : float, optional
        λ, on the scale of the mean; takes the place of `C`. Sangnier's (λ/2)‖h‖² on the mean is twice this
        λ, Rudi's the same; Wei's λ‖f‖² on the sum is n times it.
    radius : float, default=1.0
        c, of the ball.
    kernel : str, Kernel or callable, default="rbf"
        As in `KernelRidge`.
    gamma : float, "scale", "auto" or None, default=None
        Scale of the named kernels, as in `KernelLogisticRegression`.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0
        Constant of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=True
    tol : float, default=1e-8
        Duality gap, relative to the objective, at which the fit ends.
    max_iter : int, default=200
        Most Newton steps; ten thousand times as many steps on pairs for a loss with corners.
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Minimises over the functions of features of the kernel, by walks over rows that may be anywhere: so
        many Nyström landmarks, or those of a transformer, whose kernel becomes that of this model. The
        attributes are then `features_`, `feature_coef_` of shape (1, n_features_out) and, for a loss with
        corners, `feature_dual_` with ν of each row; `dual_coef_`, `X_fit_` and `intercept_interval_` are left
        out. A number draws other landmarks at every fit: a `Nystroem` takes a `random_state`.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,)
        α; zero for rows of weight zero.
    intercept_ : float
    intercept_interval_ : array of shape (2,)
        The intercepts that are as good.
    rkhs_norm_ : float
        ‖h‖ = √(αᵀKα).
    C_, penalty_strength_ : float
        The penalty on both scales: of the ball, the one with the same solution.
    constraint_active_ : bool
        Whether the ball binds; true for a penalty. Where it does not, no larger ball has a smaller loss.
    X_fit_, kernel_, loss_
        The training rows, the kernel and the loss with every parameter filled in.
    empirical_risk_ : float
        Mean loss.
    objective_, dual_objective_ : float
        ½‖h‖² + C Σ s ℓ, and the lower bound of it by the dual.
    dual_gap_ : float
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Steps, whether the gap is at most `tol`, and the largest part of a row in the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import KernelERM
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> model = KernelERM("absolute", C=10.0, gamma=1.0).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> in_ball = KernelERM("absolute", constraint="ball", radius=model.rkhs_norm_ / 2, gamma=1.0).fit(X, y)
    >>> in_ball.constraint_active_, bool(in_ball.C_ < model.C_)
    (True, True)

    References
    ----------
    Sangnier §1.4.3, §1.4.7; Rudi & Şimşekli §4.2; Wei §6.2.4; Peyré.
    """

    _comparison: ClassVar[str] = "kernel"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **{name: KERNEL_DOMAINS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "loss": LOSS,
        "constraint": parameters.one_of("penalty", "ball"),
        "C": parameters.real(above=0.0, squared=True),
        "penalty_strength": parameters.nothing | parameters.real(above=0.0, squared=True),
        "radius": parameters.real(above=0.0, squared=True),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
        "approximation": APPROXIMATION,
    }

    def __init__(
        self,
        loss: Any = "huber",
        *,
        constraint: str = "penalty",
        C: float = 1.0,
        penalty_strength: float | None = None,
        radius: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        approximation: Any = None,
    ) -> None:
        self.loss = loss
        self.constraint = constraint
        self.C = C
        self.penalty_strength = penalty_strength
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.approximation = approximation

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelERM:
        """Fit the model.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed. With `approximation` also
            a path, Arrow dataset or Dask collection.
        y : array of shape (n_samples,) or column name
            Numbers that the loss takes as targets: labels −1 and +1 for a loss of the margin.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        self._forget()
        if self.approximation is not None:
            opened = self._open_vector(X, y, sample_weight)
            self.loss_ = loss_of(self.loss)
            self._fit_on_features(X, y, opened)
            return self
        data = self._open_pairs(X, sample_weight, instead=INSTEAD, y=y, with_target=True)
        data = vector_target(data, self)  # type: ignore[assignment]
        self.loss_, self.kernel_ = loss_of(self.loss), kernel_of(self, data.X, data.weight)
        self.X_fit_ = data.X
        kept, problem = self._problem(data)
        self._require_solution(problem, kept)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        with watch.run("solver"):
            # A small fit is over before BLAS threads have woken up.
            if len(problem.cost) > SMALL:
                self._solve(kept, problem)
            else:
                alone(self._solve, kept, problem)
        watch.finish()
        return self

    def _problem(self, data: Any) -> tuple[KeptRows, RKHSProblem[Loss]]:
        """The rows with a weight, and the risk with those weights as costs."""
        kept = KeptRows(data.X, data.weight, precomputed=self._is_precomputed)
        target = kept.take(data.y).astype(np.float64)
        weight = np.ones(len(target)) if kept.weight is None else kept.weight.astype(np.float64)
        return kept, RKHSProblem(self.loss_, target, weight, bool(self.fit_intercept))

    def _require_solution(self, problem: RKHSProblem[Loss], kept: KeptRows) -> None:
        """Refuse what `require_targets` does, and risks that are unbounded below."""
        loss, y = problem.loss, problem.target
        if loss.n_groups != 2 and not loss.convex:
            diagonal = np.abs(self.kernel_.diagonal(kept.X)).astype(np.float64)
            why = why_unsolvable(loss, y, problem.cost, diagonal, fit_intercept=problem.fit_intercept)
            if why is not None:
                raise ValueError(why.sentence)
        require_targets(type(self).__name__, problem)

    def _gram(self, X: Any, *, fitting: bool = True) -> NDArray | None:
        n = X.shape[0]
        if 8.0 * n * n > MEMORY and not isinstance(self.kernel_, (Precomputed, Custom)):
            return None
        gram = training_gram(self.kernel_, X.astype(np.float64))
        if fitting and not self.kernel_.positive_definite:
            require_psd(GramSystem(gram), self.kernel_)
        return gram

    def _solve(self, kept: KeptRows, problem: RKHSProblem[Loss]) -> None:
        require_range(self.kernel_, kept.X)
        gram, total = self._gram(kept.X), float(problem.cost.sum())
        stop: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
        self.constraint_active_, self.C_ = True, self._cost(total)
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            if self.constraint == "ball":
                point = solve_in_ball(problem, self.kernel_, kept.X, gram, float(self.radius), **stop)
                solution, self.C_, self.constraint_active_ = point.solution, point.cost, point.active
            else:
                costly = self._costly(problem)
                solution = solution_of_penalty(costly, self.kernel_, kept.X, gram, **stop)
        require_finite(solution.coef, self.C_, self.kernel_, kept.X, solved=solution.converged)
        self.penalty_strength_ = 1 / (2 * self.C_ * total)
        dtype = self.X_fit_.dtype
        self.dual_coef_ = kept.put_back(solution.coef).astype(dtype)
        self.intercept_, self.intercept_interval_ = solution.intercept, np.array(solution.interval)
        costly = self._costly(problem)
        operator = GramOperator(self.kernel_, kept.X, gram)
        standing = stand(costly, solution.coef, solution.intercept, operator)
        self.__dict__.update(self._numbers(standing))
        self.dual_gap_, self.optimality_ = standing.gap.relative, standing.violation
        self.n_iter_ = max(solution.n_iter, 1)
        self.certificates_ = Certificates(self._claims(costly, standing))
        said = bool(solution.converged or self.dual_gap_ <= self.tol)
        self._end(said=said, in_ball=self.certificates_[-1].holds)

    def _cost(self, total: float) -> float:
        given = self.penalty_strength
        return float(self.C) if given is None else 1 / (2 * float(given) * total)

    def _costly(self, problem: RKHSProblem[Loss]) -> RKHSProblem[Loss]:
        return problem._replace(cost=np.maximum(self.C_ * problem.cost, np.finfo(np.float64).tiny))

    def _numbers(self, standing: Standing) -> dict[str, Any]:
        return {
            "rkhs_norm_": standing.norm,
            "empirical_risk_": standing.mean_loss,
            "objective_": standing.gap.primal,
            "dual_objective_": standing.gap.dual,
        }

    def _claims(self, problem: RKHSProblem[Loss], standing: Standing) -> list[Certificate]:
        single = self.dual_coef_.dtype == np.float32
        # The penalty of a ball that does not bind is only a way to its minimum, and next to nothing.
        tol = self.tol if self.constraint_active_ else max(self.tol, LOOSE)
        claims = risk_certificates(problem, standing, tol, single=single)
        if self.constraint == "ball":
            active = bool(self.constraint_active_)
            radius = float(self.radius)
            over = over_ball(problem, standing)
            claims += ball_certificates(over, radius, active=active, tol=self.tol, single=single)
        return claims

    def predict(self, X: Any) -> Any:
        """Values of f at new rows, block by block.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.
        """
        if self._is_approximate:
            return self._values_on_features(X, first_value, dtype=self.feature_coef_.dtype, width=None)
        data = self._open_new_rows(X)
        fitted = self.kernel_, self.X_fit_, self.dual_coef_, self.dual_coef_.dtype.type(self.intercept_)
        return data.map(value_block, *fitted, dtype=self.dual_coef_.dtype)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        """
        if self._is_approximate:
            return self._certify_on_features(self._open_new_vector(X, y, sample_weight))
        data = self._open_new_pairs(X, sample_weight, y=y, with_target=True)
        data = vector_target(data, self)  # type: ignore[assignment]
        if data.y is None or data.y.shape != self.dual_coef_.shape:
            raise ValueError(
                f"certify needs the rows of the fit: {len(self.dual_coef_)} of them, and their y."
            )
        kept, problem = self._problem(data)
        total, costly = float(problem.cost.sum()), self._costly(problem)
        operator = GramOperator(self.kernel_, kept.X, self._gram(kept.X, fitting=False))
        standing = stand(
            costly, kept.take(self.dual_coef_).astype(np.float64), float(self.intercept_), operator
        )
        pairs = {name: (getattr(self, name), value) for name, value in self._numbers(standing).items()}
        pairs["penalty_strength_"] = (self.penalty_strength_, 1 / (2 * self.C_ * total))
        if self.constraint == "penalty":
            pairs["C_"] = (self.C_, self._cost(total))
        low, high = self.intercept_interval_
        middle = float(np.clip(self.intercept_, min(low, high), max(low, high)))
        pairs["intercept_"] = (self.intercept_, middle)
        rtol = 1e-3 if self.dual_coef_.dtype == np.float32 else 1e-5
        claim = "Norms, risks, penalties and the intercept are those of the rows."
        return Certificates([*self._claims(costly, standing), agreement(claim, pairs, SOURCE, rtol=rtol)])

    @property
    def support_(self) -> NDArray:
        """Places of the rows whose coefficient is not zero."""
        return np.flatnonzero(self.dual_coef_)

    @property
    def alpha_unique_(self) -> bool:
        """Whether the coefficients are the only ones of this function: the Gram matrix has full rank."""
        gram = training_gram(self.kernel_, self.X_fit_.astype(np.float64))
        return bool(np.linalg.matrix_rank(gram, hermitian=True) == len(gram))

    def strength_of_radius(self, X: Any, y: Any, radius: float) -> float:
        """The λ whose solution has the norm `radius`; this model stays as it is."""
        return float(self._with(constraint="ball", radius=radius).fit(X, y).penalty_strength_)

    def radius_of_strength(self, X: Any, y: Any, strength: float) -> float:
        """The norm of the solution at λ = `strength`: the radius of the ball with the same solution."""
        return float(self._with(constraint="penalty", penalty_strength=strength).fit(X, y).rkhs_norm_)

    def _with(self, **changed: Any) -> Any:
        return type(self)(**{**self.get_params(deep=False), **changed})


def value_block(block: Block, kernel: Kernel, X_fit: Any, dual_coef: NDArray, intercept: Any) -> NDArray:
    """Values of f at the rows of a block."""
    return kernel.apply(block.X, X_fit, dual_coef) + intercept
