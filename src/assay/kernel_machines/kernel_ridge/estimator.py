"""Kernel ridge regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin

from assay import parameters
from assay.certificates import Certificates
from assay.kernel_machines.kernel_ridge.certificates import (
    FittedKernelRidge,
    kernel_ridge_certificates,
    rkhs_norms,
    spectral_certificates,
    stored_certificate,
)
from assay.kernel_machines.kernel_ridge.gram_system import (
    GramSystem,
    KeptRows,
    as_columns,
    require_psd,
    require_target_range,
    training_gram,
)
from assay.kernel_machines.kernel_ridge.path import HasKernelPath
from assay.kernel_machines.kernel_ridge.solver import KernelRidgeSolution, solve_kernel_ridge, spectrum
from assay.kernels import KERNEL_NAMES, Kernel, kernel
from assay.models.capabilities import Regressor
from assay.parameters import Domain
from assay.rows import Block, alone
from assay.suitability import Suitability

_KERNEL = Domain(
    f"a Kernel, a callable or one of {', '.join(map(repr, KERNEL_NAMES))}",
    lambda value: (
        isinstance(value, Kernel) or callable(value) or (isinstance(value, str) and value in KERNEL_NAMES)
    ),
    # Those that suit any table: "exponential" overflows on large values, "precomputed" wants a Gram matrix.
    ("linear", "rbf", "laplacian", "polynomial"),
)

SMALLEST_WEIGHT = 1e-150

_NON_NEGATIVE = parameters.real(at_least=0.0)

INSTEAD = "fit a sample of them, or a linear model on Nyström or random features"

SMALL = 512
"""Rows up to which one BLAS thread is as fast as two."""


class KernelRidge(MultiOutputMixin, HasKernelPath, Regressor):
    """Least squares in a reproducing kernel Hilbert space with a squared-norm penalty.

    Minimises over h in the RKHS of the kernel, and over b when `fit_intercept`,

        Σ_i s_i (y_i − h(x_i) − b)² + α ‖h‖²,        b not penalised,

    whose solution is h = Σ_i β_i k(x_i, ·) with (K + αS⁻¹)β + b1 = y and 1ᵀβ = 0 (b = 0 without intercept),
    by one Cholesky factorisation in the memory of the Gram matrix K. Where the system is too close to
    singular for it, the minimum-norm solution is taken from the eigendecomposition (`solver_` tells).

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block. A
    kernel that no theorem makes positive semi-definite (precomputed, callable, sigmoid) is proved to be so
    on the training rows by a second factorisation, or refused.

    Assumes: a positive semi-definite kernel. The minimiser needs no more; that its error on new rows is near
    the one measured needs independent rows of one law.

    Certificates: stationarity residual, duality gap from a feasible dual point, sum of the dual coefficients;
    `certify` adds the equality of the dual and representer routes, the smallest eigenvalue, the degrees of
    freedom and the condition number.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        The penalty α on the *sum* of squares, as in scikit-learn. It is λ in Wei, Peyré, and Douc & Le Corff
        (who write the mean loss with λ/n), λn/2 for Sangnier's (λ/2)‖h‖² + (1/n) Σ ξ_i², and 1/C for
        ½‖h‖² + (C/2) Σ ξ_i².
    penalty_strength : float, optional
        The penalty λ on the *mean* of squares, λ‖h‖² + (1/n) Σ ξ_i²; takes the place of `alpha`, with α = nλ.
    kernel : str, Kernel or callable, default="linear"
        A name of `assay.kernels.KERNEL_NAMES` ("linear", "rbf" or "gaussian", "laplacian", "polynomial" or
        "poly", "exponential", "sigmoid", "matern", "precomputed", …), an object of `assay.kernels` such as
        `Linear() + 0.5 * Gaussian()`, or a function of two rows. "laplacian" takes the Euclidean norm.
        With "precomputed", X is the Gram matrix at the fit and the cross matrix afterwards.
    gamma : float, optional
        Scale of the named kernels; one over the number of features by default.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    fit_intercept : bool, default=False
        Whether to add an intercept that is not penalised.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        β; zero for rows of weight zero.
    intercept_ : float or array of shape (n_targets,)
    X_fit_ : array or CSR matrix
        The training rows (the Gram matrix with "precomputed").
    alpha_, penalty_strength_ : float or array of shape (n_targets,)
        The penalty on the sum and on the mean of squares.
    kernel_ : Kernel
        The kernel with every parameter filled in.
    fitted_values_, residuals_ : arrays of the shape of y
    rkhs_norm_ : float or array of shape (n_targets,)
        ‖h‖ = √(βᵀKβ).
    solver_ : "cholesky" or "spectrum"
        How the system was solved.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(0.1, kernel="rbf", gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> model.certificates_.holds
    True
    >>> round(float(model.effective_df_), 1), round(model.predict([[1.5]]).item(), 2)
    (9.2, 0.99)

    References
    ----------
    Wei §6.2.4; Peyré; Douc & Le Corff §8.13; Sangnier §1.5.
    """

    _comparison: ClassVar[str] = "kernel"
    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=5,
        max_rows=5000,
        select={"max_rows": 700},
        settings={"kernel": "rbf", "fit_intercept": True},
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "alpha": _NON_NEGATIVE
        | parameters.array(
            "an array of them, one per target", lambda values: values.size > 0 and bool((values >= 0).all())
        ),
        "penalty_strength": parameters.nothing | parameters.real(at_least=0.0, squared=True),
        "kernel": _KERNEL,
        "gamma": parameters.nothing | parameters.real(above=0.0),
        "degree": parameters.integer(at_least=1),
        "coef0": parameters.real(),
        "kernel_params": parameters.nothing | Domain("a dict", lambda value: isinstance(value, dict)),
        "fit_intercept": parameters.boolean,
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        penalty_strength: float | None = None,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = False,
    ) -> None:
        self.alpha = alpha
        self.penalty_strength = penalty_strength
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit the model.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows in memory; the Gram matrix when the kernel is precomputed.
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.

        Returns
        -------
        self : KernelRidge
        """
        X, y, weight = self._open_training(X, y, sample_weight)
        targets = as_columns(y)
        kept = KeptRows(X, weight, precomputed=self._is_precomputed)
        alphas = self._alphas(targets.shape[1], kept.total_weight)
        # A small fit is over before BLAS threads have woken up.
        solve = self._solve if len(targets) > SMALL else partial(alone, self._solve)
        solution, self.certificates_ = solve(kept, kept.take(targets), alphas)
        self.X_fit_, self.solver_ = X, solution.solver
        self._weight, self._smoothing = weight, None
        self._store(y, kept, alphas, solution)
        return self

    def _solve(
        self, kept: KeptRows, targets: NDArray, alphas: NDArray
    ) -> tuple[KernelRidgeSolution, Certificates]:
        """The solution, and its certificates from the triangle of the Gram matrix that is still there."""
        gram, intercept = training_gram(self.kernel_, kept.X), bool(self.fit_intercept)
        require_target_range(gram, targets)
        system = GramSystem(gram)
        if not self.kernel_.positive_definite:
            require_psd(system, self.kernel_)
        solution = solve_kernel_ridge(system, targets, alphas, kept.weight, intercept)
        coef, level, product, solver = solution
        fitted = FittedKernelRidge(targets, coef, level, alphas, kept.weight, intercept, solver)
        return solution, Certificates(
            kernel_ridge_certificates(fitted, system.product, product, system.diagonal)
        )

    def _store(self, y: NDArray, kept: KeptRows, alphas: NDArray, solution: KernelRidgeSolution) -> None:
        """Set the fitted attributes in the shape of the target, rows of weight zero included."""
        coef = kept.put_back(solution.dual_coef)
        fitted_values = self._fitted_values(kept, coef, solution.product, solution.intercept)
        norms = rkhs_norms(solution.dual_coef, solution.product)
        single = y.ndim == 1
        shared = single or np.ndim(self.alpha) == 0 or self.penalty_strength is not None
        self.alpha_ = float(alphas[0]) if shared else alphas
        self.penalty_strength_ = self.alpha_ / kept.total_weight
        self.dual_coef_, self.fitted_values_ = coef.reshape(y.shape), fitted_values.reshape(y.shape)
        self.residuals_ = y - self.fitted_values_
        self.intercept_ = solution.intercept[0] if single else solution.intercept
        self.rkhs_norm_ = norms[0] if single else norms

    def _fitted_values(self, kept: KeptRows, coef: NDArray, product: NDArray, intercept: NDArray) -> NDArray:
        """Kβ + b in the places of the rows, those of weight zero predicted."""
        fitted_values = kept.put_back(product + intercept)
        if kept.absent is not None:
            there = self.kernel_.apply(kept.X_fit[kept.absent], kept.X_fit, coef)
            fitted_values[kept.absent] = there + intercept
        return fitted_values

    def _open_training(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray, NDArray | None]:
        data = self._open_pairs(X, sample_weight, instead=INSTEAD, y=y, with_target=True)
        scales: Any = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        chosen = kernel(self.kernel, **scales, function_parameters=self.kernel_params)
        self.kernel_ = chosen.for_features(data.shape[1])
        assert data.y is not None
        if data.weight is not None and 0 < data.weight[data.weight > 0].min(initial=1.0) < SMALLEST_WEIGHT:
            raise ValueError(
                f"KernelRidge divides by weights: sample_weight must be 0 or at least {SMALLEST_WEIGHT:g}."
            )
        return data.X, data.y, data.weight

    def _alphas(self, n_targets: int, n_rows: float) -> NDArray:
        """α of every target."""
        if self.penalty_strength is not None:
            return np.full(n_targets, self.penalty_strength * n_rows, dtype=np.float64)
        given = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if given.shape not in ((1,), (n_targets,)):
            raise self._refuse("alpha", f"a number or an array of one number per target ({n_targets})")
        return np.broadcast_to(given, (n_targets,)).copy()

    def predict(self, X: Any) -> Any:
        """Predict the target of new rows, block by block.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
            A lazy Dask array for a Dask collection.
        """
        data = self._open_new_rows(X)
        width = None if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        fitted = self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_
        return data.map(predict_block, *fitted, dtype=self.dual_coef_.dtype, width=width)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
            Computed from the fitted attributes and the data alone; costs an eigendecomposition.
        """
        data = self._open_new_pairs(X, sample_weight, y=y, with_target=True)
        if data.y is None or data.y.shape != self.dual_coef_.shape:
            raise ValueError(
                f"certify needs the rows and the target of the fit: y of shape {self.dual_coef_.shape}."
            )
        kept = KeptRows(data.X, data.weight, precomputed=self._is_precomputed)
        coef = kept.take(as_columns(self.dual_coef_))
        gram = training_gram(self.kernel_, kept.X)
        fitted = FittedKernelRidge(
            kept.take(as_columns(data.y)),
            coef,
            np.atleast_1d(self.intercept_),
            np.broadcast_to(np.asarray(self.alpha_, dtype=np.float64), coef.shape[1:]),
            kept.weight,
            bool(self.fit_intercept),
            self.solver_,
        )
        product, sizes = gram @ coef, np.abs(gram) @ np.abs(coef.astype(np.float64))
        cheap = kernel_ridge_certificates(fitted, gram.__matmul__, product, gram.diagonal())
        values = np.linalg.eigvalsh(gram)
        decomposition = spectrum(gram, kept.weight, bool(self.fit_intercept))
        extremes = float(values[0]), float(values[-1])
        alphas = self._alphas(coef.shape[1], kept.total_weight)
        again = self._fitted_values(kept, as_columns(self.dual_coef_), product, fitted.intercept)
        penalties = {
            "alpha_": (np.broadcast_to(self.alpha_, alphas.shape), alphas),
            "penalty_strength_": (self.penalty_strength_, self.alpha_ / kept.total_weight),
            "residuals_": (self.residuals_, data.y - self.fitted_values_),
        }
        stored = as_columns(self.fitted_values_), np.atleast_1d(self.rkhs_norm_)
        return Certificates(
            [
                *cheap,
                *spectral_certificates(fitted, product, decomposition, extremes),
                stored_certificate(fitted, stored, (again, product), sizes, penalties),
            ]
        )


def predict_block(block: Block, kernel: Kernel, X_fit: Any, dual_coef: NDArray, intercept: Any) -> NDArray:
    """Predictions of the rows of a block."""
    return kernel.apply(block.X, X_fit, dual_coef) + intercept
