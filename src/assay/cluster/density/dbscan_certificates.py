"""What a DBSCAN fit proves about itself, from lists of neighbours that the passes over cells have no part in.

A distance within `TIE` of eps may fall on either side by rounding: a row is judged wrong only when it is so
whichever way such ties fall.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from assay.certificates import Certificates, at_most, equal
from assay.cluster.density.dbscan_solver import NeighborLists, list_sums, walk_lists

TIE = 1e-9


class Claim(NamedTuple):
    """What a fit says about the rows, and the weights that it counted them with."""

    labels: NDArray
    core: NDArray
    mass: NDArray
    min_weight: float
    eps: float
    n_clusters: int


def find_faults(claim: Claim, neighbors: NeighborLists, measured: NDArray) -> tuple[list[int], int]:
    """Rows misjudged as core, cut off, borders astray and noise within reach; and the number of components.

    Rows are judged by their neighbours within eps (1 + TIE); components are −1 where not all were measured.
    """
    counts = np.zeros(4, dtype=np.int64)
    whole = measured.size == claim.labels.size
    components = np.arange(claim.labels.size)
    for rows, near in walk_lists(measured, neighbors):
        lengths = np.diff(near.indptr)
        owner = np.repeat(rows, lengths)
        sure = near.distances <= claim.eps * (1.0 - TIE)
        by_core = claim.core[near.indices]
        alike = claim.labels[near.indices] == claim.labels[owner]
        mass = claim.mass[near.indices]
        at_most = list_sums(mass, near.indptr)
        at_least = list_sums(mass * sure, near.indptr)
        core, present = claim.core[rows], claim.mass[rows] > 0.0
        inside = claim.labels[rows] >= 0
        may_be = present & (at_most >= claim.min_weight * (1.0 - TIE))
        must_be = present & (at_least >= claim.min_weight * (1.0 + TIE))
        counts[0] += np.count_nonzero(np.where(core, ~may_be, must_be))
        torn = list_sums(sure & by_core & ~alike, near.indptr) > 0
        counts[1] += np.count_nonzero(core & (torn | ~inside))
        held = list_sums(by_core & alike, near.indptr) > 0
        counts[2] += np.count_nonzero(~core & inside & ~held)
        counts[3] += np.count_nonzero(~core & ~inside & (list_sums(sure & by_core, near.indptr) > 0))
        if whole:
            joined = by_core & claim.core[owner]
            components = _join(components, owner[joined], near.indices[joined])
    n_components = np.unique(components[claim.core]).size if whole else -1
    return counts.tolist(), n_components


def _join(components: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """Components after further edges, each kept as edges to a representative."""
    size = components.size
    ends = np.concatenate([first, np.arange(size)]), np.concatenate([second, components])
    graph = csr_array((np.ones(ends[0].size, dtype=np.int8), ends), shape=(size, size))
    numbers = connected_components(graph, directed=False)[1]
    _, representatives = np.unique(numbers, return_index=True)
    return representatives[numbers]


def dbscan_certificates(
    claim: Claim, neighbors: NeighborLists, measured: NDArray, label_weights: NDArray, kept: float
) -> Certificates:
    """Certificates from some rows; `kept` is how far `components_` are from the core rows."""
    faults, n_components = find_faults(claim, neighbors, measured)
    sampled: tuple[str, ...] = ()
    if n_components < 0:
        n_rows = claim.labels.size
        sampled = (f"measured on {measured.size} of {n_rows} rows, evenly spaced; certify measures all",)
    weights = np.bincount(claim.labels + 1, weights=claim.mass, minlength=claim.n_clusters + 1)
    counted = np.append(weights[1:], weights[0])
    apart = np.inf
    if label_weights.shape == counted.shape:
        apart = float(np.abs(label_weights - counted).max() / max(counted.sum(), 1.0))
    source = "Sangnier §2.4, Algorithm 14"
    texts = [
        ("Core rows, and no others, have enough weight within eps.", "rows misjudged as core"),
        ("Core rows within eps of each other share a cluster.", "core rows cut off"),
        ("Every border row is within eps of a core row of its cluster.", "borders astray"),
        ("No noise row is within eps of a core row.", "noise rows within reach"),
    ]
    proof = [
        at_most(*text, n_faults, 0.0, source, assumptions=sampled)
        for text, n_faults in zip(texts, faults, strict=True)
    ]
    if n_components >= 0:
        sentence = "Each cluster is one connected component of core rows within eps."
        proof.append(equal(sentence, "components of core rows", n_components, claim.n_clusters, source))
    sentence = "The weights of clusters and noise are those of the rows with their labels."
    proof.append(at_most(sentence, "discrepancy of weights", apart, 1e-6))
    sentence = "The core rows kept for predictions are those of the data."
    proof.append(at_most(sentence, "discrepancy of core rows", kept, 0.0))
    return Certificates(proof)
