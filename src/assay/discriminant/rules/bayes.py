"""The Bayes rule of a known law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.discriminant.naive_bayes.normal import GaussianNB
from assay.discriminant.rules.base import DEVIATIONS, TIES, RuleOfProbabilities, estimated_block
from assay.losses.costs import COSTS, expected_costs, least_cost, two_columns
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows


def _is_law(value: Any) -> bool:
    return value is None or callable(value) or (hasattr(value, "posterior") and hasattr(value, "classes"))


class BayesClassifier(RuleOfProbabilities):
    """The Bayes classifier of a known law.

    Minimises over all classifiers the expected cost,

        h*(x) = argmin_k Σ_l P(Y = l | x) C(l, k),   the most probable class for equal costs;
        R* = E[1 − max_k P(Y = k | X)].

    The law says everything, and rows of a fit only test it. Without a law, the oracle is that
    of Gaussian classes with the moments of the rows (`GaussianNB`).

    Assumes: the rows are drawn from the law.

    Certificates: each class comes as often among the rows as the posteriors say; the error on the rows is
    within its deviations of what the posteriors say; decisions have least expected cost.

    Parameters
    ----------
    law : law of `assay.datasets`, callable or None, default=None
        A law; or a function from rows to P(Y = k | x), one column per class, or to those of the second class.
    costs : array of shape (n_classes, n_classes), default=None
        C(l, k), the cost of saying k where l is true; 1 for each mistake by default.
    ties : {"first", "last"}, default="first"
        The decision at a tie: "first" is 1[η > ½], "last" 1[η ≥ ½].

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    bayes_risk_ : float
        R*: of a law in closed form, by quadrature or simulation; else the mean of 1 − max_k P(k | x) over the
        rows of the fit. With costs, the mean of the least expected cost over the rows.
    estimator_ : GaussianNB
        Without a law.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import BayesClassifier
    >>> law = two_gaussians_law(omega=2.0)
    >>> oracle = BayesClassifier(law).fit(*law.sample(500, random_state=0))
    >>> round(oracle.bayes_risk_, 4), oracle.certificates_.holds
    (0.1587, True)

    References
    ----------
    Wei §7.1; Rudi & Şimşekli §6.2.1; Douc & Le Corff §3.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "law": Domain("None, a law of classes, or a function from rows to probabilities", _is_law),
        "costs": COSTS,
        "ties": TIES,
    }
    bayes_risk_: float

    def __init__(self, law: Any = None, *, costs: Any = None, ties: str = "first") -> None:
        self.law = law
        self.costs = costs
        self.ties = ties

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Test the law on rows, and tell its risk.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, _ = self._open_classes(X, y, sample_weight)
        self.__dict__.pop("estimator_", None)
        if self.law is None:
            self.estimator_ = self._fit_part(GaussianNB(), X, y, sample_weight, data)
        elif hasattr(self.law, "classes"):
            data = self._recoded(data)
        self._cost_table()
        self.bayes_risk_ = self._least_risk(data)
        self.certificates_ = Certificates(self._proofs(data))
        return self

    def _recoded(self, data: Rows) -> Rows:
        """The rows coded by the classes of the law, of which the labels must be some."""
        known = np.asarray(self.law.classes)
        if self.n_features_in_ != self.law.n_features:
            raise self._refuse("law", f"a law of {self.n_features_in_} features, as the rows have")
        order = np.argsort(known, kind="stable")
        missing = [label for label in self.classes_.tolist() if label not in known.tolist()]
        if missing:
            raise self._refuse("law", f"a law that has the class {missing[0]!r} of the rows")
        places = np.searchsorted(known[order], self.classes_)
        self.classes_ = known[order]
        if len(places) == len(known):
            return data
        assert isinstance(data, MemoryRows)
        assert data.y is not None
        return MemoryRows(data.X, places[data.y.astype(np.intp)].astype(data.dtype), data.weight)

    def _posterior_step(self) -> tuple[Any, tuple[Any, ...]]:
        if self.law is None:
            return estimated_block, (self.estimator_, self.classes_)
        if hasattr(self.law, "classes"):
            return law_block, (self.law, np.argsort(np.asarray(self.law.classes), kind="stable"))
        return given_block, (self.law, len(self.classes_))

    def _least_risk(self, data: Rows) -> float:
        if self.costs is None and hasattr(self.law, "bayes_risk"):
            return float(self.law.bayes_risk(random_state=0).value)
        total = data.reduce(least_cost_block, self._posterior_step(), self._cost_table())
        return float(total[0] / total[1])

    def _proofs(self, data: Rows) -> list[Certificate]:
        claim = "The risk is the mean of 1 − max_k P(k | x), or what the law says."
        risk = agreement(claim, {"bayes_risk_": (self.bayes_risk_, self._least_risk(data))}, "Wei §7.1")
        wrong, expected, variance = data.reduce(mistakes_block, self._posterior_step())
        score = abs(wrong - expected) / np.sqrt(variance) if variance > 1e-9 else 0.0
        claims = "The Bayes rule errs on the rows as often as its posteriors say."
        error = at_most(
            claims, "deviation of the error in standard deviations", score, DEVIATIONS, "Douc & Le Corff §3.1"
        )
        return [*self._share_proofs(data), risk, error]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Test the law on rows again.

        Parameters
        ----------
        X, y, sample_weight
            Rows of the law; those of the fit without a law.
        """
        data = self._open_new_classes(X, y, sample_weight)
        proofs = self._proofs(data)
        if self.law is None:
            proofs += self._certified_part(self.estimator_, X, y, sample_weight, data)
        return Certificates(proofs)


def law_block(block: Block, law: Any, order: NDArray[np.intp]) -> NDArray:
    """Posteriors of a law, its classes in increasing order."""
    return np.asarray(law.posterior(block.dense)[:, order], dtype=block.X.dtype)


def given_block(block: Block, posterior: Any, n_classes: int) -> NDArray:
    """Posteriors by a function of the user."""
    shares = two_columns(posterior(block.dense))
    if shares.shape != (block.X.shape[0], n_classes):
        raise ValueError(
            f"The 'law' of BayesClassifier must give one column per class ({n_classes}), or one number "
            f"per row for two classes. Got shape {shares.shape} instead."
        )
    return shares.astype(block.X.dtype)


def least_cost_block(block: Block, step: Any, costs: NDArray) -> tuple[float, float]:
    """Weighted sum of the least expected costs, and of the weights."""
    function, state = step
    least = expected_costs(np.asarray(function(block, *state), dtype=np.float64), costs).min(axis=1)
    return float(block.weights @ least), float(block.weights.sum())


def mistakes_block(block: Block, step: Any) -> tuple[float, float, float]:
    """Mistakes of the most probable class, their expectation and variance given the rows."""
    assert block.y is not None
    function, state = step
    shares = np.asarray(function(block, *state), dtype=np.float64)
    chance = 1 - shares.max(axis=1)
    wrong = least_cost(shares) != block.y.astype(np.intp)
    weight = block.weights
    return float(weight @ wrong), float(weight @ chance), float(weight**2 @ (chance * (1 - chance)))
