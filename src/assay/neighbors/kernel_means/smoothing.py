"""Local means by a kernel: sums over all rows, and the bandwidth of least leave-one-out loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from assay.distances import NeighborSearch
from assay.kernel_sums import KernelSums
from assay.losses import chosen
from assay.neighbors.voting import Array
from assay.rows import Block

LEFT_OUT = 2048
"""Rows that are left out in turn to choose a bandwidth: all, or evenly spaced ones."""

GRID, STEP, MOST_STEPS = 13, 2.0**0.5, 24
"""Bandwidths tried at first, the factor from one to the next, and how many more are tried beyond an end."""

FAINT = 1e-290
"""Sums of weights below this have lost their digits: the nearest rows answer."""

CANCELLED = 1e-9
"""Weight that is left of a row's own where too few digits of it are right."""

AT_ONCE = 64
"""Rows whose kernel values are in memory at a time."""

NEAREST = 32
LEAST_CHANCE = 1e-12


class LocalMeans(NamedTuple):
    """Rows, what they say (targets, or marks of classes) and weigh, and the kernel around queries."""

    X: Array
    said: Array
    weight: Array
    kernel: Any

    def sums(self, bandwidth: float) -> KernelSums:
        """Sums of weights, then of weights times what rows say."""
        values = np.column_stack([self.weight, self.weight[:, None] * self.said])
        return KernelSums(self.scaled(self.X, bandwidth), self.kernel, 1.0, values=values)

    def scaled(self, rows: Array, bandwidth: float) -> Array:
        """Rows in bandwidths from the first one: no factor h^{−d}, which would cancel, overflows."""
        return (rows - self.X[0]) / bandwidth

    def at(self, queries: Array, bandwidth: float) -> Array:
        """The local means at queries; where no weight is left, those of the nearest rows."""
        kernel = self.sums(bandwidth)
        total = kernel(self.scaled(queries, bandwidth))
        faint = ~(total[:, 0] > FAINT * self.weight.max() * abs(kernel.at_zero))
        means = total[:, 1:] / np.where(faint, 1.0, total[:, 0])[:, None]
        if faint.any():
            means[faint] = self._of_nearest(queries[faint], bandwidth)
        return means

    def _of_nearest(self, queries: Array, bandwidth: float) -> Array:
        """The limit of the means where the kernel vanishes: Gaussian weights over that of the nearest row."""
        gaussian = isinstance(self.kernel, str) and self.kernel == "gaussian"
        near = NeighborSearch(self.X).nearest(min(NEAREST, len(self.X)) if gaussian else 1, queries)
        far = near.distances / bandwidth
        with np.errstate(over="ignore", under="ignore"):
            each = np.exp(-0.5 * (far - far[:, :1]) * (far + far[:, :1])) * self.weight[near.indices]
        return np.einsum("qk,qkt->qt", each / each.sum(axis=1, keepdims=True), self.said[near.indices])

    def left_out(self, rows: NDArray, bandwidth: float) -> tuple[Array, Array]:
        """Means at some rows without one repetition of each, and the weight that is left."""
        kernel = self.sums(bandwidth)
        own = np.column_stack([np.ones(len(rows)), self.said[rows]]) * kernel.at_zero
        total = kernel(self.scaled(self.X[rows], bandwidth)) - own
        # What is left of a cancellation has few digits, where those sums are written out, or none.
        sure = total[:, 0] > 1e-13 * abs(kernel.at_zero)
        doubtful = np.flatnonzero(sure & (total[:, 0] < CANCELLED * abs(kernel.at_zero)))
        for places in np.array_split(doubtful, len(doubtful) // AT_ONCE + 1):
            own = rows[places]
            each = plain_weights(self, self.X[own], bandwidth)
            each[np.arange(len(own)), own] = kernel.at_zero * (self.weight[own] - 1.0)
            total[places] = np.column_stack([each.sum(axis=1), each @ self.said])
        left = np.maximum(total[:, 0], 0.0)
        sure &= left > 0.0
        everyone = self.weight @ self.said / self.weight.sum()
        means = np.where(sure[:, None], total[:, 1:] / np.where(sure, left, 1.0)[:, None], everyone)
        return means, left

    def loss(self, bandwidth: float, *, chances: bool) -> float:
        """Mean loss with each row left out: squared error, or −log of the share of its class."""
        n_rows = len(self.X)
        rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, LEFT_OUT)).astype(np.intp))
        means, _ = self.left_out(rows, bandwidth)
        if chances:
            share = np.clip((means * self.said[rows]).sum(axis=1), LEAST_CHANCE, 1.0)
            losses = -np.log(share)
        else:
            losses = ((means - self.said[rows]) ** 2).sum(axis=1)
        return float(self.weight[rows] @ losses / self.weight[rows].sum())

    def reference(self) -> float:
        """Scott's bandwidth, σ n^{−1/(d + 4)} with the mean deviation σ of the columns."""
        n_features = self.X.shape[1]
        return (mean_spread(self.X, self.weight) or 1.0) * float(self.weight.sum()) ** (
            -1.0 / (n_features + 4.0)
        )


def mean_spread(X: Array, weight: Array) -> float:
    """The mean standard deviation of the columns."""
    share = weight / weight.sum()
    moved = X - share @ X
    size = float(np.abs(moved).max(initial=0.0)) or 1.0  # squares neither overflow nor vanish
    return size * float(np.sqrt(share @ (moved / size) ** 2).mean())


class BandwidthPath(NamedTuple):
    """Bandwidths in increasing order, the leave-one-out loss of each, and the place of the least."""

    bandwidths: Array
    losses: Array
    place: int

    @property
    def best(self) -> float:
        """The bandwidth of the least loss."""
        return float(self.bandwidths[self.place])


def choose_bandwidth(means: LocalMeans, *, chances: bool) -> BandwidthPath:
    """The least loss on a geometric grid about Scott's bandwidth, continued beyond an end where it falls."""
    middle = means.reference()
    grid = {
        step: means.loss(middle * STEP**step, chances=chances) for step in range(-GRID // 2, GRID // 2 + 1)
    }
    for _ in range(MOST_STEPS):
        steps = sorted(grid)
        best = min(steps, key=lambda step: (grid[step], step))
        beyond = best - 1 if best == steps[0] else best + 1 if best == steps[-1] else None
        if beyond is None:
            break
        grid[beyond] = means.loss(middle * STEP**beyond, chances=chances)
    steps = sorted(grid)
    losses = np.array([grid[step] for step in steps])
    return BandwidthPath(np.array([middle * STEP**step for step in steps]), losses, int(np.argmin(losses)))


def smooth_block(block: Block, means: LocalMeans, bandwidth: float, dtype: Any) -> NDArray:
    """Local means at the rows of a block."""
    return means.at(np.asarray(block.dense, dtype=np.float64), bandwidth).astype(dtype)


def smooth_column(block: Block, means: LocalMeans, bandwidth: float, dtype: Any) -> NDArray:
    """Local means of one target."""
    return smooth_block(block, means, bandwidth, dtype)[:, 0]


def smooth_classes(block: Block, means: LocalMeans, bandwidth: float, classes: NDArray) -> NDArray:
    """The class of the largest local share."""
    return classes[chosen(smooth_block(block, means, bandwidth, np.float64))]


def plain_weights(means: LocalMeans, queries: Array, bandwidth: float) -> Array:
    """The kernel of the distance of each query to each row, times the weight of the row."""
    shape = KernelSums(np.zeros((1, 1)), means.kernel, 1.0)
    return np.asarray(shape.kernel(cdist(queries, means.X) / bandwidth), dtype=np.float64) * means.weight


def plain_means(means: LocalMeans, queries: Array, bandwidth: float) -> Array:
    """Local means written out, query by query."""
    answers = []
    for query in queries:
        each = plain_weights(means, query[None], bandwidth)[0]
        total = each.sum()
        answers.append(each @ means.said / total if total > 0 else np.full(means.said.shape[1], np.nan))
    return np.stack(answers)
