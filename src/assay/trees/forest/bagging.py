"""Bagging of any estimator: classes and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from assay import parameters
from assay.certificates import Certificates
from assay.models.capabilities import Regressor
from assay.models.classes import Classifier
from assay.parameters import Domain
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.regressor import DecisionTreeRegressor
from assay.trees.describing import BAGGED, described, keep_parameters
from assay.trees.forest.bagging_base import (
    BAGGING_DOMAINS,
    BaggingModel,
    class_of_members,
    mean_of_members,
    number_of_members,
)


@described(
    BAGGED,
    voting="""{"soft", "hard"}, default=DEFAULT
    "soft" averages the probabilities of members that have some, "hard" counts the classes they predict:
    the sign of the mean for two classes, the majority for more.""",
)
class BaggingClassifier(Classifier, BaggingModel):
    """Any classifier on bootstrap samples: members vote.

    Finds T members g_t, each the estimator fitted on as many rows drawn with replacement, and predicts

        arg max over k of (1/T) Σ_t [g_t(x) = k]     (or the largest mean probability).

    The average has variance ρσ² + (1 − ρ)σ²/T, with σ² that of a member and ρ their correlation: it lowers
    the variance, not the bias. Bags depend on the values of the rows and the seeds alone, so that neither the
    order of the rows nor the number of threads changes a member.

    Assumes: members better than chance and not too alike; rows drawn independently from one law, for the
    out-of-bag error to be that of new rows.

    Certificates: no two members share a seed, the certificates of the members hold; `certify` fits every
    member again on the bag of its seed and adds that it says the same, and that out-of-bag answers are what
    they say.

    Parameters
    ----------
    …

    Attributes
    ----------
    estimators_ : list of estimators
        The members, fitted on the places of the labels among the classes.
    estimators_features_ : list of int arrays
        The columns that each member sees.
    seeds_ : int array of shape (n_estimators,)
        The seed of each member, from which its bag is drawn again.
    classes_ : array of shape (n_classes,)
    oob_score_, oob_decision_function_, oob_errors_ : float and arrays
        With `oob_score`: score, answers, and the error as members are added.
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from assay.trees import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 1), model.certify(X, y).holds
    (0.9, True)

    References
    ----------
    Sangnier §1.6.3; Wei §8.2; Breiman (1996), Bagging predictors.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **BAGGING_DOMAINS,
        "voting": parameters.one_of("soft", "hard"),
    }
    _base: ClassVar[type] = DecisionTreeClassifier

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = 1.0,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        voting: str = "soft",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix or frame
            As the estimator takes it.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_memory(X)
        data: Any
        data, _ = self._open_classes(X, y, sample_weight)
        self.n_classes_ = len(self.classes_)
        self._grow(data, data.y.astype(np.int64), self.n_classes_)
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Fit every member again on the bag of its seed, and compare.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_classes(X, y, sample_weight)
        return self._certify(data, data.y.astype(np.int64), len(self.classes_))

    def predict(self, X: Any) -> Any:
        """The class of the largest mean share of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(class_of_members, self._members(), self.classes_, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Mean share of each class over the members."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": len(self.classes_)}
        return data.map(mean_of_members, self._members(), **how)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`; −∞ for classes that no member votes for."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@described(BAGGED)
class BaggingRegressor(Regressor, BaggingModel):
    """Any regressor on bootstrap samples: members are averaged.

    Finds T members g_t, each the estimator fitted on as many rows drawn with replacement, and predicts

        (1/T) Σ_t g_t(x).

    The average has variance ρσ² + (1 − ρ)σ²/T, with σ² that of a member and ρ their correlation: it lowers
    the variance, not the bias. Bags depend on the values of the rows and the seeds alone, so that neither the
    order of the rows nor the number of threads changes a member.

    Assumes: members better than chance and not too alike; rows drawn independently from one law, for the
    out-of-bag error to be that of new rows.

    Certificates: no two members share a seed, the certificates of the members hold; `certify` fits every
    member again on the bag of its seed and adds that it says the same, and that out-of-bag answers are what
    they say.

    Parameters
    ----------
    …

    Attributes
    ----------
    estimators_ : list of estimators
        The members.
    estimators_features_ : list of int arrays
        The columns that each member sees.
    seeds_ : int array of shape (n_estimators,)
        The seed of each member, from which its bag is drawn again.
    oob_score_, oob_prediction_, oob_errors_ : float and arrays
        With `oob_score`: score, answers, and the error as members are added.
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from assay.trees import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.3, model.certify(X, y).holds
    (True, True)

    References
    ----------
    Sangnier §1.6.3; Wei §8.2; Breiman (1996), Bagging predictors.
    """

    _domains: ClassVar[Mapping[str, Domain]] = BAGGING_DOMAINS
    _base: ClassVar[type] = DecisionTreeRegressor

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = 1.0,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix or frame
            As the estimator takes it.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_memory(X)
        data: Any
        data = self._open_vector(X, y, sample_weight)
        self._grow(data, data.y, 0)
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Fit every member again on the bag of its seed, and compare.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_vector(X, y, sample_weight)
        return self._certify(data, data.y, 0)

    def predict(self, X: Any) -> Any:
        """Mean of what the members predict: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(number_of_members, self._members(), dtype=data.dtype)
