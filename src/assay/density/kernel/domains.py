"""What the parameters of a kernel density may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.density.bandwidths import RULES
from assay.distances.others import is_known_metric, named_metric
from assay.kernel_sums import KERNEL_NAMES, SmoothingKernel
from assay.parameters import Domain, array, boolean, integer, nothing, one_of, real

BANDWIDTH = (
    real(above=0.0, squared=True)
    | array(
        "an array of one positive number a column or a matrix",
        lambda values: 1 <= values.ndim <= 2 and values.size > 0,
    )
    | one_of(*RULES)
)
KERNEL = (
    Domain(
        "one of " + ", ".join(map(repr, KERNEL_NAMES)),
        lambda name: isinstance(name, str) and name in KERNEL_NAMES,
    )
    | Domain("a SmoothingKernel", lambda value: isinstance(value, SmoothingKernel))
    | Domain("a function of integral 1", lambda value: callable(value) and not isinstance(value, type))
)
METRIC = Domain(
    "the name of a metric or a callable",
    lambda value: (
        callable(value) or (isinstance(value, str) and is_known_metric(named_metric(value, None)[0]))
    ),
)
MAPPING = Domain("a mapping of names to numbers", lambda value: isinstance(value, Mapping))
BOX = Domain(
    "a pair (low, high), or one for each column, of numbers or infinities",
    lambda value: not isinstance(value, str) and hasattr(value, "__len__") and _is_box(value),
)


def _is_box(value: Any) -> bool:
    try:
        box = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return box.ndim in (1, 2) and box.shape[-1] == 2 and bool(np.all(box[..., 0] < box[..., 1]))


ALGORITHMS = ("auto", "kd_tree", "ball_tree")
GRID = array(
    "increasing positive numbers",
    lambda v: v.ndim == 1 and len(v) > 2 and bool(np.all(np.diff(v, prepend=0.0) > 0)),
)

DOMAINS: Mapping[str, Domain] = {
    "bandwidth": BANDWIDTH,
    "algorithm": Domain(
        "'auto', 'kd_tree' or 'ball_tree'", lambda value: isinstance(value, str) and value in ALGORITHMS
    ),
    "kernel": KERNEL,
    "metric": METRIC,
    "atol": real(at_least=0.0),
    "rtol": real(at_least=0.0),
    "breadth_first": boolean,
    "leaf_size": integer(at_least=1),
    "metric_params": nothing | MAPPING,
    "form": one_of("radial", "product"),
    "support": nothing | BOX,
    "truth": nothing | MAPPING,
    "bandwidths": nothing | GRID,
}
