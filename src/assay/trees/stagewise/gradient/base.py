"""Gradient boosting with any regressor: what the classifier, the regressor and stagewise models share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
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
from assay.trees.stagewise.engine import Array, Direction, Oracle, State, Trace, boost
from assay.trees.stagewise.gradient.learners import (
    EXACT_ROWS,
    RoundFitting,
    TreeFitting,
    grows_here,
    together,
    with_leaf_steps,
)
from assay.trees.stagewise.gradient.proofs import (
    GradientHistory,
    GradientRows,
    best_constant,
    certify_gradient,
    edge_of,
    gradient_certificates,
    rate_product,
)
from assay.trees.stagewise.steps import bounded_step, falling_step, unit_step
from assay.trees.stagewise.summed import ExplainedSum

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
    "init": parameters.nothing
    | parameters.one_of("zero")
    | Domain("an estimator", lambda value: isinstance(value, BaseEstimator) and hasattr(value, "fit")),
    "random_state": parameters.random_state,
    "verbose": parameters.boolean | parameters.integer(at_least=0),
    "warm_start": parameters.boolean,
    "validation_fraction": parameters.real(above=0.0, at_most=0.9),
    "n_iter_no_change": parameters.nothing | parameters.integer(at_least=1),
    "tol": parameters.real(at_least=0.0),
    "estimator": parameters.nothing
    | Domain("an estimator", lambda value: isinstance(value, BaseEstimator) and hasattr(value, "fit")),
    "line_search": parameters.nothing | parameters.one_of("global", "leaf"),
    "direction": parameters.one_of("least_squares", "correlation"),
}


class GradientModel(ExplainedSum, HasRounds):
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
    warm_start: bool
    n_estimators: int
    estimators_: NDArray
    steps_: Array
    init_: Any
    init_score_: Any
    history_: GradientHistory
    _asked: ClassVar[str] = "predict"

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
        is_tree = grows_here(self._learner()) and self.direction == "least_squares"
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
        before = self._earlier_rounds()
        if before is None:
            self._begin(X[train], y[train], weight[train], loss)
        rows = self._gradient_rows(X[train], y[train], weight[train])
        trace, edges = self._run(rows, draws, before)
        done = [] if before is None else list(self.estimators_)
        earlier = GradientHistory.empty(trace.risk) if before is None else before
        members = [*done, *(item.learner for item in trace.rounds)]
        self.steps_ = np.append(earlier.step, [item.step for item in trace.rounds])
        self._keep_members(members, loss.n_scores)
        if len(held_out):
            self._stop_early(X[held_out], y[held_out], weight[held_out], loss)
        n_rounds = len(self.steps_)
        risk = np.append(earlier.risk, [item.risk for item in trace.rounds])[: n_rounds + 1]
        agreements = np.append(earlier.agreement, [item.agreement for item in trace.rounds])[:n_rounds]
        edge = np.append(earlier.edge, edges)[:n_rounds]
        self.history_ = GradientHistory(self.steps_.copy(), risk, agreements, edge)
        self.train_score_ = risk[1:].copy()
        self.n_estimators_, self.n_trees_per_iteration_ = n_rounds, loss.n_scores
        rows = self._gradient_rows(X[train], y[train], weight[train])
        self.certificates_ = gradient_certificates(self.history_, rows)

    def _earlier_rounds(self) -> GradientHistory | None:
        """The rounds of the last fit, where a warm start goes on from them."""
        if not self.warm_start or "history_" not in vars(self):
            return None
        n_done = len(self.steps_)
        if self.n_estimators < n_done:
            raise self._refuse("n_estimators", f"at least the {n_done} rounds of the warm start")
        return self.history_

    def _begin(self, X: Any, y: Array, weight: Array, loss: Loss) -> None:
        """Set f_0: the best constant, 0, or what an estimator says, and no rounds yet."""
        self.__dict__.pop("init_", None)
        self.init_score_ = best_constant(loss, y, weight) if self.init is None else 0.0
        if isinstance(self.init, BaseEstimator):
            weighs = has_fit_parameter(self.init, "sample_weight")
            if not hasattr(self.init, self._asked):
                raise self._refuse("init", f"None, 'zero' or an estimator with '{self._asked}'")
            if not weighs and np.any(weight != weight[0]):
                raise self._refuse(
                    "init", "an estimator whose fit takes 'sample_weight', as rows have weights"
                )
            fit = clone(self.init).fit
            self.init_ = fit(X, self._named(y), sample_weight=weight) if weighs else fit(X, self._named(y))
        self.steps_ = np.empty(0)
        self._keep_members([], loss.n_scores)

    def _named(self, y: Array) -> NDArray:
        """Targets as estimators take them."""
        return y

    def _first(self, X: Any) -> Array:
        """What the first estimator says, as scores."""
        return np.asarray(self.init_.predict(X), dtype=np.float64).reshape(X.shape[0])

    def _run(
        self, rows: GradientRows, draws: np.random.Generator, before: GradientHistory | None
    ) -> tuple[Trace, list[float]]:
        """The rounds that are still to be made, and their edges."""
        n_done, edges = len(self.steps_), []
        fitting = self._fitting(rows, draws)
        for _ in range(n_done * rows.loss.n_scores):
            fitting.draw()  # as the rounds before have drawn

        def observe(state: State, direction: Direction, step: float) -> None:
            edges.append(float(direction.answers))

        start = rows.additive.scores(rows.X)
        if before is not None:
            risk = State(rows.loss, rows.y, rows.weight, start).risk()
            if not abs(risk - before.risk[-1]) <= 1e-6 * abs(before.risk[0]):
                raise ValueError(
                    f"{type(self).__name__}: a warm start goes on with the rows of the last fit; these are "
                    "others. Fit with warm_start=False to begin anew."
                )
        search = bounded_step
        if self._by_leaf:
            search = unit_step if rows.loss.n_scores == 1 else falling_step
        trace = boost(
            rows.loss,
            self._oracle(fitting, rows),
            search,
            self.learning_rate,
            self.n_estimators - n_done,
            y=rows.y,
            weight=rows.weight,
            start=start,
            observer=observe,
        )
        return trace, edges

    def _weighty(self, data: MemoryRows, y: Array) -> tuple[Any, Array, Array]:
        """The rows that weigh something, dense for our trees, their targets and their weights."""
        X: Any = data.X
        if data.is_sparse and isinstance(self._learner(), DecisionTreeRegressor):
            X = data.X.toarray()
        if data.weight is None:
            return X, y, np.ones(len(y))
        there = data.weight > 0
        return X[there], y[there], data.weight[there].astype(np.float64)

    def _keep_members(self, members: list[Any], n_scores: int) -> None:
        self.estimators_ = np.empty((len(members), n_scores), dtype=object)
        for place, row in enumerate(members):
            self.estimators_[place, :] = row

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
                self.estimators_ = self.estimators_[:place]
                return

    def _fitting(self, rows: GradientRows, draws: np.random.Generator) -> RoundFitting:
        """How learners are fitted: trees on columns that are coded once, others anew each round."""
        learner, X = self._learner(), rows.X
        if self.direction == "least_squares" and grows_here(learner):
            binned = self.estimator is None and len(rows.y) > EXACT_ROWS
            return TreeFitting(learner, X, rows.weight, self.subsample, draws, binned=binned)
        return RoundFitting(learner, X, self.subsample, draws)

    def _oracle(self, fitting: RoundFitting, rows: GradientRows) -> Oracle:
        by_leaf, X, loss = self._by_leaf, rows.X, rows.loss
        signed = oracles.SignOracle(fitting.signed, lambda g: answers_of(g, X, signs=True))

        def oracle(state: State) -> Direction:
            if self.direction == "correlation":
                direction = signed(state)
                direction = direction._replace(learner=[direction.learner])
            else:
                fitted = fitting(state.slopes, state.weight)
                direction = together(with_leaf_steps(state, fitted, loss) if by_leaf else fitted)
            return direction._replace(answers=edge_of(state.slopes, direction.values, state.weight))

        return oracle

    def _additive(self) -> Additive:
        first = self._first if "init_" in vars(self) else None
        signs = self.direction == "correlation"
        return Additive(self.estimators_, self.steps_, self.init_score_, signs, first)

    def _gradient_rows(self, X: Any, y: Array, weight: Array) -> GradientRows:
        return GradientRows(X, y, weight, self._additive(), self._loss(), self.learning_rate, self._by_leaf)

    def _certify(self, data: MemoryRows, y: Array) -> Certificates:
        """The certificates from rows that are opened again."""
        X, y, weight = self._weighty(data, y)
        train, _ = self._split(len(y), generator(self.random_state))
        boosted = self._gradient_rows(X[train], y[train], weight[train])
        stored: dict[str, tuple[object, str]] = {
            "initial score": (self.init_score_, "start" if self.init is None else "zero"),
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

    def _trees_of_rounds(self) -> list[Any]:
        if "init_" in vars(self):
            raise self._refuse("init", "None or 'zero' for shap_values: columns speak through trees alone")
        return list(self.estimators_.ravel())

    def _node_values(self, place: int, member: Any) -> Array:
        if self.direction == "correlation":
            said = member.classes_[member.tree_.value.argmax(axis=1)]
            return self.steps_[place] * np.where(said > 0, 1.0, -1.0)[:, np.newaxis]
        return np.asarray(self.steps_[place // self.estimators_.shape[1]] * member.tree_.value)

    def _summed_scores(self) -> tuple[Array, NDArray[np.int64], Any]:
        additive, (n_rounds, n_scores) = self._additive(), self.estimators_.shape
        start = np.broadcast_to(np.asarray(self.init_score_, dtype=np.float64), n_scores)
        outputs = np.tile(np.arange(n_scores), n_rounds)
        return start.copy(), outputs, lambda X: additive.scores(X).reshape(len(X), -1)

    def _staged_answers(self, X: Any) -> Iterator[NDArray]:
        data: Any = self._open_new_rows(X)
        yield from self._additive().staged(data.X)

    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        return np.asarray(self._loss().value(y, np.asarray(answers, dtype=np.float64)))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean of the importances of the learners."""
        check_is_fitted(self)
        members = self.estimators_.ravel()
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError("The learners of this sum do not tell the importance of columns.")
        total = np.sum([member.feature_importances_ for member in members], axis=0)
        return np.asarray(total / (np.sum(total) or 1.0))
