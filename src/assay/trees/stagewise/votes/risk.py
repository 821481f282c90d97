"""What the margins of a vote say about its risk: Theorems 15 and 17."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.parameters import real, refusal, require
from assay.trees.stagewise.history import BoostingHistory, margin_history

Array = NDArray[np.float64]

DRAWN = ("rows are drawn independently from the law of those to come", "margins were fixed before the data")


def stump_bound(n_rows: int, n_columns: int) -> float:
    """√(2 log N/n) with N = 2d(n + 1), more than the sign vectors of stumps on n rows of d columns."""
    return float(np.sqrt(2.0 * np.log(2.0 * n_columns * (n_rows + 1)) / n_rows))


class MarginBound(NamedTuple):
    """Bounds of the risk of a vote, one for each margin θ.

    Attributes
    ----------
    theta : array
    margin_share : array
        Share of rows with a margin below θ.
    lemma : array
        What bounds that share by the errors of the rounds alone; NaN where the steps are not exact.
    complexity : float
        R_n of the learners.
    confidence : float
        √(log(1/δ)/(2n)), with δ divided among the margins.
    measured : array
        Theorem 15: margin share + (4/θ) R_n + confidence.
    predicted : array
        Theorem 17: the lemma in place of the share.
    """

    theta: Array
    margin_share: Array
    lemma: Array
    complexity: float
    confidence: float
    measured: Array
    predicted: Array

    @property
    def value(self) -> float:
        """The least of the measured bounds, all of which hold together."""
        return float(self.measured.min())

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no better than 1."""
        return self.value >= 1.0


def margins_of(owner: str, theta: Any) -> Array:
    """A margin, or a grid of them, that was fixed before the data were seen; refused where it was not."""
    if theta is None or isinstance(theta, str) or callable(theta):
        expected = "a margin or a grid of margins that was fixed before the data were seen"
        raise refusal(owner, "theta", expected, theta)
    grid = np.atleast_1d(np.asarray(theta, dtype=np.float64))
    if not len(grid) or not np.all((grid > 0) & (grid < 1)):
        raise refusal(owner, "theta", "between 0 and 1", theta)
    return grid


def bound_margins(
    margins: Array, history: BoostingHistory, grid: Array, delta: float, complexity: float
) -> MarginBound:
    """Both theorems at every margin of a grid, which share δ."""
    require("margin_bound", real(above=0.0, at_most=1.0), delta=delta)
    n_rows, nothing = len(margins), np.empty(0)
    confidence = float(np.sqrt(np.log(len(grid) / delta) / (2.0 * n_rows)))
    share = np.array([np.mean(margins < value) for value in grid])
    lemma = np.array([margin_history(history, float(value), nothing).lemma[-1] for value in grid])
    rest = 4.0 / grid * complexity + confidence
    return MarginBound(grid, share, lemma, complexity, confidence, share + rest, lemma + rest)


def risk_claims(bound: MarginBound, error: float, delta: float) -> list[Certificate]:
    """The theorems as certificates: the least bound of the grid, beside the error on the rows of the fit."""
    words = "θ fixed beforehand" if len(bound.theta) == 1 else f"{len(bound.theta)} margins that share δ"
    claims = []
    for theorem, name, values in (
        (15, "share of margins below θ", bound.measured),
        (17, "bound of that share by the errors of the rounds", bound.predicted),
    ):
        if np.isnan(values).any():
            continue
        best = int(values.argmin())
        claims.append(
            at_most(
                f"With probability {1 - delta:g} the risk is at most {name} + (4/θ) R_n + √(log(1/δ)/2n), at "
                f"θ = {bound.theta[best]:g} ({words}).",
                "error on the rows of the fit",
                error,
                values[best],
                f"Sangnier §1.3.1, theorem {theorem}",
                assumptions=DRAWN,
                trivial=1.0,
                informative=True,
            )
        )
    return claims
