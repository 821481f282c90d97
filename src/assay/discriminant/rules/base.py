"""What rules from probabilities share: decisions of least cost, and certificates of the probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.losses.costs import expected_costs, least_cost, two_columns, zero_one
from assay.models.classes import Classifier
from assay.rows import Block, MemoryRows, Rows

DEVIATIONS = 4.5
"""Standard deviations beyond which a count is not what a law says: once in 150,000."""

TIES = parameters.one_of("first", "last")


class RuleOfProbabilities(Classifier):
    """Base of classifiers that decide by probabilities, which a subclass gives block by block."""

    costs: Any = None
    ties: str = "first"

    def _posterior_step(self) -> tuple[Any, tuple[Any, ...]]:
        """A function of a block and its further arguments, which gives the probabilities of the classes."""
        raise NotImplementedError

    def _cost_table(self) -> NDArray:
        """Costs of all decisions."""
        count = len(self.classes_)
        if self.costs is None:
            return zero_one(count)
        table = np.asarray(self.costs, dtype=np.float64)
        if table.shape != (count, count):
            raise self._refuse("costs", f"a matrix of {count} rows and columns, one per class")
        return table

    def _fit_part(self, model: Any, X: Any, y: Any, sample_weight: Any, data: Rows) -> Any:
        """Fit an estimator that the rule asks for probabilities, to blocks of rows without names."""
        if isinstance(data, MemoryRows):
            assert data.y is not None
            classifies = hasattr(model, "predict_proba")
            target = self.classes_[data.y.astype(np.intp)] if classifies else data.y
            options = {} if data.weight is None else {"sample_weight": data.weight}
            return model.fit(data.X, target, **options)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        model.fit(X, y, **options)
        model.__dict__.pop("feature_names_in_", None)  # the rule itself matches columns by name
        return model

    def _certified_part(
        self, model: Any, X: Any, y: Any, sample_weight: Any, data: Rows
    ) -> list[Certificate]:
        """Certificates of such an estimator, measured afresh."""
        if not isinstance(data, MemoryRows):
            return list(model.certify(X, y, sample_weight))
        assert data.y is not None
        target = self.classes_[data.y.astype(np.intp)] if hasattr(model, "predict_proba") else data.y
        return list(model.certify(data.X, target, data.weight))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        data, (step, state) = self._open_new_rows(X), self._posterior_step()
        return data.map(step, *state, dtype=data.dtype, width=len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The decision of least expected cost, the most probable class by default."""
        check_is_fitted(self)
        data = self._open_new_rows(X)
        state = (self._posterior_step(), self._cost_table(), self.ties, self.classes_)
        return data.map(decided_block, *state, dtype=self.classes_.dtype)

    def _share_proofs(self, data: Rows) -> list[Certificate]:
        """Probabilities are shares, decisions are of least cost, and classes come as often as they should."""
        step = self._posterior_step()
        found = data.reduce(checked_block, step, self._cost_table(), self.ties, combine=merge_checks)
        excess, variance = found[2], np.maximum(found[3], 1e-12)
        scores = np.abs(excess) / np.sqrt(variance)
        worst = float(scores[found[3] > 1e-9].max(initial=0.0))
        source = "Wei §7.1; Rudi & Şimşekli §6.2"
        bound = 1e-4 if data.dtype == np.float32 else 1e-6
        return [
            at_most(
                "Probabilities are at least 0 with sum 1.",
                "deviation of sums from 1",
                found[0],
                bound,
                source,
            ),
            at_most(
                "No decision has a smaller expected cost.",
                "excess cost of a decision",
                found[1],
                bound,
                source,
            ),
            at_most(
                "Each class comes as often as its probabilities say.",
                "largest deviation of a count in standard deviations",
                worst,
                DEVIATIONS,
                source,
                assumptions=("rows independent, weights repetitions",),
            ),
        ]


def decided_block(block: Block, step: Any, costs: NDArray, ties: Any, classes: NDArray) -> NDArray:
    """Labels of least expected cost."""
    function, state = step
    return np.asarray(classes[least_cost(function(block, *state), costs, ties=ties)])


def checked_block(
    block: Block, step: Any, costs: NDArray, ties: Any
) -> tuple[float, float, NDArray, NDArray]:
    """Largest deviation of a sum from 1, excess cost, and by class Σ s (1{y = k} − p_k) and its variance."""
    assert block.y is not None
    function, state = step
    shares = np.asarray(function(block, *state), dtype=np.float64)
    off = max(float(np.abs(shares.sum(axis=1) - 1).max(initial=0.0)), float(-shares.min(initial=0.0)))
    prices = expected_costs(shares, costs)
    said = least_cost(np.asarray(function(block, *state)), costs, ties=ties)
    excess = float((prices[np.arange(len(said)), said] - prices.min(axis=1)).max(initial=0.0))
    codes, weight = block.y.astype(np.intp), block.weights
    marks = codes[:, None] == np.arange(shares.shape[1])
    scale = float(np.abs(costs).max(initial=0.0)) or 1.0
    return off, excess / scale, weight @ (marks - shares), weight**2 @ (shares * (1 - shares))


def merge_checks(left: Any, right: Any) -> Any:
    """Largest of the first two, sums of the others."""
    return max(left[0], right[0]), max(left[1], right[1]), left[2] + right[2], left[3] + right[3]


def estimated_block(block: Block, estimator: Any, classes: NDArray) -> NDArray:
    """Probabilities by a fitted classifier, or by a regressor of the marks of the second class."""
    if hasattr(estimator, "predict_proba"):
        shares = np.asarray(estimator.predict_proba(block.X))
        known = getattr(estimator, "classes_", classes)
        if len(known) == len(classes):
            return shares.astype(block.X.dtype, copy=False)
        full = np.zeros((len(shares), len(classes)), dtype=block.X.dtype)
        full[:, np.searchsorted(classes, known)] = shares
        return full
    return two_columns(np.clip(np.asarray(estimator.predict(block.X), dtype=np.float64), 0, 1)).astype(
        block.X.dtype
    )
