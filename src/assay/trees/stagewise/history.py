"""What every round of AdaBoost did, beside its theorems."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.stagewise.engine import Trace

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoostingHistory:
    """The rounds of a fit, one entry per round.

    Attributes
    ----------
    error : array
        ε_t, error of the learner under D_t.
    step : array
        ν w_t, what the answers of the learner are multiplied by; w_t = ½ log((1 − ε_t)/ε_t) for two classes.
    normaliser : array
        Z_t = Σ_i D_t(i) e^{−y_i ν w_t g_t(x_i)}; for other losses the factor by which the risk changed.
    training_error : array
        Share of the weight that the votes of the rounds so far get wrong.
    agreement : array
        Squared cosine between the learner and the negative gradient.
    n_classes : int
        Number of classes; 2 for the naive rule, whose answers are right or wrong.
    exact : bool
        Whether the steps are those of the exponential loss without shrinkage, which the theorems are about.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.trees import AdaBoostClassifier
    >>> X, y = iris(return_X_y=True)
    >>> history = AdaBoostClassifier(n_estimators=20).fit(X[50:], y[50:]).history_
    >>> bool((history.training_error <= history.product).all())
    True
    """

    error: Array
    step: Array
    normaliser: Array
    training_error: Array
    agreement: Array
    n_classes: int
    exact: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoostingHistory) and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name), equal_nan=True)
            for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def chance(self) -> float:
        """Error of a learner that says nothing: (C − 1)/C."""
        return (self.n_classes - 1) / self.n_classes

    @property
    def edge(self) -> Array:
        """γ_t = ½ − ε_t, or (C − 1)/C − ε_t."""
        return np.asarray(self.chance - self.error)

    @property
    def alpha(self) -> Array:
        """The weights in the other parametrisation, log((1 − ε)/ε) + log(C − 1): 2 w_t of two classes."""
        return np.asarray(self.step * self.n_classes / (self.n_classes - 1) ** 2)

    @property
    def product(self) -> Array:
        """Π Z_s over the rounds so far: the risk as a share of the first."""
        return np.exp(np.cumsum(np.log(np.maximum(self.normaliser, np.finfo(np.float64).tiny))))

    @property
    def squared_edges(self) -> Array:
        """exp(−2 Σ γ_s²), which bounds the product for two classes."""
        return np.exp(-2.0 * np.cumsum(self.edge**2))

    @property
    def smallest_edge(self) -> Array:
        """exp(−2 t min γ²), which bounds `squared_edges`."""
        rounds = np.arange(1, len(self.error) + 1)
        return np.exp(-2.0 * rounds * np.minimum.accumulate(np.maximum(self.edge, 0.0)) ** 2)

    def rounds_to_zero_error(self, n_samples: int) -> float:
        """T > log n/(2 γ²): rounds that leave no mistake on n rows if edges stay as they are."""
        least = float(self.edge.min())
        return float(np.floor(np.log(n_samples) / (2.0 * least**2)) + 1) if least > 0 else np.inf


class MarginHistory(NamedTuple):
    """Margins below a threshold after each round, with what bounds their share.

    Attributes
    ----------
    theta : float
    share : array of shape (n_rounds,)
        Share of rows with y f_t(x)/‖w‖₁ < θ.
    product : array
        e^{θ‖w‖₁} Π Z_s, for exact steps 2^t Π √(ε^{1−θ}(1 − ε)^{1+θ}).
    lemma : array
        ((1 − 4γ²)((1 + 2γ)/(1 − 2γ))^θ)^{t/2} at the smallest edge γ so far, which is above 1 where γ < θ/2;
        NaN for steps that are not exact.
    """

    theta: float
    share: Array
    product: Array
    lemma: Array


def margin_history(history: BoostingHistory, theta: float, shares: Array) -> MarginHistory:
    """Put the bounds beside measured shares of margins."""
    sizes = np.cumsum(np.abs(history.step))
    logs = theta * sizes + np.cumsum(np.log(np.maximum(history.normaliser, np.finfo(np.float64).tiny)))
    rounds = np.arange(1, len(sizes) + 1)
    # The factor of a round grows with its error only up to (1 − θ)/2; beyond, the largest one bounds it.
    error = np.minimum(np.maximum.accumulate(history.error), (1 - theta) / 2)
    lemma = (4 * error ** (1 - theta) * (1 - error) ** (1 + theta)) ** (rounds / 2)
    usable = history.exact and history.n_classes == 2
    with np.errstate(over="ignore"):
        return MarginHistory(theta, shares, np.exp(logs), lemma if usable else np.full(len(lemma), np.nan))


def history_of(trace: Trace, training_error: list[float], n_classes: int, *, exact: bool) -> BoostingHistory:
    """The history of a trace."""
    logs = np.array([trace.log_risk, *(item.log_risk for item in trace.rounds)])
    columns: dict[str, Any] = {
        name: np.array([getattr(item, name) for item in trace.rounds], dtype=np.float64)
        for name in ("error", "step", "agreement")
    }
    return BoostingHistory(
        normaliser=np.exp(np.diff(logs)),
        training_error=np.array(training_error),
        n_classes=n_classes,
        exact=exact,
        **columns,
    )
