"""Shapley values of boosted sums and votes: their learners as trees that add up to scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.trees.decision.base import DecisionTree
from assay.trees.forest.trees import Trees
from assay.trees.growing.columns import Columns
from assay.trees.shapley.explaining import Explained
from assay.trees.shapley.splits import SummedTrees


class ExplainedSum(Explained):
    """`shap_values` of models whose learners are trees: what each column adds to the score of a row."""

    def _trees_of_rounds(self) -> list[Any]:
        """The learners, round by round."""
        raise NotImplementedError

    def _node_values(self, place: int, member: Any) -> NDArray[np.float64]:
        """What the nodes of a learner add to the scores, step included."""
        raise NotImplementedError

    def _summed_scores(self) -> tuple[NDArray[np.float64], NDArray[np.int64], Any]:
        """Where the scores start, the first score that each learner adds to, and what computes them."""
        raise NotImplementedError

    def _summed_trees(self) -> SummedTrees:
        members = self._trees_of_rounds()
        if not members or not all(isinstance(member, DecisionTree) for member in members):
            raise ValueError(
                f"{type(self).__name__}.shap_values explains sums of trees of assay.trees: leave 'estimator' "
                "out, or take one of its trees."
            )
        values = [self._node_values(place, member) for place, member in enumerate(members)]
        start, output, score = self._summed_scores()
        trees = Trees.together([member.tree_ for member in members])
        return SummedTrees(trees, np.concatenate(values), output, start, score)

    def _columns_of_trees(self) -> Columns:
        first: Columns
        first, *others = (member.columns_ for member in self._trees_of_rounds())
        if any(other != first for other in others):
            raise ValueError("The trees know different levels of categories: hand in codes as numbers.")
        return first
