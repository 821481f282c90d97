"""What is made of the values of machines at new rows: scores, classes, probabilities, block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.kernel_machines.support_vectors.base import values_block
from assay.kernel_machines.support_vectors.pairs import class_scores, classes_of
from assay.kernel_machines.support_vectors.probabilities import class_probabilities
from assay.rows import Block


class Scores:
    """One score per class from the values of the machines of two."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def __call__(self, values: NDArray) -> NDArray:
        """The scores of each row."""
        return class_scores(values, self.n_classes).astype(values.dtype)


class Decide:
    """The class of each row."""

    def __init__(self, classes: NDArray, against_rest: bool, break_ties: bool) -> None:
        self.classes, self.against_rest, self.break_ties = classes, against_rest, break_ties

    def __call__(self, values: NDArray) -> NDArray:
        """The class of each row."""
        return classes_of(values, self.classes, against_rest=self.against_rest, break_ties=self.break_ties)


class Probabilities:
    """Probabilities of the classes."""

    def __init__(self, n_classes: int, against_rest: bool, slope: float) -> None:
        self.n_classes, self.against_rest, self.slope = n_classes, against_rest, slope

    def __call__(self, values: NDArray) -> NDArray:
        """The probabilities of each row."""
        scores = values if self.against_rest or self.n_classes == 2 else class_scores(values, self.n_classes)
        return class_probabilities(scores, self.slope).astype(values.dtype)


def first_column(values: NDArray) -> NDArray:
    """The values of the one machine of two classes."""
    return values[:, 0]


def as_they_are(values: NDArray) -> NDArray:
    """The values themselves, a column per machine."""
    return values


def class_counts(block: Block, n_classes: int) -> NDArray:
    """Weight of each class in a block."""
    assert block.y is not None
    return np.bincount(block.y.reshape(-1).astype(np.intp), block.weights, minlength=n_classes).astype(
        np.float64
    )


def machines_block(block: Block, fitted: tuple[Any, ...], after: Any) -> NDArray:
    """What is made of the values of the machines at the rows of a block."""
    kernel, support, coefs, intercept = fitted
    return np.asarray(after(values_block(block, kernel, support, coefs, intercept)))
