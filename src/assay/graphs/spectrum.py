"""The minor eigenpairs of the Laplacians of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_array, eye_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from assay.graphs.lanczos import Lanczos, Stop, lanczos
from assay.graphs.laplacians import LAPLACIANS, Scaled, Weights, as_weights, is_sparse
from assay.graphs.measures import connected_components
from assay.parameters import refusal
from assay.randomness import RandomState, generator
from assay.rows import alone

THIN = 3.5
"""Mean reach of the edges, over √n, up to which inverse iteration is tried (graphs of k-NN measured)."""

SHIFT = 1e-4
"""What is added to the eigenvalues of M, between 0 and 2, before it is inverted."""

DENSE = 400
"""Vertices up to which all eigenpairs of the full matrix are cheaper than an iteration."""


class GraphSpectrum(NamedTuple):
    """Minor eigenpairs of a symmetric Laplacian (L, or L_s for both normalised kinds).

    Attributes
    ----------
    values : array of shape (k,)
        Eigenvalues, increasing; exactly 0 for the components.
    vectors : array of shape (n, k)
        Orthonormal eigenvectors in columns. Those of eigenvalue 0 are √w on one component each.
    residuals : array of shape (k,)
        ‖M u − λ u‖ measured at the end.
    next_value : float
        Estimate of the next eigenvalue, from above; infinite when there is none.
    n_components : int
        Connected components of the graph: the multiplicity of the eigenvalue 0.
    component : array of shape (n,)
        Component of each vertex.
    n_iter : int
        Cycles of the iteration, each one filling of its basis; 1 for a dense decomposition.
    converged : bool
        Whether the residuals met the tolerance.
    method : str
        "dense", "lanczos", "inverse" or "components" (nothing but null vectors was asked for).
    """

    values: NDArray
    vectors: NDArray
    residuals: NDArray
    next_value: float
    n_components: int
    component: NDArray
    n_iter: int
    converged: bool
    method: str


def minor_eigenpairs(
    W: Any,
    n_pairs: int,
    *,
    laplacian: str = "symmetric",
    tol: float = 1e-8,
    max_iter: int = 300,
    random_state: RandomState = 0,
    method: str = "auto",
    watch: Callable[[], bool] = lambda: False,
) -> GraphSpectrum:
    """The eigenpairs of least eigenvalue of a Laplacian.

    The null vectors are known, one for each component: only the others are looked for, on their complement.
    Small graphs are decomposed whole; for others, Lanczos' iteration runs on the normalised adjacency, whose
    major eigenvectors are the minor ones of the Laplacian, or on the inverse of the Laplacian where its
    factors are thin. A last run on the complement of those found looks for an eigenvalue that was passed
    over, as happens with multiple ones.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric weights.
    n_pairs : int
        Number of pairs k, at most n.
    laplacian : {"symmetric", "random_walk", "unnormalized"}
        L_s for the first two (u of L_s is D^{1/2} times that of L_w), or L.
    tol : float
        Largest norm of a residual; relative to the greatest degree for L.
    max_iter : int
        Largest number of cycles of the iteration.
    random_state
        Where the start of the iteration comes from.
    watch : callable
        Called after every cycle; true ends the iteration.
    method : {"auto", "dense", "lanczos", "inverse"}
        "inverse" factorises the sparse Laplacian and iterates with solves: for graphs of points in the plane,
        whose factors have few entries, it is several times faster; in more dimensions they fill up.

    Returns
    -------
    spectrum : GraphSpectrum

    Examples
    --------
    >>> import numpy as np
    >>> from assay.graphs import minor_eigenpairs
    >>> spectrum = minor_eigenpairs(np.kron(np.eye(2), np.ones((2, 2))), 3)
    >>> spectrum.values.round(6), spectrum.n_components
    (array([0., 0., 1.]), 2)

    References
    ----------
    Sangnier §2.2.6; von Luxburg (2007).
    """
    owner = "minor_eigenpairs"
    if laplacian not in LAPLACIANS:
        raise refusal(owner, "laplacian", "one of " + ", ".join(map(repr, LAPLACIANS)), laplacian)
    W = as_weights(W, owner)
    if not 1 <= n_pairs <= W.shape[0]:
        raise refusal(owner, "n_pairs", f"an int from 1 to {W.shape[0]}", n_pairs)
    options: Any = {"tol": tol, "max_iter": max_iter, "random_state": random_state, "method": method}
    return find_minor_eigenpairs(W, n_pairs, laplacian, watch=watch, **options)


def find_minor_eigenpairs(
    W: Weights,
    n_pairs: int,
    kind: str,
    *,
    tol: float,
    max_iter: int,
    random_state: RandomState,
    method: str = "auto",
    watch: Callable[[], bool] = lambda: False,
) -> GraphSpectrum:
    """`minor_eigenpairs` of validated weights."""

    def find() -> GraphSpectrum:
        n = W.shape[0]
        n_components, component = connected_components(W)
        matrix = Scaled(W, kind)
        null = null_vectors(component, matrix.weight, min(n_pairs, n_components))
        n_rest = n_pairs - null.shape[1]
        if n_rest == 0:
            # With more components than pairs the next eigenvalue is 0 too; else it is positive and unknown.
            upcoming = 0.0 if n_components > n_pairs else np.nan
            raw = RawEigenpairs(np.empty((n, 0)), upcoming, 1, True, "components")
        elif method == "dense" or 8 * n_pairs + 80 > n or (n <= DENSE and method == "auto"):
            raw = _dense(matrix, null, n_rest)
        else:
            inverse = method == "inverse" or (method == "auto" and is_thin(W))
            inverse = inverse and matrix.is_sparse
            operator = _Inverse(matrix) if inverse else _Adjacency(matrix)
            iteration = _Iteration(operator, null, n_rest, tol, max_iter)
            raw = iteration.run(generator(random_state), watch)
        return _measured(matrix, null, raw, n_components, component, tol)

    # BLAS threads help with large full matrices only; elsewhere they cost more than they save.
    return alone(find) if is_sparse(W) or W.shape[0] <= DENSE else find()


def is_thin(W: Weights) -> bool:
    """Whether the vertices of a sparse graph can be put in a row so that edges are short, as in the plane.

    Then a factorisation has few entries more than the graph. Edges of points in the plane reach over some √n
    places in the order of Cuthill and McKee, those of more dimensions over many more.
    """
    if not is_sparse(W) or not np.diff(W.indptr).all():
        return False
    n = W.shape[0]
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(W, symmetric_mode=True)] = np.arange(n)
    first = np.minimum.reduceat(place[W.indices], W.indptr[:-1])
    return bool(np.maximum(place - first, 0).mean() <= THIN * np.sqrt(n))


def null_vectors(component: NDArray, weight: NDArray, n_vectors: int) -> NDArray:
    """√w on groups of components: one component each, or packed evenly when there are more than vectors.

    Packing takes the heaviest component first and gives it to the lightest group.
    """
    total: NDArray = np.bincount(component, weights=weight)
    group = np.arange(total.size)
    if total.size > n_vectors:
        load = np.zeros(n_vectors)
        for heavy in np.argsort(-total, kind="stable"):
            group[heavy] = int(np.argmin(load))
            load[group[heavy]] += total[heavy]
        total = load
    group = group[component]
    vectors = np.zeros((component.size, total.size))
    vectors[np.arange(component.size), group] = np.sqrt(weight / total[group])
    return vectors


class RawEigenpairs(NamedTuple):
    """Eigenvectors beyond the null space, before they are measured."""

    vectors: NDArray
    upcoming: float
    """The next eigenvalue of M/scale, estimated from above."""
    n_iter: int
    converged: bool
    method: str


def _dense(matrix: Scaled, null: NDArray, n_rest: int) -> RawEigenpairs:
    M = matrix.toarray() + 3.0 * (null @ null.T)  # the null space goes beyond the spectrum, which ends at 2
    last = min(n_rest, len(M) - null.shape[1] - 1)
    values, vectors = eigh(M, subset_by_index=(0, last), check_finite=False)
    upcoming = float(values[n_rest]) if last == n_rest else np.inf
    return RawEigenpairs(vectors[:, :n_rest], upcoming, 1, True, "dense")


class _Adjacency:
    """I − M: the minor eigenvectors of M are the major ones of the normalised adjacency."""

    method = "lanczos"
    least_basis = 40

    def __init__(self, matrix: Scaled) -> None:
        self.apply = matrix.adjacency
        self.is_sparse = matrix.is_sparse

    def value(self, ritz: float) -> float:
        """Eigenvalue of M."""
        return 1.0 - ritz

    def bound(self, values: NDArray, residuals: NDArray) -> NDArray:
        """Bound on the residuals of M."""
        return residuals


class _Inverse:
    """(M + σI)⁻¹ by a sparse factorisation: few steps, each a solve, where the factor has few entries more.

    M u − (1/θ − σ) u = −(M + σI)(A u − θ u)/θ bounds the residual of M, whose eigenvalues end at 2.
    """

    method = "inverse"
    least_basis = 16
    is_sparse = True

    def __init__(self, matrix: Scaled) -> None:
        shifted = matrix.tosparse() + SHIFT * eye_array(matrix.weight.size)
        # Positive definite: no pivoting, and an order that keeps the symmetry.
        how: Any = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0}
        self.factor = splu(csc_array(shifted), options={"SymmetricMode": True}, **how)

    def apply(self, block: NDArray) -> NDArray:
        """Solve for a block, vectors in columns."""
        return np.asarray(self.factor.solve(np.ascontiguousarray(block)))

    def value(self, ritz: float) -> float:
        """Eigenvalue of M."""
        return 1.0 / ritz - SHIFT

    def bound(self, values: NDArray, residuals: NDArray) -> NDArray:
        """Bound on the residuals of M."""
        return (2.0 + SHIFT) * residuals / values


class _Iteration:
    """Lanczos' iteration on the complement of the null space, and a last look for what it passed over."""

    def __init__(
        self, operator: _Adjacency | _Inverse, null: NDArray, n_rest: int, tol: float, max_iter: int
    ) -> None:
        self.operator, self.n_rest, self.tol = operator, n_rest, tol
        self.locked, self.left, self.n_iter = np.ascontiguousarray(null.T), max_iter, 0

    def run(self, random: np.random.Generator, watch: Callable[[], bool]) -> RawEigenpairs:
        """The wanted eigenvectors, and an estimate of the eigenvalue after them."""
        self.random, self.watch = random, watch
        main = self._search(self.n_rest, self._is_exact, self.locked)
        values, vectors = main.ritz_values[: self.n_rest], main.vectors
        upcoming, converged = np.nan, main.converged
        while converged:
            known = np.concatenate([self.locked, vectors])
            worst = float(values.min())
            probe = self._search(1, self._is_decided(worst), known)
            if probe.ritz_values[0] <= worst or not probe.converged:
                upcoming = self.operator.value(float(probe.ritz_values[0]))
                converged = probe.converged
                break
            values = np.append(values, probe.ritz_values[0])
            kept = np.argsort(-values, kind="stable")[: self.n_rest]
            values, vectors = values[kept], np.concatenate([vectors, probe.vectors])[kept]
        return RawEigenpairs(vectors.T, upcoming, self.n_iter, converged, self.operator.method)

    def _search(self, n_wanted: int, stop: Stop, locked: NDArray) -> Lanczos:
        # A product with a full matrix costs what reading it costs: a block of vectors is then nearly free.
        n_block = 1 if self.operator.is_sparse else min(max(n_wanted, 2), 8)
        least = self.operator.least_basis
        n_blocks = -(-max(2 * n_wanted + least // 2, least) // n_block)
        start = self.random.standard_normal((n_block, locked.shape[1]))
        limits: Any = {"n_basis": n_blocks * n_block, "max_cycles": max(1, self.left), "watch": self.watch}
        search = lanczos(self.operator.apply, start, n_wanted, stop=stop, locked=locked, **limits)
        self.left -= search.n_cycles
        self.n_iter += search.n_cycles
        return search

    def _is_exact(self, values: NDArray, residuals: NDArray) -> bool:
        return bool(self.operator.bound(values, residuals).max() <= 0.5 * self.tol)

    def _is_decided(self, worst: float) -> Stop:
        """Whether the best vector of the complement is surely worse than all others, or exact and better."""

        def stop(values: NDArray, residuals: NDArray) -> bool:
            return self._is_exact(values, residuals) or bool(residuals[0] <= 0.2 * (worst - values[0]))

        return stop


def _measured(
    matrix: Scaled, null: NDArray, raw: RawEigenpairs, n_components: int, component: NDArray, tol: float
) -> GraphSpectrum:
    """Rotate the vectors to eigenvectors (Rayleigh and Ritz), fix their signs, measure residuals."""
    values, vectors = np.zeros(null.shape[1]), null
    if raw.vectors.shape[1]:
        rest = raw.vectors - null @ (null.T @ raw.vectors)
        rest, _ = np.linalg.qr(rest)
        projected = rest.T @ matrix.apply(rest)
        ritz, rotation = np.linalg.eigh(0.5 * (projected + projected.T))
        rest = rest @ rotation
        largest = np.abs(rest).argmax(axis=0)
        rest *= np.where(rest[largest, np.arange(rest.shape[1])] < 0.0, -1.0, 1.0)
        values = np.concatenate([values, np.maximum(ritz, 0.0)])
        vectors = np.concatenate([null, rest], axis=1)
    residuals = np.linalg.norm(matrix.apply(vectors) - vectors * values, axis=0)
    converged, scale = bool(raw.converged and residuals.max() <= max(tol, 1e-12)), matrix.scale
    pairs = values * scale, vectors, residuals * scale, raw.upcoming * scale
    return GraphSpectrum(*pairs, n_components, component, raw.n_iter, converged, raw.method)
