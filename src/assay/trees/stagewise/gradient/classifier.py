"""Gradient boosting of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.losses import Exponential, Logistic, Loss, MarginLoss, Multinomial
from assay.models.classes import Classifier, class_of
from assay.parameters import Domain
from assay.rows import code
from assay.trees.describing import ADDED, described, keep_parameters
from assay.trees.stagewise.additive import labels_of_rows, numbers_of_rows, shares_of_rows
from assay.trees.stagewise.committee import chances_of
from assay.trees.stagewise.engine import Array
from assay.trees.stagewise.gradient.base import GRADIENT_DOMAINS, GradientModel

SMALLEST = float(np.finfo(np.float32).eps)
"""What probabilities of a first estimator are clipped at, as in scikit-learn."""

NAMED: Mapping[str, Any] = {"log_loss": Logistic, "exponential": Exponential}


@described(
    ADDED,
    loss="""{"log_loss", "exponential"} or MarginLoss, default=DEFAULT
    log(1 + e^{−u}) or e^{−u} of the margin u = y f; or any convex margin loss of `assay.losses`. More
    than two classes take "log_loss".""",
)
class GradientBoostingClassifier(Classifier, GradientModel):
    """A sum of regressors for classes, each fitted to the slope of the loss at those before it.

    Minimises A(f) = (1/n) Σ_i φ(y_i f(x_i)), y = ±1, over f = f_0 + Σ_t ν w_t g_t:

        r_i = −y_i φ'(y_i f_{t−1}(x_i)),    g_t = the learner fitted to (x_i, r_i),
        w_t = arg min over w of A(f_{t−1} + w g_t),    f_t = f_{t−1} + ν w_t g_t,

    with f_0 the best constant; the class is the sign of f. With the exponential loss, the direction
    "correlation" and f_0 = 0 it is AdaBoost. More than two classes have a score each, A is the mean of
    log Σ_k e^{f_k} − f_y, and a round fits a learner to [y = k] − p_k for every class k.

    Assumes: nothing about the law of the rows.

    Certificates: the stored learners have the risk of the trace, which never rises; `certify` plays every
    round again and adds that risks, edges and steps are right, and that every step is the best along its
    learner. There is no linear rate: the logistic loss is not strongly convex, the exponential not smooth.

    Parameters
    ----------
    …

    Attributes
    ----------
    estimators_ : array of shape (n_rounds, n_trees_per_iteration_)
        The learners g_t.
    steps_ : array of shape (n_rounds,)
        ν w_t.
    init_score_ : float or array of shape (n_classes,)
        f_0, 0 where an estimator gives it.
    init_ : estimator
        What `init` became; absent for constants.
    train_score_ : array of shape (n_rounds,)
        Mean loss after each round.
    history_ : GradientHistory
        Steps, risks and edges γ_t = 1 − ‖r − g‖²/‖r‖², round by round.
    n_estimators_, n_trees_per_iteration_ : int
        Rounds made, and learners of a round: one, or one per class of more than two.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.trees import GradientBoostingClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X[50:], y[50:])
    >>> model.score(X[50:], y[50:]) > 0.95, model.certify(X[50:], y[50:]).holds
    (True, True)

    References
    ----------
    Sangnier §1.3.3; Wei §8.4; Friedman (2001), Greedy function approximation.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "loss": parameters.one_of(*NAMED)
        | Domain("a loss of the margin", lambda value: isinstance(value, MarginLoss)),
        **GRADIENT_DOMAINS,
    }

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        estimator: Any = None,
        line_search: str | None = None,
        direction: str = "least_squares",
    ) -> None:
        keep_parameters(self, locals())

    _asked: ClassVar[str] = "predict_proba"

    def _loss(self) -> Loss:
        return Multinomial(len(self.classes_)) if len(self.classes_) > 2 else self._margin_loss()

    def _margin_loss(self) -> Loss:
        return self.loss if isinstance(self.loss, Loss) else NAMED[self.loss]()

    def _set_classes(self, classes: NDArray) -> None:
        super()._set_classes(classes)
        if len(classes) > 2 and self.loss != "log_loss":
            raise self._refuse("loss", "'log_loss' for more than two classes")
        if len(classes) > 2 and self.direction == "correlation":
            raise self._refuse("direction", "'least_squares' for more than two classes")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix or frame
            As the estimator takes it, in memory.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_memory(X)
        data: Any
        data, _ = self._open_classes(X, y, sample_weight)
        self.n_classes_ = len(self.classes_)
        self._boost(data, self._targets(data.y))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Play every round again from what the stored learners say.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_classes(X, y, sample_weight)
        return self._certify(data, self._targets(data.y))

    def _targets(self, places: NDArray) -> Array:
        """−1 for the first of two classes and 1 for the second; places of more."""
        one = places.reshape(len(places), -1)[:, 0]
        return np.where(one > 0, 1.0, -1.0) if len(self.classes_) == 2 else one.astype(np.float64)

    def _named(self, y: Array) -> NDArray:
        places = y > 0 if len(self.classes_) == 2 else y
        return self.classes_[places.astype(np.intp)]

    def _first(self, X: Any) -> Array:
        chances = np.clip(chances_of(self.init_, X, self.classes_), SMALLEST, 1 - SMALLEST)
        loss = self._loss()
        return np.asarray(loss.minimiser(chances[:, 1]) if isinstance(loss, MarginLoss) else np.log(chances))

    @property
    def _sharpness(self) -> float:
        """2 where the best score is half the log-odds, as for the exponential loss; 1 where it is all."""
        return 2.0 if isinstance(self._loss(), Exponential) else 1.0

    def decision_function(self, X: Any) -> Any:
        """f(x) of each row: of the second of two classes; one column per class for more."""
        data = self._open_new_rows(X)
        width = None if len(self.classes_) == 2 else len(self.classes_)
        return data.map(numbers_of_rows, self._additive(), dtype=data.dtype, width=width)

    def predict(self, X: Any) -> Any:
        """The class of the sign of f, or of its largest column: an array, or a lazy one for Dask input."""
        data = self._open_new_rows(X)
        return data.map(labels_of_rows, self._additive(), self.classes_, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """1/(1 + e^{−f}) of the second class, 1/(1 + e^{−2f}) for the exponential loss; softmax of more."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": len(self.classes_)}
        return data.map(shares_of_rows, self._additive(), self._sharpness, **how)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """`decision_function` after each round."""
        for scores in self._staged_answers(X):
            yield scores.copy()

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """`predict` after each round."""
        for scores in self._staged_answers(X):
            yield class_of(scores, self.classes_)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """`predict_proba` after each round."""
        additive = self._additive()
        for scores in self._staged_answers(X):
            yield additive.chances(scores, self._sharpness)

    def _coded(self, y: Any) -> NDArray:
        labels = np.asarray(y)
        return code(labels, self.classes_) if hasattr(self, "classes_") else labels.astype(np.intp)

    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        scores = np.asarray(answers, dtype=np.float64)
        if scores.ndim == 2:
            return np.asarray(Multinomial(scores.shape[1]).value(y, scores))
        return np.asarray(self._margin_loss().value(np.where(y > 0, 1.0, -1.0), scores))
