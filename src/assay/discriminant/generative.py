"""What every generative classifier is: a prior for the classes times a law of the rows within each class.

A *family* gathers additive statistics of each class by one walk over the rows and estimates *class laws* from
them; class laws have a log-density per class, say whether their log-odds are affine or quadratic, and draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement
from assay.datasets.laws import Sample
from assay.discriminant.priors import PRIOR_SUM, PRIORS, tell_of_sum
from assay.models.classes import Classifier, class_of
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows, one_blas_thread

Array = NDArray[np.float64]

N_DRAWN = 200
"""Rows drawn from a known law, on which its classifier is certified."""

FEW_COLUMNS, MANY_COLUMNS = 32, 512
"""Columns up to which BLAS takes one thread by itself, and up to which one is as fast as several."""


class ClassLaws(ABC):
    """A law of the rows for each of K classes, with every parameter known.

    Attributes
    ----------
    n_classes : int
    log_odds : {"affine", "quadratic", "other"}
        What the logarithm of the ratio of two of the densities is as a function of the row.
    """

    n_classes: int
    log_odds: ClassVar[Literal["affine", "quadratic", "other"]] = "other"
    takes_sparse: ClassVar[Any] = False  # whether the rows of `log_density` may be CSR

    @abstractmethod
    def log_density(self, X: NDArray) -> NDArray:
        """Logarithm of the density of each class at each of some rows, of shape (n, K)."""

    @abstractmethod
    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""


class Family(ABC):
    """Class-conditional laws that are estimated from additive statistics of the classes.

    Written against `Rows.reduce`: `gather` is one walk (two where the first shows that digits were lost), and
    the same in memory, on disk and on a cluster.
    """

    @abstractmethod
    def gather(self, data: Rows, n_classes: int) -> Any:
        """Statistics of each class; the target of the rows is the place of the class, 0 … K−1."""

    @abstractmethod
    def estimate(self, statistics: Any) -> ClassLaws:
        """The laws that the statistics give."""


class Likelihoods(NamedTuple):
    """Log-likelihoods of labelled rows: full = conditional + marginal.

    Attributes
    ----------
    full : float
        Σ s_i log p(x_i, y_i).
    conditional : float
        Σ s_i log P(y_i | x_i), −n times the logistic risk where the log-odds are affine.
    marginal : float
        Σ s_i log p(x_i).
    """

    full: float
    conditional: float
    marginal: float


class GenerativeModel(Classifier):
    """Base of classifiers that model the law of the rows within each class.

        P(Y = k) = π_k,   X | Y = k ~ p_k,        predicts argmax_k log π_k + log p_k(x).

    A subclass gives `_family` (how statistics are gathered and laws estimated), `_keep_laws` (stores the laws
    as fitted attributes), `_laws` (makes them from the fitted attributes, so that a change of an attribute
    is a change of what is said) and `_proofs`. It has a parameter `priors` and the attribute `priors_`, or
    says in `_log_priors` where else they are.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {"priors": PRIORS}
    priors: Any = None
    priors_: NDArray
    class_count_: NDArray

    @abstractmethod
    def _family(self) -> Family:
        """How the law of each class is estimated, from the parameters of the model."""

    @abstractmethod
    def _keep_laws(self, laws: Any, statistics: Any, data: Rows) -> None:
        """Store the estimated laws as fitted attributes."""

    @abstractmethod
    def _laws(self) -> ClassLaws:
        """The laws that the fitted attributes say."""

    @abstractmethod
    def _proofs(self, laws: Any, statistics: Any, data: Rows) -> list[Certificate]:
        """Certificates of the fitted attributes, `laws` being those estimated from (fresh) statistics."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Labels of any kind in memory, numbers elsewhere.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, weights = self._open_classes(X, y, sample_weight)
        self._set_priors(weights)
        family = self._family()
        statistics = family.gather(data, len(weights))
        with _small_matrices(data):
            laws = family.estimate(statistics)
            self._keep_laws(laws, statistics, data)
            self.certificates_ = Certificates(self._proofs(laws, statistics, data))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh: gather the statistics again, compare, solve nothing twice.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        family = self._family()
        statistics = family.gather(data, len(self.classes_))
        laws = family.estimate(statistics)
        return Certificates([*self._proofs(laws, statistics, data), *self._certify_more(data)])

    def _certify_more(self, data: Rows) -> list[Certificate]:
        """Certificates that only `certify` measures, on the rows themselves."""
        return []

    # Priors.

    def _set_priors(self, weights: NDArray) -> None:
        """Set `class_count_`, the rows of each class counted by weight, and `priors_`."""
        self.class_count_ = weights
        self.priors_ = self._prior_shares(weights)
        tell_of_sum("priors", self.priors)

    def _prior_shares(self, weights: NDArray) -> Array:
        """π of each class, from the parameter and the weights of the classes."""
        given = self.priors
        if self._has_own_priors:
            return np.asarray(weights / weights.sum())
        if isinstance(given, str):  # alike for the classes that occur
            return np.asarray((weights > 0) / np.count_nonzero(weights))
        shares = np.array(given, dtype=np.float64)
        if shares.shape != weights.shape:
            raise self._refuse("priors", f"an array of one number per class ({len(weights)})")
        absent = np.flatnonzero((weights == 0) & (shares > 0))
        if absent.size:
            label = self.classes_[absent[0]]
            raise self._refuse("priors", f"0 for class {label!r}, which has no row of positive weight")
        return shares / shares.sum()

    @property
    def _has_own_priors(self) -> bool:
        """Whether the priors are the shares of the classes among the rows."""
        return self.priors is None or (isinstance(self.priors, str) and self.priors == "empirical")

    def _place(self, label: Any, default: int) -> int:
        """Place of a class by its label, or the default one."""
        classes = check_fitted(self).classes_
        if label is None:
            return default % len(classes)
        places = np.flatnonzero(classes == label)
        if not places.size:
            raise ValueError(f"{label!r} is not among the classes of {type(self).__name__}.")
        return int(places[0])

    def _log_priors(self) -> Array:
        """Logarithms of the priors of the fitted model; −inf for a class that never occurs."""
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.priors_, dtype=np.float64))

    def _stored_counts(self, statistics_weight: NDArray) -> Certificate:
        """The stored weights of the classes and priors against those of a walk."""
        shares = {"class_count_": (self.class_count_, statistics_weight)}
        shares["priors_"] = self.priors_, self._prior_shares(np.asarray(statistics_weight))
        claim = "The stored priors and weights of the classes are those of the rows and the parameters."
        return agreement(claim, shares, "Douc & Le Corff §3.2.1", rtol=1e-9)

    # What the model says about rows.

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Values log π_k + log p_k(x), of shape (n_samples, n_classes); lazy for Dask input."""
        return self._say(X, joint_block)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the posterior probabilities of the classes."""
        return self._say(X, log_posterior_block)

    def predict_proba(self, X: Any) -> Any:
        """Posterior probabilities of the classes, of shape (n_samples, n_classes)."""
        return self._say(X, posterior_block)

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the second of two classes, of shape (n_samples,), else log π_k + log p_k(x)."""
        if len(check_fitted(self).classes_) == 2:
            return self._say(X, log_odds_block, vector=True)
        return self._say(X, joint_block)

    def predict(self, X: Any) -> Any:
        """The class of largest posterior probability; a tie goes to the first."""
        check_is_fitted(self)
        data = self._open_new_rows(X)
        state = self._laws(), self._log_priors(), self.classes_
        return data.map(class_block, *state, dtype=self.classes_.dtype)

    def _say(self, X: Any, step: Any, *, vector: bool = False) -> Any:
        data = self._open_new_rows(X)
        width = None if vector else len(self.classes_)
        return data.map(step, self._laws(), self._log_priors(), dtype=data.dtype, width=width)

    def likelihoods(self, X: Any, y: Any = None, sample_weight: Any = None) -> Likelihoods:
        """Log-likelihoods of labelled rows: of (x, y), of y given x, and of x.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        likelihoods : Likelihoods
            full = conditional + marginal.
        """
        data = self._open_new_classes(X, y, sample_weight)
        full, marginal = data.reduce(likelihood_block, self._laws(), self._log_priors())
        return Likelihoods(float(full), float(full - marginal), float(marginal))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Sample:
        """Draw labelled rows from the fitted law: a class by its prior, then a row of it.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : None, int, Generator, SeedSequence or RandomState, default=None

        Returns
        -------
        sample : Sample
            X and y.
        """
        check_is_fitted(self)
        parameters.require(
            f"{type(self).__name__}.sample", parameters.integer(at_least=1), n_samples=n_samples
        )
        rng = generator(random_state)
        priors = np.exp(self._log_priors())
        codes = rng.choice(len(priors), size=n_samples, p=priors / priors.sum())
        return Sample(self._laws().draw(codes, rng), self.classes_[codes])

    @classmethod
    def _given(cls, classes: Any, given: Any, n_classes: int, **settings: Any) -> Self:
        """An instance with classes and priors as if fitted: the beginning of `from_parameters`."""
        model, priors = cls(**settings), given
        labels = np.arange(n_classes) if classes is None else np.asarray(classes)
        if labels.shape != (n_classes,) or len(np.unique(labels)) != n_classes:
            raise parameters.refusal(cls.__name__, "classes", f"{n_classes} different labels", classes)
        if not np.array_equal(np.sort(labels), labels):
            raise parameters.refusal(cls.__name__, "classes", "labels in increasing order", classes)
        model.classes_ = labels
        shares = np.full(n_classes, 1.0 / n_classes) if priors is None else np.array(priors, dtype=np.float64)
        if shares.shape != (n_classes,) or (shares < 0).any() or abs(shares.sum() - 1) > PRIOR_SUM:
            must_be = f"{n_classes} non-negative numbers of sum 1"
            raise parameters.refusal(cls.__name__, "priors", must_be, priors)
        model._set_priors(shares)
        return model


def _small_matrices(data: Rows) -> AbstractContextManager[None]:
    """One BLAS thread for matrices of the columns: several wait for each other longer than they compute."""
    return one_blas_thread() if FEW_COLUMNS < data.shape[1] <= MANY_COLUMNS else nullcontext()


def counted(weight: float) -> str:
    """A number of rows in words."""
    return f"{weight:g} row" if weight == 1 else f"{weight:g} rows"


def in_precision(model: Any, dtype: Any, *values: Any) -> list[NDArray]:
    """Fitted numbers in the precision of the table; refused where they overflow it."""
    with np.errstate(over="ignore"):
        rounded = [np.asarray(value).astype(dtype) for value in values]
    if not all(np.isfinite(value).all() for value in rounded):
        raise ValueError(
            f"The numbers of {type(model).__name__} overflow {dtype}: columns of X are too small; scale them "
            "first."
        )
    return rounded


def check_fitted(model: Any) -> Any:
    """The model, which must be fitted."""
    check_is_fitted(model)
    return model


# Steps over blocks of rows; classes of the laws by columns.


def joint(X: NDArray, laws: ClassLaws, log_priors: Array) -> NDArray:
    """Values log π_k + log p_k(x) of some rows."""
    return laws.log_density(X) + log_priors.astype(X.dtype)


def rows_of(block: Block, laws: ClassLaws) -> Any:
    """The rows of a block, dense unless the laws take them as they are."""
    return block.X if laws.takes_sparse else block.dense


def joint_block(block: Block, laws: ClassLaws, log_priors: Array) -> NDArray:
    """Values log π_k + log p_k(x) of one block."""
    return joint(rows_of(block, laws), laws, log_priors)


def log_posterior_block(block: Block, laws: ClassLaws, log_priors: Array) -> NDArray:
    """Log-posteriors log P(k | x) of one block."""
    values = joint(rows_of(block, laws), laws, log_priors)
    return rounded_logs(values - logsumexp(values, axis=1, keepdims=True))


def rounded_logs(values: NDArray) -> NDArray:
    """Logarithms of probabilities, 0 where the probability is 1 in the precision of the rows."""
    return np.where(values > -np.finfo(values.dtype).epsneg / 2, values.dtype.type(0), values)


def posterior_block(block: Block, laws: ClassLaws, log_priors: Array) -> NDArray:
    """P(k | x) of one block."""
    return softmax(joint(rows_of(block, laws), laws, log_priors), axis=1)


def log_odds_block(block: Block, laws: ClassLaws, log_priors: Array) -> NDArray:
    """Log-odds of the second of two classes."""
    values = joint(rows_of(block, laws), laws, log_priors)
    return values[:, 1] - values[:, 0]


def class_block(block: Block, laws: ClassLaws, log_priors: Array, classes: NDArray) -> NDArray:
    """The class that the rule of all classifiers decides for."""
    values = joint(rows_of(block, laws), laws, log_priors)
    return class_of(values[:, 1] - values[:, 0] if len(classes) == 2 else values, classes)


def likelihood_block(block: Block, laws: ClassLaws, log_priors: Array) -> tuple[float, float]:
    """Σ s log p(x, y) and Σ s log p(x) of one block."""
    assert block.y is not None
    values = joint(rows_of(block, laws).astype(np.float64, copy=False), laws, log_priors)
    codes, weight = block.y.astype(np.intp), block.weights
    counted = weight > 0  # a row of no weight may be of a class that never occurs
    own = values[np.arange(len(codes)), codes][counted]
    return float(weight[counted] @ own), float(weight[counted] @ logsumexp(values[counted], axis=1))
