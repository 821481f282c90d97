"""What a tree of splits proves about itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates
from assay.cluster._linkage_certificates import (
    chosen_joins,
    cut_of_tree,
    cut_up_to_threshold,
    fall_of_heights,
    rounding_of,
)
from assay.cluster._linkage_evidence import Evidence

SOURCE = "Wei §10.2.2; Kaufman & Rousseeuw (1990)"


def divisive_certificates(evidence: Evidence) -> Certificates:
    """Certificates of a tree: of a sample of splits, or of all that can be afforded."""
    heights = evidence.tree.heights.astype(np.float64)
    top = float(np.abs(heights).max(initial=0.0)) or 1.0
    items = [fall_of_heights(heights, top)]
    if heights.size:
        splits = chosen_joins(evidence)
        some = "each cluster" if splits.size == heights.size else f"{splits.size} clusters of {heights.size}"
        items += [
            Certificate(
                f"The height of {some} is its diameter, recomputed from the data.",
                "largest error of a diameter",
                value=_diameter_error(evidence, heights, splits, top),
                relation="<=",
                bound=10.0 * rounding_of(evidence),
                source=SOURCE,
            ),
            Certificate(
                "No row that stayed is nearer, on average, to those that left.",
                "largest gain of a further move",
                value=_largest_gain(evidence, splits) / top,
                relation="<=",
                bound=10.0 * rounding_of(evidence),
                source=SOURCE,
            ),
        ]
    items.append(cut_of_tree(evidence.tree, evidence.labels, evidence.n_clusters))
    if evidence.threshold is not None:
        items.append(cut_up_to_threshold(evidence))
    return Certificates(items)


def _diameter_error(evidence: Evidence, heights: NDArray, splits: NDArray, top: float) -> float:
    """A diameter is the greatest of those of the two parts and the dissimilarities between them."""
    of_node = np.concatenate([np.zeros(evidence.tree.n_leaves), heights])
    parts = of_node[evidence.tree.children[splits]].max(axis=1)
    expected = np.maximum(evidence.heights(splits), parts)
    error = np.abs(heights[splits] - expected) / np.maximum(expected, 1e-6 * top)
    return float(error.max(initial=0.0))


def _largest_gain(evidence: Evidence, splits: NDArray) -> float:
    """The greatest gain of a row in the part that stayed: that of the two parts where it is less."""
    largest = 0.0
    for split in splits:
        sides = [evidence.tree.spans.members(node) for node in evidence.tree.children[split]]
        between = evidence.block(*sides)
        gains = [
            _gain(evidence, sides[0], between.mean(axis=1)),
            _gain(evidence, sides[1], between.mean(axis=0)),
        ]
        largest = max(largest, min(gains))
    return largest


def _gain(evidence: Evidence, members: NDArray, to_others: NDArray) -> float:
    if len(members) == 1:  # the last row stays whatever it gains
        return 0.0
    within = evidence.block(members, members)
    return float((within.sum(axis=1) / (len(members) - 1) - to_others).max())
