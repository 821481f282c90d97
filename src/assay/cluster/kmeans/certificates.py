"""What a k-means fit proves about itself, from one walk over the data that the solver has no part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_least, at_most
from assay.cluster.kmeans.centers import Centers, Inspection, mean_variance, means_of
from assay.rows import Block, Rows

MAX_FEATURES_OF_EIGENVALUE_BOUND = 4096
MAX_SAVING = 0.01
"""Share of the inertia that an exact update may save of centres found on batches."""


@dataclass(frozen=True, slots=True)
class Anova:
    """Decomposition of the sum of squares by a partition (Huygens): total = within + between.

    Parameters
    ----------
    within : float
        Σ_k Σ_{i ∈ C_k} w_i ‖x_i − m_k‖², m_k the means of the clusters.
    between : float
        Σ_k n_k ‖m_k − x̄‖², n_k the weights of the clusters.
    total : float
        Σ_i w_i ‖x_i − x̄‖², measured apart.

    Examples
    --------
    >>> from assay.cluster import Anova
    >>> table = Anova(within=1.0, between=3.0, total=4.0)
    >>> table.explained, table.residual, table.pairwise
    (0.75, 0.0, 2.0)
    """

    within: float
    between: float
    total: float

    @property
    def explained(self) -> float:
        """Share of the total that the partition explains, between / total."""
        return self.between / self.total if self.total > 0.0 else 1.0

    @property
    def residual(self) -> float:
        """What the identity total = within + between misses, relative to the total."""
        gap = abs(self.total - self.within - self.between)
        return gap / self.total if self.total > 0.0 else gap

    @property
    def pairwise(self) -> float:
        """The criterion in its pairwise form, Σ_k n_k⁻¹ Σ_{a,b ∈ C_k} w_a w_b ‖x_a − x_b‖² = 2 · within."""
        return 2.0 * self.within


@dataclass(frozen=True, slots=True)
class KMeansMeasurement:
    """A fit measured on data: its decomposition, and the numbers behind the certificates."""

    inertia: float
    means: NDArray
    weights: NDArray
    anova: Anova
    movement: float
    """Σ_k ‖m_k − c_k‖² over the mean variance of the features: the unit of `tol`."""
    movement_rounding: float
    excess: float
    scatter_ratio: float
    """Scatter about the shift over that about the mean: what rounding is relative to."""


def measure(partition: Inspection, centers: Centers) -> KMeansMeasurement:
    """Derive from one walk all that the certificates compare."""
    weight = partition.counts.sum()
    means = means_of(partition.sums, partition.counts, centers.points)
    mean = partition.sums.sum(axis=0) / weight
    squared_moves = ((means - centers.points) ** 2).sum(axis=1)
    total = max(partition.scatter - weight * float(mean @ mean), 0.0)
    variance = mean_variance(partition.scatter, partition.sums, partition.counts)
    anova = Anova(
        within=max(partition.inertia - float(partition.counts @ squared_moves), 0.0),
        between=float(partition.counts @ ((means - mean) ** 2).sum(axis=1)),
        total=float(total),
    )
    epsilon = float(np.finfo(centers.given.dtype).eps)
    rounding = 4.0 * epsilon**2 * float((centers.centers**2).sum()) + 1e-20 * partition.scatter / weight
    moves = _ratio(float(squared_moves.sum()), variance), _ratio(rounding, variance)
    ratio = max(_ratio(partition.scatter, total), 1.0)
    placed = means + centers.shift, partition.counts, anova
    return KMeansMeasurement(partition.inertia, *placed, *moves, partition.excess, ratio)


def kmeans_certificates(
    measured: KMeansMeasurement, *, trace: Sequence[float], inertia: float, tol: float, n_features: int
) -> Certificates:
    """Certificates of a fit that claims this inertia after this trace."""
    scale = measured.anova.total or 1.0
    rises = np.diff([*trace, measured.inertia], prepend=trace[0])
    return Certificates(
        [
            at_most(
                "The inertia never rises, from one half-step to the next and to the final measurement.",
                "largest rise of the inertia",
                float(max(rises.max(), 0.0)) / scale,
                1e-11 * measured.scatter_ratio,
                source="Sangnier Prop. 56; Rudi & Şimşekli §7.1.2; Douc & Le Corff §8.7",
            ),
            nearest_certificate(measured, n_features),
            at_most(
                "Every centre is the mean of its cluster: another update moves none.",
                "movement of the centres",
                measured.movement,
                tol + measured.movement_rounding,
                source="Rudi & Şimşekli §7.1.2; Sangnier §2.2",
            ),
            huygens_certificate(measured, inertia),
        ]
    )


def minibatch_certificates(measured: KMeansMeasurement, centers: Centers, *, inertia: float) -> Certificates:
    """Certificates of centres that are running means of draws, which claim this inertia."""
    points, epsilon = centers.centers, float(np.finfo(centers.given.dtype).eps)
    scale = max(measured.inertia, 1e-9 * measured.anova.total)
    rounding = measured.weights.sum() * float((points**2).sum()) * epsilon**2
    saving = max(measured.inertia - measured.anova.within - 16.0 * rounding, 0.0)
    return Certificates(
        [
            nearest_certificate(measured, points.shape[1]),
            at_most(
                "An exact update of the centres would lower the inertia by at most 1 %.",
                "saving of an exact update",
                _ratio(saving, scale),
                MAX_SAVING,
                source="Sangnier §2.2; Bottou & Bengio (1995)",
            ),
            huygens_certificate(measured, inertia),
        ]
    )


def nearest_certificate(measured: KMeansMeasurement, n_features: int) -> Certificate:
    """Every row is at its nearest centre, up to the rounding of float64."""
    return at_most(
        "Every row belongs to its nearest centre.",
        "assignment excess",
        measured.excess,
        16.0 * (n_features + 8) * float(np.finfo(np.float64).eps),
        source="Sangnier Prop. 55; Rudi & Şimşekli §7.1.2",
    )


def huygens_certificate(measured: KMeansMeasurement, inertia: float) -> Certificate:
    """Huygens: total = within + between, with the inertia that a fit claims in place of the measured one."""
    correction = measured.inertia - measured.anova.within
    claimed = Anova(inertia - correction, measured.anova.between, measured.anova.total)
    return at_most(
        "Total, within and between sums of squares satisfy Huygens' identity.",
        "Huygens residual",
        claimed.residual,
        # The claim is about the means themselves, the measurement about centres in the dtype of the rows.
        1e-10 * measured.scatter_ratio + measured.movement_rounding,
        source="Sangnier Prop. 57; Wei §10",
    )


def weights_certificate(stored: NDArray, measured: NDArray) -> Certificate:
    """The weights of the clusters that a fit tells are those of their rows."""
    return agreement(
        "The weights of the clusters are those of their rows.",
        {"cluster_weights_": (stored, measured)},
        "Sangnier Prop. 57",
        rtol=1e-9,
    )


def eigenvalue_certificate(data: Rows, measured: KMeansMeasurement, centers: Centers) -> list[Certificate]:
    """Compare the inertia with the smallest that any partition could have.

    The optimum is at least the sum of the eigenvalues of the scatter matrix beyond the (n_clusters − 1)-th.
    None for more than 4096 features, where the matrix would not fit.
    """
    n_clusters, n_features = centers.points.shape
    if n_features > MAX_FEATURES_OF_EIGENVALUE_BOUND:
        return []
    weight = measured.weights.sum()
    moments = data.reduce(_moments, centers.shift)
    mean = moments[1] / weight
    eigenvalues = np.linalg.eigvalsh(moments[0] - weight * np.outer(mean, mean))[::-1]
    smallest = float(np.maximum(eigenvalues[n_clusters - 1 :], 0.0).sum())
    within = ""
    if smallest > 1e-12 * measured.anova.total:
        within = f"; this one is within a factor {measured.inertia / smallest:.3g} of the best"
    smallest = smallest if within else 0.0
    return [
        at_least(
            f"No partition into {n_clusters} clusters has an inertia below {smallest:.6g}{within}.",
            "inertia",
            measured.inertia,
            smallest,
            source="Zha, He, Ding, Simon & Gu (2001); Ding & He (2004)",
            trivial=0.0,
            tolerance=1e-9 * measured.anova.total,
            informative=True,
        )
    ]


def _moments(block: Block, shift: NDArray) -> tuple[NDArray, NDArray]:
    rows = block.dense.astype(np.float64) - shift
    weighted = rows if block.weight is None else rows * block.weight[:, np.newaxis]
    return rows.T @ weighted, weighted.sum(axis=0)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0 if part == 0.0 else np.inf
