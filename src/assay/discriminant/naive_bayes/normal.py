"""Gaussian naive Bayes, by the name, parameters and attributes of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, agreement
from assay.datasets.requirements import finite_array, of_shape
from assay.discriminant.naive_bayes.base import Incremental
from assay.discriminant.naive_bayes.columns import (
    Array,
)
from assay.discriminant.naive_bayes.gaussian_columns import GaussianFamily, GaussianLaws
from assay.discriminant.naive_bayes.product import Group, ProductLaws, ProductStatistics
from assay.discriminant.priors import PRIORS, tell_of_sum
from assay.parameters import Domain
from assay.rows import Rows


class GaussianNB(Incremental):
    """Gaussian naive Bayes: within a class the columns are independent Gaussians.

    Maximises over the priors and the laws of the columns the likelihood of

        P(Y = k) = π_k,   x_j | Y = k ~ N(μ_kj, σ²_kj),        predicts argmax_k log π_k + Σ_j log p_kj(x_j).

    by one walk over the rows; to each variance ε = var_smoothing · max_j Var(x_j) is added. A missing value
    leaves its factor out, at the fit and afterwards. The log-odds are quadratic.

    Assumes: independent Gaussian columns within each class.

    Certificates: means, variances and shares of the classes walked again; the gradient of the log-likelihood;
    the log-joint as a linear form in x and x².

    Parameters
    ----------
    priors : array of shape (n_classes,), "empirical" or "uniform", default=None
        Probabilities of the classes; None for their shares among the rows.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a column that is added to all variances.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_prior_ : arrays of shape (n_classes,)
        Rows of each class by weight, and probabilities of the classes.
    theta_, var_ : arrays of shape (n_classes, n_features)
        Means, and variances with ε.
    epsilon_ : float
        ε.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import GaussianNB
    >>> X, y = iris(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> round(model.score(X, y), 3), model.certificates_.holds
    (0.96, True)

    References
    ----------
    Wei §7.3.1; Douc & Le Corff §3.2.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "priors": PRIORS,
        "var_smoothing": parameters.real(at_least=0),
    }
    class_count_: NDArray
    class_prior_: NDArray
    theta_: NDArray
    var_: NDArray
    epsilon_: float

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    @classmethod
    def from_parameters(cls, means: Any, variances: Any, priors: Any = None, classes: Any = None) -> Self:
        """The oracle: the classifier of a known law.

        Parameters
        ----------
        means, variances : array-like of shape (n_classes, n_features)
        priors : array-like of shape (n_classes,), optional
            Equal by default.
        classes : array-like of shape (n_classes,), optional
            Increasing labels; 0, 1, … by default.

        Examples
        --------
        >>> from assay.discriminant import GaussianNB
        >>> GaussianNB.from_parameters([[0.0], [0.0]], [[1.0], [4.0]]).predict([[0.0], [3.0]])
        array([0, 1])
        """
        centers = np.array(finite_array(cls.__name__, "means", means, 2))
        spreads = np.array(of_shape(cls.__name__, "variances", variances, centers.shape))
        if np.any(spreads <= 0):
            raise parameters.refusal(cls.__name__, "variances", "numbers above 0", variances)
        model = cls._given(classes, priors, len(centers), var_smoothing=0.0)
        model.n_features_in_, model.epsilon_ = centers.shape[1], 0.0
        model.theta_, model.var_ = centers, spreads
        return model._as_oracle()

    def _groups(self) -> list[Group]:
        return [Group(GaussianFamily(float(self.var_smoothing)), self._every_column())]

    def _set_priors(self, weights: NDArray) -> None:
        self.class_count_, self.class_prior_ = weights, self._prior_shares(weights)
        tell_of_sum("priors", self.priors)

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.class_prior_, dtype=np.float64))

    def _stored_counts(self, statistics_weight: NDArray) -> Certificate:
        claim = "The stored priors and weights of the classes are those of the rows and the parameters."
        pairs = {"class_count_": (self.class_count_, statistics_weight)}
        pairs["class_prior_"] = self.class_prior_, self._prior_shares(np.asarray(statistics_weight))
        return agreement(claim, pairs, "Douc & Le Corff §3.2", rtol=1e-9)

    def _keep_laws(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> None:
        part: Any = laws.parts[0]
        family: Any = self._groups()[0].family
        self.theta_, self.var_ = part.means, part.variances
        self.epsilon_ = family.epsilon(statistics.parts[0], statistics.states[0])
        self._remember(statistics)

    def _laws(self) -> ProductLaws:
        return ProductLaws(
            [self._every_column()], [GaussianLaws(self.theta_, self.var_)], self.n_features_in_
        )

    def _proofs(self, laws: ProductLaws, statistics: ProductStatistics, data: Rows) -> list[Certificate]:
        family: Any = self._groups()[0].family
        epsilon = family.epsilon(statistics.parts[0], statistics.states[0])
        claim = "What was added to the variances is the share of the largest that was asked for."
        proof = agreement(claim, {"epsilon_": (self.epsilon_, epsilon)}, "Wei §7.3.1")
        return [*super()._proofs(laws, statistics, data), proof]
