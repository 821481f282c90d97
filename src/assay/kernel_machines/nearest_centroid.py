"""The nearest centroid in a reproducing kernel Hilbert space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_least, at_most
from assay.kernel_machines.parameters import KERNEL_DOMAINS
from assay.kernel_machines.scale import kernel_of_rows
from assay.kernels import Kernel, asymmetry
from assay.models.capabilities import PairwiseModel
from assay.models.classes import Classifier, class_of
from assay.parameters import Domain
from assay.rows import Block, MemoryRows

SOURCE = "Sangnier exercise 1.10"
INSTEAD = "fit a sample of them, or NearestCentroid on Nyström or random features"

NEVER = 1e30
"""Squared norm of the centroid of a class without rows: nothing is nearest to it."""


class Centroids(NamedTuple):
    """Class means in the RKHS, m_k = Σ_i c_ik φ(x_i).

    Attributes
    ----------
    coef : array of shape (n_rows, n_classes)
        c, the weight of each row in the mean of its class.
    norms : array of shape (n_classes,)
        ‖m_k‖².
    dispersion : array of shape (n_classes,)
        Mean of ‖φ(x_i) − m_k‖² over the class.
    """

    coef: NDArray
    norms: NDArray
    dispersion: NDArray


def class_centroids(
    kernel: Kernel, X: Any, codes: NDArray, weight: NDArray, n_classes: int, *, precomputed: bool
) -> Centroids:
    """The means of classes, from the pairs of rows inside each class, a tile of them at a time."""
    coef = np.zeros((len(codes), n_classes))
    norms, dispersion = np.full(n_classes, NEVER), np.zeros(n_classes)
    diagonal = kernel.diagonal(X).astype(np.float64)
    for k in range(n_classes):
        own = np.flatnonzero((codes == k) & (weight > 0))
        if not len(own):
            continue
        shares = weight[own] / weight[own].sum()
        coef[own, k] = shares
        rows = X[own][:, own] if precomputed else X[own]
        inner = kernel.apply(rows, rows, shares).astype(np.float64)
        norms[k] = shares @ inner
        dispersion[k] = shares @ diagonal[own] - norms[k]
    return Centroids(coef, norms, dispersion)


class KernelNearestCentroid(Classifier, PairwiseModel):
    """Each row is given to the class whose mean in the RKHS is nearest.

    Minimises over one function m_k per class Σ_i s_i ‖φ(x_i) − m_{y_i}‖², whose solution is the class mean
    m_k = (1/n_k) Σ_{i in k} φ(x_i). The rule needs the kernel alone:

        ‖φ(x) − m_k‖² = k(x, x) − (2/n_k) Σ_{i in k} k(x, x_i) + (1/n_k²) Σ_{i, l in k} k(x_i, x_l).

    With the linear kernel it is `NearestCentroid`. The fit compares the pairs of rows inside each class, a
    tile at a time; predictions are made block by block and read all rows of the fit.

    Assumes: a positive semi-definite kernel, and classes that differ by their means in its RKHS.

    Certificates: the mean squared distance of each class to its centroid is not negative; `certify` adds
    that distances to the centroids have that mean (Huygens) and that what the fit stored is what the rows
    give again.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "rbf" or "gaussian", "laplacian", "polynomial" or "poly", "exponential", "sigmoid",
        "precomputed"), an object of `assay.kernels`, or a function of two rows. With "precomputed", X is the
        Gram matrix at the fit and the cross matrix afterwards.
    gamma : float, "scale", "auto" or None, default=None
        Scale of the named kernels; "scale" is 1/(n_features · Var X), "auto" and None one over the number of
        features.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Rows of each class, counted by weight.
    dual_coef_ : array of shape (n_samples, n_classes)
        Weight of each row in the mean of its class.
    centroid_norms_ : array of shape (n_classes,)
        ‖m_k‖².
    dispersion_ : array of shape (n_classes,)
        Mean of ‖φ(x) − m_k‖² over the class.
    X_fit_ : array or CSR matrix
        The training rows (the Gram matrix with "precomputed").
    kernel_ : Kernel
        The kernel with every parameter filled in.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernel_machines import KernelNearestCentroid
    >>> angle = np.linspace(0, 6.28, 60)
    >>> y = np.arange(60) % 2
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1.0 + y[:, None])
    >>> model = KernelNearestCentroid(gamma=1.0).fit(X, y)
    >>> model.certificates_.holds, float(model.score(X, y))
    (True, 1.0)

    References
    ----------
    Sangnier §1.4.2, exercise 1.10.
    """

    _comparison: ClassVar[str] = "kernel"
    _domains: ClassVar[Mapping[str, Domain]] = {**KERNEL_DOMAINS}

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The Gram matrix when the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 means the row counts twice; a weight of 0 that it is absent.
        """
        self._require_memory(X, instead=INSTEAD)
        data, counts = self._open_classes(X, y, sample_weight)
        assert isinstance(data, MemoryRows)
        if self._is_precomputed:
            require_gram(data.X)
        self.kernel_ = kernel_of_rows(self, data)
        found = self._centroids(data)
        if not np.isfinite(found.norms).all() or not np.isfinite(found.dispersion).all():
            raise ValueError("The kernel overflows on these rows; scale the columns of X first.")
        self.X_fit_, self.class_count_ = data.X, counts
        self.dual_coef_ = found.coef.astype(data.dtype)
        self.centroid_norms_, self.dispersion_ = found.norms, found.dispersion
        self.certificates_ = Certificates([self._dispersed()])
        return self

    def _centroids(self, data: MemoryRows) -> Centroids:
        assert data.y is not None
        weight = np.ones(data.shape[0]) if data.weight is None else data.weight.astype(np.float64)
        state = self.kernel_, data.X, data.y.astype(np.intp), weight, len(self.classes_)
        with np.errstate(over="ignore", invalid="ignore"):
            return class_centroids(*state, precomputed=self._is_precomputed)

    def decision_function(self, X: Any) -> Any:
        """Scores 2⟨φ(x), m_k⟩ − ‖m_k‖², largest for the nearest centroid.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            One column per class; of two classes how much nearer, in squares, the second centroid is.
        """
        data = self._open_new_rows(X)
        width = None if len(self.classes_) == 2 else len(self.classes_)
        return data.map(score_block, *self._fitted(), dtype=self.dual_coef_.dtype, width=width)

    def predict(self, X: Any) -> Any:
        """Class of each row.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection
            New rows; the cross matrix with the training rows when the kernel is precomputed.
        """
        data = self._open_new_rows(X)
        return data.map(class_block, *self._fitted(), self.classes_, dtype=self.classes_.dtype)

    def distances(self, X: Any) -> Any:
        """Distances ‖φ(x) − m_k‖ of each row to each centroid, not with a precomputed kernel.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
        """
        if self._is_precomputed:
            raise ValueError(
                "Distances to the centroids need k(x, x), which the cross matrix of a precomputed kernel "
                "does not hold: decision_function orders the classes without it."
            )
        data = self._open_new_rows(X)
        return data.map(
            distance_block, *self._fitted(), dtype=self.dual_coef_.dtype, width=len(self.classes_)
        )

    def _fitted(self) -> tuple[Kernel, Any, NDArray, NDArray]:
        return self.kernel_, self.X_fit_, self.dual_coef_, self.centroid_norms_

    def _dispersed(self) -> Certificate:
        size = np.abs(self.dispersion_ + self.centroid_norms_).max() if len(self.dispersion_) else 0.0
        rough = 100 * float(np.finfo(self.dual_coef_.dtype).eps) * len(self.dual_coef_)
        return at_least(
            "The mean squared distance of every class to its centroid is not negative.",
            "smallest of them over the largest mean of k(x, x)",
            self.dispersion_.min() / (size or 1.0),
            -rough,
            SOURCE,
            assumptions=("the kernel is positive semi-definite",),
        )

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh on the data of the fit.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit, in memory.
        """
        self._require_memory(X, instead="certify on a sample of them")
        data: Any = self._open_new_classes(X, y, sample_weight)
        fresh = self._centroids(data)
        weight = np.ones(data.shape[0]) if data.weight is None else data.weight.astype(np.float64)
        counts = np.bincount(data.y.astype(np.intp), weight, minlength=len(self.classes_))
        coef = self.dual_coef_.astype(np.float64)
        inner = self.kernel_.apply(data.X, self.X_fit_, self.dual_coef_).astype(np.float64)
        diagonal = self.kernel_.diagonal(data.X).astype(np.float64)
        shares = fresh.coef
        mean = shares.T @ diagonal - 2 * np.einsum("ik,ik->k", shares, inner)
        there = counts > 0
        apart = np.abs(mean + self.centroid_norms_ - self.dispersion_)[there]
        scale = np.abs(diagonal).max(initial=0.0) or 1.0
        rough = 1e-4 if self.dual_coef_.dtype == np.float32 else 1e-9
        unit = fresh.coef.max(axis=0) + (~there)
        pairs = {
            "X_fit_": (_dense(self.X_fit_), _dense(data.X)),
            "dual_coef_": (coef / unit, fresh.coef / unit),
            "centroid_norms_": (self.centroid_norms_, fresh.norms),
            "dispersion_": (1 + self.dispersion_ / scale, 1 + fresh.dispersion / scale),
            "class_count_": (self.class_count_, counts),
        }
        return Certificates(
            [
                self._dispersed(),
                at_most(
                    "Squared distances of the rows to the centroid of their class have the stored mean.",
                    "largest difference over the largest k(x, x)",
                    apart.max(initial=0.0) / scale,
                    rough,
                    SOURCE,
                ),
                agreement("Centroids, norms and counts are those of the rows.", pairs, SOURCE, rtol=rough),
            ]
        )


def require_gram(X: Any) -> None:
    """Raise one sentence unless a precomputed kernel is a square symmetric matrix."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "KernelNearestCentroid with a precomputed kernel needs the square Gram matrix at the fit. Got "
            f"shape {X.shape} instead."
        )
    matrix = _dense(X)
    apart, size = asymmetry(matrix), float(np.abs(matrix).max(initial=0.0))
    if apart > float(np.sqrt(np.finfo(matrix.dtype).eps)) * size:
        raise ValueError(
            f"The precomputed kernel is not symmetric: k(x, z) and k(z, x) differ by up to {apart:.3g}; "
            "symmetrise it ((K + Kᵀ)/2) or check how it was computed."
        )


def _dense(X: Any) -> NDArray:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


def centroid_scores(block: Block, kernel: Kernel, X_fit: Any, coef: NDArray, norms: NDArray) -> NDArray:
    """2⟨φ(x), m_k⟩ − ‖m_k‖² of the rows of one block, one column per class."""
    return 2 * kernel.apply(block.X, X_fit, coef) - norms.astype(coef.dtype)


def score_block(block: Block, kernel: Kernel, X_fit: Any, coef: NDArray, norms: NDArray) -> NDArray:
    """The scores; of two classes the difference."""
    scores = centroid_scores(block, kernel, X_fit, coef, norms)
    return scores[:, 1] - scores[:, 0] if len(norms) == 2 else scores


def class_block(
    block: Block, kernel: Kernel, X_fit: Any, coef: NDArray, norms: NDArray, classes: NDArray
) -> NDArray:
    """Classes of the rows of one block."""
    return class_of(score_block(block, kernel, X_fit, coef, norms), classes)


def distance_block(block: Block, kernel: Kernel, X_fit: Any, coef: NDArray, norms: NDArray) -> NDArray:
    """Distances of the rows of one block to the centroids."""
    scores = centroid_scores(block, kernel, X_fit, coef, norms)
    return np.sqrt(np.maximum(kernel.diagonal(block.X)[:, None] - scores, 0.0))
