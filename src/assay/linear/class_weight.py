"""Weights of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.parameters import Domain

CLASS_WEIGHT = (
    parameters.nothing
    | parameters.one_of("balanced")
    | Domain("a dict of labels and weights", lambda value: isinstance(value, Mapping))
)


def class_factors(class_weight: Any, classes: NDArray, weights: NDArray) -> NDArray:
    """Factor of the weight of each class; "balanced" gives n/(K n_k), so that classes weigh the same."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        return np.asarray(weights.sum() / (len(classes) * weights))
    for label, factor in class_weight.items():
        if not parameters.real(above=0).contains(factor):
            raise ValueError(
                f"The 'class_weight' of {label!r} must be a finite number above 0. Got {factor!r} instead."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
