"""What the spectrum says: sums of eigenvalues as bounds, gaps, components, distances of subspaces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh_tridiagonal

from assay.graphs.lanczos import Operator, orthonormal
from assay.graphs.laplacians import Scaled, as_weights
from assay.graphs.spectrum import minor_eigenpairs
from assay.parameters import refusal
from assay.randomness import RandomState, generator

TINY = 0.01
"""Share of the largest eigenvalue considered below which an eigenvalue counts as 0."""

FULL = 1500
"""Vertices up to which a bound on the spectrum is taken from the whole matrix."""


class TraceOptimum(NamedTuple):
    """Optimum of tr(UᵀCU) over UᵀU = I, and an orthonormal U that attains it."""

    value: float
    U: NDArray


def trace_optimum(C: Any, n_columns: int, which: str = "min") -> TraceOptimum:
    """Ky Fan: the least tr(UᵀCU) over orthonormal U is the sum of the least eigenvalues (and greatest).

    Parameters
    ----------
    C : array of shape (n, n)
        A symmetric matrix.
    n_columns : int
        Columns k of U, at most n.
    which : {"min", "max"}

    Examples
    --------
    >>> from assay.graphs import trace_optimum
    >>> trace_optimum([[3.0, 0.0], [0.0, 1.0]], 1).value
    1.0

    References
    ----------
    Sangnier Theorem 59.
    """
    C = np.asarray(C, dtype=np.float64)
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not np.allclose(C, C.T, rtol=1e-10, atol=1e-12):
        raise ValueError(f"trace_optimum needs a symmetric matrix. Got one of shape {C.shape} that is not.")
    n = len(C)
    if which not in ("min", "max"):
        raise refusal("trace_optimum", "which", "one of 'min', 'max'", which)
    if not 1 <= n_columns <= n:
        raise refusal("trace_optimum", "n_columns", f"an int from 1 to {n}", n_columns)
    ends = (0, n_columns - 1) if which == "min" else (n - n_columns, n - 1)
    values, vectors = eigh(C, subset_by_index=ends)
    return TraceOptimum(float(values.sum()), vectors)


class Eigengap(NamedTuple):
    """The minor eigenvalues of a Laplacian, the gaps between them and the number of clusters they suggest.

    Attributes
    ----------
    values : array of shape (k_max + 1,)
        Eigenvalues, increasing.
    gaps : array of shape (k_max,)
        `gaps[k − 1]` = λ_{k+1} − λ_k.
    ratios : array of shape (k_max,)
        `ratios[k − 1]` = λ_{k+1}/max(λ_k, 0.01 λ_{k_max + 1}): how large the next eigenvalue is for those
        before.
    n_clusters : int
        The k of the largest ratio.
    """

    values: NDArray
    gaps: NDArray
    ratios: NDArray
    n_clusters: int


def eigengap(W: Any, *, laplacian: str = "random_walk", k_max: int = 10) -> Eigengap:
    """Choose the number of clusters k where λ_1, …, λ_k are tiny and λ_{k+1} is relatively large.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric weights.
    laplacian : {"random_walk", "symmetric", "unnormalized"}
    k_max : int
        Largest number of clusters to consider, below n.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import eigengap
    >>> eigengap(np.kron(np.eye(3), np.ones((4, 4))) + 0.01, k_max=6).n_clusters
    3

    References
    ----------
    Sangnier §2.2.7.
    """
    W = as_weights(W, "eigengap")
    if not 1 <= k_max <= W.shape[0] - 1:
        raise refusal("eigengap", "k_max", f"an int from 1 to {W.shape[0] - 1}", k_max)
    values = minor_eigenpairs(W, k_max + 1, laplacian=laplacian, tol=1e-6).values
    ratios = values[1:] / np.maximum(values[:-1], max(TINY * values[-1], 1e-300))
    return Eigengap(values, np.diff(values), ratios, int(np.argmax(ratios)) + 1)


def n_components_from_spectrum(values: Any, *, tol: float = 1e-9) -> int:
    """Multiplicity of the eigenvalue 0 among eigenvalues of a Laplacian: the number of components.

    Parameters
    ----------
    values : array
        Eigenvalues; enough of them to hold all zeros.
    tol : float
        What counts as 0, relative to the largest eigenvalue given (or to 1, if that is less).

    Examples
    --------
    >>> from assay.graphs import n_components_from_spectrum
    >>> n_components_from_spectrum([0.0, 1e-17, 0.4, 1.1])
    2

    References
    ----------
    Sangnier Proposition 62.
    """
    values = np.asarray(values, dtype=np.float64)
    return int(np.count_nonzero(values <= tol * max(1.0, float(values.max(initial=0.0)))))


def subspace_distance(U: NDArray, V: NDArray) -> float:
    """½‖P_U − P_V‖_F² of the projectors on the spans of orthonormal columns: k − ‖UᵀV‖_F² for equal k.

    From 0 (the same span) to k (orthogonal ones). √(2 ·) of it is the Frobenius distance of the projectors.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import subspace_distance
    >>> subspace_distance(np.eye(3)[:, :2], np.eye(3)[:, 1:])
    1.0

    References
    ----------
    Sangnier, examinations of 2021 and 2023.
    """
    # ‖U − VVᵀU‖² does not cancel when the spans nearly agree, as k − ‖UᵀV‖² does.
    inner = V.T @ U
    rest, other = U - V @ inner, V - U @ inner.T
    return 0.5 * float(np.vdot(rest, rest) + np.vdot(other, other))


class Least(NamedTuple):
    """A lower bound on the eigenvalues of M/scale on a complement, and the probability that it is none."""

    value: float
    failure: float


def smallest_on_complement(
    matrix: Scaled,
    vectors: NDArray,
    *,
    random_state: RandomState = 0,
    n_steps: int = 400,
    failure: float = 1e-6,
) -> Least:
    """Bound the least eigenvalue of a Laplacian on the complement of vectors from below.

    Up to 1500 vertices by decomposition. Beyond, by Lanczos from a random start on I + A, positive
    semi-definite on the complement: after m steps its largest Ritz value ξ is at least (1 − ε) of the largest
    eigenvalue but with probability 1.648 √n e^{−√ε (2m − 1)}, whatever the spectrum.

    References
    ----------
    Kuczyński & Woźniakowski (1992), Theorem 4.2.
    """
    basis, _ = np.linalg.qr(vectors)
    n, n_found = basis.shape
    if n_found == n:
        return Least(np.inf, 0.0)
    if n <= FULL:
        rest = np.eye(n) - basis @ basis.T
        image = rest @ matrix.toarray() @ rest + 3.0 * (basis @ basis.T)
        return Least(float(eigh(image, eigvals_only=True, subset_by_index=(0, 0))[0]) - 1e-12, 0.0)
    locked = np.ascontiguousarray(basis.T)

    def shifted(vector: NDArray) -> NDArray:
        image = vector + matrix.adjacency(vector)
        return image - (locked @ image) @ locked

    largest = _largest_ritz_value(shifted, generator(random_state).standard_normal((n,)), locked, n_steps)
    epsilon = (np.log(1.648 * np.sqrt(n) / failure) / (2 * n_steps - 1)) ** 2
    return Least(2.0 - largest / (1.0 - epsilon), failure)


def _largest_ritz_value(apply: Operator, start: NDArray, locked: NDArray, n_steps: int) -> float:
    """Largest Ritz value of Lanczos' three-term recurrence.

    Without reorthogonalisation, whose loss brings copies of converged Ritz values but none beyond the
    spectrum.
    """
    current = orthonormal(start, locked)
    before, off = np.zeros_like(current), 0.0
    diagonal, beside = [], []
    for _ in range(n_steps):
        image = apply(current) - off * before
        diagonal.append(float(current @ image))
        image -= diagonal[-1] * current
        off = float(np.linalg.norm(image))
        if off < 1e-12:
            break
        beside.append(off)
        before, current = current, image / off
    values = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return float(values.max())
