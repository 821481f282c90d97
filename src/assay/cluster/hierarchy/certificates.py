"""What a tree of joins proves about itself, and what any partition into as many clusters could reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_least, at_most, equal
from assay.cluster.hierarchy.evidence import TreeEvidence

SOURCE = "Sangnier §2.3.1; Wei §10.2.2"
MONOTONE = ("ward", "single", "complete", "average", "weighted")
FIT_JOINS, FIT_LEAVES = 48, 256
CERTIFY_PAIRS = 2**26
MAX_FEATURES_OF_EIGENVALUE_BOUND = 4096


def linkage_certificates(evidence: TreeEvidence) -> Certificates:
    """Certificates of a tree: of a sample of joins, or of all that can be afforded."""
    heights = evidence.tree.heights.astype(np.float64)
    top = float(np.abs(heights).max(initial=0.0)) or 1.0
    rounding = rounding_of(evidence)
    items = [fall_of_heights(heights, top)] if evidence.linkage in MONOTONE else []
    if heights.size:
        items += [_recomputed(evidence, heights, top, rounding), _greedy(evidence, heights, top, rounding)]
    if evidence.linkage == "ward":
        items.append(_telescope(evidence, heights, rounding))
    return Certificates([*items, *cut_certificates(evidence)])


def rounding_of(evidence: TreeEvidence) -> float:
    """Relative room for rounding; in float32 heights are rounded once, at the end."""
    return max(1e-9, 8.0 * float(np.finfo(evidence.tree.heights.dtype).eps))


def fall_of_heights(heights: NDArray, top: float) -> Certificate:
    """Heights never fall from one join to the next."""
    fall = float(np.max(-np.diff(heights, prepend=0.0), initial=0.0))
    claim = "The heights of the joins never fall."
    return at_most(claim, "largest fall of the heights", fall / top, 0.0, SOURCE)


def cut_certificates(evidence: TreeEvidence) -> Iterator[Certificate]:
    """The labels are a cut of the tree, up to their numbers, and at the threshold where there is one."""
    tree, labels, n_clusters = evidence.tree, evidence.labels, evidence.n_clusters
    expected = tree.cut(n_clusters)
    labels = labels.clip(-1, n_clusters)  # what is beyond is wrong, however far
    pairs = np.unique(expected.astype(np.int64) * (int(labels.max(initial=0)) + 1) + labels)
    n_wrong = 0
    if len(pairs) != n_clusters or len(np.unique(labels)) != n_clusters or labels.min(initial=0) < 0:
        first = np.zeros(n_clusters, dtype=labels.dtype)
        first[expected[::-1]] = labels[::-1]
        n_wrong = max(1, int(np.count_nonzero(first[expected] != labels)))
    claim = f"The labels are the {n_clusters} clusters left of the tree."
    yield at_most(claim, "rows outside their cluster of the tree", n_wrong, 0.0, SOURCE)
    if evidence.threshold is not None:
        n_expected = tree.n_clusters_at(tree.heights.dtype.type(evidence.threshold))
        claim = f"Joins were made up to the height {evidence.threshold:.6g} and no further."
        yield equal(claim, "number of clusters", n_clusters, n_expected, "Sangnier §2.3.1")


def _recomputed(evidence: TreeEvidence, heights: NDArray, top: float, rounding: float) -> Certificate:
    joins = chosen_joins(evidence)
    recomputed = evidence.heights(joins)
    error = np.abs(heights[joins] - recomputed) / np.maximum(recomputed, 1e-6 * top)
    some = "each join" if joins.size == heights.size else f"{joins.size} joins of {heights.size}"
    claim = f"The height of {some} is the linkage of the two clusters, recomputed from the data."
    return at_most(claim, "largest error of a height", error.max(initial=0.0), 10.0 * rounding, SOURCE)


def chosen_joins(evidence: TreeEvidence) -> NDArray:
    """All joins, or joins all over the tree that together stay within the budget."""
    costs = evidence.join_costs()
    budget = _budget(evidence)
    if costs.sum() <= budget:
        return np.arange(costs.size)
    n_joins = int(np.clip(evidence.tree.n_leaves // 250, 6, FIT_JOINS))
    n_joins = 40 * FIT_JOINS if evidence.thorough else n_joins
    fitting = np.flatnonzero(costs <= budget // n_joins)
    chosen = fitting[np.unique(np.linspace(0, fitting.size - 1, n_joins).astype(int))]
    last = np.arange(max(0, costs.size - 4), costs.size) if evidence.between_centers else chosen[:0]
    return np.union1d(chosen, last)


def _budget(evidence: TreeEvidence) -> int:
    n = evidence.tree.n_leaves
    if evidence.thorough:
        return CERTIFY_PAIRS
    # Single linkage does not compare all pairs: neither does its sample.
    return int(np.clip(n * n // 50, 2**14, max(2**14, 2 * n) if evidence.linkage == "single" else 2**20))


def _greedy(evidence: TreeEvidence, heights: NDArray, top: float, rounding: float) -> Certificate:
    """At some levels, no cluster looked at is closer to another than the next join."""
    n = evidence.tree.n_leaves
    levels = [max(evidence.n_clusters, 2)]
    if n > FIT_LEAVES:
        levels.append(n // 2)  # where clusters are small, many can be looked at
    if evidence.thorough:
        levels += [n, *np.geomspace(2, n, 8).astype(int).tolist()]
    levels = sorted({level for level in levels if 2 <= level <= n})
    budget = _budget(evidence) // max(1, len(levels))
    missed = 0.0
    for n_clusters in levels:
        next_height = heights[n - n_clusters]
        closest = evidence.closest(n_clusters, budget)
        missed = max(missed, (next_height - closest) / max(next_height, 1e-6 * top))
    claim = "No two clusters were closer than those that were joined, " + (
        "on every level looked at." if evidence.thorough else "among those looked at."
    )
    return at_most(claim, "closer pair passed over", missed, 10.0 * rounding, SOURCE)


def _telescope(evidence: TreeEvidence, heights: NDArray, rounding: float) -> Certificate:
    total = float(evidence.weights @ (evidence.centred**2).sum(axis=1))
    claim = "The costs of all joins add up to the total inertia."
    value = abs(float((0.5 * heights**2).sum()) - total) / (total or 1.0)
    bound = 10.0 * rounding
    return at_most(claim, "telescoping residual", value, bound, "Sangnier §2.3.1; Douc & Le Corff §8.7")


def means_certificate(centers: NDArray, means: NDArray, X: NDArray, source: str = SOURCE) -> Certificate:
    """Stored centres are the means of the clusters, in units of the spread of the rows."""
    claim = "The centres are the means of the rows of the clusters, recomputed from the data."
    quantity = "largest error of a centre over the spread of the rows"
    if centers.shape != means.shape:
        return at_most(claim, quantity, np.inf, 0.0, source)
    values = X.astype(np.float64)
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    spread = float(np.abs(values - values.mean(axis=0)).max(initial=0.0)) or largest
    error = float(np.abs(centers.astype(np.float64) - means).max(initial=0.0)) / spread
    rounding = 8.0 * float(np.finfo(centers.dtype).eps) * largest / spread
    return at_most(claim, quantity, error, 1e-9 + rounding, source)


def leaves_certificate(model: Any, rows: NDArray | None, weights: NDArray, places: NDArray) -> Certificate:
    """The leaves are the rows of positive weight, with their weights; predictions read these rows."""
    claim = "The leaves of the tree are the rows of positive weight, with their weights."
    pairs: dict[str, tuple[Any, Any]]
    pairs = {"leaf_rows_": (model.leaf_rows_, places), "leaf_weights_": (model.leaf_weights_, weights)}
    pairs["the rows kept"] = model._rows, rows
    return agreement(claim, pairs, SOURCE, rtol=0.0)


def linkage_bounds(evidence: TreeEvidence) -> Iterator[Certificate]:
    """What no partition into as many clusters can do better, where a linkage is about a criterion."""
    bounds = {"ward": _inertia_bound, "complete": _diameter_bound, "single": _spacing_bound}
    if evidence.n_clusters < evidence.tree.n_leaves and evidence.linkage in bounds:
        yield from bounds[evidence.linkage](evidence)


def _inertia_bound(evidence: TreeEvidence) -> Iterator[Certificate]:
    """The inertia is at least the sum of the eigenvalues of the scatter beyond the (n_clusters − 1)-th."""
    X, w, k = evidence.centred, evidence.weights, evidence.n_clusters
    if X.shape[1] > MAX_FEATURES_OF_EIGENVALUE_BOUND:
        return
    inertia = 0.0
    for label in range(k):
        inside = evidence.labels == label
        if inside.any():
            mean = np.average(X[inside], axis=0, weights=w[inside])
            inertia += float(w[inside] @ ((X[inside] - mean) ** 2).sum(axis=1))
    eigenvalues = np.linalg.eigvalsh((X * w[:, np.newaxis]).T @ X)[::-1]
    total = float(eigenvalues.sum())
    smallest = float(np.maximum(eigenvalues[k - 1 :], 0.0).sum())
    smallest = smallest if smallest > 1e-12 * total else 0.0
    factor = f"; this one is within a factor {inertia / smallest:.3g} of the best" if smallest else ""
    claim = f"No partition into {k} clusters has an inertia below {smallest:.6g}{factor}."
    source = "Zha, He, Ding, Simon & Gu (2001); Ding & He (2004)"
    room = 1e-9 * total
    yield at_least(claim, "inertia", inertia, smallest, source, trivial=0.0, tolerance=room, informative=True)


def _diameter_bound(evidence: TreeEvidence) -> Iterator[Certificate]:
    """Among k + 1 rows that are all δ apart, two share a cluster: its diameter is at least δ."""
    n, k = evidence.tree.n_leaves, evidence.n_clusters
    if (k + 1) * n > CERTIFY_PAIRS:
        return
    nearest, spread, new = np.full(n, np.inf), np.inf, 0
    for _ in range(k + 1):
        spread = min(spread, float(nearest[new]))
        nearest = np.minimum(nearest, evidence.dissimilarities(evidence.leaves, [new])[0])
        new = int(nearest.argmax())
    # For complete linkage the height of a join is the diameter of what it makes.
    nodes = evidence.tree.nodes_at(k)
    made = nodes[nodes >= n] - n
    diameter = float(evidence.tree.heights[made].max(initial=0.0))
    factor = f"; this one is within a factor {diameter / spread:.3g} of the best" if spread > 0.0 else ""
    claim = f"No partition into {k} clusters has all diameters below {spread:.6g}{factor}."
    details: Any = {"trivial": 0.0, "tolerance": 1e-6 * spread, "informative": True}
    yield at_least(claim, "largest diameter", diameter, spread, "Gonzalez (1985)", **details)


def _spacing_bound(evidence: TreeEvidence) -> Iterator[Certificate]:
    """Any other partition parts two rows that joins below that height had brought together."""
    n, k = evidence.tree.n_leaves, evidence.n_clusters
    if k == 1 or n**2 > CERTIFY_PAIRS:
        return
    height = float(evidence.tree.heights[n - k])
    spacing = evidence.closest(k, CERTIFY_PAIRS)
    claim = f"No partition into {k} clusters keeps them farther apart than {height:.6g}."
    quantity, source = "least distance between clusters", "Sangnier §2.3.2; Kleinberg (2002)"
    yield at_least(claim, quantity, spacing, height, source, tolerance=1e-6 * height)
