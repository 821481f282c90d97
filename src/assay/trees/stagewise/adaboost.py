"""AdaBoost in all its forms, each round beside its theorem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import has_fit_parameter

from assay import parameters
from assay.certificates import Certificates
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import generator
from assay.suitability import Suitability
from assay.trees.boosting.gathering import Opened, code_rows, kept_aside, make_columns, train_rows
from assay.trees.calibration.aside import CALIBRATION
from assay.trees.calibration.probabilities import CALIBRATION_METHOD
from assay.trees.growing.columns import MAX_BINS, Columns
from assay.trees.stagewise import oracles
from assay.trees.stagewise.committee import chances_of, places_of
from assay.trees.stagewise.engine import Array, Direction, Oracle, Round, State, Trace, boost
from assay.trees.stagewise.history import history_of
from assay.trees.stagewise.proofs import (
    certify_rounds,
    certify_stumps,
    concentration,
    fit_certificates,
    training_error,
)
from assay.trees.stagewise.steps import ClosedForm, unit_step
from assay.trees.stagewise.stumps import SortedRows, sort_rows
from assay.trees.stagewise.vote import LOSSES, BoostedVote
from assay.trees.stagewise.votes.coded import EXACT_ROWS, boost_coded
from assay.trees.stagewise.votes.corrective import CorrectiveWeights, refit
from assay.trees.stagewise.votes.fitting import FitRows, fit_rows, labels_of, surveyed
from assay.trees.stagewise.votes.making import (
    ErrorObserver,
    MemberFitting,
    StumpFitting,
    StumpMaker,
    newton_downhill,
)

ESTIMATOR = parameters.nothing | Domain(
    "an estimator", lambda value: isinstance(value, BaseEstimator) and hasattr(value, "fit")
)


class AdaBoostClassifier(BoostedVote):
    """A weighted vote of weak classifiers, each fitted to the mistakes of those before it.

    Minimises (1/n) Σ_i e^{−y_i f(x_i)} over f = Σ_t w_t g_t, one learner per round (coordinate descent):

        g_t = arg min over g of Σ_i D_t(i) [g(x_i) ≠ y_i],    w_t = ½ log((1 − ε_t)/ε_t),
        D_{t+1}(i) = D_t(i) e^{−w_t y_i g_t(x_i)} / Z_t,

    with D_1 = 1/n and ε_t the weighted error; the class is the sign of f. More classes are vectors of codes
    (SAMME), which gives w_t = ((C−1)²/C)(log((1−ε_t)/ε_t) + log(C−1)) and the same rules. The default learner
    is the stump of least weighted error, as in the theorems, for any number of classes. Columns are sorted
    once, or put into 255 bins each from 200,000 rows on, and a round is one walk with whole numbers for
    weights: neither the order of the rows, nor threads, nor where the rows are (memory, disk, Dask) changes
    a bit. D_t stays with its rows.

    Assumes: learners a little better than chance under every D_t; labels with little noise, as rows with a
    wrong label end up with most of the weight (`weight_concentration_`, `heaviest_rows`).

    Certificates: the votes of the stored learners have the risk Π Z_t of the rounds, no learner is worse
    than chance, training error ≤ Π Z_t ≤ exp(−2 Σ γ_t²) ≤ exp(−2 T min γ²); `certify` plays every round
    again from the answers of the learners and adds that weights, errors and normalisers are right, that a
    learner is worth nothing after its round, that every stump is the best of its class, the bounds on small
    margins, and for stumps those of the risk (Theorems 15 and 17, at θ = 0.1; see `risk_certificate`).

    Parameters
    ----------
    estimator : classifier, optional
        The weak learner, which must take `sample_weight`; an exact `DecisionStump` by default.
        `DecisionTreeClassifier(max_depth=1)` asks for the stump of the least Gini index, as in scikit-learn:
        as fast, but no longer the minimiser that the theorems speak of.
    n_estimators : int, default=50
        Rounds T. Few rounds are a simple vote, many a rich one.
    learning_rate : float, default=1.0
        Shrinkage ν in (0, 1] of every step. Below 1 the bounds end at Π Z_t.
    random_state : int, Generator, SeedSequence, RandomState or None
        Seeds estimators that draw; stumps do not.
    algorithm : {"samme", "samme_r", "discrete", "naive"}, default="samme"
        "samme": coded classes; with two of them it is "discrete", which takes no more than two. "samme_r":
        learners add (C − 1)(log p_k − mean log p) of their class probabilities. "naive": right and wrong as
        with two classes, which needs errors below ½ and is poor for more; a baseline.
    loss : {"exponential", "logistic"}, default="exponential"
        "logistic" is log(1 + e^{−y f}) with steps by Newton's method, for two classes.
    calibration : float or int, optional
        Share of the rows, drawn at random, that no round sees: `predict_sets` and honest probabilities stand
        on them. Or a number K ≥ 2 of folds: no row is lost, they stand on K more fits without one each.
    calibration_method : {"sigmoid", "isotonic", "temperature"}, optional
        Map that makes probabilities honest, fitted on the rows kept aside; the class is then the likeliest.

    Attributes
    ----------
    estimators_ : list of classifiers
        The learners g_t.
    estimator_weights_ : array of shape (n_rounds,)
        α_t = log((1 − ε_t)/ε_t) + log(C − 1), times ν; 2 w_t of two classes.
    estimator_errors_ : array of shape (n_rounds,)
        ε_t.
    history_ : BoostingHistory
        ε_t, γ_t, w_t, Z_t, training error and its bounds, round by round.
    stop_reason_ : {"rounds", "perfect", "chance"}
        Whether all rounds were made, a learner made no mistake (it is kept alone, with the step of one
        mistake among n + 2 rows), or no learner was better than chance.
    weight_concentration_ : float
        Share of D_{T+1} on the heaviest tenth of the rows: near 0.1 where rows weigh alike, near 1 where few
        rows, often mislabelled ones, hold most of it.
    calibration_rows_, calibration_scores_, calibration_weight_ : arrays of shape (n_aside,)
        Rows kept aside, how strange each is to the vote, and its weight.
    fold_models_ : list of AdaBoostClassifier
        With folds: the votes that lack each, with the attributes above.
    calibrator_, calibration_errors_ : Calibrator and array of shape (2,)
        The map, and the calibration error before and after it.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.trees import AdaBoostClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[50:], y[50:])
    >>> round(model.score(X[50:], y[50:]), 2), model.certify(X[50:], y[50:]).holds
    (0.99, True)

    References
    ----------
    Sangnier §1.3.1, §1.3.2; Wei §8.3; Freund & Schapire (1997); Zhu, Zou, Rosset & Hastie (2009).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=5,
        max_rows=100_000,
        settings={"n_estimators": 100},
        summary="A hundred questions about one column each, which vote; each is chosen for the rows that "
        "those before it get wrong.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "estimator": ESTIMATOR,
        "n_estimators": parameters.integer(at_least=1),
        "learning_rate": parameters.real(above=0.0, at_most=1.0),
        "random_state": parameters.random_state,
        "algorithm": parameters.one_of("samme", "samme_r", "discrete", "naive"),
        "loss": parameters.one_of(*LOSSES),
        "calibration": CALIBRATION,
        "calibration_method": CALIBRATION_METHOD,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
        algorithm: str = "samme",
        loss: str = "exponential",
        calibration: float | None = None,
        calibration_method: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.algorithm = algorithm
        self.loss = loss
        self.calibration = calibration
        self.calibration_method = calibration_method

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, Parquet path, memory map, Dask array or dataframe
            Stumps under the exponential loss read rows wherever they are, NaN as missing values; for other
            learners as they take them, in memory.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_readable(X)
        data, _ = self._open_classes(X, y, sample_weight)
        self._check_options()
        opened = surveyed(data, dense=self._has_stumps)
        labels, given = labels_of(opened)

        def run(model: Self, weight: Array | None) -> None:
            own = kept_aside(self._own_rows(opened, labels)[0], model)
            fitted = fit_rows(own, labels, weight)
            if self._walks and len(labels) > EXACT_ROWS:
                trace, errors = model._boost_codes(own, labels, weight)
            else:
                trace, errors = model._boost(fitted)
            model._keep_trace(trace, errors, fitted)

        self._fit_calibrated(run, given, (opened, labels, given))
        return self

    def _boost(self, fitted: FitRows) -> tuple[Trace, list[float]]:
        """Rounds on rows in memory, and the training errors after them."""
        X, labels, weight, _ = fitted
        observer = ErrorObserver(labels, weight, self._empty_committee())
        trace = boost(
            LOSSES[self.loss],
            self._oracle(X, labels, weight),
            self._line_search(),
            self.learning_rate,
            self.n_estimators,
            y=np.ones(len(labels)),
            weight=weight,
            observer=observer,
        )
        if trace.rounds:
            return trace, observer.errors
        start = State(LOSSES[self.loss], np.ones(len(labels)), weight, np.zeros(len(labels)))
        first = self._oracle(X, labels, weight)(start)
        return self._useless(trace, first.learner, first.error), observer.errors

    def _columns(self, opened: Opened, weight: Array | None) -> Columns:
        """Bins of the columns."""
        return make_columns(opened, weight, np.zeros(self.n_features_in_, dtype=np.bool_), MAX_BINS, 1)

    def _boost_codes(
        self, opened: Opened, labels: NDArray[np.int64], weight: Array | None
    ) -> tuple[Trace, list[float]]:
        """The same on codes, wherever the rows are."""
        columns, n_classes = self._columns(opened, weight), len(self.classes_)
        train = train_rows(opened, labels.astype(np.float64), weight, columns)
        done = boost_coded(
            train.table(np.zeros(n_classes), columns.n_codes),
            columns,
            self._votes,
            self._line_search(),
            self.learning_rate,
            self.n_estimators,
            weight=train.weight,
            n_classes=n_classes,
            gini=self._gini,
        )
        maker = StumpMaker(self, gini=self._gini)
        rounds = [item._replace(learner=maker.of_codes(item.learner)) for item in done.trace.rounds]
        trace = done.trace._replace(rounds=rounds)
        if rounds:
            return trace, done.training_error
        return self._useless(trace, maker.of_codes(done.first[0]), done.first[1]), done.training_error

    def _check_options(self) -> None:
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ > 2 and self.algorithm == "discrete":
            raise self._refuse("algorithm", "'samme', 'samme_r' or 'naive' for more than two classes")
        if self.loss == "logistic" and (self.n_classes_ > 2 or self.algorithm == "samme_r"):
            raise self._refuse("loss", "'exponential' for more than two classes and for 'samme_r'")
        learner = self._learner()
        if not has_fit_parameter(learner, "sample_weight"):
            raise self._refuse("estimator", "a classifier whose fit takes 'sample_weight'")
        needed = "predict_proba" if self.algorithm == "samme_r" else "predict"
        if not hasattr(learner, needed):
            raise self._refuse("estimator", f"a classifier with '{needed}'")

    # What a round is made of.

    @property
    def _votes(self) -> oracles.Votes:
        return oracles.NAIVE_VOTES if self.algorithm == "naive" else oracles.samme_votes(self.n_classes_)

    def _line_search(self) -> Any:
        if self.algorithm == "samme_r":
            return unit_step
        if self.loss == "logistic":
            return newton_downhill
        return ClosedForm(self._n_answers)

    def _oracle(self, X: Any, labels: NDArray[np.int64], weight: Array) -> Oracle:
        if self._has_stumps:
            sorted_rows = self._sort(X, labels, weight)
            if self.algorithm != "samme_r":
                keep: Any = StumpMaker(self, gini=self._gini).of_rows(sorted_rows)
                return oracles.StumpOracle(sorted_rows, self._votes, keep)
            fit: Callable[[Array], Any] = StumpFitting(StumpMaker(self, gini=False), sorted_rows)
        else:
            fit = MemberFitting(self._learner(), X, self.classes_[labels], generator(self.random_state))
        if self.algorithm == "samme_r":
            return oracles.ProbabilityOracle(fit, lambda g: chances_of(g, X, self.classes_), labels)
        return oracles.ClassifierOracle(fit, lambda g: places_of(g, X, self.classes_), labels, self._votes)

    def _sort(self, X: Any, labels: NDArray[np.int64], weight: Array) -> SortedRows:
        return sort_rows(np.ascontiguousarray(X), labels, self.n_classes_, weight, gini=self._gini)

    # What is kept of the rounds.

    def _keep_trace(self, trace: Trace, errors: list[float], fitted: FitRows) -> None:
        labels, weight = fitted.labels, fitted.weight
        self.stop_reason_ = trace.stop
        if trace.stop == "perfect":
            trace, errors = self._perfect(trace, weight), [0.0]
        elif trace.rounds[0].step == 0.0:
            errors = [training_error(np.zeros(len(labels)), labels, weight)]
        theorems = self.learning_rate == 1.0 and self.stop_reason_ != "perfect" and self._is_closed
        exact = theorems and all(item.step > 0 for item in trace.rounds)
        self.history_ = history_of(trace, errors, self._n_answers, exact=exact)
        self.estimators_ = [item.learner for item in trace.rounds]
        self.estimator_ = self._learner()
        self.estimator_errors_ = self.history_.error.copy()
        chances = self.algorithm == "samme_r"
        same = np.full(len(trace.rounds), float(self.learning_rate))
        self.estimator_weights_ = same if chances else self.history_.alpha
        state = State(LOSSES[self.loss], np.ones(len(labels)), weight, trace.scores)
        self.weight_concentration_ = concentration(state.shares(), weight)
        self.certificates_ = fit_certificates(self.history_, self._boosted_rows(fitted))

    @property
    def _is_closed(self) -> bool:
        return self.loss == "exponential" and self.algorithm != "samme_r"

    def _perfect(self, trace: Trace, weight: Array) -> Trace:
        """The learner without a mistake alone, with the step of one mistake among W + 2 rows."""
        (only,) = trace.rounds
        others = self._votes.right
        step = ClosedForm(self._n_answers)(
            State(LOSSES[self.loss], weight, weight, weight),
            Direction(None, weight, min(1.0 / (weight.sum() + 2.0), 0.25)),
        )
        scores = np.full(len(weight), step * others)
        state = State(LOSSES[self.loss], np.ones(len(weight)), weight, scores)
        alone = Round(only.learner, step, 0.0, 1.0, state.log_risk(), state.risk())
        return trace._replace(rounds=[alone], scores=scores)

    def _useless(self, trace: Trace, first: Any, error: float) -> Trace:
        """The first learner, which is no better than chance, with a step of 0."""
        convergence.warn(
            f"No learner of {type(self).__name__} is better than chance on these rows: every row gets the "
            "first class. Take a richer estimator, or other columns."
        )
        return trace._replace(rounds=[Round(first, 0.0, error, 0.0, trace.log_risk, trace.risk)])

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Play every round again from what the stored learners say.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        opened = self._reopened(X, y, sample_weight)
        labels, given = labels_of(opened)
        weight = self._weight_of_fit(len(labels), given)
        fitted = fit_rows(opened, labels, weight)
        boosted = self._boosted_rows(fitted)
        stored = {
            "estimator errors": (self.estimator_errors_, "error"),
            "weight concentration": (self.weight_concentration_, "concentration"),
        }
        claims = list(certify_rounds(self.history_, stored, boosted))
        if self._has_stumps and self.algorithm != "samme_r" and not self._gini:
            if self._walks and len(labels) > EXACT_ROWS:  # stumps of bins: codes are as good as values
                columns = self._columns(opened, weight)
                codes = code_rows(opened, labels.astype(np.float64), weight, columns).codes
                claims.append(certify_stumps(boosted, codes, columns.n_codes))
            else:
                claims.append(certify_stumps(boosted, fitted.X))
        claims += self._risk_claims(boosted) if given is None else []
        claims += self._claims_aside(opened, labels, given)
        return Certificates([*claims, *self._fold_claims(X, y, sample_weight)])

    def refit_weights(
        self, X: Any, y: Any, sample_weight: Any = None, *, penalty_strength: float = 1e-3
    ) -> CorrectiveWeights:
        """All weights at once: minimise the mean loss of Σ_t w_t g_t + ½ λ‖w‖² over w, with a duality gap.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        penalty_strength : float, default=1e-3
            λ above 0: without it nothing is smallest where the learners separate the classes.

        Returns
        -------
        weights : CorrectiveWeights
        """
        if self.algorithm == "samme_r":
            raise self._refuse("algorithm", "'samme', 'discrete' or 'naive' for refit_weights")
        parameters.require("refit_weights", parameters.real(above=0.0), penalty_strength=penalty_strength)
        boosted = self._open_boosted(X, y, sample_weight)
        said = np.array([places == boosted.labels for places in boosted.committee.places(boosted.X)])
        agreed = np.where(said.T, self._votes.right, self._votes.wrong)
        return refit(agreed, boosted.weight, boosted.loss, boosted.committee.steps, penalty_strength)
