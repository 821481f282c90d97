"""Kernel Fisher discriminant: the direction of largest Rayleigh quotient in a Hilbert space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_least, at_most
from assay.discriminant.fisher.kernel_solver import (
    KernelScatter,
    KernelSolution,
    kernel_quotient,
    kernel_scatter,
    penalised_quotient,
    regulariser,
    solve_kernel_fisher,
    spectrum,
)
from assay.discriminant.generative import in_precision
from assay.discriminant.linear.solver import NEVER
from assay.kernels import KERNEL_NAMES, Kernel, kernel
from assay.models.capabilities import PairwiseModel, require_memory
from assay.models.classes import Classifier, class_of
from assay.models.thresholds import OptimalThreshold, optimal_threshold
from assay.parameters import Domain
from assay.rows import Block

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.4"
INSTEAD = "fit a sample of them, or FisherDiscriminant on Nyström or random features"
N_DIRECTIONS = 32
LARGEST = 1e75
"""Values of a kernel, and one over them, whose products of four are still numbers."""

_KERNEL = Domain(
    f"a Kernel, a callable or one of {', '.join(map(repr, KERNEL_NAMES))}",
    lambda value: (
        isinstance(value, Kernel) or callable(value) or (isinstance(value, str) and value in KERNEL_NAMES)
    ),
    ("linear", "rbf", "laplacian", "polynomial"),
)


class Kept(NamedTuple):
    """The rows of the fit that count: their Gram matrix, places of classes, weights and indices."""

    gram: Array
    codes: NDArray
    weight: Array
    indices: NDArray


class KernelFisherDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PairwiseModel, Classifier):
    """Fisher's discriminant of two classes in the Hilbert space of a kernel.

    Maximises over functions h = Σ_i α_i k(x_i, ·) the Rayleigh quotient of h(X), variance between the two
    classes over variance within them plus a penalty:

        α ∝ (Σ_k π_k Ψ_k + μR)⁻¹ (v₁ − v₀),        Ψ_k = (1/n_k) K_k H K_kᵀ,

    where (v_k)_j is the mean of k(x, x_j) over class k. The matrix without penalty never has an inverse (its
    rank is at most n − 2), and without 1/n_k, as the notes print it, the linear kernel does not give Fisher's
    discriminant back. Rows are then cut by h(x) + b > 0. The fit needs all pairs of rows.

    Assumes: a positive semi-definite kernel. The quotient needs no law.

    Certificates: residual of the linear system, no random function with a larger penalised quotient, rank at
    most n − 2; `certify` adds that stored projections and quotient are those of the rows, and that no other
    cut makes fewer errors (or that the cut is midway between the projected centres).

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name of `assay.kernels.KERNEL_NAMES` ("linear", "rbf", "laplacian", "polynomial", …), one
        of `assay.kernels`, or a function of two rows.
    gamma : float, optional
        Scale of the named kernels; one over the number of features by default.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    reg : float, default=1e-3
        Strength μ of the penalty; 0 takes the pseudo-inverse.
    regulariser : {"kernel", "identity"}, default="kernel"
        R: K, so that the penalty is the squared norm of h, or I, the squared norm of α.
    scatter : {"covariance", "as_printed"}, default="covariance"
        With 1/n_k in Ψ_k, or without.
    rule : {"nearest_center", "optimal_threshold"}, default="nearest_center"
        Cut midway between the projected centres, or where fewest rows of the fit are on the wrong side.

    Attributes
    ----------
    classes_ : array of shape (2,)
    dual_coef_ : array of shape (n_samples,)
        α; the second class has the larger mean of h.
    intercept_ : float
        b.
    X_fit_ : array or CSR matrix
        The rows of the fit (the Gram matrix with "precomputed").
    kernel_ : Kernel
    projections_ : array of shape (n_samples,)
        h at the rows of the fit.
    rayleigh_quotient_ : float
        Without the penalty.
    threshold_intervals_ : array of shape (n_intervals, 2)
        With rule="optimal_threshold": all cuts that are as good.
    rank_, condition_number_
        Of the matrix that is inverted.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.discriminant import KernelFisherDiscriminant
    >>> angle = np.linspace(0, 6.28, 60)
    >>> y = np.arange(60) % 2
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1.0 + y[:, None])
    >>> model = KernelFisherDiscriminant(gamma=1.0).fit(X, y)
    >>> model.certificates_.holds, float(model.score(X, y))
    (True, 1.0)

    References
    ----------
    Sangnier §1.1.4.
    """

    _comparison: ClassVar[str] = "kernel"
    _domains: ClassVar[Mapping[str, Domain]] = {
        "kernel": _KERNEL,
        "gamma": parameters.nothing | parameters.real(above=0.0),
        "degree": parameters.integer(at_least=1),
        "coef0": parameters.real(),
        "kernel_params": parameters.nothing | Domain("a dict", lambda value: isinstance(value, dict)),
        "reg": parameters.real(at_least=0, squared=True),
        "regulariser": parameters.one_of("kernel", "identity"),
        "scatter": parameters.one_of("covariance", "as_printed"),
        "rule": parameters.one_of("nearest_center", "optimal_threshold"),
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        reg: float = 1e-3,
        regulariser: str = "kernel",
        scatter: str = "covariance",
        rule: str = "nearest_center",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.reg = reg
        self.regulariser = regulariser
        self.scatter = scatter
        self.rule = rule

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The Gram matrix when the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        require_memory(self, X, instead=INSTEAD)
        data, weights = self._open_classes(X, y, sample_weight)
        if len(weights) > 2:
            raise ValueError(
                f"Only binary classification is supported by KernelFisherDiscriminant. Got {len(weights)} "
                "classes; fit one model per class (one against the rest)."
            )
        scales: Any = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        made = kernel(self.kernel, **scales, function_parameters=self.kernel_params)
        self.kernel_ = made.for_features(data.shape[1])
        kept = self._kept(data)
        scatter = self._scatter(kept)
        solution = solve_kernel_fisher(
            kept.gram, scatter, kept.weight, reg=float(self.reg), kind=self.regulariser
        )
        self._store(data, kept, solution)
        self.certificates_ = Certificates(self._proofs(kept, scatter))
        return self

    def _kept(self, data: Any) -> Kept:
        """The Gram matrix of the rows that count."""
        weight = np.ones(data.shape[0]) if data.weight is None else data.weight.astype(np.float64)
        indices = np.flatnonzero(weight > 0)
        X = data.X if len(indices) == len(weight) else data.X[indices]
        if self._is_precomputed:
            if X.shape[1] != data.shape[0]:
                raise ValueError(
                    "KernelFisherDiscriminant with a precomputed kernel needs the square Gram matrix. Got "
                    f"shape {data.shape}."
                )
            X = X[:, indices]
        with np.errstate(over="ignore", invalid="ignore"):
            gram = np.asarray(self.kernel_.gram(X), dtype=np.float64)
        size = float(np.abs(gram).max(initial=0.0))
        if not size < LARGEST:
            raise ValueError("The kernel overflows on these rows; scale the columns of X first.")
        if size < 1 / LARGEST:
            raise ValueError("The kernel is zero on these rows; scale the columns of X first.")
        return Kept((gram + gram.T) / 2, data.y[indices].astype(np.intp), weight[indices], indices)

    def _scatter(self, kept: Kept) -> KernelScatter:
        return kernel_scatter(kept.gram, kept.codes, kept.weight, as_printed=self.scatter == "as_printed")

    def _store(self, data: Any, kept: Kept, solution: KernelSolution) -> None:
        dtype = data.dtype
        self.X_fit_ = data.X
        coef = np.zeros(data.shape[0])
        coef[kept.indices] = solution.coef
        (self.dual_coef_,) = in_precision(self, dtype, coef)
        self.projections_ = np.asarray(self.kernel_.apply(self.X_fit_, self.X_fit_, self.dual_coef_))
        self.rayleigh_quotient_, self.rank_ = solution.quotient, solution.rank
        self.condition_number_ = solution.condition
        self.__dict__.pop("threshold_intervals_", None)
        if self.rule == "optimal_threshold":
            best = self._best_cut(kept)
            self.threshold_intervals_ = best.intervals
            self.intercept_ = dtype.type(best.intercept)
        else:
            self.intercept_ = dtype.type(self._midway(kept))

    def _best_cut(self, kept: Kept) -> OptimalThreshold:
        return optimal_threshold(self.projections_[kept.indices], kept.codes, kept.weight, second_class=1)

    def _midway(self, kept: Kept) -> float:
        """Minus the middle of the two projected centres; beyond all scores where one class has no rows."""
        h = np.asarray(self.projections_, dtype=np.float64)[kept.indices]
        totals = np.bincount(kept.codes, kept.weight, minlength=2)
        if not totals.all():
            return NEVER if totals[0] > 0 else -NEVER
        return -0.5 * float((np.bincount(kept.codes, kept.weight * h, minlength=2) / totals).sum())

    @property
    def _n_features_out(self) -> int:
        return 1

    def transform(self, X: Any) -> Any:
        """H at each row, of shape (n_samples, 1)."""
        data = self._open_new_rows(X)
        state = self.kernel_, self.X_fit_, self.dual_coef_
        return data.map(column_block, *state, dtype=data.dtype, width=1)

    def decision_function(self, X: Any) -> Any:
        """h(x) + b: above 0 for the second class."""
        data = self._open_new_rows(X)
        state = self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_
        return data.map(kernel_score_block, *state, dtype=data.dtype)

    def predict(self, X: Any) -> Any:
        """Class of each row."""
        data = self._open_new_rows(X)
        state = self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_, self.classes_
        return data.map(kernel_class_block, *state, dtype=self.classes_.dtype)

    def _proofs(self, kept: Kept, scatter: KernelScatter) -> list[Certificate]:
        coef = np.asarray(self.dual_coef_, dtype=np.float64)[kept.indices]
        penalty = float(self.reg) * regulariser(kept.gram, kept.weight, self.regulariser)
        # In float32 α is known to its precision only: so is what the matrix makes of it.
        single = self.dual_coef_.dtype == np.float32
        rough = 1e-4 if single else 1e-8
        matrix = scatter.within + penalty
        image, step = matrix @ coef, scatter.step
        size = np.abs(matrix) @ np.abs(coef) + np.abs(step).max(initial=0.0)
        left, outside = image - step, 0.0
        if self.reg == 0:  # of least norm, and solved where it can be
            inside = spectrum(matrix)[1]
            left = inside @ (inside.T @ left)
            size_of = float(np.linalg.norm(coef)) or 1.0
            outside = float(np.linalg.norm(coef - inside @ (inside.T @ coef))) / size_of
        residual = np.abs(left) / np.where(size > 0, size, 1.0)
        own = penalised_quotient(coef, scatter, penalty)
        trials = np.random.default_rng(0).standard_normal((N_DIRECTIONS, len(coef)))
        best = max(penalised_quotient(trial, scatter, penalty) for trial in trials)
        n = len(coef)
        largest = max(n - int(np.count_nonzero(scatter.shares)), 0)  # n − 2 where both classes have rows
        lost = int(np.linalg.matrix_rank(scatter.within, hermitian=True)) if n > 2 else 0
        return [
            at_most(
                "The coefficients solve the penalised system.",
                "residual of the system",
                max(float(residual.max(initial=0.0)), outside),
                100 * rough,
                SOURCE,
            ),
            at_least(
                f"None of {N_DIRECTIONS} random functions has a larger penalised quotient.",
                "penalised quotient over the largest of them",
                own / best if best > 0 else 1.0,
                1 - 100 * rough,
                SOURCE,
            ),
            at_most("The scatter within classes has no inverse.", "its rank", lost, largest, SOURCE),
            at_least(
                "The second class lies above the first.",
                "step of h between the classes",
                float(coef @ step),
                0.0,
                SOURCE,
            ),
        ]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        require_memory(self, X, instead="certify on a sample of them, in memory")
        data: Any = self._open_new_classes(X, y, sample_weight)
        kept = self._kept(data)
        scatter = self._scatter(kept)
        found = self._proofs(kept, scatter)
        coef = np.asarray(self.dual_coef_, dtype=np.float64)
        h = np.asarray(self.kernel_.apply(data.X, data.X, self.dual_coef_))
        size = np.abs(h).max(initial=0.0) or 1.0
        rough = 1e-3 if self.dual_coef_.dtype == np.float32 else 1e-6
        pairs = {
            "X_fit_": (_dense(self.X_fit_), _dense(data.X)),
            "projections_": (self.projections_ / size, h / size),
            "rayleigh_quotient_": (self.rayleigh_quotient_, kernel_quotient(coef[kept.indices], scatter)),
        }
        if self.rule == "optimal_threshold":
            best = self._best_cut(kept)
            pairs["intercept_"] = float(self.intercept_), best.intercept
            pairs["threshold_intervals_"] = self.threshold_intervals_, best.intervals
            claim = "Rows, projections, quotient and best cut are those of the data."
        else:
            pairs["intercept_"] = 1 + float(self.intercept_) / size, 1 + self._midway(kept) / size
            claim = "Rows, projections and quotient are those of the data; the cut is midway."
        return Certificates([*found, agreement(claim, pairs, SOURCE, rtol=rough)])


def _dense(X: Any) -> NDArray:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


def column_block(block: Block, made: Kernel, X_fit: Any, coef: NDArray) -> NDArray:
    """Values of h at the rows of one block, as a column."""
    return np.asarray(made.apply(block.X, X_fit, coef))[:, None]


def kernel_score_block(block: Block, made: Kernel, X_fit: Any, coef: NDArray, intercept: Any) -> NDArray:
    """Scores h(x) + b of one block."""
    return np.asarray(made.apply(block.X, X_fit, coef)) + intercept


def kernel_class_block(
    block: Block, made: Kernel, X_fit: Any, coef: NDArray, intercept: Any, classes: NDArray
) -> NDArray:
    """Classes of the rows of one block."""
    return class_of(kernel_score_block(block, made, X_fit, coef, intercept), classes)
