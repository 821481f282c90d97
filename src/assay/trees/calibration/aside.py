"""Rows kept aside: neither trees nor bins nor early stopping see them, so that they can say how sure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, at_least
from assay.models.conformal import conformal_quantile, fewest_rows
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import MemoryRows, Rows
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import Opened
from assay.trees.shapley.explaining import fitted_trees, scores_of_rows

SHARE_ASIDE = parameters.nothing | Domain(
    "a number above 0 and below 1", lambda value: parameters.real(above=0.0).contains(value) and value < 1
)

PROMISE = 0.9
"""The coverage that is measured at the fit."""

SOURCE = "Vovk, Gammerman & Shafer (2005); Lei et al. (2018)"


class KeepsAside:
    """What models with the parameter `calibration` share: rows kept aside and their scores.

    Attributes
    ----------
    calibration_rows_ : int array of shape (n_aside,)
    calibration_scores_, calibration_weight_ : arrays of shape (n_aside,)
        How strange each of them is to the model, and its weight.
    """

    calibration: float | None
    random_state: Any
    calibration_rows_: NDArray[np.int64]
    calibration_scores_: NDArray[np.float64]
    calibration_weight_: NDArray[np.float64]

    def _set_aside(self, n_rows: int, weight: NDArray | None) -> NDArray | None:
        """Draw the rows to keep aside; the weights with 0 in their place, which no walk of the fit sees."""
        going_on = getattr(self, "warm_start", False) and "calibration_rows_" in vars(self)
        if going_on and len(self.calibration_rows_) and self.calibration_rows_[-1] < n_rows:
            return without(self.calibration_rows_, n_rows, weight)
        for name in ("calibration_rows_", "calibration_scores_", "calibration_weight_"):
            self.__dict__.pop(name, None)
        if self.calibration is None:
            return weight
        there = np.arange(n_rows) if weight is None else np.flatnonzero(weight > 0)
        n_aside = round(self.calibration * len(there))
        if n_aside < 1 or len(there) - n_aside < 2:
            model: Any = self
            raise model._refuse(
                "calibration",
                f"a share that keeps at least 1 row aside and 2 to fit, of {len(there)} rows",
            )
        random = generator(self.random_state).spawn(1)[0]  # of its own: trees are drawn from the other
        self.calibration_rows_ = np.sort(random.permutation(there)[:n_aside])
        return without(self.calibration_rows_, n_rows, weight)

    def _counted(self, weight: NDArray | None) -> NDArray[np.float64]:
        """Weights of the rows kept aside: as often as each counts, without the factors of classes."""
        rows = self.calibration_rows_
        return np.ones(len(rows)) if weight is None else np.asarray(weight[rows], dtype=np.float64)

    def _weight_of_fit(self, n_rows: int, weight: NDArray | None) -> NDArray | None:
        """The weights that the trees were grown with: 0 for rows kept aside."""
        kept = getattr(self, "calibration_rows_", None)
        return weight if kept is None or kept[-1] >= n_rows else without(kept, n_rows, weight)

    def _kept_scores(self, data: Opened) -> NDArray[np.float64]:
        """What the trees say of the rows kept aside: shape (n_aside, n_outputs)."""
        table = data if isinstance(data, MemoryRows) else data.data
        return self._row_scores(MemoryRows(table.take(self.calibration_rows_)))

    def _row_scores(self, data: Rows) -> NDArray[np.float64]:
        """Scores of opened rows, in double precision: shape (n_rows, n_outputs)."""
        model: Any = self
        return row_scores(model, data)

    def _conformal_quantile(self, method: str, coverage: float) -> float:
        """The quantile of the scores for a coverage; refused where it would be infinite."""
        check_is_fitted(self)
        if not parameters.real(above=0.0).contains(coverage) or not coverage < 1:
            raise parameters.refusal(method, "coverage", "a number above 0 and below 1", coverage)
        if not hasattr(self, "calibration_scores_"):
            raise ValueError(
                f"{type(self).__name__}.{method} needs rows kept aside: fit with calibration=0.2."
            )
        quantile = conformal_quantile(self.calibration_scores_, coverage, self.calibration_weight_)
        if np.isinf(quantile):
            raise ValueError(
                f"A coverage of {coverage:g} needs at least {fewest_rows(coverage)} rows kept aside; "
                f"{type(self).__name__} has {self.calibration_weight_.sum():g}: raise 'calibration' or ask "
                "for less."
            )
        return quantile


def row_scores(model: Any, data: Rows) -> NDArray[np.float64]:
    """Scores of opened rows by a fitted model, in double precision: shape (n_rows, n_outputs)."""
    fitted = fitted_trees(model)
    n_outputs = fitted.n_outputs if isinstance(fitted, BoostedTrees) else len(model.classes_)
    how: Any = {"dtype": np.float64, "width": n_outputs}
    return np.asarray(data.map(scores_of_rows, fitted, model.columns_, **how))


def without(kept: NDArray[np.int64], n_rows: int, weight: NDArray | None) -> NDArray[np.float64]:
    """Weights with 0 in the place of some rows."""
    left = np.ones(n_rows) if weight is None else weight.astype(np.float64)
    left[kept] = 0.0
    return left


def coverage_claim(scores: NDArray, weight: NDArray, what: str) -> Certificate:
    """Coverage measured on the rows kept aside: each half is judged by the quantile of the other."""
    order = np.random.default_rng(len(scores)).permutation(len(scores))
    halves, held = np.array_split(order, 2), 0.0
    for judged, other in (halves, halves[::-1]):
        inside = scores[judged] <= conformal_quantile(scores[other], PROMISE, weight[other])
        held += float(weight[judged] @ inside)
    total = float(weight.sum())
    size = total**2 / float(weight @ weight)
    error = float(np.sqrt(PROMISE * (1 - PROMISE) / size))
    return at_least(
        f"{what} of {PROMISE:.0%} hold what they promise on {len(scores)} rows kept aside, each half of them "
        "by the scores of the other, within four standard errors.",
        "share of the rows that is held",
        held / total,
        PROMISE - 4 * error - 1 / len(scores),
        SOURCE,
        assumptions=("rows are exchangeable",),
        informative=True,
    )


def held_claim(held: NDArray, coverage: float, n_aside: float, what: str) -> Certificate:
    """Coverage on new rows: at least what was promised, within two standard errors of both samples."""
    error = float(np.sqrt(coverage * (1 - coverage) * (1 / len(held) + 1 / (n_aside + 2))))
    return at_least(
        f"{what} of {coverage:.0%} hold what they promise on {len(held)} new rows, within two standard "
        "errors.",
        "share of the rows that is held",
        float(held.mean()),
        coverage - 2 * error,
        SOURCE,
        assumptions=("rows are exchangeable with those kept aside",),
    )
