"""Linear discriminant analysis: Gaussian classes with one covariance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate, Certificates
from assay.datasets.requirements import covariance_stack, finite_array
from assay.discriminant.gaussian.covariance import Factored, factored
from assay.discriminant.gaussian.gathering import ESTIMATOR, SHRINKAGE, Gathered
from assay.discriminant.gaussian.laws import SharedGaussian
from assay.discriminant.generative import GenerativeModel, check_fitted, in_precision
from assay.discriminant.linear import certificates as proofs
from assay.discriminant.linear import forms
from assay.discriminant.linear.diagnostics import assumption_proofs, certified_error, measured_errors
from assay.discriminant.linear.errors import ErrorRates
from assay.discriminant.linear.forms import (
    Hyperplane,
    LogisticForm,
    decision_block,
    label_block,
    log_probability_block,
    probability_block,
    projected_block,
)
from assay.discriminant.linear.solver import (
    LinearFamily,
    LinearSolution,
    finite_log,
    shared_gaussian,
    solve_linear,
)
from assay.discriminant.priors import PRIORS
from assay.parameters import Domain
from assay.rows import Rows
from assay.suitability import Suitability

Array = NDArray[np.float64]


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GenerativeModel):
    """Gaussian classes with one covariance: linear frontiers, and axes that tell the classes apart.

    Maximises over priors, means and one covariance the likelihood of

        P(Y = k) = π_k,   X | Y = k ~ N(μ_k, Σ),

    whose solution is closed: shares, means and pooled scatter of the classes, by one walk over the rows. It
    predicts argmax_k ⟨Σ⁻¹μ_k, x⟩ − ½⟨Σ⁻¹μ_k, μ_k⟩ + log π_k, so that P(k | x) is a logistic function of an
    affine one. Directions in which no class varies are left out.

    Assumes: rows of each class from a Gaussian law, all of one covariance; `certify` tests both. The axes and
    their Rayleigh quotients need second moments only.

    Certificates: gradient of the likelihood, Σw = δ and its conditioning, intercepts, generalised eigenvalue
    residual of the axes, their number, no random direction with a larger Rayleigh quotient; `certify` adds
    that three roads to a label agree on every row, total = within + between, Box's M, normal quantiles, and
    the error that the model expects beside leave-one-out in closed form.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        scikit-learn's names; one method serves all. With given priors "lsqr" and "eigen" average the
        covariances of the classes by them, as there; "svd" pools the rows.
    shrinkage : None, "auto", "oas" or float in [0, 1], default=None
        Pulls the covariance towards a sphere: by a share, by Ledoit and Wolf's rule for each class ("auto";
        needs a second walk), or by that of Gaussian rows ("oas").
    priors : None, "empirical", "uniform" or array of shape (n_classes,), default=None
        Probabilities of the classes; their shares of the rows by default.
    n_components : int, optional
        Axes that `transform` gives; min(n_classes − 1, n_features) by default.
    store_covariance : bool, default=False
        Accepted for scikit-learn's sake: the covariance is always kept.
    tol : float, default=1e-4
        Standard deviation, of columns of unit variance within the classes, at or below which a direction is
        left out.
    covariance_estimator : object, optional
        Finds the covariance of each class instead: has `fit`, then `covariance_`. Rows in memory only.
    covariance : {"within", "unbiased", "total"}, default="within"
        Divisor n of the pooled scatter (maximum likelihood), divisor n − K, or the covariance of all rows
        whatever their class, which gives the same frontier when the priors are equal.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Rows of each class, counted by weight.
    means_ : array of shape (n_classes, n_features)
    xbar_ : array of shape (n_features,)
        Σ_k π_k μ_k.
    covariance_ : array of shape (n_features, n_features)
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    scalings_ : array of shape (n_features, n_axes)
        The axes as columns, of variance 1 within the classes.
    explained_variance_ratio_ : array of shape (n_components,)
        Share of each axis in the variance between the classes.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> X, y = iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.certificates_.holds, round(model.score(X, y), 2)
    (True, 0.98)
    >>> round(model.error_rates(X, y).leave_one_out, 2)
    0.02

    References
    ----------
    Sangnier §1.1.2, §1.1.5; Wei §7.3; Douc & Le Corff §3.2.1, §8.4.
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=1, max_features=2000)
    _domains: ClassVar[Mapping[str, Domain]] = {
        "solver": parameters.one_of("svd", "lsqr", "eigen"),
        "shrinkage": SHRINKAGE,
        "priors": PRIORS,
        "n_components": parameters.nothing | parameters.integer(at_least=1),
        "store_covariance": parameters.boolean,
        "tol": parameters.real(at_least=0, at_most=1),
        "covariance_estimator": ESTIMATOR,
        "covariance": parameters.one_of("within", "unbiased", "total"),
    }
    _checks_finite = True

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
        *,
        covariance: str = "within",
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.covariance = covariance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @classmethod
    def from_parameters(
        cls, means: Any, covariance: Any, priors: Any = None, classes: Any = None, *, tol: float = 1e-4
    ) -> Self:
        """The oracle: the classifier of a known law.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
        covariance : array-like of shape (n_features, n_features)
        priors : array-like of shape (n_classes,), optional
            Equal by default.
        classes : array-like of shape (n_classes,), optional
            Increasing labels; 0, 1, … by default.
        tol : float, default=1e-4
            As in the constructor.

        Examples
        --------
        >>> from assay.datasets import two_gaussians_law
        >>> from assay.discriminant import LinearDiscriminantAnalysis
        >>> law = two_gaussians_law()
        >>> oracle = LinearDiscriminantAnalysis.from_parameters(
        ...     law.means, law.covariances[0], law.priors, law.classes)
        >>> oracle.coef_
        array([[1.41421356, 1.41421356]])
        """
        centers = finite_array(cls.__name__, "means", means, 2)
        matrix = covariance_stack(cls.__name__, "covariance", covariance, 1, centers.shape[1])[0]
        model = cls._given(classes, priors, len(centers), tol=tol)
        model.n_features_in_ = centers.shape[1]
        solution = solve_linear(np.array(centers), np.array(matrix), model.priors_, tol)
        model._store(solution, np.dtype(np.float64))
        model.certificates_ = Certificates(model._structure(solution.factor, np.dtype(np.float64)))
        return model

    def _family(self) -> LinearFamily:
        priors = np.asarray(self.priors_, dtype=np.float64)
        if self.covariance == "total" and (
            isinstance(self.shrinkage, str) or self.covariance_estimator is not None
        ):
            raise self._refuse("covariance", "'within' or 'unbiased' with this rule for the covariance")
        if self.shrinkage is not None and self.covariance_estimator is not None:
            raise self._refuse("shrinkage", "None when 'covariance_estimator' is given")
        by_priors = not self._has_own_priors and self.solver != "svd" and self.covariance != "total"
        how = self.covariance, self.shrinkage, self.covariance_estimator, priors, by_priors, self.tol
        return LinearFamily(type(self).__name__, *how)

    def _keep_laws(self, laws: LinearSolution, statistics: Gathered, data: Rows) -> None:
        self._store(laws, data.dtype)

    def _store(self, solution: LinearSolution, dtype: np.dtype) -> None:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise self._refuse("n_components", f"at most min(n_classes − 1, n_features), here {most}")
        self.means_, self.xbar_ = solution.means, solution.center
        self.covariance_ = solution.factor.covariance
        self.explained_variance_ratio_ = proofs.ratios(self, solution)
        coef, intercept = solution.coef, solution.intercept
        if len(self.classes_) == 2:
            # Not by the centre of the classes: its share would cancel only up to rounding.
            middle = 0.5 * (solution.means[0] + solution.means[1])
            coef = coef[1:] - coef[:1]
            logs = finite_log(self.priors_)
            intercept = logs[1:] - logs[:1] - coef @ middle
        numbers = in_precision(self, dtype, solution.axes.directions, coef, intercept)
        self.scalings_, self.coef_, self.intercept_ = numbers

    @property
    def _max_components(self) -> int:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        return most if self.n_components is None else int(self.n_components)

    @property
    def _n_features_out(self) -> int:
        return min(self._max_components, int(self.scalings_.shape[1]))

    def _factor(self) -> Factored:
        return factored(np.asarray(self.covariance_, dtype=np.float64), self.tol)

    def _laws(self) -> SharedGaussian:
        means = np.asarray(self.means_, dtype=np.float64)
        return shared_gaussian(means, np.asarray(self.xbar_, dtype=np.float64), self._factor())

    # What it says about rows, by linear scores.

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the second of two classes, else scores that are log-posteriors up to a common term."""
        return self._score(X, decision_block, vector=len(check_fitted(self).classes_) == 2)

    def predict(self, X: Any) -> Any:
        """The class of largest posterior probability; a tie goes to the first."""
        data = self._open_new_rows(X)
        state = self.coef_, self.intercept_, self.classes_
        return data.map(label_block, *state, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Posterior probabilities of the classes: a logistic function of the scores."""
        return self._score(X, probability_block)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the posterior probabilities of the classes."""
        return self._score(X, log_probability_block)

    def _score(self, X: Any, step: Any, *, vector: bool = False) -> Any:
        data = self._open_new_rows(X)
        width = None if vector else len(self.classes_)
        return data.map(step, self.coef_, self.intercept_, dtype=data.dtype, width=width)

    def transform(self, X: Any) -> Any:
        """Coordinates along the axes, about the centre of the classes; variance 1 within the classes."""
        data = self._open_new_rows(X)
        directions = self.scalings_[:, : self._max_components]
        center = np.asarray(self.xbar_).astype(data.dtype)
        return data.map(projected_block, center, directions, dtype=data.dtype, width=directions.shape[1])

    # Forms of the rule.

    def to_logistic(self) -> LogisticForm:
        """The logistic model that the fitted law implies, against the last class."""
        check_is_fitted(self)
        solution = solve_linear(self.means_, self.covariance_, self.priors_, self.tol)
        coef = solution.coef[:-1] - solution.coef[-1]
        return LogisticForm(self.classes_, coef, solution.intercept[:-1] - solution.intercept[-1])

    def hyperplane(self, first: Any = None, second: Any = None) -> Hyperplane:
        """The frontier between two classes, by label; between the first and the last by default."""
        low, high = (self._place(label, default) for label, default in ((first, 0), (second, -1)))
        step = self.means_[high] - self.means_[low]
        normal = self._factor().solve(step)
        logs = finite_log(np.asarray(self.priors_, dtype=np.float64))
        prior = float(logs[high] - logs[low])
        offset = prior - float(normal @ (self.means_[low] + self.means_[high])) / 2
        return Hyperplane(normal, offset, prior, float(np.sqrt(max(float(normal @ step), 0.0))))

    def log_odds(self, X: Any, first: Any = None, second: Any = None) -> Array:
        """Log P(second | x)/P(first | x) at rows in memory, for any two classes."""
        plane = self.hyperplane(first, second)
        return np.asarray(np.asarray(X, dtype=np.float64) @ plane.normal + plane.offset)

    @property
    def hyperplane_equivalence_(self) -> float:
        """Largest difference of the unit hyperplanes by covariances within classes and of all rows.

        Of the first and last class with equal priors; 0 up to rounding for two classes with divisor n.
        """
        shares = np.asarray(self.class_count_) / np.sum(self.class_count_)
        return forms.hyperplane_difference(type(self), self.means_, self.covariance_, shares)

    def mahalanobis(self) -> Array:
        """Mahalanobis distances between the means of the classes, of shape (n_classes, n_classes)."""
        check_is_fitted(self)
        white = (self.means_ - self.xbar_) @ self._factor().whitening
        return np.asarray(np.linalg.norm(white[:, None] - white, axis=2))

    def rayleigh_quotient(self, directions: Any) -> Array:
        """Variance between the classes over that within them, of directions given as columns."""
        columns = np.asarray(directions, dtype=np.float64).reshape(self.n_features_in_, -1)
        return proofs.quotient_of(self, columns)

    # Proofs.

    @property
    def _is_likelihood(self) -> bool:
        """Whether the fit is the maximum of the likelihood."""
        plain = self.shrinkage is None and self.covariance_estimator is None
        return plain and self.covariance == "within" and not self._family().by_priors

    def _structure(self, factor: Factored, dtype: np.dtype) -> list[Certificate]:
        """Certificates of the attributes among themselves."""
        priors, means = np.asarray(self.priors_, dtype=np.float64), np.asarray(self.means_, dtype=np.float64)
        return [
            *proofs.equations(self, factor, priors, dtype),
            *proofs.eigen_certificates(self.scalings_, means, priors, factor, len(means), dtype),
            *proofs.left_out(means, priors, factor.whitening, factor.unwhitening),
        ]

    def _proofs(self, laws: LinearSolution, statistics: Gathered, data: Rows) -> list[Certificate]:
        moments, dtype = statistics.moments, data.dtype
        # While fitting the covariance is the very array that was decomposed.
        factor = laws.factor if self.covariance_ is laws.factor.covariance else self._factor()
        found = [self._stored_counts(moments.weight), proofs.stored(self, laws, dtype)]
        if self._is_likelihood:
            priors = np.asarray(self.priors_, dtype=np.float64) if self._has_own_priors else None
            means = np.asarray(self.means_, dtype=np.float64)
            found.append(proofs.likelihood_gradient(moments, means, factor, priors, dtype))
        return [*found, *self._structure(factor, dtype)]

    def _certify_more(self, data: Rows) -> list[Certificate]:
        factor = self._factor()
        found = [proofs.roads(data, self, factor, factor.whitening)]
        if self.shrinkage is None and self.covariance_estimator is None and not self._family().by_priors:
            found.append(proofs.huygens(data, self))
        if self._has_closed_leave_one_out:
            found.append(certified_error(measured_errors(self, data, factor), data, self))
        return [*found, *assumption_proofs(self, data)]

    @property
    def _has_closed_leave_one_out(self) -> bool:
        plain = self.shrinkage is None and self.covariance_estimator is None
        return plain and self.covariance != "total" and not self._family().by_priors

    def error_rates(self, X: Any, y: Any = None, sample_weight: Any = None) -> ErrorRates:
        """Training error, leave-one-out error in closed form, and the errors that the model expects.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit. Classes count by their priors.

        Returns
        -------
        rates : ErrorRates
        """
        data = self._open_new_classes(X, y, sample_weight)
        if not self._has_closed_leave_one_out:
            raise ValueError(
                "LinearDiscriminantAnalysis.error_rates needs a covariance that is pooled scatter: "
                "covariance='within' or 'unbiased' and no shrinkage."
            )
        return measured_errors(self, data, self._factor())
