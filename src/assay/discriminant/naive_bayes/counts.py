"""Naive Bayes of yes-no columns and of counts, by the names, parameters and attributes of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from assay import parameters
from assay.certificates import Certificate, agreement
from assay.datasets.requirements import finite_array, number_at_least
from assay.discriminant.naive_bayes.base import Incremental
from assay.discriminant.naive_bayes.columns import (
    MOST_ALPHA,
    SMALLEST_ALPHA,
    Array,
    BernoulliFamily,
    BernoulliLaws,
)
from assay.discriminant.naive_bayes.product import Group, ProductLaws, ProductStatistics
from assay.discriminant.naive_bayes.words import MultinomialFamily, MultinomialLaws
from assay.discriminant.priors import PRIOR_SUM, PRIORS, tell_of_sum
from assay.parameters import Domain
from assay.rows import Rows

ALPHA = parameters.real(at_least=0, at_most=MOST_ALPHA)
ALPHAS = ALPHA | parameters.array(
    "an array of non-negative numbers, one per column",
    lambda values: values.ndim == 1 and bool(((values >= 0) & (values <= MOST_ALPHA)).all()),
)
SMOOTHED: dict[str, Domain] = {
    "alpha": ALPHAS,
    "force_alpha": parameters.boolean,
    "fit_prior": parameters.boolean,
    "class_prior": PRIORS,
}


def never(model: Any) -> bool:
    """No model has what this decides on."""
    return False


class DiscreteBayes(Incremental):
    """Base of naive Bayes of counts: smoothed by `alpha`, priors by `fit_prior` and `class_prior`."""

    class_count_: NDArray
    class_log_prior_: NDArray
    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on tables of anything but what it is for
        return tags

    @property
    def _alpha(self) -> Any:
        """Pseudo-counts; tiny ones are raised unless they are forced."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        if alpha.ndim and alpha.shape != (self.n_features_in_,):
            raise self._refuse(
                "alpha", f"a number or an array of one number per column ({self.n_features_in_})"
            )
        if not self.force_alpha:
            alpha = np.maximum(alpha, SMALLEST_ALPHA)
        return float(alpha) if alpha.ndim == 0 else alpha

    def _prior_shares(self, weights: NDArray) -> Array:
        """Given shares, those of the rows, or equal ones."""
        if self.class_prior is not None and not isinstance(self.class_prior, str):
            return _given_shares(self, weights)
        uniform = self.class_prior == "uniform" or not self.fit_prior
        return np.asarray((weights > 0) / np.count_nonzero(weights) if uniform else weights / weights.sum())

    def _set_priors(self, weights: NDArray) -> None:
        self.class_count_ = weights
        with np.errstate(divide="ignore"):
            self.class_log_prior_ = np.log(self._prior_shares(weights))
        tell_of_sum("class_prior", self.class_prior)

    def _log_priors(self) -> Array:
        return np.asarray(self.class_log_prior_, dtype=np.float64)

    def _stored_counts(self, statistics_weight: NDArray) -> Certificate:
        claim = "The stored priors and weights of the classes are those of the rows and the parameters."
        pairs = {"class_count_": (self.class_count_, statistics_weight)}
        shares = self._prior_shares(np.asarray(statistics_weight))
        pairs["class_log_prior_"] = np.exp(self.class_log_prior_), shares
        return agreement(claim, pairs, "Wei §7.3.2", rtol=1e-9)

    def _stored_sums(self, sums: Any, fresh: Any) -> Certificate:
        claim = "The stored counts of the columns are those of the rows."
        return agreement(claim, {"feature_count_": (sums, fresh)}, "Wei §7.3.2", rtol=1e-9)


def shares_of(owner: str, probabilities: Any, *, of_rows: bool = False) -> Array:
    """Given probabilities, one row per class; with `of_rows` each row sums to 1."""
    chances = np.array(finite_array(owner, "probabilities", probabilities, 2))
    if np.any((chances < 0) | (chances > 1)):
        raise parameters.refusal(owner, "probabilities", "numbers between 0 and 1", probabilities)
    if of_rows and np.abs(chances.sum(axis=1) - 1).max() > PRIOR_SUM:
        raise parameters.refusal(owner, "probabilities", "numbers of sum 1 in each class", probabilities)
    return chances


def _given_shares(model: Any, weights: NDArray) -> Array:
    shares = np.array(model.class_prior, dtype=np.float64)
    if shares.shape != weights.shape:
        raise ValueError(
            f"Number of priors must match number of classes ({len(weights)}). Got {len(shares)}."
        )
    return np.asarray(shares / shares.sum())


class BernoulliNB(DiscreteBayes):
    """Bernoulli naive Bayes: within a class the columns are independent yes-no questions.

    Maximises over the priors and the laws of the columns the smoothed likelihood of

        P(Y = k) = π_k,   P(x_j = 1 | Y = k) = p_kj,        predicts argmax_k log π_k + Σ_j log p_kj(x_j).

    by one walk: p_kj = (Σ s x_j + α)/(n_k + 2α). The log-odds are
    affine: Σ_j x_j log[p_kj(1 − p_lj)/(p_lj(1 − p_kj))] plus a constant. A missing value leaves its factor
    out.

    Assumes: independent columns within each class.

    Certificates: counts walked again; the gradient of the smoothed log-likelihood; the log-joint as a linear
    form.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Pseudo-count of each side; 0 for plain frequencies.
    force_alpha : bool, default=True
        Whether α below 1e-10 stays as it is.
    binarize : float or None, default=0.0
        Values above it are 1, others 0; None where the columns hold 0 and 1 alone.
    fit_prior : bool, default=True
        Whether the priors are the shares of the classes; else they are equal.
    class_prior : array of shape (n_classes,), default=None
        Given priors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
        Rows of each class by weight, and logarithms of the priors.
    feature_count_, feature_log_prob_ : arrays of shape (n_classes, n_features)
        Ones of each class by weight, and log p_kj.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.discriminant import BernoulliNB
    >>> X = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [0, 1]])
    >>> model = BernoulliNB().fit(X, ["a", "a", "b", "b", "b"])
    >>> np.exp(model.feature_log_prob_).round(2)
    array([[0.75, 0.5 ],
           [0.2 , 0.6 ]])

    References
    ----------
    Sangnier, examination of 2022, exercise 1; Wei §7.3.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SMOOTHED,
        "binarize": parameters.nothing | parameters.real(),
    }
    feature_count_: NDArray
    feature_log_prob_: NDArray

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    @classmethod
    def from_parameters(cls, probabilities: Any, priors: Any = None, classes: Any = None) -> Self:
        """The oracle: the classifier of a known law of zeros and ones.

        Parameters
        ----------
        probabilities : array-like of shape (n_classes, n_features)
            Of a one, between 0 and 1.
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.

        Examples
        --------
        >>> from assay.discriminant import BernoulliNB
        >>> BernoulliNB.from_parameters([[0.2, 0.5], [0.7, 0.5]]).predict([[1, 0], [0, 1]])
        array([1, 0])
        """
        chances = shares_of(cls.__name__, probabilities)
        model = cls._given(classes, priors, len(chances), binarize=None)
        model.n_features_in_ = chances.shape[1]
        with np.errstate(divide="ignore"):
            model.feature_log_prob_ = np.log(chances)
        model.feature_count_ = model.class_count_[:, None] * chances
        return model._as_oracle()

    def _groups(self) -> list[Group]:
        return [Group(BernoulliFamily(self._alpha, self.binarize), self._every_column())]

    def _keep_laws(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> None:
        part: Any = laws.parts[0]
        self.feature_log_prob_ = part.log_ones
        self.feature_count_ = statistics.parts[0].sums
        self._remember(statistics)

    def _laws(self) -> ProductLaws:
        part = BernoulliLaws(np.asarray(self.feature_log_prob_), self.binarize)
        return ProductLaws([self._every_column()], [part], self.n_features_in_)

    def _proofs(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> list[Certificate]:
        counts = self._stored_sums(self.feature_count_, statistics.parts[0].sums)
        return [*super()._proofs(laws, statistics, data), counts]


class MultinomialNB(DiscreteBayes):
    """Multinomial naive Bayes: a row holds the counts of the words of one bag.

    Maximises over the priors and the laws of the words the smoothed likelihood of

        P(Y = k) = π_k,   p_k(x) ∝ Π_j p_kj^{x_j},        predicts argmax_k log π_k + Σ_j x_j log p_kj.

    by one walk: p_kj = (Σ s x_j + α)/(Σ_l Σ s x_l + α d). Rows may be
    sparse. The classifier is linear in the counts. The number of orders of the words, alike in all classes,
    is left out of the log-joint.

    Assumes: given the class and its length, a row is drawn word by word.

    Certificates: counts walked again; the gradient of the smoothed log-likelihood; the log-joint as a linear
    form.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Pseudo-count of each word.
    force_alpha : bool, default=True
        Whether α below 1e-10 stays as it is.
    fit_prior : bool, default=True
        Whether the priors are the shares of the classes; else they are equal.
    class_prior : array of shape (n_classes,), default=None
        Given priors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
        Rows of each class by weight, and logarithms of the priors.
    feature_count_, feature_log_prob_ : arrays of shape (n_classes, n_features)
        Words of each class by weight, and log p_kj.
    row_total_ : float
        Mean number of words of a row, from which `sample` draws lengths.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.discriminant import MultinomialNB
    >>> X = np.array([[3, 0, 1], [2, 1, 0], [0, 4, 1], [0, 2, 2]])
    >>> MultinomialNB().fit(X, [0, 0, 1, 1]).predict([[1, 0, 0], [0, 1, 1]])
    array([0, 1])

    References
    ----------
    Wei §7.3.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = SMOOTHED
    _accepts_nan: ClassVar[bool] = False
    feature_count_: NDArray
    feature_log_prob_: NDArray
    row_total_: float

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    @available_if(never)
    def decision_function(self, X: Any) -> Any:
        """Not there, as in scikit-learn: take `predict_joint_log_proba`."""

    @classmethod
    def from_parameters(
        cls, probabilities: Any, priors: Any = None, classes: Any = None, *, row_total: float = 1.0
    ) -> Self:
        """The oracle: the classifier of a known law of words.

        Parameters
        ----------
        probabilities : array-like of shape (n_classes, n_features)
            Of each word, with sum 1 in each class.
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.
        row_total : float, default=1.0
            Mean number of words of a row, for `sample`.

        Examples
        --------
        >>> from assay.discriminant import MultinomialNB
        >>> MultinomialNB.from_parameters([[0.2, 0.8], [0.5, 0.5]]).predict([[1, 4], [2, 1]])
        array([0, 1])
        """
        chances = shares_of(cls.__name__, probabilities, of_rows=True)
        model = cls._given(classes, priors, len(chances))
        model.n_features_in_ = chances.shape[1]
        model.row_total_ = number_at_least(cls.__name__, "row_total", row_total, 0)
        with np.errstate(divide="ignore"):
            model.feature_log_prob_ = np.log(chances)
        model.feature_count_ = model.class_count_[:, None] * chances * model.row_total_
        return model._as_oracle()

    def _groups(self) -> list[Group]:
        return [Group(MultinomialFamily(self._alpha), self._every_column())]

    def _keep_laws(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> None:
        part: Any = laws.parts[0]
        self.feature_log_prob_, self.row_total_ = part.log_probabilities, part.row_total
        self.feature_count_ = statistics.parts[0].sums
        self._remember(statistics)

    def _laws(self) -> ProductLaws:
        part = MultinomialLaws(np.asarray(self.feature_log_prob_), self.row_total_)
        return ProductLaws([self._every_column()], [part], self.n_features_in_)

    def _proofs(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> list[Certificate]:
        counts = self._stored_sums(self.feature_count_, statistics.parts[0].sums)
        return [*super()._proofs(laws, statistics, data), counts]
