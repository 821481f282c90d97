"""How AdaBoost makes its learners, and what it keeps of each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.stump import DecisionStump
from assay.trees.growing.columns import Columns
from assay.trees.stagewise.committee import Committee, add_votes
from assay.trees.stagewise.engine import Array, Direction, State
from assay.trees.stagewise.oracles import fresh_copy
from assay.trees.stagewise.proofs import training_error
from assay.trees.stagewise.steps import newton_step
from assay.trees.stagewise.stumps import Choice, SortedRows, best_stump, stump_tree, tree_of, units_of
from assay.trees.stagewise.votes.coded import Cut
from assay.trees.tree import Tree


def newton_downhill(state: State, direction: Direction) -> float:
    """Newton's step, 0 for a learner no better than chance; rounded, so that repeated rows change no bit."""
    if direction.error <= 0.0:
        return np.inf
    if direction.error >= 0.5 * (1.0 - 1e-12):
        return 0.0
    return float(f"{max(newton_step(state, direction), 0.0):.12e}")


def no_categories(n_columns: int) -> Columns:
    """Columns of numbers, without their values."""
    empty, none = np.empty(0), np.zeros(n_columns, dtype=np.bool_)
    return Columns(empty, empty, np.zeros(n_columns + 1, dtype=np.int64), none, np.empty(0, dtype=np.int64))


class ErrorObserver:
    """Keeps the training error of each round."""

    def __init__(self, labels: NDArray[np.int64], weight: Array, committee: Committee) -> None:
        self._labels, self._weight, self._committee = labels, weight, committee
        n_classes = len(committee.classes)
        self._scores = np.zeros(len(labels) if n_classes == 2 else (len(labels), n_classes))
        self.errors: list[float] = []

    def __call__(self, state: State, direction: Direction, step: float) -> None:
        """Add the answers of a round to the scores, and count."""
        if self._scores.ndim == 1:
            self._scores = np.where(self._labels == 1, state.scores, -state.scores)
        elif direction.answers.ndim == 2:
            self._scores += step * direction.answers
        else:
            add_votes(direction.answers, step, self._committee.other, self._scores)
        self.errors.append(training_error(self._scores, self._labels, self._weight))


class StumpMaker:
    """Makes fitted stumps of chosen splits.

    Parameters
    ----------
    model : AdaBoostClassifier
    gini : bool
        Whether splits are chosen by the Gini index in place of mistakes.
    """

    def __init__(self, model: Any, *, gini: bool) -> None:
        self._shared = {
            name: value
            for name, value in vars(model).items()
            if name in ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")
        }
        d = model.n_features_in_
        self._shared |= {"is_categorical_": np.zeros(d, dtype=np.bool_), "columns_": no_categories(d)}
        self._shared |= {"max_features_": d, "n_outputs_": 1}
        self._gini = gini

    def made(self, tree: Tree) -> DecisionTreeClassifier:
        """The learner of a tree of one split."""
        stump = DecisionTreeClassifier(max_depth=1) if self._gini else DecisionStump()
        for name, value in self._shared.items():
            setattr(stump, name, value)
        stump.levels_ = {}
        stump.tree_ = tree
        return stump

    def of_rows(self, rows: SortedRows) -> Callable[[Choice, Array], DecisionTreeClassifier]:
        """What makes stumps of splits of sorted rows, chosen under a distribution over them."""
        return lambda choice, share: self.made(tree_of(choice, rows, share))

    def of_codes(self, learner: tuple[Cut, NDArray]) -> DecisionTreeClassifier:
        """The stump of a cut between codes, and the number of rows on its sides."""
        cut, counts = learner
        return self.made(stump_tree(cut.stump, cut.sides / cut.sides.sum(), counts, gini=self._gini))


class StumpFitting:
    """The exact stump under a distribution over the rows."""

    def __init__(self, maker: StumpMaker, sorted_rows: SortedRows) -> None:
        self._keep, self._rows = maker.of_rows(sorted_rows), sorted_rows

    def __call__(self, share: Array) -> DecisionTreeClassifier:
        """The stump."""
        each = share / self._rows.weight
        units = units_of(each / each.max(), self._rows.weight)
        return self._keep(best_stump(self._rows, units), share)


class MemberFitting:
    """Fits a fresh copy of an estimator under a distribution over the rows."""

    def __init__(self, learner: Any, X: Any, y: NDArray, draws: np.random.Generator) -> None:
        self._learner, self._X, self._y, self._draws = learner, X, y, draws

    def __call__(self, share: Array) -> Any:
        """The learner."""
        member = fresh_copy(self._learner, self._draws)
        return member.fit(self._X, self._y, sample_weight=share)
