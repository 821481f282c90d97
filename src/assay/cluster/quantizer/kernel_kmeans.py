"""Kernel k-means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate
from assay.cluster.base import RESTARTS, ROW_INDICES, generators
from assay.cluster.quantizer import kernel_kmeans_solver as solver
from assay.cluster.quantizer.base import Alternation, RepresenterModel, Step
from assay.cluster.quantizer.kernel_kmeans_solver import FeatureSpace
from assay.distances import check_sums
from assay.kernels import KERNEL_NAMES, Kernel, kernel
from assay.models.capabilities import PairwiseModel
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, MemoryRows, Rows

KERNEL = Domain(
    f"a Kernel, a callable or one of {', '.join(map(repr, KERNEL_NAMES))}",
    lambda value: (
        isinstance(value, Kernel) or callable(value) or (isinstance(value, str) and value in KERNEL_NAMES)
    ),
    ("linear", "rbf"),
)


class KernelKMeans(PairwiseModel, RepresenterModel):
    """k-means in the feature space of a kernel.

    Minimises over labels z, with n_k the weight and μ_k the mean of cluster k in the feature space,

        Σ_i w_i ‖φ(x_i) − μ_{z_i}‖²,    ‖φ(x_i) − μ_k‖² = K_ii − (2/n_k) Σ_{z_j=k} w_j K_ij
                                                          + (1/n_k²) Σ_{z_j=z_l=k} w_j w_l K_jl,

    by Lloyd's iteration with these distances: with the linear kernel it is k-means itself, with others
    clusters need not be convex. The result is a local optimum, the best of `n_init`.

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block.

    Assumes: a positive semi-definite kernel in whose feature space the groups are round; the number of
    clusters is given.

    Certificates: the cost never rises, is that of the labels, and every row is at its nearest mean; `certify`
    adds a lower bound on the cost of any labels, from the eigenvalues of the Gram matrix.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    kernel : str, Kernel or callable, default="rbf"
        A name of `assay.kernels` ("linear", "rbf", "laplacian", "polynomial", …), a kernel object, or a
        function of two rows. With "precomputed", X is the Gram matrix at the fit and the cross matrix after.
    gamma : float, optional
        Scale of the named kernels; one over the number of features by default.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    init : {"k-means++", "random"} or array of shape (n_clusters,), default="k-means++"
        Rows whose images are the initial means: drawn ∝ the squared distance to those before, the best of
        2 + ⌊ln K⌋ each time, drawn uniformly, or given by their indices.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial rows come from.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row. Rows of weight 0 have one too.
    dual_coef_ : array of shape (n_samples, n_clusters)
        The means: μ_k = Σ_i dual_coef_[i, k] φ(x_i).
    center_norms_ : array of shape (n_clusters,)
        ‖μ_k‖²; infinity for a cluster without rows, so that no row is near it.
    inertia_ : float
        The cost of the labels.
    X_fit_ : array or CSR matrix
        The rows of the fit (the Gram matrix with "precomputed").
    kernel_ : Kernel
        The kernel with every parameter filled in.
    converged_ : bool
        Whether no row changed its cluster any more.
    optimality_ : float
        Share by which moving the means to those of the final labels would lower the cost; 0 at the end.
    n_iter_, restart_inertias_, inertia_trace_, cluster_weights_, certificates_, n_features_in_
        As in `KMeans`, with this cost in place of the inertia.
    feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

    Examples
    --------
    >>> from assay.cluster import KernelKMeans
    >>> from assay.datasets import Rings
    >>> X, y = Rings(radii=(1.0, 4.0), noise_std=0.1).sample(200, random_state=0)
    >>> model = KernelKMeans(n_clusters=2, gamma=0.5, n_init=5, random_state=0).fit(X)
    >>> model.predict([[0.0, 1.0]]) == model.predict([[-1.0, 0.0]]) != model.predict([[0.0, 4.0]])
    array([ True])

    References
    ----------
    Wei §10.2; Sangnier §2.2. Dhillon, Guan & Kulis (2004), weighted kernel k-means.
    """

    _comparison = "kernel"
    _instead = "fit KMeans on Nyström or random features"
    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "kernel": KERNEL,
        "gamma": parameters.nothing | parameters.real(above=0.0),
        "degree": parameters.integer(at_least=1),
        "coef0": parameters.real(),
        "init": parameters.one_of("k-means++", "random") | ROW_INDICES,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @staticmethod
    def _report(labels: NDArray, n_iter: int, cost: float) -> dict[str, Any]:
        return {"labels_": labels, "n_iter_": n_iter, "inertia_": cost}

    def _fit(self, X: Any, sample_weight: Any) -> None:
        self.__dict__.pop("kernel_", None)
        super()._fit(X, sample_weight)

    def _require_scale(self, data: Rows) -> None:
        """Kernels that overflow are found by their values; what vanishes in others is what they mean."""
        if isinstance(data, MemoryRows) and self.kernel == "linear":
            check_sums(data, dtype=data.dtype)

    def _prepare(self, data: MemoryRows) -> FeatureSpace:
        if not hasattr(self, "kernel_"):
            chosen = kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            self.kernel_ = chosen.for_features(data.shape[1])
        return FeatureSpace(solver.gram_of(self.kernel_, data.X), data.weight)

    def _starts(self, space: FeatureSpace, n_runs: int) -> Iterator[NDArray]:
        if not isinstance(self.init, str):
            yield space.nearest_rows(self._given_rows(len(space.gram)))
            return
        for random in generators(self.random_state, n_runs):
            chosen = solver.seeds(space, self.n_clusters, random, greedy=self.init == "k-means++")
            yield space.nearest_rows(chosen)

    def _step(self, space: FeatureSpace) -> Callable[[NDArray], Step]:
        return lambda labels: space.step(labels, self.n_clusters)

    def _represent(self, data: MemoryRows, space: FeatureSpace, best: Alternation) -> None:
        self.X_fit_ = data.X
        self.labels_ = best.representers.astype(np.int32)
        means = space.means(self.labels_, self.n_clusters)
        self.dual_coef_ = means.coef.astype(data.dtype)
        self.center_norms_, self.cluster_weights_ = means.norms, means.weights
        self.inertia_ = float(space.cost(self.labels_, means))

    def _proof(self, data: MemoryRows, space: FeatureSpace, measured: Any) -> list[Certificate]:
        claims: Any = {"trace": self.inertia_trace_, "inertia": self.inertia_}
        means: Any = {"coef": self.dual_coef_, "norms": self.center_norms_}
        return solver.kernel_kmeans_certificates(space, self.labels_, **claims, **means)

    def _cost_scale(self, data: MemoryRows) -> float:
        # Distances are differences of inner products: rounding is relative to those.
        weight = Block(data.X, None, data.weight, 0).weights
        return float(weight.sum() * np.abs(self.center_norms_[np.isfinite(self.center_norms_)]).max())

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        return _labels, self.kernel_, self.X_fit_, self.dual_coef_, self.center_norms_

    def _bounds(self, data: MemoryRows, space: FeatureSpace) -> list[Certificate]:
        return solver.gram_certificates(space, self.labels_, self.n_clusters)


def _labels(block: Block, kernel: Kernel, X_fit: Any, coef: NDArray, norms: NDArray) -> NDArray:
    scores = norms - 2.0 * kernel.apply(block.X, X_fit, coef).astype(np.float64)
    return scores.argmin(axis=1).astype(np.int32)
