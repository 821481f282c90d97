"""Rows whose target is a class: labels become the numbers 0, 1, … on the way to each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.rows._blocks import Block, Combine, Rows, Step


class CodedRows(Rows):
    """A table with the (first column of the) target replaced by its place among the classes."""

    def __init__(self, data: Rows, classes: NDArray) -> None:
        self._data, self._classes = data, classes
        self.shape, self.dtype, self.feature_names = data.shape, data.dtype, data.feature_names
        self.n_targets, self.has_weight = data.n_targets, data.has_weight
        self.local, self.is_sparse = data.local, data.is_sparse

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""
        return self._data.reduce(coded, step, self._classes, *state, combine=combine, rowwise=rowwise)

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> Any:
        """See `Rows.map`."""
        return self._data.map(coded, step, self._classes, *state, dtype=dtype, width=width)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        return self._data.take(indices)

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`."""
        return self._data.head(n_rows, coded, step, self._classes, *state)

    def trust_values(self) -> None:
        """See `Rows.trust_values`."""
        self._data.trust_values()


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


def coded(block: Block, step: Step, classes: NDArray, *state: Any) -> Any:
    """Run a step on a block with its labels replaced by their places."""
    y = block.y
    assert y is not None
    places = code(y if y.ndim == 1 else y[:, 0], classes, block.weight).astype(y.dtype)
    return step(block._replace(y=places if y.ndim == 1 else np.column_stack([places, y[:, 1:]])), *state)


def class_weights(block: Block) -> dict[Any, float]:
    """Total weight of each label of one block, of those that weigh something."""
    assert block.y is not None
    labels = block.y if block.y.ndim == 1 else block.y[:, 0]
    found, places = np.unique(labels, return_inverse=True)
    weights = np.bincount(places, block.weight, minlength=len(found))
    return {
        label: weight for label, weight in zip(found.tolist(), weights.tolist(), strict=True) if weight > 0
    }


def merge_weights(left: dict[Any, float], right: dict[Any, float]) -> dict[Any, float]:
    """Add the weights of the same label."""
    return {label: left.get(label, 0.0) + right.get(label, 0.0) for label in {**left, **right}}
