"""Biclusters as the supports of sparse singular vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.cluster.biclustering.base import Biclusterer, leading_singular, members_certificate
from assay.models import convergence
from assay.parameters import Domain


class Thresholded(NamedTuple):
    """A thresholded vector (not normalised), the penalty BIC chose, and the criterion there."""

    vector: NDArray
    penalty: float
    criterion: float


class Layer(NamedTuple):
    """One sparse rank-one layer d u vᵀ, ‖u‖ = ‖v‖ = 1."""

    left: NDArray
    value: float
    right: NDArray
    penalties: tuple[float, float]
    n_iter: int
    converged: bool


def threshold_by_bic(products: NDArray, squares: float, n_entries: int, power: float) -> Thresholded:
    """Minimise ‖X − u ṽᵀ‖² + λ Σ_j |z_j|^(−γ) |ṽ_j| for z = Xᵀu, ‖u‖ = 1, with λ by BIC.

    The minimiser is the soft threshold of z_j at λ|z_j|^(−γ)/2: entry j is in while λ < 2|z_j|^(1 + γ). BIC
    is ‖X − u ṽᵀ‖²/(N σ̂²) + (log N / N) · (entries in), σ̂² the residual variance without a penalty; it is
    compared at the λ where one more entry would come in, the best fit for each number of entries.
    `products` are z, `squares` ‖X‖², `n_entries` N and `power` γ.
    """
    sizes = np.abs(products)
    order = np.argsort(-sizes, kind="stable")
    ranked = sizes[order]
    ranked = ranked[ranked > 0.0]
    if not ranked.size:
        return Thresholded(np.zeros_like(products), 0.0, np.inf)
    # In units of the largest entry, so that powers neither overflow nor vanish.
    unit = ranked[0]
    relative = ranked / unit
    limits = np.append(2.0 * relative ** (1.0 + power), 0.0)[1:]  # λ at which the next entry would come in
    residual = squares / unit**2 - np.cumsum(relative**2)
    with np.errstate(over="ignore"):
        shrunk = 0.25 * limits**2 * np.cumsum(relative ** (-2.0 * power))
    freedom = max(n_entries - len(products), 1)
    variance = max(squares / unit**2 - float((relative**2).sum()), 1e-12 * squares / unit**2) / freedom
    counts = np.arange(1, len(ranked) + 1)
    criteria = (residual + shrunk) / (n_entries * variance) + np.log(n_entries) / n_entries * counts
    chosen = int(np.argmin(criteria))
    penalty = float(limits[chosen])
    vector = soft_adaptive(products, penalty * unit ** (1.0 + power), power)
    return Thresholded(vector, penalty, float(criteria[chosen]))


def soft_adaptive(products: NDArray, penalty: float, power: float) -> NDArray:
    """sign(z)(|z| − λ|z|^(−γ)/2)₊."""
    sizes = np.abs(products)
    kept = np.zeros_like(sizes)
    inside = sizes > 0.0
    with np.errstate(over="ignore"):
        kept[inside] = np.maximum(sizes[inside] - 0.5 * penalty * sizes[inside] ** (-power), 0.0)
    # At the λ of its own entry rounding may leave a trace of an entry that is out.
    kept[kept <= 1e-12 * kept.max(initial=0.0)] = 0.0
    return np.asarray(np.sign(products) * kept)


def half_step(X: NDArray, vector: NDArray, squares: float, power: float) -> tuple[NDArray, float]:
    """The unit vector that answers a given one, with the penalty chosen for it."""
    answer = threshold_by_bic(X.T @ vector, squares, X.size, power)
    size = float(np.linalg.norm(answer.vector))
    return (answer.vector / size if size > 0.0 else answer.vector), answer.penalty


def sparse_layer(
    X: NDArray, power: float, tol: float, max_iter: int, stop: Callable[[NDArray, NDArray, int], bool]
) -> Layer:
    """The leading sparse layer of a matrix, from its leading singular vectors."""
    start = leading_singular(X, 1, 0)
    left, right = start.left[:, 0], start.right[:, 0]
    squares = float((X**2).sum())
    penalties, n_iter, converged = (0.0, 0.0), 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new_right, right_penalty = half_step(X, left, squares, power)
        new_left, left_penalty = half_step(X.T, new_right, squares, power)
        moved = max(float(np.linalg.norm(new_left - left)), float(np.linalg.norm(new_right - right)))
        left, right, penalties = new_left, new_right, (left_penalty, right_penalty)
        converged = moved <= tol
        if stop(left, right, n_iter):
            break
    sign = np.sign(left[np.abs(left).argmax()]) or 1.0
    left, right = sign * left, sign * right
    return Layer(left, float(left @ X @ right), right, penalties, n_iter, converged)


SOURCE = "Wei §10.2.3; Lee, Shen, Huang & Marron (2010)"
EXHAUSTED = 1e-20
"""A residual below this share of the matrix has no further layer."""


class SparseSVDBiclustering(Biclusterer, IterativeModel):
    """Biclusters as supports of the sparse singular vectors of a matrix; they may overlap.

    Minimises, layer after layer, over d, ‖u‖ = ‖v‖ = 1,

        ‖X − d u vᵀ‖² + λ_u Σ_i |z_i|^(−γ) |d u_i| + λ_v Σ_j |z'_j|^(−γ) |d v_j|,      z = Xv, z' = Xᵀu,

    by alternating adaptive soft thresholding of Xᵀu and of Xv from the leading singular vectors, λ_v and λ_u
    by BIC at each pass; then X − d u vᵀ makes the next layer. Bicluster k is support(u_k) × support(v_k).

    Assumes: a matrix that is a few sparse layers of rank one, and noise of equal variance.

    Certificates: u and v answer each other (a further pass moves neither), d = uᵀXv; `certify` adds what the
    layers explain beside the most that as many singular values can.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of layers, at most the rank.
    power : float, default=2.0
        γ of the adaptive weights: 0 thresholds all entries alike.
    tol : float, default=1e-6
        A layer has converged when a pass moves u and v by at most `tol`.
    max_iter : int, default=300
        Largest number of passes of a layer.

    Attributes
    ----------
    rows_, columns_ : arrays of bool of shape (n_clusters, n_samples) and (n_clusters, n_features)
        Members of each bicluster.
    singular_values_ : array of shape (n_clusters,)
        d of each layer.
    left_vectors_, right_vectors_ : arrays of shape (n_samples, n_clusters) and (n_features, n_clusters)
        u and v of each layer, as columns.
    explained_ : array of shape (n_clusters,)
        Share of the sum of squares that the layers up to each explain.
    n_iter_ : int
        Most passes of a layer.
    converged_ : bool
        Whether every layer converged.
    optimality_ : float
        What a further pass moves the vectors of a layer by, at most.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import SparseSVDBiclustering
    >>> noise = 0.5 * np.random.default_rng(2).normal(size=(8, 6))
    >>> X = 9.0 * np.outer([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]) + noise
    >>> model = SparseSVDBiclustering(1).fit(X)
    >>> rows, columns = model.get_indices(0)
    >>> rows, columns
    (array([4, 5, 6, 7]), array([0, 1, 2]))

    References
    ----------
    Wei §10.2.3. Lee, Shen, Huang & Marron (2010), biclustering via sparse singular value decomposition.
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1),
        "power": parameters.real(at_least=0.0, at_most=8.0),
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
    }

    def __init__(
        self, n_clusters: int = 2, *, power: float = 2.0, tol: float = 1e-6, max_iter: int = 300
    ) -> None:
        self.n_clusters = n_clusters
        self.power = power
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: Any) -> None:
        data = self._open_matrix(X)
        if self.n_clusters > min(data.shape):
            name = "n_samples" if data.shape[0] <= data.shape[1] else "n_features"
            raise self._refuse("n_clusters", f"at most the rank of the matrix ({name}={min(data.shape)})")
        matrix = data.X.astype(np.float64)
        watch = self._watch_fit(X, n_runs=self.n_clusters, max_iter=self.max_iter)

        def stop(left: NDArray, right: NDArray, n_iter: int) -> bool:
            return watch.iteration(
                lambda: {"left_vectors_": left, "right_vectors_": right, "n_iter_": n_iter}
            )

        layers: list[Layer] = []
        residual, total = matrix, float((matrix**2).sum())
        for _ in range(self.n_clusters):
            if float((residual**2).sum()) <= EXHAUSTED * total:
                break
            with watch.run("layer"):
                layer = sparse_layer(residual, self.power, self.tol, self.max_iter, stop)
            layers.append(layer)
            residual = residual - layer.value * np.outer(layer.left, layer.right)
        self._conclude(matrix, data.dtype, layers)
        watch.finish()

    def _certify(self, matrix: Any) -> list[Certificate]:
        matrix = np.asarray(matrix, dtype=np.float64)
        total = float((matrix**2).sum()) or 1.0
        singular = np.linalg.svd(matrix, compute_uv=False)[: len(self.singular_values_)]
        claim = "The layers explain no more than as many singular values."
        residuals = np.array([float((rest**2).sum()) for rest in self._residuals(matrix)])
        value = (float((matrix**2).sum()) - residuals[-1]) / total
        bound, room = float((singular**2).sum()) / total, float(np.finfo(self.singular_values_.dtype).eps)
        details: Any = {"trivial": 1.0, "tolerance": 1e-10 + 16.0 * room, "informative": True}
        explained = at_most(claim, "share explained", value, bound, "Eckart & Young; " + SOURCE, **details)
        marks = (self.left_vectors_ != 0).T, (self.right_vectors_ != 0).T
        proof = [*self._measure(matrix), explained, members_certificate(self, *marks, SOURCE)]
        claim = "The shares explained are those of the layers."
        pairs = {"explained_": (self.explained_, 1.0 - residuals[1:] / total)}
        return [*proof, agreement(claim, pairs, SOURCE, rtol=1e-9)]

    def _conclude(self, matrix: NDArray, dtype: Any, layers: list[Layer]) -> None:
        sides = [layer.left for layer in layers], [layer.right for layer in layers]
        self.left_vectors_, self.right_vectors_ = (
            np.array(side, dtype=dtype).reshape(len(layers), size).T
            for side, size in zip(sides, matrix.shape, strict=True)
        )
        self.singular_values_ = np.array([layer.value for layer in layers], dtype=dtype)
        self.rows_, self.columns_ = (self.left_vectors_ != 0).T, (self.right_vectors_ != 0).T
        self.n_iter_ = max((layer.n_iter for layer in layers), default=1)
        self.converged_ = all(layer.converged for layer in layers)
        total = float((matrix**2).sum()) or 1.0
        residuals = np.array([float((rest**2).sum()) for rest in self._residuals(matrix)])
        self.explained_ = 1.0 - residuals[1:] / total
        self.certificates_ = self._measure(matrix)
        self.optimality_ = self.certificates_[0].value
        if len(layers) < self.n_clusters:
            convergence.warn(
                f"SparseSVDBiclustering found {len(layers)} of {self.n_clusters} layers: nothing is left of "
                "the matrix. Take a smaller n_clusters."
            )
        if not self.converged_ and self.n_iter_ >= self.max_iter:
            convergence.warn(
                f"SparseSVDBiclustering did not converge in max_iter={self.max_iter} passes. Raise max_iter "
                "or tol."
            )

    def _residuals(self, matrix: NDArray) -> list[NDArray]:
        """The matrix that each layer was taken from, and what is left after the last."""
        left, right = self.left_vectors_.T.astype(np.float64), self.right_vectors_.T.astype(np.float64)
        rests = [matrix]
        for layer, value in enumerate(self.singular_values_.astype(np.float64)):
            rests.append(rests[-1] - value * np.outer(left[layer], right[layer]))
        return rests

    def _measure(self, matrix: NDArray) -> Certificates:
        total = float((matrix**2).sum()) or 1.0
        rounding = float(np.finfo(self.singular_values_.dtype).eps)
        residuals = self._residuals(matrix)
        moved = away = 0.0
        for layer, rest in enumerate(residuals[:-1]):
            left = self.left_vectors_[:, layer].astype(np.float64)
            right = self.right_vectors_[:, layer].astype(np.float64)
            squares = float((rest**2).sum())
            again_left = half_step(rest.T, right, squares, self.power)[0]
            again_right = half_step(rest, left, squares, self.power)[0]
            movements = np.linalg.norm(again_left - left), np.linalg.norm(again_right - right)
            moved = max(moved, float(max(movements)))
            value = float(self.singular_values_[layer])
            away = max(away, abs(float(left @ rest @ right) - value) / np.sqrt(total))
        claim = "The vectors of each layer answer each other: a further pass moves neither."
        bound = 10.0 * self.tol + 1e4 * rounding
        proof = [at_most(claim, "movement of a further pass", moved, bound, SOURCE)]
        claim = "The value of each layer is d = uᵀXv, the best for its vectors."
        bound = 1e-10 + 16.0 * rounding
        proof.append(at_most(claim, "error of a value over the norm of the matrix", away, bound, SOURCE))
        return Certificates(proof)
