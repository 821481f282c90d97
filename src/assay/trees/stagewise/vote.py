"""What a boosted vote says about rows: classes, scores, probabilities, margins, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from assay import rows
from assay.certificates import Certificate, Certificates
from assay.losses import Exponential, Logistic, Loss
from assay.models.capabilities import Transformer
from assay.models.classes import Classifier, class_of
from assay.rows import Rows
from assay.trees.boosting.gathering import Opened
from assay.trees.calibration.probabilities import HasClassSets
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.stump import DecisionStump
from assay.trees.stagewise.choosing import HasRounds
from assay.trees.stagewise.committee import (
    Committee,
    chances_of_rows,
    classes_of_rows,
    committee_of,
    exact_scores_of_rows,
    scores_of_rows,
    signs_of_rows,
)
from assay.trees.stagewise.engine import Array, State
from assay.trees.stagewise.history import BoostingHistory, MarginHistory, margin_history
from assay.trees.stagewise.oracles import centred_logs
from assay.trees.stagewise.proofs import DELTA, THETA, BoostedRows, replay, training_error
from assay.trees.stagewise.summed import ExplainedSum
from assay.trees.stagewise.votes.fitting import FitRows, fit_rows, labels_of, surveyed
from assay.trees.stagewise.votes.risk import MarginBound, bound_margins, margins_of, risk_claims, stump_bound

LOSSES: Mapping[str, Loss] = {"exponential": Exponential(), "logistic": Logistic()}


class BoostedVote(ExplainedSum, HasClassSets, Classifier, HasRounds, Transformer):
    """Base of weighted votes of classifiers: reads the fitted learners, weighs rows by their margins."""

    estimator: Any
    algorithm: str
    loss: str
    estimators_: list[Any]
    estimator_weights_: Array
    history_: BoostingHistory

    @property
    def _accepts_nan(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._learner()).input_tags.allow_nan)

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return bool(get_tags(self._learner()).input_tags.sparse)

    def _learner(self) -> Any:
        return self.estimator if isinstance(self.estimator, BaseEstimator) else DecisionStump()

    @property
    def _has_stumps(self) -> bool:
        """Whether the learners are stumps that the sorted columns give."""
        learner = self._learner()
        exact = type(learner) is DecisionStump and learner.get_params() == DecisionStump().get_params()
        return exact or self._gini

    @property
    def _gini(self) -> bool:
        """Whether stumps are chosen by the Gini index: trees of one split, as scikit-learn takes them."""
        learner = self._learner()
        asked = {**DecisionTreeClassifier(max_depth=1).get_params(), "random_state": None}
        return (
            type(learner) is DecisionTreeClassifier
            and {**learner.get_params(), "random_state": None} == asked
            and self.algorithm != "samme_r"
        )

    @property
    def _walks(self) -> bool:
        """Whether a round is a sum over codes, so that rows need not be in memory."""
        return self._has_stumps and self.algorithm != "samme_r" and self.loss == "exponential"

    def _require_readable(self, X: Any) -> None:
        if rows.is_external(X):
            self._check_parameters()
            if not self._walks:
                raise ValueError(
                    f"{type(self).__name__} takes rows outside memory for stumps under the exponential loss, "
                    "and not for 'samme_r': other learners need all rows in each round. Leave 'estimator' "
                    "out, or bring the rows into memory as an array."
                )

    def _reopened(self, X: Any, y: Any, sample_weight: Any) -> Opened:
        check_is_fitted(self)
        self._require_readable(X)
        return surveyed(self._open_new_classes(X, y, sample_weight), dense=self._has_stumps)

    def _empty_committee(self) -> Committee:
        return committee_of([], np.empty(0), self.classes_, **self._reading)

    @property
    def _reading(self) -> dict[str, Any]:
        naive = self.algorithm == "naive"
        sharpness = 1.0 if naive or len(self.classes_) == 2 else 1.0 / (len(self.classes_) - 1)
        return {
            "naive": naive,
            "chances": self.algorithm == "samme_r",
            "sharpness": 0.5 if self.loss == "logistic" else sharpness,
        }

    @property
    def _n_answers(self) -> int:
        """Classes that steps know of: of the naive rule two, right and wrong."""
        return 2 if self.algorithm == "naive" else len(self.classes_)

    def _committee(self) -> Committee:
        factor = 1.0 if self.algorithm == "samme_r" else (self._n_answers - 1) ** 2 / self._n_answers
        steps = self.estimator_weights_ * factor
        return committee_of(self.estimators_, steps, self.classes_, **self._reading)

    def _boosted_rows(self, fitted: FitRows) -> BoostedRows:
        return BoostedRows(fitted.X, fitted.labels, fitted.weight, self._committee(), LOSSES[self.loss])

    def _open_boosted(self, X: Any, y: Any, sample_weight: Any) -> BoostedRows:
        """The rows of the fit once more, without those kept aside."""
        return self._boosted_rows(self._rows_of_fit(X, y, sample_weight))

    def _rows_of_fit(self, X: Any, y: Any, sample_weight: Any) -> FitRows:
        opened = self._reopened(X, y, sample_weight)
        labels, weight = labels_of(opened)
        return fit_rows(opened, labels, self._weight_of_fit(len(labels), weight))

    # Why.

    def _trees_of_rounds(self) -> list[Any]:
        return self.estimators_

    def _node_values(self, place: int, member: Any) -> Array:
        committee, step = self._committee(), self._committee().steps[place]
        shares = np.zeros((member.tree_.node_count, len(self.classes_)))
        shares[:, rows.code(member.classes_, self.classes_)] = member.tree_.value
        if committee.chances:
            values = (len(self.classes_) - 1) * centred_logs(shares)
        else:
            said = shares.argmax(axis=1)[:, np.newaxis] == np.arange(len(self.classes_))
            values = np.where(said, 1.0, committee.other)
        return np.asarray(step * (values[:, 1:] if len(self.classes_) == 2 else values))

    def _summed_scores(self) -> tuple[Array, NDArray[np.int64], Any]:
        committee = self._committee()
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        first = np.zeros(len(self.estimators_), dtype=np.int64)
        return np.zeros(n_scores), first, lambda X: committee.scores(X).reshape(len(X), -1)

    # Rows kept aside.

    def _row_scores(self, data: Rows) -> Array:
        how: Any = {"dtype": np.float64, "width": 1 if len(self.classes_) == 2 else len(self.classes_)}
        return np.asarray(data.map(exact_scores_of_rows, self._committee(), **how))

    def _chances(self, scores: Array) -> Array:
        return self._committee().probabilities(scores[:, 0] if scores.shape[1] == 1 else scores)

    # What the vote says.

    def predict(self, X: Any) -> Any:
        """The class of the largest score, or of the largest honest probability: an array, or a lazy one."""
        data, calibrator = self._open_new_rows(X), getattr(self, "calibrator_", None)
        return data.map(classes_of_rows, self._committee(), calibrator, dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> Any:
        """F = Σ_t w_t g_t(x) of the second of two classes; one column per class for more."""
        data = self._open_new_rows(X)
        width = None if len(self.classes_) == 2 else len(self.classes_)
        return data.map(scores_of_rows, self._committee(), dtype=data.dtype, width=width)

    def predict_proba(self, X: Any) -> Any:
        """1/(1 + e^{−2f}), the law whose exponential risk f minimises; ∝ e^{f_k/(C−1)} for more classes.

        1/(1 + e^{−f}) for the logistic loss; through the map of `calibration_method` where there is one.
        """
        data, calibrator = self._open_new_rows(X), getattr(self, "calibrator_", None)
        how: Any = {"dtype": data.dtype, "width": len(self.classes_)}
        return data.map(chances_of_rows, self._committee(), calibrator, **how)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def transform(self, X: Any) -> Any:
        """The features that were learned, φ(x) = (g_1(x), …, g_T(x)): ±1, or places of classes for more."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": len(self.estimators_)}
        return data.map(signs_of_rows, self._committee(), **how)

    def _names(self, columns: list[str]) -> list[str]:
        return [f"{type(self).__name__.lower()}{place}" for place in range(len(self.estimators_))]

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after each round."""
        data: Any = self._open_new_rows(X)
        for scores in self._committee().staged_scores(data.X):
            yield scores.copy()

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """`predict` after each round."""
        for scores in self.staged_decision_function(X):
            yield class_of(scores, self.classes_)

    _measure = "share of mistakes"

    def _staged_answers(self, X: Any) -> Iterator[NDArray]:
        yield from self.staged_predict(X)

    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        return np.asarray(y != answers, dtype=np.float64)

    def _coded(self, y: Any) -> NDArray:
        return np.asarray(y)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after each round."""
        committee = self._committee()
        for scores in self.staged_decision_function(X):
            yield committee.probabilities(scores)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield float(np.average(predicted == np.asarray(y), weights=sample_weight))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean of the importances of the learners, weighted as they vote."""
        check_is_fitted(self)
        if not all(hasattr(member, "feature_importances_") for member in self.estimators_):
            raise AttributeError("The learners of this vote do not tell the importance of columns.")
        each = np.array([member.feature_importances_ for member in self.estimators_])
        total = self.estimator_weights_.sum()
        return np.asarray(self.estimator_weights_ @ each / (total or 1.0))

    # What the rows say.

    def margins(self, X: Any, y: Any, n_rounds: int | None = None) -> Array:
        """Normalised margins y f(x)/‖w‖₁ in [−1, 1] after so many rounds, of the rows given.

        Of more than two classes f_y/‖w‖₁; of SAMME.R divided by the number of rounds.
        """
        opened = self._reopened(X, y, None)
        boosted = self._boosted_rows(fit_rows(opened, *labels_of(opened)))
        committee = boosted.committee
        last = len(committee.members) if n_rounds is None else n_rounds
        if not 1 <= last <= len(committee.members):
            raise ValueError(
                f"'n_rounds' must be an int from 1 to {len(committee.members)}. Got {n_rounds!r}."
            )
        for place, scores in enumerate(committee.staged_scores(boosted.X), start=1):
            if place == last:
                margins = committee.margins(scores, boosted.labels)
                break
        size = float(np.abs(committee.steps[:last]).sum())
        return margins / (size or 1.0)

    def margin_history(self, X: Any, y: Any, theta: float = 0.1, sample_weight: Any = None) -> MarginHistory:
        """Share of margins below θ after each round, the sharp product and the bound of the lemma."""
        boosted = self._open_boosted(X, y, sample_weight)
        shares = replay(boosted, exact=self.history_.exact, theta=theta).shares
        return margin_history(self.history_, theta, shares)

    def _margin_bound(
        self, owner: str, X: Any, y: Any, theta: Any, delta: float, complexity: float | None
    ) -> MarginBound:
        grid, boosted = margins_of(owner, theta), self._open_boosted(X, y, None)
        return self._bound_of_rows(boosted, grid, delta, complexity)

    def _bound_of_rows(
        self, boosted: BoostedRows, grid: Array, delta: float, complexity: float | None
    ) -> MarginBound:
        committee = boosted.committee
        margins = committee.margins(committee.scores(boosted.X), boosted.labels)
        margins = margins / (float(np.abs(committee.steps).sum()) or 1.0)
        known = stump_bound(len(margins), self.n_features_in_) if complexity is None else complexity
        return bound_margins(margins, self.history_, grid, delta, known)

    def _risk_claims(self, boosted: BoostedRows) -> list[Certificate]:
        """The bounds at a margin that was fixed with this library, where learners are stumps."""
        if not self._has_stumps or self.algorithm == "samme_r" or len(self.classes_) > 2:
            return []
        bound = self._bound_of_rows(boosted, np.array([THETA]), DELTA, None)
        return risk_claims(bound, float(self.history_.training_error[-1]), DELTA)

    def risk_certificate(
        self, X: Any, y: Any, theta: Any = THETA, *, delta: float = DELTA, complexity: float | None = None
    ) -> Certificates:
        """Bounds of the risk of the vote on new rows, from its margins (Theorems 15 and 17).

        Parameters
        ----------
        X, y
            The rows of the fit, of two classes, drawn independently from the law of those to come.
        theta : float or sequence of floats in (0, 1), default=0.1
            The margin θ, fixed before the data were seen; or a grid of them fixed before, which share δ so
            that the best may be taken. A margin chosen by looking at the data has no bound and is refused.
        delta : float, default=0.05
            The bounds hold with probability 1 − δ over the rows.
        complexity : float, optional
            Rademacher complexity of the learners; that of stumps, √(2 log(2d(n + 1))/n), by default. Needed
            for other learners.

        Returns
        -------
        certificates : Certificates
            `vacuous` where a bound is no better than 1, as it is on few rows.

        Examples
        --------
        >>> from assay.datasets import iris
        >>> from assay.trees import AdaBoostClassifier
        >>> X, y = iris(return_X_y=True)
        >>> model = AdaBoostClassifier(n_estimators=20).fit(X[50:], y[50:])
        >>> [item.verdict for item in model.risk_certificate(X[50:], y[50:], 0.2)]
        ['vacuous', 'vacuous']
        """
        check_is_fitted(self)
        if len(self.classes_) != 2 or self.algorithm == "samme_r":
            raise ValueError(
                f"{type(self).__name__}.risk_certificate needs a vote of two classes that is no sum of "
                f"probabilities. Got {len(self.classes_)} classes and algorithm={self.algorithm!r}."
            )
        if complexity is None and not self._has_stumps:
            raise ValueError(
                f"{type(self).__name__}.risk_certificate needs the 'complexity' of learners besides stumps."
            )
        grid, boosted = margins_of("risk_certificate", theta), self._open_boosted(X, y, None)
        bound = self._bound_of_rows(boosted, grid, delta, complexity)
        scores = boosted.committee.scores(boosted.X)
        error = training_error(scores, boosted.labels, boosted.weight)
        return Certificates(risk_claims(bound, error, delta))

    def row_weights(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """D_{T+1}: how the rows of the fit weigh after the last round; 0 for those that it did not see."""
        fitted = self._rows_of_fit(X, y, sample_weight)
        boosted = self._boosted_rows(fitted)
        margins = boosted.committee.margins(boosted.committee.scores(boosted.X), boosted.labels)
        shares = np.zeros(len(fitted.there))
        shares[fitted.there] = State(boosted.loss, boosted.start.y, boosted.weight, margins).shares()
        return shares

    def heaviest_rows(self, X: Any, y: Any, n_rows: int = 10) -> NDArray[np.intp]:
        """The rows that weigh most, heaviest first: look there for wrong labels."""
        return np.argsort(-self.row_weights(X, y), kind="stable")[:n_rows]
