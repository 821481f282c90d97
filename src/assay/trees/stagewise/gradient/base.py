"""Gradient boosting with any regressor: what the classifier, the regressor and stagewise models share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from assay import parameters, rows
from assay.certificates import Certificates
from assay.losses import Loss
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import MemoryRows
from assay.trees.decision.base import GROWTH_DOMAINS, SHARE
from assay.trees.decision.regressor import DecisionTreeRegressor
from assay.trees.decision.stump import DecisionStump
from assay.trees.stagewise import oracles
from assay.trees.stagewise.additive import Additive, answers_of
from assay.trees.stagewise.choosing import HasRounds
from assay.trees.stagewise.engine import Array, Direction, Oracle, State, boost
from assay.trees.stagewise.gradient.proofs import (
    GradientHistory,
    GradientRows,
    best_constant,
    certify_gradient,
    edge_of,
    gradient_certificates,
    rate_product,
)
from assay.trees.stagewise.steps import bounded_step, constant_step, unit_step

TREE_RULES = (
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_depth",
    "min_impurity_decrease",
    "max_features",
    "max_leaf_nodes",
    "ccp_alpha",
)

GRADIENT_DOMAINS: Mapping[str, Domain] = {
    "learning_rate": parameters.real(above=0.0, at_most=1.0),
    "n_estimators": parameters.integer(at_least=1),
    "subsample": SHARE,
    "criterion": parameters.one_of("deprecated", "friedman_mse", "squared_error"),
    **{name: GROWTH_DOMAINS[name] for name in TREE_RULES},
    "init": parameters.nothing | parameters.one_of("zero"),
    "random_state": parameters.random_state,
    "verbose": parameters.boolean | parameters.integer(at_least=0),
    "warm_start": Domain("False", lambda value: value is False),
    "validation_fraction": parameters.real(above=0.0, at_most=0.9),
    "n_iter_no_change": parameters.nothing | parameters.integer(at_least=1),
    "tol": parameters.real(at_least=0.0),
    "estimator": parameters.nothing
    | Domain("an estimator", lambda value: isinstance(value, BaseEstimator) and hasattr(value, "fit")),
    "line_search": parameters.nothing | parameters.one_of("global", "leaf"),
    "direction": parameters.one_of("least_squares", "correlation"),
}


class GradientModel(HasRounds):
    """Base of gradient boosting: Algorithm 3 on any regressor."""

    learning_rate: float
    subsample: float
    init: Any
    random_state: Any
    validation_fraction: float
    n_iter_no_change: int | None
    tol: float
    estimator: Any
    line_search: str | None
    direction: str
    estimators_: NDArray
    steps_: Array
    init_score_: float
    history_: GradientHistory
    _base_criterion: ClassVar[str] = "squared_error"

    def _loss(self) -> Loss:
        """The loss that the parameters name."""
        raise NotImplementedError

    @property
    def _accepts_nan(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._learner()).input_tags.allow_nan)

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._learner()).input_tags.sparse)

    def _learner(self) -> Any:
        if isinstance(self.estimator, BaseEstimator):
            return self.estimator
        if self.direction == "correlation":
            return DecisionStump()
        return DecisionTreeRegressor(**{name: getattr(self, name) for name in TREE_RULES})

    @property
    def _by_leaf(self) -> bool:
        """Whether every leaf has a step of its own."""
        is_tree = isinstance(self._learner(), DecisionTreeRegressor) and self.direction == "least_squares"
        if self.line_search is None:
            return is_tree
        if self.line_search == "leaf" and not is_tree:
            raise self._refuse("line_search", "'global' or None for learners that are no regression trees")
        return self.line_search == "leaf"

    def _require_memory(self, X: Any) -> None:
        if rows.is_external(X):
            self._check_parameters()
            raise ValueError(
                f"{type(self).__name__} hands all rows to its estimator each round and takes rows in memory "
                "only: histogram boosting reads them block by block, or bring them into memory as an array."
            )

    def _boost(self, data: MemoryRows, y: Array) -> None:
        """Run the rounds on targets as the loss takes them, and keep what they give."""
        loss = self._loss()
        if not loss.convex:
            raise self._refuse("loss", "a convex loss")
        X, y, weight = self._weighty(data, y)
        draws = generator(self.random_state)
        train, held_out = self._split(len(y), draws)
        self.init_score_ = 0.0 if self.init == "zero" else best_constant(loss, y[train], weight[train])
        edges: list[float] = []

        def observe(state: State, direction: Direction, step: float) -> None:
            edges.append(float(direction.answers))

        trace = boost(
            loss,
            self._oracle(X[train], loss, draws),
            unit_step if self._by_leaf else bounded_step,
            self.learning_rate,
            self.n_estimators,
            y=y[train],
            weight=weight[train],
            start=self.init_score_,
            observer=observe,
        )
        rounds = trace.rounds
        self.steps_ = np.array([item.step for item in rounds])
        self._keep_members([item.learner for item in rounds])
        if len(held_out):
            self._stop_early(X[held_out], y[held_out], weight[held_out], loss)
        n_rounds = len(self.steps_)
        risk = np.array([trace.risk, *(item.risk for item in rounds)])[: n_rounds + 1]
        agreements = np.array([item.agreement for item in rounds])[:n_rounds]
        self.history_ = GradientHistory(self.steps_.copy(), risk, agreements, np.array(edges[:n_rounds]))
        self.train_score_ = risk[1:].copy()
        self.n_estimators_ = n_rounds
        boosted = self._gradient_rows(X[train], y[train], weight[train])
        self.certificates_ = gradient_certificates(self.history_, boosted)

    def _weighty(self, data: MemoryRows, y: Array) -> tuple[Any, Array, Array]:
        """The rows that weigh something, dense for our trees, their targets and their weights."""
        X: Any = data.X
        if data.is_sparse and isinstance(self._learner(), DecisionTreeRegressor):
            X = data.X.toarray()
        if data.weight is None:
            return X, y, np.ones(len(y))
        there = data.weight > 0
        return X[there], y[there], data.weight[there].astype(np.float64)

    def _keep_members(self, members: list[Any]) -> None:
        self.estimators_ = np.empty((len(members), 1), dtype=object)
        self.estimators_[:, 0] = members

    def _split(self, n_rows: int, draws: np.random.Generator) -> tuple[Any, NDArray[np.intp]]:
        """Rows of the fit, and those held out to stop early."""
        if self.n_iter_no_change is None:
            return slice(None), np.empty(0, dtype=np.intp)
        held_out = int(np.ceil(self.validation_fraction * n_rows))
        if not 0 < held_out < n_rows - 1:
            raise self._refuse("validation_fraction", f"a share that leaves rows on both sides of {n_rows}")
        order = draws.permutation(n_rows)
        return np.sort(order[held_out:]), np.sort(order[:held_out])

    def _stop_early(self, X: Any, y: Array, weight: Array, loss: Loss) -> None:
        """Cut the rounds where the held-out risk has not fallen by `tol` in `n_iter_no_change` rounds."""
        best, since = np.inf, 0
        for place, scores in enumerate(self._additive().staged(X), start=1):
            risk = State(loss, y, weight, scores.copy()).risk()
            best, since = (risk, 0) if risk < best - self.tol else (best, since + 1)
            if since >= (self.n_iter_no_change or 0):
                self.steps_ = self.steps_[:place]
                self._keep_members(list(self.estimators_[:place, 0]))
                return

    def _oracle(self, X: Any, loss: Loss, draws: np.random.Generator) -> Oracle:
        signs = self.direction == "correlation"
        fitting = RoundFitting(self._learner(), X, self.subsample, draws)
        if signs:
            inner: Oracle = oracles.SignOracle(fitting, lambda g: answers_of(g, X, signs=True))
        else:
            inner = oracles.LeastSquaresOracle(fitting, lambda g: answers_of(g, X, signs=False))
        by_leaf = self._by_leaf

        def oracle(state: State) -> Direction:
            direction = inner(state)
            if by_leaf:
                direction = leaf_steps(state, direction, X, loss)
            return direction._replace(answers=edge_of(state.slopes, direction.values, state.weight))

        return oracle

    def _additive(self) -> Additive:
        signs = self.direction == "correlation"
        return Additive(list(self.estimators_[:, 0]), self.steps_, self.init_score_, signs)

    def _gradient_rows(self, X: Any, y: Array, weight: Array) -> GradientRows:
        return GradientRows(X, y, weight, self._additive(), self._loss(), self.learning_rate, self._by_leaf)

    def _certify(self, data: MemoryRows, y: Array) -> Certificates:
        """The certificates from rows that are opened again."""
        X, y, weight = self._weighty(data, y)
        train, _ = self._split(len(y), generator(self.random_state))
        boosted = self._gradient_rows(X[train], y[train], weight[train])
        stored: dict[str, tuple[object, str]] = {
            "initial score": (self.init_score_, "zero" if self.init == "zero" else "start"),
            "training score": (self.train_score_, "risk"),
            "steps": (self.steps_, "step"),
        }
        return certify_gradient(self.history_, stored, boosted)

    def rate_bound(self) -> Array:
        """A(f_0) Π(1 − γ_t) after each round: what the linear rate of Theorem 18 leaves of the risk.

        An equality for the squared loss. Refused for losses that are not strongly convex (logistic, absolute:
        μ = 0) or not smooth (exponential): the theorem does not speak of them.
        """
        check_is_fitted(self)
        loss = self._loss()
        if not (loss.strong_convexity > 0 and np.isfinite(loss.smoothness)):
            raise self._refuse(
                "loss", "strongly convex and smooth for a linear rate, such as 'squared_error'"
            )
        return self.history_.risk[0] * rate_product(self.history_, self.learning_rate)

    def _staged_answers(self, X: Any) -> Iterator[NDArray]:
        data: Any = self._open_new_rows(X)
        yield from self._additive().staged(data.X)

    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        return np.asarray(self._loss().value(y, np.asarray(answers, dtype=np.float64)))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean of the importances of the learners."""
        check_is_fitted(self)
        members = self.estimators_[:, 0]
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError("The learners of this sum do not tell the importance of columns.")
        total = np.sum([member.feature_importances_ for member in members], axis=0)
        return np.asarray(total / (np.sum(total) or 1.0))


class RoundFitting:
    """Fits a fresh copy of a learner to the targets of a round, on a part of the rows where asked."""

    def __init__(self, learner: Any, X: Any, subsample: float, draws: np.random.Generator) -> None:
        self._learner, self._X, self._subsample, self._draws = learner, X, subsample, draws

    def __call__(self, target: Array, weight: Array) -> Any:
        """The learner."""
        member = clone(self._learner)
        names = [name for name in member.get_params(deep=True) if name.rpartition("__")[2] == "random_state"]
        member.set_params(**{name: int(self._draws.integers(2**31)) for name in sorted(names)})
        X: Any = self._X
        if self._subsample < 1.0:
            count = max(1, int(self._subsample * len(target)))
            kept = np.sort(self._draws.permutation(len(target))[:count])
            X, target, weight = X[kept], target[kept], weight[kept]
        if is_classifier(member) and len(np.unique(target[weight > 0])) < 2:
            return Constant(float(target[weight > 0][0]))
        if has_fit_parameter(member, "sample_weight"):
            return member.fit(X, target, sample_weight=weight)
        if np.all(weight == weight[0]):
            return member.fit(X, target)
        if not np.all(weight == np.rint(weight)):
            kind = type(member).__name__
            raise ValueError(f"Weights must be whole numbers, as {kind} takes no 'sample_weight'.")
        places = np.repeat(np.arange(len(target)), weight.astype(np.int64))
        return member.fit(X[places], target[places])


class Constant(BaseEstimator):
    """Says the same about every row."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def predict(self, X: Any) -> Array:
        """The value for each row."""
        return np.full(X.shape[0], self.value)


def leaf_steps(state: State, direction: Direction, X: Any, loss: Loss) -> Direction:
    """The tree with the best constant of each leaf in place of its values."""
    tree = direction.learner.tree_
    leaves = np.asarray(direction.learner.apply(X))
    scores, weight = state.along()
    value = np.zeros_like(tree.value)
    order = np.argsort(leaves, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(leaves[order])) + 1):
        value[leaves[part[0]], 0] = constant_step(loss, state.y[part], weight[part], scores[part])
    direction.learner.tree_ = tree.with_values(value)
    return direction._replace(values=value[leaves, 0])
