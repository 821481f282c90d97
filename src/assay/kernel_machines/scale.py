"""The scale of a kernel from rows anywhere, by one walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.kernels import Kernel, kernel
from assay.rows import Block, Rows


def kernel_of_rows(model: Any, data: Rows) -> Kernel:
    """The kernel that a model's parameters mean for a table in memory, on disk or on a cluster.

    γ = "scale" is 1/(n_features · Var X), with weights as repetitions; "auto" and None are 1/n_features. None
    for `degree` and `coef0` are 3 and 1.
    """
    gamma = model.gamma
    if isinstance(gamma, str):
        gamma = scale_of_rows(data) if gamma == "scale" else None
    scales: Any = {
        "gamma": gamma,
        "degree": 3 if model.degree is None else model.degree,
        "coef0": 1.0 if model.coef0 is None else model.coef0,
    }
    made = kernel(model.kernel, **scales, function_parameters=getattr(model, "kernel_params", None))
    return made.for_features(data.shape[1])


def scale_of_rows(data: Rows) -> float:
    """γ = "scale" of a table: 1/(n_features · Var X), 1 where the entries do not vary."""
    moments = data.reduce(block_moments, combine=merge_moments)
    spread = data.shape[1] * float(moments.squares / moments.n_entries)
    return 1.0 / spread if spread > 0 and np.isfinite(1.0 / spread) else 1.0


class EntryMoments(NamedTuple):
    """Number of entries of a table, their mean and their sum of squares about it."""

    n_entries: float
    mean: float
    squares: float


def block_moments(block: Block) -> EntryMoments:
    """The moments of one block."""
    weights, n_columns = block.weights, block.X.shape[1]
    count = float(weights.sum()) * n_columns
    if not count > 0:
        return EntryMoments(0.0, 0.0, 0.0)
    X = block.dense.astype(np.float64, copy=False)
    mean = float(weights @ X.sum(axis=1)) / count
    return EntryMoments(count, mean, float(weights @ ((X - mean) ** 2).sum(axis=1)))


def merge_moments(first: EntryMoments, second: EntryMoments) -> EntryMoments:
    """The moments of two blocks together."""
    count, step = first.n_entries + second.n_entries, second.mean - first.mean
    if not count > 0:
        return first
    share = second.n_entries / count
    squares = first.squares + second.squares + step * step * first.n_entries * share
    return EntryMoments(count, first.mean + share * step, squares)
