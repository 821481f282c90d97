"""Kernel logistic regression of two or more classes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates
from assay.kernel_machines.approximation.base import APPROXIMATION
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    KeptRows,
    as_columns,
    require_finite,
    require_psd,
    require_range,
    training_gram,
)
from assay.kernel_machines.likelihood.certificates import logistic_certificates, stored_certificate
from assay.kernel_machines.likelihood.on_features import LogisticOnFeatures
from assay.kernel_machines.likelihood.path import HasLogisticPath
from assay.kernel_machines.likelihood.predictions import class_block, classes_said, said_of, scores_block
from assay.kernel_machines.likelihood.solver import ClassProblem, Evidence, LogisticFit, fit_classes, gather
from assay.kernel_machines.parameters import KERNEL_DOMAINS, kernel_of
from assay.kernels import Custom, Kernel, Precomputed
from assay.models.classes import CLASS_WEIGHT, Classifier, class_factors
from assay.models.convergence import warn_of_gap
from assay.parameters import Domain
from assay.rows import alone
from assay.solvers.rkhs.curved import MEMORY, GramOperator
from assay.suitability import Suitability

SMALL = 700
"""Rows up to which one BLAS thread is as fast as two."""

INSTEAD = "give 'approximation', fit LogisticRegression on random features of them, or fit a sample"


class KernelLogisticRegression(HasLogisticPath, LogisticOnFeatures, Classifier):
    """Logistic regression whose log-odds are a function in a reproducing kernel Hilbert space.

    Minimises over f = Σ_i α_i k(x_i, ·) + b, with λ = 1/(2 C n) and n = Σ s,

        (1/n) Σ_i s_i log(1 + e^{−y_i f(x_i)}) + λ R(α),        b not penalised,

    for labels y = ±1, the negative log-likelihood of P(Y = 1) = 1/(1 + e^{−f(x)}); with more classes the
    loss is log Σ_k e^{f_k} − f_y for a function f_k of each class. The penalty R is ‖h‖² = αᵀKα ("rkhs", the
    norm of h = f − b), ‖α‖² ("l2") or, with λ = 1/(C n), ‖α‖₁ ("l1"), which leaves few centres x_i.

    Newton steps on (I + W^{1/2} K W^{1/2}), whose smallest eigenvalue is 1 however certain rows become; the
    l1 penalty by coordinate descent on the columns of K. The fit needs all pairs of rows: n_samples² numbers
    in memory up to 2 GiB, beyond which the penalty "rkhs" makes products with K tile by tile. Predictions
    are made block by block.

    A class whose rows weigh nothing has the coefficients 0 and, with an intercept, a probability of about
    e^{−50}: its intercept would fall for ever.

    Assumes: a positive semi-definite kernel; independent rows, for probabilities that are calibrated.

    Certificates: duality gap from a feasible point of the dual, the optimality conditions of every
    coefficient, the balance of the slopes that a free intercept asks for; on `certify` also what the fit
    stored.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a row against ½‖h‖² (½‖α‖², ‖α‖₁).
    penalty_strength : float, optional
        λ, the penalty on the scale of the mean; takes the place of `C`. Wei's (λ/2)‖f‖² on the *sum* of
        losses is C = 1/λ; Sangnier's (λ/2)‖h‖² on the mean is twice this λ. 0 is refused: where the kernel
        separates the classes, and an invertible Gram matrix always does, the infimum is not attained.
    penalty : {"rkhs", "l2", "l1"}, default="rkhs"
        What is penalised; "l1" for two classes.
    kernel : str, Kernel or callable, default="rbf"
        As in `KernelRidge`.
    gamma : float, "scale", "auto" or None, default=None
        Scale of the named kernels: "scale" is one over the number of features times the variance of all
        entries, weights aside; None and "auto" one over their number.
    degree : int, default=3
        Of the polynomial kernel.
    coef0 : float, default=0
        Constant of the polynomial and sigmoid kernels.
    fit_intercept : bool, default=True
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the classes.
    tol : float, default=1e-10
        Duality gap, relative to the objective, at which the fit ends.
    max_iter : int, default=200
        Most Newton steps (of coordinate descent: cycles).
    approximation : int, Nystroem or RandomFourierFeatures, optional
        Fits the model of features of the kernel in place of the kernel's own, with the penalty "rkhs", by
        walks over rows that may be anywhere: so many Nyström landmarks, or those of a transformer, whose
        kernel becomes that of this model. The attributes are then `features_` and `feature_coef_`, of shape
        (1, n_features_out) or (n_classes, n_features_out); `dual_coef_` and `X_fit_` are left out. A number
        draws other landmarks at every fit: a `Nystroem` takes a `random_state`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_classes)
        α, of the second of two classes or of each; zero for rows of weight zero.
    intercept_ : array of shape (1,) or (n_classes,)
    rkhs_norm_ : float or array of shape (n_classes,)
        ‖h‖ = √(αᵀKα).
    X_fit_ : array or CSR matrix
        The training rows (the Gram matrix with "precomputed").
    kernel_ : Kernel
        The kernel with every parameter filled in.
    C_, penalty_strength_ : float
        The penalty on both scales.
    class_weight_ : array of shape (n_classes,)
    empirical_risk_ : float
        Mean loss, without the penalty.
    objective_, dual_objective_ : float
        ½‖h‖² + C Σ s ℓ (with its penalty), and the lower bound of it by the dual.
    dual_gap_ : float
        Their distance, relative to the objective.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Newton steps, whether the gap is at most `tol`, and the largest violation of the optimality
        conditions.

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.kernel_machines import KernelLogisticRegression
    >>> X, y = TwoMoons(noise_std=0.2).sample(200, random_state=0)
    >>> model = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> model.certificates_.holds, bool(model.score(X, y) > 0.95)
    (True, True)
    >>> len(KernelLogisticRegression(C=10.0, penalty="l1").fit(X, y).centers_) < 30
    True

    References
    ----------
    Wei §7.3.4; Peyré, logistic classification; Sangnier §1.4.3; Rudi & Şimşekli §4.2.
    """

    _comparison: ClassVar[str] = "kernel"
    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=5, max_rows=3000, select={"Cs": (0.1, 1.0, 10.0, 100.0), "max_rows": 400}
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **{name: KERNEL_DOMAINS[name] for name in ("kernel", "gamma", "degree", "coef0")},
        "C": parameters.real(above=0.0, squared=True),
        "penalty_strength": parameters.nothing | parameters.real(at_least=0.0, squared=True),
        "penalty": parameters.one_of("rkhs", "l2", "l1"),
        "fit_intercept": parameters.boolean,
        "class_weight": CLASS_WEIGHT,
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
        "approximation": APPROXIMATION,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty_strength: float | None = None,
        penalty: str = "rkhs",
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-10,
        max_iter: int = 200,
        approximation: Any = None,
    ) -> None:
        self.C = C
        self.penalty_strength = penalty_strength
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.approximation = approximation

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit the model.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed. With `approximation` also
            a path, Arrow dataset or Dask collection.
        y : array of shape (n_samples,) or column name
            Labels of any kind.
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        self._forget()
        if self.approximation is not None:
            self._fit_on_features(X, y, *self._open_classes(X, y, sample_weight))
            return self
        data, kept, problem = self._open_problem(X, y, sample_weight)
        self.kernel_ = kernel_of(self, data.X, data.weight)
        self.X_fit_ = data.X
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        with watch.run("newton"):
            # A small fit is over before BLAS threads have woken up.
            if len(problem.cost) > SMALL:
                self._solve(kept, problem)
            else:
                alone(self._solve, kept, problem)
        watch.finish()
        return self

    def _solve(self, kept: KeptRows, problem: ClassProblem) -> None:
        require_range(self.kernel_, kept.X)
        gram = self._gram(kept.X)
        self._require_penalty(gram, kept.X.shape[0])
        stop: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            fit = fit_classes(problem, self.kernel_, kept.X, gram, **stop)
        require_finite(fit.coef, self.C_, self.kernel_, kept.X, solved=fit.converged)
        self._store(fit, kept, problem, GramOperator(self.kernel_, kept.X, gram))

    def _open_problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, KeptRows, ClassProblem]:
        """Rows, those with a weight, and the problem; sets the penalty on both scales."""
        self._require_memory(X, instead=INSTEAD)
        data: Any
        data, weights = self._open_classes(X, y, sample_weight)
        if self.penalty == "l1" and len(weights) > 2:
            raise self._refuse("penalty", "'rkhs' or 'l2' for more than two classes")
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        return data, *self._problem(data, self.class_weight_)

    def _problem(self, data: Any, factors: NDArray) -> tuple[KeptRows, ClassProblem]:
        classes = data.y.astype(np.intp)
        kept = KeptRows(data.X, data.weight, precomputed=self._is_precomputed)
        there = kept.take(classes)
        weight = factors[there] * (1.0 if kept.weight is None else kept.weight.astype(np.float64))
        self.C_, self.penalty_strength_ = self._strengths(float(weight.sum()))
        cost = np.maximum(self.C_ * weight, np.finfo(np.float64).tiny)
        shape = cost, len(self.classes_), bool(self.fit_intercept), self.penalty
        repeats = 1.0 if kept.weight is None else kept.weight.astype(np.float64)
        return kept, ClassProblem(there, *shape, repeats)

    def _strengths(self, total: float) -> tuple[float, float]:
        """C and λ, each from the other."""
        sided = 1.0 if self.penalty == "l1" else 2.0
        if self.penalty_strength is None:
            return float(self.C), 1 / (sided * float(self.C) * total)
        strength = float(self.penalty_strength)
        return (1 / (sided * strength * total) if strength > 0 else np.inf), strength

    def _gram(self, X: Any, *, fitting: bool = True) -> NDArray | None:
        """The Gram matrix in double precision, None where it does not fit and need not be there."""
        n = X.shape[0]
        if (
            8.0 * n * n > MEMORY
            and not isinstance(self.kernel_, (Precomputed, Custom))
            and self.penalty == "rkhs"
        ):
            return None
        gram = training_gram(self.kernel_, X.astype(np.float64))
        if fitting and not self.kernel_.positive_definite:
            require_psd(GramSystem(gram), self.kernel_)
        return gram

    def _require_penalty(self, gram: NDArray | None, n_rows: int) -> None:
        """Say in a sentence why there is no fit without a penalty."""
        if self.penalty_strength_ > 0 and np.isfinite(self.C_) and self.C_ > 0:
            return
        rank = 0 if gram is None else int(np.linalg.matrix_rank(gram, hermitian=True))
        why = (
            "the Gram matrix is invertible, so that some function separates the classes, along which the "
            "loss falls to 0 without reaching it"
            if rank == n_rows
            else "without a penalty a minimum need not exist"
        )
        raise self._refuse("penalty_strength", f"above 0: {why}")

    def _store(self, fit: LogisticFit, kept: KeptRows, problem: ClassProblem, operator: GramOperator) -> None:
        dtype = self.X_fit_.dtype
        coef, intercept = fit.coef.astype(dtype), fit.intercept.astype(dtype)
        evidence = gather(problem, fit.coef, fit.intercept, operator.__matmul__)
        stored = kept.put_back(coef)
        self.dual_coef_ = stored[:, 0] if problem.is_binary else stored
        self.intercept_ = intercept
        self.n_iter_, said = fit.n_iter, bool(fit.converged or evidence.relative_gap <= self.tol)
        self.__dict__.update(self._numbers(problem, evidence))
        self.dual_gap_, self.optimality_ = evidence.relative_gap, evidence.violation
        self.certificates_ = Certificates(self._claims(evidence, dtype))
        self.converged_ = said and self.certificates_[0].holds
        if not self.converged_:
            warn_of_gap(self, int(self.n_iter_), int(self.max_iter), self.dual_gap_)

    def _numbers(self, problem: ClassProblem, evidence: Evidence) -> dict[str, Any]:
        norms = np.sqrt(evidence.squared_norms)
        return {
            "rkhs_norm_": float(norms[0]) if problem.is_binary else norms,
            "empirical_risk_": evidence.loss / float(problem.cost.sum()),
            "objective_": evidence.primal,
            "dual_objective_": evidence.dual,
        }

    def _claims(self, evidence: Evidence, dtype: Any) -> list[Certificate]:
        single, free = dtype == np.float32, bool(self.fit_intercept)
        return logistic_certificates(evidence, self.penalty, self.tol, single=single, fit_intercept=free)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.
        """
        if self._is_approximate:
            return self._certify_on_features(self._open_new_classes(X, y, sample_weight))
        self._require_memory(X, instead="certify on a sample of them")
        data: Any = self._open_new_classes(X, y, sample_weight)
        if len(data.y) != len(self.dual_coef_):
            raise ValueError(f"certify needs the rows of the fit: {len(self.dual_coef_)} of them.")
        given = self.C_, self.penalty_strength_
        weights = np.bincount(data.y.astype(np.intp), data.weight, minlength=len(self.classes_)).astype(float)
        factors = class_factors(self.class_weight, self.classes_, weights)
        kept, problem = self._problem(data, factors)
        fresh, (self.C_, self.penalty_strength_) = (self.C_, self.penalty_strength_), given
        operator = GramOperator(self.kernel_, kept.X, self._gram(kept.X, fitting=False))
        coef = kept.take(as_columns(self.dual_coef_)).astype(np.float64)
        evidence = gather(problem, coef, self.intercept_.astype(np.float64), operator.__matmul__)
        numbers = self._numbers(problem, evidence)
        pairs = {name: (getattr(self, name), value) for name, value in numbers.items()}
        pairs |= {
            "C_": (self.C_, fresh[0]),
            "penalty_strength_": (self.penalty_strength_, fresh[1]),
            "class_weight_": (self.class_weight_, factors),
        }
        dtype = self.dual_coef_.dtype
        stored = stored_certificate(pairs, single=dtype == np.float32)
        return Certificates([*self._claims(evidence, dtype), stored])

    @property
    def centers_(self) -> NDArray:
        """Places of the training rows whose coefficient is not zero: few with the l1 penalty."""
        return np.flatnonzero(as_columns(self.dual_coef_).any(axis=1))

    @property
    def alpha_unique_(self) -> bool:
        """Whether the coefficients are the only ones of this function: the Gram matrix has full rank."""
        if self.penalty == "l2":
            return True
        gram = training_gram(self.kernel_, self.X_fit_.astype(np.float64))
        return bool(np.linalg.matrix_rank(gram, hermitian=True) == len(gram))

    def decision_function(self, X: Any) -> Any:
        """Scores: of the second of two classes, shape (n_samples,), else one per class."""
        return self._of_rows(X, None)

    def predict(self, X: Any) -> Any:
        """The class of each row: an array, or a lazy Dask array for Dask input."""
        check_is_fitted(self)
        dtype = self.classes_.dtype
        if self._is_approximate:
            return self._values_on_features(
                X, partial(classes_said, classes=self.classes_), dtype=dtype, width=None
            )
        return self._open_new_rows(X).map(class_block, *self._fitted(), self.classes_, dtype=dtype)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class: an array, or a lazy Dask array for Dask input."""
        return self._of_rows(X, False)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of the probability of each class, finite where the probability rounds to 0."""
        return self._of_rows(X, True)

    def _of_rows(self, X: Any, log: bool | None) -> Any:
        check_is_fitted(self)
        n_classes = len(self.classes_)
        width = None if log is None and n_classes == 2 else n_classes
        if self._is_approximate:
            dtype = self.feature_coef_.dtype
            return self._values_on_features(X, partial(said_of, log=log), dtype=dtype, width=width)
        data = self._open_new_rows(X)
        return data.map(scores_block, *self._fitted(), log, dtype=self.dual_coef_.dtype, width=width)

    def _fitted(self) -> tuple[Kernel, Any, NDArray, NDArray]:
        """What predictions are made of: only the rows with a coefficient where they are few."""
        centers = self.centers_
        if self._is_precomputed or 2 * len(centers) > len(self.dual_coef_) or len(centers) == 0:
            return self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_
        return self.kernel_, self.X_fit_[centers], self.dual_coef_[centers], self.intercept_
