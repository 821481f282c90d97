"""Spherical k-means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.base import logger
from assay.certificates import Certificate, at_most
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import means_of
from assay.cluster.quantizer.base import CENTER_DOMAINS, CenterModel, Distance, PartitionCost, Step, one_hot
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, MemoryRows, Rows

MAX_FEATURES_OF_BOUND = 4096


def unit_rows(X: Any) -> tuple[Any, NDArray]:
    """Rows over their Euclidean norms, in doubles, and which of them are zero (they stay zero)."""
    values: Any = X.astype(np.float64, copy=False)
    is_dense = isinstance(values, np.ndarray)
    largest = np.abs(values).max(axis=1) if is_dense else abs(values).max(axis=1).toarray().ravel()
    zero = largest == 0.0
    # In two steps, so that squares of huge or tiny values neither overflow nor vanish.
    values = _divided(values, np.where(zero, 1.0, largest))
    squares = (values**2 if is_dense else values.multiply(values)).sum(axis=1)
    norms = np.sqrt(np.asarray(squares).ravel())
    return _divided(values, np.where(zero, 1.0, norms)), zero


def _divided(values: Any, divisors: NDArray) -> Any:
    """Rows over a number each, which may be so small that its inverse is none."""
    if isinstance(values, np.ndarray):
        return values / divisors[:, np.newaxis]
    rows = sparse.csr_array(values, copy=True)
    rows.data /= np.repeat(divisors, np.diff(rows.indptr))
    return rows


def _scaled(values: Any, factors: NDArray) -> Any:
    if isinstance(values, np.ndarray):
        return values * factors[:, np.newaxis]
    return sparse.csr_array(sparse.diags_array(factors) @ values)


def cosine_distances(block: Block, centers: NDArray) -> NDArray:
    """1 − cos of the angle between rows and centres; infinite for rows of zeros, which have no direction."""
    units, zero = unit_rows(block.X)
    distances = np.maximum(1.0 - np.asarray(units @ unit_rows(centers)[0].T), 0.0)
    distances[zero] = np.inf
    return distances


class SphericalKMeans(CenterModel):
    """Partition of rows by direction.

    Maximises over unit vectors c_1, …, c_K the sum of cosines

        Σ_i w_i max_k ⟨x_i/‖x_i‖, c_k⟩,        w_i = 1 without `sample_weight`,

    by alternating the assignment of rows to the direction of largest cosine and the mean direction of every
    cluster. Lengths of rows do not matter: this is k-means on the unit sphere, for texts and profiles. The
    result is a local optimum, the best of `n_init`. A row of zeros has no direction: it belongs to no
    cluster (label −1) and counts for nothing; `n_zero_rows_` and the log say how many there are.

    Assumes: that the direction of a row matters and its length does not; the number of clusters is given.

    Certificates: the cost Σ w (1 − cos) never rises, every row is at its nearest direction, and every centre
    is the mean direction of its cluster. `certify` adds an upper bound on the sum of cosines of any clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Initial directions: drawn by greedy k-means++ among the unit rows, distinct rows, or given.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    tol : float, default=1e-7
        Converged when new centres would raise the mean cosine by at most this.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial directions come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The directions, of length 1.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, −1 for rows of zeros; lazy for Dask input.
    inertia_ : float
        Σ w (1 − cos): the weight of the rows that are not zero less the sum of cosines.
    n_zero_rows_ : int
        Rows of zeros, of positive weight.
    optimality_ : float
        What new centres would add to the mean cosine: compares with `tol`.
    n_iter_, converged_, restart_inertias_, inertia_trace_, cluster_weights_, certificates_, n_features_in_
        As in `KMeans`, with this cost in place of the inertia.
    feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import SphericalKMeans
    >>> X = np.array([[1.0, 0.1], [9.0, 0.0], [5.0, 0.2], [0.1, 1.0], [0.0, 7.0]])
    >>> model = SphericalKMeans(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[4])
    True
    >>> model.cluster_centers_[model.predict([[100.0, 3.0]])].round(2)
    array([[1.  , 0.05]])

    References
    ----------
    Sangnier §2.2.1 (centres for any dissimilarity). Dhillon & Modha (2001), spherical k-means.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {**CENTER_DOMAINS, "tol": parameters.real(at_least=0.0)}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-7,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.tol = tol

    @property
    def _distance(self) -> Distance:
        return cosine_distances

    def _require_scale(self, data: Rows) -> None:
        """Directions have no scale."""

    def _given_centers(self, given: Any, shape: tuple[int, int], dtype: Any) -> NDArray:
        centers = super()._given_centers(given, shape, dtype)
        if not np.abs(centers).max(axis=1).all():
            raise self._refuse("init", "directions: a centre of zeros has none")
        return unit_rows(centers)[0]

    def _pool(self, data: Rows, random: np.random.Generator) -> Any:
        pool = super()._pool(data, random).data
        units, zero = unit_rows(pool.X)
        weight = Block(pool.X, None, pool.weight, 0).weights
        weight[zero] = 0.0
        if not weight.any():
            raise ValueError("SphericalKMeans needs rows that are not zero: a row of zeros has no direction.")
        return _init.open_pool(MemoryRows(units, None, weight), random)

    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        def step(centers: NDArray) -> Step:
            cost, sums, weight = data.reduce(_direction_block, centers)
            lengths = np.sqrt((sums**2).sum(axis=1))
            gain = max(float(lengths.sum() - (sums * centers).sum()), 0.0)
            return Step(cost, centers, means_of(sums, lengths, centers), gain / max(weight, 1e-300))

        return step

    def _settle(self, data: Rows, measured: PartitionCost) -> None:
        super()._settle(data, measured)
        self.n_zero_rows_ = int(data.reduce(_count_zero))
        if self.n_zero_rows_:
            message = "%d rows of SphericalKMeans are zero and have no direction: they belong to no cluster."
            logger.warning(message, self.n_zero_rows_)

    def _cost_scale(self, data: Rows) -> float:
        return data.total_weight

    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        rounding = 16.0 * float(np.finfo(data.dtype).eps)
        given = self.cluster_centers_.astype(np.float64)
        return [
            at_most(
                "Every centre is the mean direction of its cluster: another update moves none.",
                "gain of the next centres",
                self._step(data)(unit_rows(given)[0]).optimality,
                self.tol + rounding,
                source="Dhillon & Modha (2001)",
            ),
            at_most(
                "The centres have length 1.",
                "largest error of a length",
                np.abs(np.sqrt((given**2).sum(axis=1)) - 1.0).max(),
                rounding,
            ),
        ]

    def _bounds(self, data: Rows, problem: Any) -> list[Certificate]:
        """Σ_k ‖S_k‖ ≤ √(Σ_k n_k · Σ_k ‖S_k‖²/n_k) ≤ √(W (λ_1 + … + λ_K)), λ the spectrum of Σ w u uᵀ."""
        if data.shape[1] > MAX_FEATURES_OF_BOUND:
            return []
        scatter, weight = data.reduce(_scatter_block)
        largest = np.maximum(np.linalg.eigvalsh(scatter)[::-1][: self.n_clusters], 0.0).sum()
        bound = min(float(np.sqrt(weight * largest)), weight)
        cosines = weight - self._cost_of(data, None).cost
        return [
            at_most(
                (
                    f"No {self.n_clusters} clusters have a sum of cosines above {bound:.6g}; this one has "
                    f"{cosines / bound:.3g} of it."
                ),
                "sum of cosines",
                cosines,
                bound,
                source="Cauchy–Schwarz and Ky Fan, as for k-means in Zha, He, Ding, Simon & Gu (2001)",
                trivial=weight,
                tolerance=1e-9 * weight,
                informative=True,
            )
        ]


def _count_zero(block: Block) -> int:
    zero = unit_rows(block.X)[1]
    return int(np.count_nonzero(zero if block.weight is None else zero & (block.weight > 0.0)))


def _direction_block(block: Block, centers: NDArray) -> tuple[float, NDArray, float]:
    """Sum of (1 − cos), sums of the unit rows of every cluster, and the weight of all."""
    units, zero = unit_rows(block.X)
    weight = np.where(zero, 0.0, block.weights)
    cosines = np.asarray(units @ centers.T)
    labels = cosines.argmax(axis=1)
    summed: Any = one_hot(labels, weight, len(centers)) @ units
    best = np.maximum(1.0 - cosines[np.arange(len(labels)), labels], 0.0)
    sums = summed if isinstance(summed, np.ndarray) else summed.toarray()
    return float(weight @ best), sums, float(weight.sum())


def _scatter_block(block: Block) -> tuple[NDArray, float]:
    units, zero = unit_rows(block.X)
    weight = np.where(zero, 0.0, block.weights)
    scatter: Any = units.T @ _scaled(units, weight)
    return scatter if isinstance(scatter, np.ndarray) else scatter.toarray(), float(weight.sum())
