"""Naive Bayes of categories, by the name, parameters and attributes of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from assay import parameters
from assay.base import LARGE
from assay.certificates import Certificate, agreement
from assay.discriminant.naive_bayes.binned_columns import MOST_LEVELS, CategoricalFamily, CategoricalLaws
from assay.discriminant.naive_bayes.counts import ALPHA, SMOOTHED, DiscreteBayes, never, shares_of
from assay.discriminant.naive_bayes.product import Group, ProductLaws, ProductStatistics
from assay.models import convergence
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows, fit_weights


class CategoricalNB(DiscreteBayes):
    """Categorical naive Bayes: within a class the columns are independent categories, coded 0, 1, ….

    Maximises over the priors and the laws of the columns the smoothed likelihood of

        P(Y = k) = π_k,   P(x_j = l | Y = k) = p_{kjl},        predicts argmax_k log π_k + Σ_j log p_kj(x_j).

    by one walk: p_{kjl} = (c_{kjl} + α)/(n_k + αL_j). With z the marks of
    the levels the log-joint is B_kᵀz + log π_k, B_{kjl} = log p_{kjl}: a linear classifier (`linear_form`). A
    missing value leaves its factor out; a level that the fit has not seen counts as one without any row, and
    a warning says so. Numbers that are not whole are cut to whole ones, as scikit-learn does. Text and
    categories of frames are taken by `NaiveBayes`.

    Assumes: independent columns within each class.

    Certificates: counts walked again; the gradient of the smoothed log-likelihood; the log-joint as a linear
    form.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of each level; 0 for plain frequencies.
    force_alpha : bool, default=True
        Whether α below 1e-10 stays as it is.
    fit_prior : bool, default=True
        Whether the priors are the shares of the classes; else they are equal.
    class_prior : array of shape (n_classes,), default=None
        Given priors.
    min_categories : int or array of shape (n_features,), default=None
        Levels of each column at least; as many as the rows show by default.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : arrays of shape (n_classes,)
        Rows of each class by weight, and logarithms of the priors.
    category_count_, feature_log_prob_ : lists of arrays of shape (n_classes, n_levels)
        Rows of each level by weight, and log p_kjl, one array per column.
    n_categories_ : array of shape (n_features,)
        Levels of each column.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.discriminant import CategoricalNB
    >>> X = np.array([[0, 2], [1, 2], [0, 0], [1, 1]])
    >>> model = CategoricalNB().fit(X, [0, 0, 1, 1])
    >>> model.linear_form().coef.shape, model.predict([[0, 2]])
    ((2, 5), array([0]))

    References
    ----------
    Wei §7.3.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SMOOTHED,
        "alpha": ALPHA,
        "min_categories": parameters.nothing
        | parameters.integer(at_least=1)
        | parameters.array(
            "an array of ints at least 1, one per column",
            lambda values: values.ndim == 1 and bool(((values >= 1) & (values == np.round(values))).all()),
        ),
    }
    _accepts_sparse: ClassVar[bool] = False
    category_count_: list[NDArray]
    feature_log_prob_: list[NDArray]
    n_categories_: NDArray

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.categorical = True
        return tags

    @available_if(never)
    def decision_function(self, X: Any) -> Any:
        """Not there, as in scikit-learn: take `predict_joint_log_proba`."""

    @classmethod
    def from_parameters(cls, probabilities: Any, priors: Any = None, classes: Any = None) -> Self:
        """The oracle: the classifier of a known law of levels.

        Parameters
        ----------
        probabilities : list of array-like of shape (n_classes, n_levels)
            One for each column, with sum 1 in each class.
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.

        Examples
        --------
        >>> from assay.discriminant import CategoricalNB
        >>> CategoricalNB.from_parameters([[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]]).predict([[0], [2]])
        array([1, 0])
        """
        tables = [shares_of(cls.__name__, table, of_rows=True) for table in probabilities]
        n_classes = len(tables[0]) if tables else 0
        if not tables or any(len(table) != n_classes for table in tables):
            must_be = "a list of arrays, one per column, each with one row per class"
            raise parameters.refusal(cls.__name__, "probabilities", must_be, probabilities)
        model = cls._given(classes, priors, n_classes, alpha=0.0)
        model.n_features_in_ = len(tables)
        with np.errstate(divide="ignore"):
            model.feature_log_prob_ = [np.log(table) for table in tables]
        model.category_count_ = [model.class_count_[:, None] * table for table in tables]
        model.n_categories_ = np.array([table.shape[1] for table in tables])
        return model._as_oracle()

    def _groups(self) -> list[Group]:
        least = np.asarray(0 if self.min_categories is None else self.min_categories, dtype=int)
        if least.max(initial=0) > MOST_LEVELS:
            raise self._refuse("min_categories", f"at most {MOST_LEVELS} for each column")
        if least.ndim and least.shape != (self.n_features_in_,):
            raise self._refuse("min_categories", f"an int or an array of {self.n_features_in_} ints")
        return [Group(CategoricalFamily(self._alpha, least, whole=False), self._every_column())]

    def _open_classes(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Any:
        whole = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu" and X.size > LARGE
        if not whole or not isinstance(y, np.ndarray) or y.shape != X.shape[:1]:
            return super()._open_classes(X, y, sample_weight, offset=offset)
        # A large table of whole numbers becomes floats block by block, not as a whole.
        self._check_parameters()
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        weight = fit_weights(sample_weight, len(X), np.float64)
        codes, weights = self._code(y, weight)
        return MemoryRows(X, codes.astype(np.float64), weight), weights

    def _open_new_rows(self, X: Any, *others: Any, **options: Any) -> Rows:
        data = super()._open_new_rows(X, *others, **options)
        if isinstance(data, MemoryRows) and "n_categories_" in vars(self):
            if np.fmin.reduce(data.X, axis=None, initial=0.0) < 0:
                raise ValueError(
                    "Negative values in data passed to CategoricalNB (input X): columns must hold levels "
                    "0, 1, …"
                )
            beyond = np.fmax.reduce(data.X, axis=0, initial=0.0) >= self.n_categories_
            if beyond.any():
                place = int(np.argmax(beyond))
                convergence.warn(
                    f"Column {place} has levels that were not there at the fit (of 0 … "
                    f"{self.n_categories_[place] - 1}); each has the probability of a level without any row.",
                    UserWarning,
                )
        return data

    def _keep_laws(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> None:
        part: Any = laws.parts[0]
        family: Any = self._groups()[0].family
        self.feature_log_prob_ = list(part.log_probabilities)
        self.category_count_ = family.padded(statistics.parts[0])
        self.n_categories_ = part.sizes
        self._remember(statistics)

    def _laws(self) -> ProductLaws:
        unseen = np.zeros((self.n_features_in_, len(self.classes_)))
        if self._alpha > 0:
            totals = [counts.sum(axis=1) + self._alpha * counts.shape[1] for counts in self.category_count_]
            unseen = np.log(self._alpha) - np.log(np.array(totals))
        part = CategoricalLaws(self.feature_log_prob_, unseen)
        return ProductLaws([self._every_column()], [part], self.n_features_in_)

    def _proofs(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> list[Certificate]:
        family: Any = self._groups()[0].family
        fresh = family.padded(statistics.parts[0])
        pairs = {
            f"counts of column {j}": pair
            for j, pair in enumerate(zip(self.category_count_, fresh, strict=True))
        }
        worst = agreement("", pairs, rtol=1e-9).value
        sizes = np.array([len(counts[0]) for counts in fresh])
        claim = "The stored counts and numbers of levels are those of the rows."
        stored = {"category_count_": (worst, 0.0), "n_categories_": (self.n_categories_, sizes)}
        return [*super()._proofs(laws, statistics, data), agreement(claim, stored, "Wei §7.3.2", rtol=1e-9)]
