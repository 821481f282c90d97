"""Discriminant of Gaussian and yes-no columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.datasets import requirements
from assay.discriminant.generative import N_DRAWN, GenerativeModel
from assay.discriminant.mixed_columns.laws import (
    SOURCE,
    MixedFamily,
    MixedForm,
    MixedLaws,
    MixedStatistics,
    form_block,
    mixed_laws,
    zeros_and_ones,
)
from assay.discriminant.priors import PRIORS
from assay.models.levels import CATEGORICAL_FEATURES
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows


class MixedDiscriminant(GenerativeModel):
    """Discriminant of Gaussian and yes-no columns.

    Maximises over priors, means, covariances and frequencies of ones the likelihood of

        P(Y = k) = π_k,   U | Y = k ~ N(μ_k, Σ_k),   V_j | Y = k ~ B(p_kj),   independent given Y,

    and predicts argmax_k log π_k + log p_k(u, v); of two classes the sign of ½uᵀQu + αᵀu + βᵀv + b, a zero
    going to the first.

    The maximum is closed: shares of the classes, means and covariances with divisor n_k, and frequencies of
    ones, by one walk (one more where "auto" looks for the yes-no columns).

    Assumes: within a class Gaussian columns independent of the yes-no columns, and these of each other.

    Certificates: the stored numbers walked again; the gradient of the log-likelihood in (μ, Σ, p); the form
    (Q, α, β, b) as the difference of log-joints.

    Parameters
    ----------
    binary_features : "auto", or list of names or places of columns or a mask of them, default="auto"
        The yes-no columns; "auto" takes those that hold 0 and 1 alone.
    covariance : {"own", "shared"}, default="own"
        One covariance for each class, or one for all.
    priors : {"empirical", "uniform"} or array of shape (n_classes,), default=None
        Probabilities of the classes; None for their shares among the rows.
    alpha : float, default=0.0
        Rows added to each side of a yes-no column. Frequencies of exactly 0 or 1 are kept inside by 1e-10
        rows.
    var_smoothing : float, default=1e-6
        Share of the total variance of each column that is added to its variance in each class; 0 for plain
        maximum likelihood.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_, class_count_ : arrays of shape (n_classes,)
    binary_ : list of int
        Places of the yes-no columns.
    means_ : array of shape (n_classes, n_gaussian)
    covariance_ : array of shape (n_classes, n_gaussian, n_gaussian)
    probabilities_ : array of shape (n_classes, n_binary)
        Frequencies of ones.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.discriminant import MixedDiscriminant
    >>> rows = np.array([
    ...     [0.49, 1.34, -0.70, -1.81, -0.02, 1, 0, 1],
    ...     [0.69, -0.92, -0.07, -0.82, 0.28, 0, 0, 1],
    ...     [-0.74, -1.75, 1.08, -0.15, -0.40, 1, 1, 0],
    ... ])
    >>> oracle = MixedDiscriminant.from_parameters(
    ...     np.outer([-0.5, 0.5], np.ones(5)), np.eye(5), [[0.2] * 3, [0.7] * 3], classes=[-1, 1])
    >>> oracle.predict(rows)
    array([ 1, -1, -1])
    >>> oracle.form().beta.round(3)
    array([2.234, 2.234, 2.234])

    References
    ----------
    Sangnier, examination of 2022, exercise 1; Wei §7.3.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "binary_features": parameters.one_of("auto")
        | Domain(
            "a list of names or places of columns or a mask of them",
            lambda value: (
                value is not None and not isinstance(value, str) and CATEGORICAL_FEATURES.contains(value)
            ),
        ),
        "covariance": parameters.one_of("own", "shared"),
        "priors": PRIORS,
        "alpha": parameters.real(at_least=0),
        "var_smoothing": parameters.real(at_least=0),
    }
    binary_: list[int]
    means_: NDArray
    covariance_: NDArray
    probabilities_: NDArray

    def __init__(
        self,
        binary_features: Any = "auto",
        *,
        covariance: str = "own",
        priors: Any = None,
        alpha: float = 0.0,
        var_smoothing: float = 1e-6,
    ) -> None:
        self.binary_features = binary_features
        self.covariance = covariance
        self.priors = priors
        self.alpha = alpha
        self.var_smoothing = var_smoothing

    @classmethod
    def from_parameters(
        cls, means: Any, covariances: Any, probabilities: Any, priors: Any = None, classes: Any = None
    ) -> Self:
        """The oracle: the classifier of a known law, Gaussian columns before yes-no columns.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_gaussian)
        covariances : array-like of shape (n_classes, n_gaussian, n_gaussian)
            Or one matrix for all classes.
        probabilities : array-like of shape (n_classes, n_binary)
            Between 0 and 1, ends excluded.
        priors : array-like of shape (n_classes,), optional
            Equal by default.
        classes : array-like of shape (n_classes,), optional
            Increasing labels; 0, 1, … by default.
        """
        name = cls.__name__
        centers = np.array(requirements.finite_array(name, "means", means, 2))
        chances = np.array(requirements.finite_array(name, "probabilities", probabilities, 2))
        n_classes, d = centers.shape
        if len(chances) != n_classes or np.any((chances <= 0) | (chances >= 1)):
            must_be = f"{n_classes} rows of numbers between 0 and 1, ends excluded"
            raise parameters.refusal(name, "probabilities", must_be, probabilities)
        model = cls._given(classes, priors, n_classes)
        model.n_features_in_ = d + chances.shape[1]
        model.binary_ = list(range(d, model.n_features_in_))
        stack = requirements.covariance_stack(name, "covariances", covariances, n_classes, d)
        model.means_, model.covariance_, model.probabilities_ = centers, np.array(stack), chances
        drawn = MemoryRows(model.sample(N_DRAWN, random_state=0).X)
        model.certificates_ = Certificates(model._certify_more(drawn))
        return model

    # Columns.

    def _open_classes(self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None) -> Any:
        data, weights = super()._open_classes(X, y, sample_weight, offset=offset)
        self.binary_ = self._chosen(data)
        return data, weights

    def _chosen(self, data: Rows) -> list[int]:
        given = self.binary_features
        if isinstance(given, str):
            return [int(j) for j in np.flatnonzero(data.reduce(zeros_and_ones, combine=np.logical_and))]
        names, d = getattr(self, "feature_names_in_", None), self.n_features_in_
        if len(given) and all(isinstance(item, (bool, np.bool_)) for item in given):
            if len(given) != d:
                raise self._refuse("binary_features", f"a mask of {d} columns")
            return [int(j) for j in np.flatnonzero(given)]
        known = [] if names is None else names.tolist()
        places = [known.index(item) if item in known else item for item in given]
        if any(isinstance(place, str) or not 0 <= place < d for place in places):
            raise self._refuse("binary_features", f"names of columns or places below {d}")
        return sorted({int(place) for place in places})

    @property
    def _columns(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        binary = np.array(self.binary_, dtype=np.intp)
        return np.setdiff1d(np.arange(self.n_features_in_), binary), binary

    # The fit.

    def _family(self) -> MixedFamily:
        shared = self.covariance == "shared"
        return MixedFamily(self._columns, shared, float(self.alpha), float(self.var_smoothing), self.classes_)

    def _keep_laws(self, laws: MixedLaws, statistics: MixedStatistics, data: Rows) -> None:
        self.means_, self.covariance_ = laws.gaussian.means, laws.covariances
        self.probabilities_ = np.exp(laws.binary.log_ones)

    def _laws(self) -> MixedLaws:
        return mixed_laws(self.means_, self.covariance_, self.probabilities_, self._columns)

    def _proofs(self, laws: MixedLaws, statistics: MixedStatistics, data: Rows) -> list[Certificate]:
        family, moments = self._family(), statistics.moments
        fresh = np.exp(laws.binary.log_ones)
        pairs = {"means_": (self.means_, moments.means), "probabilities_": (self.probabilities_, fresh)}
        pairs["covariance_"] = self.covariance_, family.covariances(moments)
        claim = "The stored means, covariances and frequencies are those of the rows."
        return [
            self._stored_counts(moments.weight),
            agreement(claim, pairs, SOURCE),
            at_most(
                "The gradient of the log-likelihood in the means, covariances and frequencies vanishes.",
                "relative gradient",
                self._gradient(family, statistics),
                1e-6,
                SOURCE,
            ),
        ]

    def _gradient(self, family: MixedFamily, statistics: MixedStatistics) -> float:
        """In units of the classes: Wᵀ(mean − μ), WᵀSW − I less what was added, and frequencies."""
        moments, worst = statistics.moments, 0.0
        plain = MixedFamily(family.columns, family.shared, 0, 0, family.labels)
        added = family.covariances(moments) - plain.covariances(moments)
        laws = self._laws()
        shared = sum(moments.weight) if family.shared else None
        for k, white in enumerate(laws.gaussian.whitenings):
            if moments.weight[k] == 0:
                continue
            step = moments.means[k] - self.means_[k]
            scatter = moments.within / shared if shared else moments.scatters[k] / moments.weight[k]
            bend = white.T @ (scatter + np.outer(step, step) + added[k]) @ white - np.eye(len(step))
            worst = max(worst, np.abs(white.T @ step).max(initial=0.0), np.abs(bend).max(initial=0.0))
        binary = family.frequencies.gradient(laws.binary, statistics.totals, None)
        return float(max(worst, binary))

    def _certify_more(self, data: Rows) -> list[Certificate]:
        # About a point amid the means: far from it, terms that cancel would hide every digit.
        origin = np.asarray(self.means_).mean(axis=0)
        forms = [self._form_about(origin, 0, k) for k in range(1, len(self.classes_))]
        worst = data.reduce(form_block, self._laws(), self._log_priors(), forms, origin, combine=max)
        claim = "The form ½uᵀQu + αᵀu + βᵀv + b is the difference of log-joints at every row."
        return [at_most(claim, "relative deviation of the form", worst, 1e-7, SOURCE)]

    def form(self, first: Any = None, second: Any = None) -> MixedForm:
        """Log-odds of the second class against the first, by label; the last against the first by default.

        Returns
        -------
        form : MixedForm
            Q, alpha, beta and b.
        """
        check_is_fitted(self)
        low, high = self._place(first, 0), self._place(second, -1)
        return self._form_about(np.zeros(np.shape(self.means_)[1]), low, high)

    def _form_about(self, origin: NDArray, low: int, high: int) -> MixedForm:
        """The form in Gaussian coordinates about a point."""
        laws, logs, means = self._laws(), self._log_priors(), self.means_ - origin
        precisions = [laws.gaussian.whitenings[k] @ laws.gaussian.whitenings[k].T for k in (low, high)]
        slopes = [precision @ means[k] for precision, k in zip(precisions, (low, high), strict=True)]
        offset = logs[high] - logs[low]
        offset += 0.5 * (laws.gaussian.log_determinants[low] - laws.gaussian.log_determinants[high])
        offset += 0.5 * (means[low] @ slopes[0] - means[high] @ slopes[1])
        ones, zeros = laws.binary.log_ones, laws.binary.log_zeros
        offset += (zeros[high] - zeros[low]).sum()
        beta = (ones[high] - zeros[high]) - (ones[low] - zeros[low])
        return MixedForm(precisions[0] - precisions[1], slopes[1] - slopes[0], beta, float(offset))
