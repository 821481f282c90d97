"""What a walk over rows is: blocks, a step for each, and the combination of the partial results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = Any
"""A dense C- or F-ordered array, or a SciPy CSR array or matrix."""

BLOCK_BYTES = 2**21
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 2048, 65536


class Block(NamedTuple):
    """Consecutive rows: features, target and weights (either may be missing), and the first row's index."""

    X: Matrix
    y: NDArray | None
    weight: NDArray | None
    start: int

    def cut(self, start: int, stop: int) -> Block:
        """Some of the rows, by their places in the block."""
        X, y, weight = (None if values is None else values[start:stop] for values in self[:3])
        return Block(X, y, weight, self.start + start)

    @property
    def is_sparse(self) -> bool:
        """Whether the features are a CSR matrix."""
        return not isinstance(self.X, np.ndarray)

    @property
    def dense(self) -> NDArray:
        """The features as an array."""
        return self.X.toarray() if self.is_sparse else self.X

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each row in float64: ones where there are none."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight.astype(np.float64)


Step: TypeAlias = Callable[..., Any]
Combine: TypeAlias = Callable[[Any, Any], Any]


class Rows(ABC):
    """A table of rows that can be walked block by block, wherever it lives.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of features.
    dtype : numpy.dtype
        float32 or float64: what the blocks are made of.
    feature_names : array of str or None
        Names of the columns, when the source has them.
    n_targets : int
        0 without a target, 1 for a vector target, else its number of columns.
    local : bool
        Whether the blocks are computed in this process, so that `rowwise` arrays can be handed along.
    is_sparse : bool
        Whether the blocks are CSR.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    feature_names: NDArray | None = None
    n_targets: int = 0
    has_weight: bool = False
    local: bool = True
    is_sparse: bool = False

    @abstractmethod
    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """Apply `step(block, *state)` to every block and combine the results in the order of the blocks.

        Parameters
        ----------
        step : callable
            A pure function of a `Block` and the state; returns an array, a number or a (named) tuple of
            them. Must be importable (no closure) to travel to other processes.
        *state : object
            Handed to every call as it is; must not be changed.
        combine : callable, optional
            Associative combination of two partial results; addition, field by field, by default.
        rowwise : sequence of arrays of length n_samples
            Their slices of the block's rows follow the state and may be written to (labels, bounds).
            Only for `local` sources.
        """

    @abstractmethod
    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> Any:
        """Apply `step(block, *state)`, which gives one value (or `width` values) per row, and keep them all.

        Local sources give a NumPy array, Dask sources a lazy Dask array.
        """

    @abstractmethod
    def take(self, indices: NDArray) -> NDArray:
        """The rows of these (increasing) indices, dense, in memory."""

    def keep(self, step: Step, *state: Any) -> list[Any]:
        """Apply `step(block, *state)` to each partition of a cluster, as one block; results stay there.

        Gives one handle per partition that has rows, in their order, to be passed to tasks; the step must be
        a pure function, since the result of a lost worker is computed again. Not for `local` sources.
        """
        raise NotImplementedError(f"{type(self).__name__} has no partitions.")

    @abstractmethod
    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """Apply `step(block, *state)` to one block made of the first rows, at most `n_rows` of them.

        For pilots: a rough mean or scale before the walk itself. Walks as little of the source as it can.
        """

    def trust_values(self) -> None:  # noqa: B027 (most sources have nothing to leave)
        """Leave NaN and infinity in features and target to the caller, whose sums over the rows show them.

        Weights are checked all the same. Sources that check nothing themselves ignore this.
        """

    def allow_missing(self, *, infinite: bool = False) -> None:  # noqa: B027 (rows in memory are checked when they are opened)
        """Let NaN and nulls among the features pass, missing values, and with `infinite` infinity too."""

    @property
    def total_weight(self) -> float:
        """Sum of the weights: the number of rows when there are none."""
        return float(self.reduce(_block_weight)) if self.has_weight else float(self.shape[0])


def _block_weight(block: Block) -> float:
    assert block.weight is not None
    return float(block.weight.sum())


def add(left: Any, right: Any) -> Any:
    """Add two partial results, field by field when they are (named) tuples."""
    if isinstance(left, tuple):
        sums = [add(a, b) for a, b in zip(left, right, strict=True)]
        return type(left)(*sums) if hasattr(left, "_fields") else tuple(sums)
    if left is None:
        return None
    return left + right


def block_rows(n_features: int, itemsize: int, *, block_bytes: int = BLOCK_BYTES) -> int:
    """Rows of a block; a function of the table alone, so that results do not depend on the threads."""
    return max(MIN_BLOCK_ROWS, min(block_bytes // max(1, n_features * itemsize), MAX_BLOCK_ROWS))
