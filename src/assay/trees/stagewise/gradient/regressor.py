"""Gradient boosting of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.losses import Absolute, Huber, Loss, Quantile, Squared
from assay.models.capabilities import Regressor
from assay.parameters import Domain
from assay.trees.describing import ADDED, described, keep_parameters
from assay.trees.stagewise.additive import numbers_of_rows
from assay.trees.stagewise.gradient.base import GRADIENT_DOMAINS, GradientModel

NAMED: Mapping[str, Any] = {
    "squared_error": Squared,
    "absolute_error": Absolute,
    "huber": Huber,
    "quantile": Quantile,
}


@described(
    ADDED,
    loss="""{"squared_error", "absolute_error", "huber", "quantile"} or Loss, default=DEFAULT
    ½ (y − f)², |y − f|, Huber's with δ = 1 or the pinball loss; or any convex `assay.losses` object.""",
)
class GradientBoostingRegressor(Regressor, GradientModel):
    """A sum of regressors, each fitted to what those before it leave over.

    Minimises A(f) = (1/n) Σ_i ℓ(y_i, f(x_i)) over f = f_0 + Σ_t ν w_t g_t by steps in the space of functions:

        r_i = −ℓ'(y_i, f_{t−1}(x_i)),    g_t = the learner fitted to (x_i, r_i),
        w_t = arg min over w of A(f_{t−1} + w g_t),    f_t = f_{t−1} + ν w_t g_t,

    with f_0 the best constant. The step is exact: closed for squares, a weighted median for absolute errors,
    Newton's method in a bracket for others.

    Assumes: nothing about the law of the rows. ν and T regularise together: T bounds the number of learners,
    and f_T is not the best sum of T of them.

    Certificates: the stored learners have the risk of the trace, which never rises; `certify` plays every
    round again and adds that risks, edges and steps are right, that every step is the best along its learner,
    and for squares that A(f_T) = A(f_0) Π(1 − γ_t), the linear rate.

    Parameters
    ----------
    …

    Attributes
    ----------
    estimators_ : array of shape (n_rounds, n_trees_per_iteration_)
        The learners g_t.
    steps_ : array of shape (n_rounds,)
        ν w_t.
    init_score_ : float or array of shape (n_classes,)
        f_0, 0 where an estimator gives it.
    init_ : estimator
        What `init` became; absent for constants.
    train_score_ : array of shape (n_rounds,)
        Mean loss after each round.
    history_ : GradientHistory
        Steps, risks and edges γ_t = 1 − ‖r − g‖²/‖r‖², round by round.
    n_estimators_, n_trees_per_iteration_ : int
        Rounds made, and learners of a round: one, or one per class of more than two.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.trees import GradientBoostingRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> model.score(X, y) > 0.5, model.certify(X, y).holds
    (True, True)

    References
    ----------
    Sangnier §1.3.3; Wei §8.4; Friedman (2001), Greedy function approximation.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "loss": parameters.one_of(*NAMED)
        | Domain("a loss of one score", lambda value: isinstance(value, Loss) and value.n_scores == 1),
        **GRADIENT_DOMAINS,
        "alpha": parameters.real(above=0.0, at_most=0.999),
    }

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        alpha: float = 0.9,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        estimator: Any = None,
        line_search: str | None = None,
        direction: str = "least_squares",
    ) -> None:
        keep_parameters(self, locals())

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            return self.loss
        if self.loss == "quantile":
            return Quantile(self.alpha)
        made: Loss = NAMED[self.loss]()
        return made

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix or frame
            As the estimator takes it, in memory.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._require_memory(X)
        data: Any = self._open_vector(X, y, sample_weight)
        self._boost(data, data.y.astype(np.float64))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Play every round again from what the stored learners say.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_vector(X, y, sample_weight)
        return self._certify(data, data.y.astype(np.float64))

    def predict(self, X: Any) -> Any:
        """f(x) of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(numbers_of_rows, self._additive(), dtype=data.dtype)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """`predict` after each round."""
        for scores in self._staged_answers(X):
            yield scores.copy()
