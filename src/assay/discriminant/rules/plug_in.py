"""The plug-in rule of any estimate of P(Y | x)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement
from assay.discriminant.naive_bayes.normal import GaussianNB
from assay.discriminant.rules.base import TIES, RuleOfProbabilities, estimated_block
from assay.losses.costs import COSTS, threshold_costs
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows


class PlugInClassifier(RuleOfProbabilities):
    """The plug-in rule of any estimate of P(Y | x).

    Finds an estimate of P(Y | x) and decides as if it were the truth,

        ĥ(x) = argmin_k Σ_l P̂(Y = l | x) C(l, k);   of two classes 1[η̂(x) > t], t = ½ by default.

    P̂ is a fitted copy of the estimator: a classifier with `predict_proba`, or, for two classes, a
    regressor of the marks 0 and 1, whose predictions are cut to [0, 1]. Its regret is at most 2E|η̂ − η|
    (`assay.theory.regret` measures both on a law).

    Assumes: nothing for the rule; its regret is small where P̂ is near P(Y | x).

    Certificates: probabilities are shares; each decision has least expected cost; each class comes as often
    as the probabilities say (which sees an estimate that is off on average); those of the estimator.

    Parameters
    ----------
    estimator : estimator, default=None
        None for `GaussianNB`.
    threshold : float, default=None
        Of two classes, t: the second is decided for where its probability is above. ½ without costs.
    costs : array of shape (n_classes, n_classes), default=None
        C(l, k), the cost of saying k where l is true; not with a threshold.
    ties : {"first", "last"}, default="first"
        The decision at a tie: "first" is 1[η̂ > t], "last" 1[η̂ ≥ t].

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimator_ : estimator
        Fitted.
    threshold_ : float
        Of two classes, the probability of the second at which the decisions cost the same.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import PlugInClassifier
    >>> from assay.linear import LogisticRegression
    >>> X, y = two_gaussians_law().sample(200, random_state=0)
    >>> careful = PlugInClassifier(LogisticRegression(), costs=[[0, 1], [9, 0]]).fit(X, y)
    >>> round(careful.threshold_, 3), careful.certificates_.holds
    (0.1, True)

    References
    ----------
    Rudi & Şimşekli §6.2.2; Douc & Le Corff §3.1, §8.5; Wei §7.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "estimator": parameters.nothing
        | Domain(
            "an estimator with fit and predict_proba or predict",
            lambda value: (
                hasattr(value, "fit") and (hasattr(value, "predict_proba") or hasattr(value, "predict"))
            ),
        ),
        "threshold": parameters.nothing | parameters.real(at_least=0, at_most=1),
        "costs": COSTS,
        "ties": TIES,
    }
    estimator_: Any
    threshold_: float

    def __init__(
        self, estimator: Any = None, *, threshold: float | None = None, costs: Any = None, ties: str = "first"
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.costs = costs
        self.ties = ties

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a copy of the estimator.

        Parameters
        ----------
        X, y, sample_weight
            As the estimator takes them.
        """
        data, _ = self._open_classes(X, y, sample_weight)
        costs = self._cost_table()
        self.estimator_ = self._fitted(X, y, sample_weight, data)
        self.__dict__.pop("threshold_", None)
        if len(self.classes_) == 2:
            self.threshold_ = _even(costs)
        self.certificates_ = Certificates(self._proofs(data))
        return self

    def _fitted(self, X: Any, y: Any, sample_weight: Any, data: Rows) -> Any:
        model = GaussianNB() if self.estimator is None else clone(self.estimator)
        if sample_weight is not None and not has_fit_parameter(model, "sample_weight"):
            raise ValueError(f"{type(model).__name__} takes no weights; leave out sample_weight.")
        if not hasattr(model, "predict_proba"):
            if is_classifier(model) or len(self.classes_) != 2:
                raise self._refuse("estimator", "one with predict_proba, or a regressor for two classes")
            if not isinstance(data, MemoryRows):
                raise ValueError(
                    "A regressor in a PlugInClassifier takes rows in memory; take a classifier instead."
                )
        return self._fit_part(model, X, y, sample_weight, data)

    def _cost_table(self) -> NDArray:
        if self.threshold is None:
            return super()._cost_table()
        if self.costs is not None or len(self.classes_) != 2:
            raise self._refuse("threshold", "None with costs or with more than two classes")
        return threshold_costs(float(self.threshold))

    def _posterior_step(self) -> tuple[Any, tuple[Any, ...]]:
        return estimated_block, (self.estimator_, self.classes_)

    def _proofs(self, data: Rows) -> list[Certificate]:
        proofs = self._share_proofs(data)
        if len(self.classes_) == 2:
            pairs = {"threshold_": (self.threshold_, _even(self._cost_table()))}
            proofs.append(agreement("Decisions of equal cost meet at the threshold.", pairs, "Wei §7.1"))
        return [*proofs, *getattr(self.estimator_, "certificates_", ())]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh, those of the estimator too where it has some.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        proofs = self._proofs(data)
        if hasattr(self.estimator_, "certify"):
            n_own = len(getattr(self.estimator_, "certificates_", ()))
            again = self._certified_part(self.estimator_, X, y, sample_weight, data)
            proofs = [*proofs[: len(proofs) - n_own], *again]
        return Certificates(proofs)


def _even(costs: NDArray) -> float:
    """The probability of the second class at which both decisions cost the same; ∞ without any."""
    false, missed = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    total = false + missed
    return float(false / total) if total != 0 else float("inf")
