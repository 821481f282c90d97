"""What naive Bayes classifiers share: independent columns, certificates, the linear form, partial fits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from assay import rows
from assay.certificates import Certificate, Certificates, at_most
from assay.discriminant.generative import N_DRAWN, GenerativeModel, joint
from assay.discriminant.naive_bayes.columns import Array, PoissonLaws
from assay.discriminant.naive_bayes.kernel_columns import KernelLaws
from assay.discriminant.naive_bayes.product import (
    Group,
    LinearForm,
    ProductFamily,
    ProductLaws,
    ProductStatistics,
    linear_form,
    product_proofs,
)
from assay.rows import Block, MemoryRows, Rows

SAME = 1e-8
"""How far the linear form may be from the log-joint, beside the largest of its terms."""


class IndependentColumns(GenerativeModel):
    """Base of naive Bayes: a subclass says which columns are of which family, and keeps their numbers."""

    _accepts_nan: ClassVar[bool] = True

    @abstractmethod
    def _groups(self) -> list[Group]:
        """Families and their columns, from the parameters and the columns of the fit."""

    @abstractmethod
    def _laws(self) -> ProductLaws:
        """The laws that the fitted attributes say."""

    def _family(self) -> ProductFamily:
        names = getattr(self, "feature_names_in_", None)
        return ProductFamily(self._groups(), self.n_features_in_, self.classes_, names)

    def _every_column(self) -> NDArray[np.intp]:
        return np.arange(self.n_features_in_)

    def _proofs(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> list[Certificate]:
        proofs = product_proofs(self._family(), self._laws(), laws, statistics)
        return [self._stored_counts(statistics.class_weight), *proofs]

    def _certify_more(self, data: Rows) -> list[Certificate]:
        laws, log_priors = self._laws(), self._log_priors()
        if not _is_linear(laws):
            return []
        form = self.linear_form()
        worst = data.reduce(form_deviation, laws, log_priors, form, combine=max)
        claim = "The log-joint is the linear form B_kᵀz(x) + b_k at every row without missing values."
        return [at_most(claim, "relative deviation of the linear form", worst, SAME, "Wei §7.3.2")]

    def _as_oracle(self) -> Self:
        """The classifier of laws that were given, certified on rows drawn from them."""
        drawn = MemoryRows(self.sample(N_DRAWN, random_state=0).X)
        self.certificates_ = Certificates(self._certify_more(drawn))
        return self

    def linear_form(self) -> LinearForm:
        """The classifier as a linear one, in marks of levels, columns and squares.

        Returns
        -------
        form : LinearForm
            coef, intercept and feature_names; `features(X)` makes the features, `log_joint(X)` the scores,
            which are those of `predict_joint_log_proba` up to a term alike in all classes.

        Raises
        ------
        ValueError
            With columns of kernel densities, whose logarithms are linear in nothing simpler.
        """
        check_is_fitted(self)
        laws = self._laws()
        if not _is_linear(laws):
            raise ValueError(
                f"{type(self).__name__} has columns of the family 'kernel', which have no linear form; give "
                "them the family 'histogram' or 'gaussian'."
            )
        names = getattr(self, "feature_names_in_", None)
        columns = [f"x{j}" for j in range(self.n_features_in_)] if names is None else list(map(str, names))
        return linear_form(laws, self._log_priors(), columns)


def _is_linear(laws: ProductLaws) -> bool:
    return not any(isinstance(part, KernelLaws) for part in laws.parts)


def form_deviation(block: Block, laws: ProductLaws, log_priors: Array, form: LinearForm) -> float:
    """Largest difference of the linear form from the log-joint of the rows that miss nothing."""
    X = np.asarray(block.dense, dtype=np.float64)
    X = X[~np.isnan(X).any(axis=1)]
    if not len(X):
        return 0.0
    expected = joint(X, laws, log_priors) + _factorials(laws, X)[:, None]
    found = form.log_joint(X)
    # A row that no class of positive prior can have tells nothing.
    impossible = np.isneginf(found[:, np.isfinite(log_priors)]).all(axis=1)
    found[impossible] = expected[impossible]
    known = np.isfinite(expected)
    if not np.array_equal(known, np.isfinite(found)):
        return float("inf")
    scale = np.abs(form.features(X)) @ np.abs(np.where(np.isfinite(form.coef), form.coef, 0.0)).T
    scale += np.abs(np.where(np.isfinite(form.intercept), form.intercept, 0.0)) + 1.0
    return float(np.max(np.abs(expected[known] - found[known]) / scale[known], initial=0.0))


def _factorials(laws: ProductLaws, X: Array) -> Array:
    """Σ log x! of the Poisson columns, which the linear form leaves out."""
    total = np.zeros(len(X))
    for columns, part in zip(laws.columns, laws.parts, strict=True):
        if isinstance(part, PoissonLaws):
            total += gammaln(X[:, columns] + 1).sum(axis=1)
    return total


class Incremental(IndependentColumns):
    """Base of naive Bayes with one family for all columns, whose statistics rows can be added to."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those of the fits before, as if all had been given at once.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), optional
            All labels that will ever come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional
        """
        known = hasattr(self, "classes_")
        if not known and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if known and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes={np.unique(classes).tolist()!r}` is not the same as on last call to partial_fit, "
                f"was: {self.classes_.tolist()!r}."
            )
        data = self._open_part(X, y, None if known else classes, sample_weight)
        family = self._family()
        statistics = family.gather(data, len(self.classes_))
        if "_kept" in vars(self):
            statistics = self._join(family, self._kept_statistics(), statistics)
        self._set_priors(statistics.class_weight)
        laws = family.estimate(statistics)
        self._keep_laws(laws, statistics, data)
        self.certificates_ = Certificates(self._proofs(laws, statistics, data))
        return self

    def _open_part(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Rows:
        """Some of the rows, their labels coded by all classes."""
        if classes is None:
            self._check_parameters()
            return self._open_new_classes(X, y, sample_weight)
        labels = np.unique(classes)
        whole = self._open_rows(X)
        self._set_classes(labels)
        if not isinstance(whole, MemoryRows):
            return self._open_new_classes(X, y, sample_weight)
        given = np.asarray(y)
        if given.shape != (whole.shape[0],):
            raise ValueError(f"y must be one-dimensional with {whole.shape[0]} entries, one per row.")
        weight = rows.fit_weights(sample_weight, whole.shape[0], whole.dtype)
        return MemoryRows(whole.X, rows.code(given, labels, weight).astype(whole.dtype), weight)

    def _join(
        self, family: ProductFamily, before: ProductStatistics, after: ProductStatistics
    ) -> ProductStatistics:
        """Statistics of two walks, each about its own shift."""
        (group,) = family.groups
        part, state = group.family.join(before.parts[0], before.states[0], after.parts[0], after.states[0])
        return ProductStatistics(before.class_weight + after.class_weight, (part,), (state,))

    def _remember(self, statistics: ProductStatistics) -> None:
        """Keep what was added up, in plain arrays."""
        part, state = statistics.parts[0], statistics.states[0]
        fields = {
            name: list(value) if isinstance(value, tuple) else value for name, value in part._asdict().items()
        }
        self._kept = {"class_weight": statistics.class_weight, "state": state, **fields}

    def _kept_statistics(self) -> ProductStatistics:
        kept = dict(self._kept)
        weight, state = kept.pop("class_weight"), kept.pop("state")
        fields = {name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()}
        (group,) = self._groups()
        return ProductStatistics(weight, (group.family.statistics(**fields),), (state,))
