"""What an HDBSCAN fit proves about itself: its spanning tree, and the clusters read off it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from assay.certificates import Certificate, Certificates, at_least, at_most, equal
from assay.cluster.density.base import (
    BLOCK_PAIRS,
    ROUNDING,
    core_discrepancy,
    discrepancy,
    distances_from,
    part_measured,
)
from assay.cluster.density.hdbscan_tree import CondensedTree
from assay.distances import Metric

MAX_ROWS_OF_WEIGHT = 2000
MAX_CLUSTERS_OF_A_LARGE_FIT = 1
SOURCE = "Campello, Moulavi & Sander (2013)"


class MeasuredTree(NamedTuple):
    """What a fit says: its trees, its clusters, and how they were chosen."""

    labels: NDArray
    probabilities: NDArray
    stability: NDArray
    reach: NDArray
    selected: NDArray
    condensed: CondensedTree
    core_distances: NDArray
    edges: NDArray
    n_core: int
    is_best: bool
    allow_single_cluster: bool


def hdbscan_certificates(
    fit: MeasuredTree, X: NDArray, metric: Metric, measured: NDArray, *, whole: bool = False
) -> Certificates:
    """Certificates of a fit, measured on some rows; `whole` adds the weight of the tree if rows are few."""
    n_rows = fit.labels.size
    core, least = _measure_rows(fit, X, metric, measured)
    assumptions = part_measured(measured.size, n_rows)
    n_checked = fit.reach.size if whole or n_rows <= MAX_ROWS_OF_WEIGHT else MAX_CLUSTERS_OF_A_LARGE_FIT
    claim = "Core distances are those to the min_samples-th row, itself counted."
    proof = [at_most(claim, "discrepancy of core distances", core, ROUNDING, SOURCE, assumptions=assumptions)]
    claim = "The edge of each row with the least mutual reachability is in the spanning tree, at its length."
    proof.append(
        at_most(claim, "discrepancy of least edges", least, ROUNDING, SOURCE, assumptions=assumptions)
    )
    claim = "The edges connect all rows."
    value = _components(fit.edges, n_rows, np.inf)[0]
    proof.append(equal(claim, "components of the spanning tree", value, 1.0, SOURCE))
    claim = "Every cluster is one component of the edges below its distance, whole."
    value = _misplaced(fit, n_checked)
    proof.append(
        at_most(
            claim,
            "rows beyond their component",
            value,
            0.0,
            SOURCE,
            assumptions=()
            if n_checked >= fit.reach.size
            else (f"measured on {n_checked} clusters; certify measures all",),
        )
    )
    claim = "Stabilities are the sums over the rows of the densities they last."
    proof.append(at_most(claim, "discrepancy of stabilities", _stability_discrepancy(fit), 1e-6, SOURCE))
    if fit.is_best:
        proof.append(_best_choice(fit))
    if whole and n_rows <= MAX_ROWS_OF_WEIGHT:
        proof.append(_weight(fit, X, metric))
    return Certificates(proof)


def _measure_rows(fit: MeasuredTree, X: NDArray, metric: Metric, measured: NDArray) -> tuple[float, float]:
    """Discrepancies of core distances and of the least edge of rows."""
    shortest = np.full(fit.labels.size, np.inf)
    for end in fit.edges[:, :2].T:
        places = np.clip(np.nan_to_num(end), 0, shortest.size - 1).astype(np.int64)
        np.minimum.at(shortest, places, fit.edges[:, 2])
    core = least = 0.0
    step = max(1, BLOCK_PAIRS // fit.labels.size)
    for start in range(0, measured.size, step):
        rows = measured[start : start + step]
        distances = distances_from(rows, X, metric)
        core = max(core, core_discrepancy(distances, fit.core_distances[rows], fit.n_core, np.inf))
        mutual = np.maximum(
            distances, np.maximum(fit.core_distances, fit.core_distances[rows][:, np.newaxis])
        )
        mutual[np.arange(rows.size), rows] = np.inf
        least = max(least, discrepancy(mutual.min(axis=1), shortest[rows]))
    return core, least


def _components(edges: NDArray, n_rows: int, below: float) -> tuple[int, NDArray]:
    ends = np.clip(np.nan_to_num(edges[edges[:, 2] < below, :2]), 0, n_rows - 1).astype(np.int64)
    graph = csr_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_rows, n_rows))
    return connected_components(graph, directed=False)


def _misplaced(fit: MeasuredTree, n_checked: int) -> int:
    """Rows of the first clusters that are not exactly one component of the edges below their distance."""
    wrong = 0
    for cluster in range(min(n_checked, fit.reach.size)):
        inside = fit.labels == cluster
        if np.isinf(fit.reach[cluster]):
            continue  # all rows are connected; those that leave early are noise
        _, component = _components(fit.edges, fit.labels.size, fit.reach[cluster] * (1.0 - 1e-12))
        if not inside.any():
            return fit.labels.size
        wrong += int(np.count_nonzero(inside != (component == component[inside.argmax()])))
    return wrong


def _stability_discrepancy(fit: MeasuredTree) -> float:
    """Stabilities against Σ (p_x λ_end − λ_begin), the probabilities being shares of λ at the end."""
    tree, sums = fit.condensed, np.zeros(fit.reach.size)
    for cluster, node in enumerate(fit.selected):
        shares = fit.probabilities[fit.labels == cluster]
        begin, end = tree.birth[node], tree.death[node]
        if np.isinf(end):
            sums[cluster] = np.inf
        elif node == 0:  # noise counts for the cluster of all rows while it lasts
            sums[cluster] = fit.stability[cluster] if shares.size else np.inf
        else:
            sums[cluster] = shares.sum() * end - shares.size * begin
    finite = np.isfinite(sums)
    if not np.array_equal(finite, np.isfinite(fit.stability)):
        return float(np.inf)
    nodes = fit.selected[finite]
    gaps = np.abs(sums[finite] - fit.stability[finite])
    return float((gaps / (tree.size[nodes] * tree.death[nodes])).max(initial=0.0))


def _best_choice(fit: MeasuredTree) -> Certificate:
    """The total stability against the greatest of any choice, summed over the condensed tree."""
    tree = fit.condensed
    value = tree.stability
    best, within = np.zeros(value.size), np.zeros(value.size)
    for cluster in range(value.size - 1, -1, -1):  # parents come before their children
        allowed = cluster > 0 or fit.allow_single_cluster
        best[cluster] = max(value[cluster], within[cluster]) if allowed else within[cluster]
        if cluster > 0:
            within[tree.parent[cluster]] += best[cluster]
    reached = float(fit.stability.sum())
    claim = "No other choice of clusters, none inside another, has a greater total stability."
    return at_least(
        claim,
        "total stability",
        reached,
        best[0],
        SOURCE,
        tolerance=1e-9 * abs(best[0]) if np.isfinite(best[0]) else 0.0,
    )


def _weight(fit: MeasuredTree, X: NDArray, metric: Metric) -> Certificate:
    distances = distances_from(np.arange(fit.labels.size), X, metric)
    mutual = np.maximum(distances, np.maximum.outer(fit.core_distances, fit.core_distances))
    # A length of 0 would be no edge: every length is raised by one constant.
    raised = float(mutual.max()) or 1.0
    shortest = float(minimum_spanning_tree(mutual + raised).sum()) - raised * (fit.labels.size - 1)
    claim = "No spanning tree of mutual reachabilities is shorter."
    value = fit.edges[:, 2].sum()
    return at_most(
        claim,
        "length of the spanning tree",
        value,
        shortest,
        SOURCE,
        tolerance=1e-11 * raised * fit.labels.size,
    )
