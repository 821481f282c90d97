"""Conformal prediction: coverage that holds for any model, from rows kept aside or by folds."""

from assay.models.conformal.folds import (
    cross_class_sets,
    cross_conformal_ends,
    cross_conformal_intervals,
    proven_coverage,
)
from assay.models.conformal.splits import (
    class_scores,
    class_sets,
    conformal_quantile,
    conformal_rank,
    conformal_width,
    fewest_rows,
    interval_scores,
    moved_intervals,
    split_conformal_intervals,
    stretch_scores,
    stretched_intervals,
)

__all__ = [
    "class_scores",
    "class_sets",
    "conformal_quantile",
    "conformal_rank",
    "conformal_width",
    "cross_class_sets",
    "cross_conformal_ends",
    "cross_conformal_intervals",
    "fewest_rows",
    "interval_scores",
    "moved_intervals",
    "proven_coverage",
    "split_conformal_intervals",
    "stretch_scores",
    "stretched_intervals",
]
