"""What a convex clustering proves about itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.cluster.convex.fusion import Gap, proven_share

SOURCE = "Wei §10.2.2; Hocking et al. (2011); Chi & Lange (2015)"


def convex_certificates(
    gap: Gap,
    *,
    centroids: NDArray,
    labels: NDArray,
    spread: float,
    rows: NDArray,
    mass: NDArray,
    apart: NDArray,
    claimed: float,
    tol: float,
    rounding: float,
) -> Certificates:
    """Certificates of centroids, from a gap measured at a feasible dual point.

    Parameters
    ----------
    gap : Gap
    centroids, labels : arrays of shape (n_nodes, n_features) and (n_nodes,)
    spread : float
        Largest difference between centroids of equal rows.
    rows, mass : arrays of shape (n_nodes, n_features) and (n_nodes,)
    apart : array
        s_C s_D/(s_C + s_D) ‖μ_C − μ_D‖² of the clusters joined by an edge.
    claimed : float
        Share of them that the fit claims to be proven apart.
    tol : float
    rounding : float
        Unit of the last place of the stored centroids.
    """
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    spread = max(spread, float(np.abs(centroids - centroids[first][cluster]).max(initial=0.0)))
    scale = float(np.sqrt(np.average((rows**2).sum(axis=1), weights=mass))) + rounding
    shift = float(np.linalg.norm(mass @ (centroids - rows)) / mass.sum()) / scale if scale > 0 else 0.0
    lost = 8.0 * float(mass.sum()) * rows.shape[1] * rounding**2
    share = lost / gap.primal if gap.primal > 0 else 0.0
    certificates = [
        at_most(
            "The objective is within this share of the minimum: a feasible dual point proves it.",
            "relative duality gap",
            gap.relative,
            tol + share,
            source=SOURCE,
        ),
        at_most(
            "The rows of a cluster have exactly one centroid.",
            "spread of centroids within clusters",
            spread,
            0.0,
            source=SOURCE,
        ),
        at_most(
            "The centroids keep the mean of the rows: the forces between rows cancel.",
            "shift of the mean",
            shift,
            1e-9 + 4.0 * rounding / scale if scale > 0 else 0.0,
            source=SOURCE,
        ),
    ]
    if apart.size:
        certificates.append(apart_certificate(apart, gap, claimed, SOURCE))
    return Certificates(certificates)


def apart_certificate(apart: NDArray, gap: Gap, claimed: float, source: str) -> Certificate:
    """The claim that clusters are apart in the minimiser: farther than twice the gap allows for."""
    return at_least(
        "As large a share as the fit claims of the clusters joined by an edge is apart in the minimiser.",
        "share of joined clusters proven apart",
        proven_share(apart, gap),
        claimed,
        source=source,
        assumptions=("the objective is strongly convex, with the weight of a row as modulus",),
        trivial=0.0,
        tolerance=1e-12,
    )
