"""What `shap_values` gives: a number per row and column that adds up to the score, with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, at_most

TOLERANCE = 1e-9
"""What the values of a row may miss of its score, relative to their size."""

ROWS = 4096

SOURCE = "Lundberg et al. (2020), From local explanations to global understanding"


@dataclass(frozen=True, eq=False)
class ShapValues:
    """Shapley values of rows: score = base value + sum over the columns.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns), or (n_rows, n_columns, n_outputs)
        What each column adds to the score of each row.
    base_value : float, or array of shape (n_outputs,)
        The score when no column is known.
    scores : array of shape (n_rows,), or (n_rows, n_outputs)
        What is explained: the sum of the trees before any link (log-odds, logarithm of the mean) for
        boosting, the mean share or number for trees and forests.
    names : list of str
        The columns.
    outputs : list or None
        The classes, or the levels of quantiles, where there are several outputs.
    data : array of shape (n_rows, n_columns) or None
        The rows as they were explained, where they are in memory.
    interactions : array of shape (n_rows, n_columns, n_columns), with outputs last, or None
        Values of pairs, each half in both places; the diagonal keeps what a column adds alone. A row of the
        matrix adds up to the value of the column.
    certificates : Certificates
        That the values add up, on every row.
    """

    values: NDArray[np.float64]
    base_value: Any
    scores: NDArray[np.float64]
    names: list[str]
    outputs: list[Any] | None
    data: NDArray | None
    interactions: NDArray[np.float64] | None
    certificates: Certificates

    @property
    def importance(self) -> NDArray[np.float64]:
        """Mean size of the values of each column: shape (n_columns,), or (n_columns, n_outputs)."""
        total = np.zeros(self.values.shape[1:])
        for start in range(0, len(self.values), ROWS):
            total += np.abs(self.values[start : start + ROWS]).sum(axis=0)
        return total / max(len(self.values), 1)

    def of_output(self, output: Any = None) -> ShapValues:
        """The values of one of several outputs: its class, or its place; the last by default."""
        if self.values.ndim == 2:
            return self
        known = list(range(self.values.shape[2])) if self.outputs is None else list(self.outputs)
        place = len(known) - 1 if output is None else known.index(output) if output in known else None
        if place is None:
            raise ValueError(
                f"The output must be one of {', '.join(map(str, known))}. Got {output!r} instead."
            )
        pairs = None if self.interactions is None else self.interactions[..., place]
        part = (self.values[..., place], float(self.base_value[place]), self.scores[:, place])
        return ShapValues(*part, self.names, None, self.data, pairs, self.certificates)

    def __str__(self) -> str:
        importance = self.importance if self.values.ndim == 2 else self.importance.mean(axis=1)
        order, width = np.argsort(-importance, kind="stable"), max(map(len, self.names))
        lines = [f"{self.names[j]:<{width}}  {importance[j]:>10.4g}" for j in order]
        return "\n".join([f"mean |Shapley value| over {len(self.values)} rows", *lines])


def adds_up(
    values: NDArray[np.float64], base: NDArray[np.float64], scores: NDArray[np.float64]
) -> Certificate:
    """That base + Σ φ is the score of every row; arrays with the outputs last."""
    worst = 0.0
    for start in range(0, len(values), ROWS):
        part, score = values[start : start + ROWS], scores[start : start + ROWS]
        size = np.abs(part).sum(axis=1) + np.abs(base) + np.abs(score)
        error = np.abs(part.sum(axis=1) + base - score)
        relative = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
        worst = max(worst, float(np.max(relative, initial=0.0)))
        if np.isnan(relative).any():
            worst = float("nan")
            break
    claim = f"The values of each of {len(values)} rows add up to its score."
    return at_most(
        claim, "largest |base + Σ φ − score|, relative to their size", worst, TOLERANCE, source=SOURCE
    )
