"""How AdaBoost makes its learners, and what it keeps of each round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.stump import DecisionStump
from assay.trees.stagewise.committee import Committee, add_votes
from assay.trees.stagewise.engine import Array, Direction, State
from assay.trees.stagewise.proofs import training_error
from assay.trees.stagewise.steps import newton_step
from assay.trees.stagewise.stumps import Choice, SortedRows, best_stump, tree_of, units_of


def newton_downhill(state: State, direction: Direction) -> float:
    """Newton's step, 0 for a learner no better than chance; rounded, so that repeated rows change no bit."""
    if direction.error <= 0.0:
        return np.inf
    if direction.error >= 0.5 * (1.0 - 1e-12):
        return 0.0
    return float(f"{max(newton_step(state, direction), 0.0):.12e}")


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
    """Makes fitted stumps of chosen splits."""

    def __init__(self, model: Any, sorted_rows: SortedRows) -> None:
        self._shared = {
            name: value
            for name, value in vars(model).items()
            if name in ("n_features_in_", "feature_names_in_", "classes_", "n_classes_")
        }
        columns = sorted_rows.columns
        self._shared |= {"is_categorical_": columns.categorical, "columns_": columns.of_categories()}
        self._shared |= {"max_features_": model.n_features_in_, "n_outputs_": 1}
        self._rows = sorted_rows

    def __call__(self, choice: Choice, share: Array) -> DecisionTreeClassifier:
        """The stump, chosen under a distribution over the rows."""
        stump = DecisionTreeClassifier(max_depth=1) if self._rows.gini else DecisionStump()
        for name, value in self._shared.items():
            setattr(stump, name, value)
        stump.levels_ = {}
        stump.tree_ = tree_of(choice, self._rows, share)
        return stump


class StumpFitting:
    """The exact stump under a distribution over the rows."""

    def __init__(self, maker: StumpMaker, sorted_rows: SortedRows) -> None:
        self._maker, self._rows = maker, sorted_rows

    def __call__(self, share: Array) -> DecisionTreeClassifier:
        """The stump."""
        each = share / self._rows.weight
        units = units_of(each / each.max(), self._rows.weight)
        return self._maker(best_stump(self._rows, units), share)


class MemberFitting:
    """Fits a fresh copy of an estimator under a distribution over the rows."""

    def __init__(self, learner: Any, X: Any, y: NDArray, draws: np.random.Generator) -> None:
        self._learner, self._X, self._y, self._draws = learner, X, y, draws

    def __call__(self, share: Array) -> Any:
        """The learner."""
        member = clone(self._learner)
        names = [name for name in member.get_params(deep=True) if name.rpartition("__")[2] == "random_state"]
        member.set_params(**{name: int(self._draws.integers(2**31)) for name in sorted(names)})
        return member.fit(self._X, self._y, sample_weight=share)
