"""Rows whose target is a class: labels become the numbers 0, 1, … on the way to each step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.rows._blocks import Block, Rows
from assay.rows._mapped import MappedRows


def coded_rows(data: Rows, classes: NDArray) -> Rows:
    """A table with the (first column of the) target replaced by its place among the classes."""
    return MappedRows(data, coded, classes)


def code(labels: NDArray, classes: NDArray, weight: NDArray | None = None) -> NDArray:
    """Place of each label in a sorted list of classes; rows that weigh nothing may have any label."""
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[places] != labels
    if weight is not None:
        unknown &= weight > 0
    if unknown.any():
        raise ValueError(
            f"The label {labels[np.argmax(unknown)]!r} is not among the classes of the fit; they are "
            f"{', '.join(repr(label) for label in classes[:10].tolist())}."
        )
    return places


def coded(block: Block, classes: NDArray) -> Block:
    """A block with its labels replaced by their places."""
    y = block.y
    if y is None:
        return block
    places = code(y if y.ndim == 1 else y[:, 0], classes, block.weight).astype(y.dtype)
    return block._replace(y=places if y.ndim == 1 else np.column_stack([places, y[:, 1:]]))


def class_weights(block: Block) -> dict[Any, float]:
    """Total weight of each label of one block, of those that weigh something."""
    assert block.y is not None
    labels = block.y if block.y.ndim == 1 else block.y[:, 0]
    present, places = np.unique(labels, return_inverse=True)
    weights = np.bincount(places, block.weight, minlength=len(present))
    return {
        label: weight for label, weight in zip(present.tolist(), weights.tolist(), strict=True) if weight > 0
    }


def merge_weights(left: dict[Any, float], right: dict[Any, float]) -> dict[Any, float]:
    """Add the weights of the same label."""
    return {label: left.get(label, 0.0) + right.get(label, 0.0) for label in {**left, **right}}
