"""Whether a matrix or a kernel is positive semi-definite, with the points and the vector that refute it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels.kernel import POSITIVE, Kernel
from assay.kernels.tiles import as_matrix, asymmetry, is_sparse
from assay.parameters import integer, require
from assay.randomness import RandomState, generator


class Definiteness(NamedTuple):
    """Result of `is_psd`; true in a condition when the matrix is symmetric positive semi-definite."""

    psd: bool
    min_eigenvalue: float
    max_eigenvalue: float
    asymmetry: float
    tolerance: float
    direction: NDArray
    """A unit vector v with vᵀKv = min_eigenvalue."""

    def __bool__(self) -> bool:
        return self.psd


def is_psd(K: Any, *, tolerance: float | None = None) -> Definiteness:
    """Whether a square matrix is symmetric positive semi-definite up to rounding.

    Parameters
    ----------
    K : array of shape (n, n)
    tolerance : float, optional
        Relative to the largest eigenvalue in absolute value; ten times n times the machine precision by
        default.

    Returns
    -------
    result : Definiteness
        Its smallest eigenvalue, a direction that reaches it, and the largest |K_ij − K_ji|.

    Examples
    --------
    >>> from assay.kernels import is_psd
    >>> verdict = is_psd([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(verdict), round(verdict.min_eigenvalue, 12)
    (False, -1.0)
    """
    K = np.asarray(K)
    K = K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(f"is_psd needs a square matrix. Got shape {K.shape} instead.")
    if not np.all(np.isfinite(K)):
        words = "is_psd needs finite numbers. The matrix holds NaN or infinity"
        raise ValueError(f"{words}: if a kernel overflows on the rows, scale them.")
    relative = 10.0 * K.shape[0] * float(np.finfo(K.dtype).eps) if tolerance is None else tolerance
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    allowed = relative * float(np.abs(values).max())
    skew = asymmetry(K)
    definite = bool(values[0] >= -allowed and skew <= allowed)
    return Definiteness(definite, float(values[0]), float(values[-1]), skew, allowed, vectors[:, 0])


class KernelCheck(NamedTuple):
    """Result of `check_psd` and `check_kernel`; true in a condition when nothing refutes the kernel.

    Attributes
    ----------
    psd : bool
        Whether the Gram matrix of the rows is symmetric and positive semi-definite up to rounding.
    min_eigenvalue, max_eigenvalue : float
    asymmetry : float
        The largest |k(x, z) − k(z, x)|.
    tolerance : float
        What is allowed for rounding.
    direction : array of shape (n_samples,)
        A unit vector v with vᵀKv = min_eigenvalue.
    definite : bool
        Whether the Gram matrix of the *distinct* rows is positive definite up to rounding.
    points : array of shape (n_points, n_features) or None
        Rows that refute: two rows in the wrong order for an asymmetric function, else as few of the rows as
        were found enough. None where nothing is refuted.
    vector : array of shape (n_points,) or None
        c with Σ c_i c_j k(x_i, x_j) < 0 on `points`; None for a function that is not symmetric.
    value : float
        Σ c_i c_j k(x_i, x_j), or k(x, z) − k(z, x) of the two points.
    """

    psd: bool
    min_eigenvalue: float
    max_eigenvalue: float
    asymmetry: float
    tolerance: float
    direction: NDArray
    definite: bool
    points: Any
    vector: NDArray | None
    value: float

    def __bool__(self) -> bool:
        return self.psd


def check_psd(kernel: Kernel, X: Any, *, tolerance: float | None = None) -> KernelCheck:
    """Whether the Gram matrix of a kernel on these rows is symmetric positive semi-definite.

    A function is a kernel if and only if it is symmetric and Σ c_i c_j k(x_i, x_j) ≥ 0 for all points and
    all c: one set of points can refute it, none can prove it.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n_samples, n_features)
    tolerance : float, optional
        See `is_psd`.

    Returns
    -------
    result : KernelCheck
        With the points and the vector that refute, where something does. `check_kernel` is the same function.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Custom, Gaussian, check_psd
    >>> bool(check_psd(Gaussian(), np.arange(10.0)[:, None]))
    True
    >>> found = check_psd(Custom(lambda x, z: abs(x - z).sum()), [[0.0], [1.0], [2.0]])
    >>> bool(found), found.points.ravel(), round(found.value, 12)
    (False, array([0., 2.]), -2.0)

    References
    ----------
    Sangnier §1.4.2, Theorem 26; Rudi & Şimşekli §4.3; Wei §6.1.
    """
    # All pairs in both orders: a Gram matrix is symmetric by construction, the function may not be.
    X = as_matrix(X)
    K = kernel.cross(X, X)
    verdict = is_psd(K, tolerance=tolerance)
    points, vector, value = None, None, 0.0
    if verdict.asymmetry > verdict.tolerance:
        i, j = np.unravel_index(int(np.argmax(np.abs(K - K.T))), K.shape)
        points, value = X[[i, j]], float(K[i, j] - K[j, i])
    elif not verdict:
        few, vector, value = _few_that_refute(K, verdict)
        points = X[few]
    definite = bool(verdict) and _is_definite(kernel, X, K, tolerance)
    return KernelCheck(*verdict, definite, points, vector, value)


check_kernel = check_psd


def _few_that_refute(K: NDArray, verdict: Definiteness) -> tuple[NDArray, NDArray, float]:
    """The rows with the largest weights in the worst direction, as few as still have cᵀKc < −tolerance."""
    heaviest, size = np.argsort(-np.abs(verdict.direction), kind="stable"), 1
    while True:
        few = np.sort(heaviest[:size])
        values, vectors = np.linalg.eigh((K[np.ix_(few, few)] + K[np.ix_(few, few)].T) / 2)
        if values[0] < -verdict.tolerance or size >= len(K):
            vector = vectors[:, 0]
            return few, vector, float(vector @ K[np.ix_(few, few)] @ vector)
        size += 1 if size < 4 else size // 2


def _is_definite(kernel: Kernel, X: Any, K: NDArray, tolerance: float | None) -> bool:
    table = X.toarray() if is_sparse(X) else X
    _, first = np.unique(table, axis=0, return_index=True)
    distinct = is_psd(K[np.ix_(first, first)], tolerance=tolerance)
    return distinct.min_eigenvalue > distinct.tolerance


def search_refutation(
    kernel: Kernel,
    n_features: int,
    *,
    n_points: int = 12,
    n_sets: int = 50,
    scale: float = 1.0,
    random_state: RandomState = None,
) -> KernelCheck | None:
    """Look for points that show that a function is no kernel, among random sets of them.

    Parameters
    ----------
    kernel : Kernel
    n_features : int
        Columns of the points.
    n_points, n_sets : int
        Points in a set, and sets tried at most; they are normal, with spreads from a tenth of `scale` to ten
        times as much in turn.
    scale : float above 0, default=1.0
    random_state : None, int, Generator, SeedSequence or RandomState

    Returns
    -------
    refutation : KernelCheck or None
        The first set that refutes, with its vector; None when none does, which is no proof.

    Examples
    --------
    >>> from assay.kernels import Gaussian, Sigmoid, search_refutation
    >>> search_refutation(Gaussian(1.0), 2, random_state=0) is None
    True
    >>> search_refutation(Sigmoid(1.0), 2, random_state=0).value < 0
    True

    References
    ----------
    Rudi & Şimşekli §4.3, Property 4.1.
    """
    sizes = {"n_features": n_features, "n_points": n_points, "n_sets": n_sets}
    require("search_refutation", integer(at_least=1), **sizes)
    require("search_refutation", POSITIVE, scale=scale)
    rng = generator(random_state)
    for spread in np.resize(np.geomspace(0.1, 10.0, 5), n_sets):
        found = check_psd(kernel, scale * spread * rng.standard_normal((n_points, n_features)))
        if not found:
            return found
    return None
