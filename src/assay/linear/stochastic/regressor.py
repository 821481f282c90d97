"""Linear regression by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import assert_all_finite

from assay import parameters
from assay.linear.margin.base import LEVEL, OneTarget
from assay.linear.predictor import vector_target
from assay.linear.stochastic.base import SgdModel
from assay.linear.stochastic.ground import SGD_DOMAINS
from assay.losses import Loss
from assay.losses import loss as named_loss
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers.piecewise.frame import require_spread, target_squares, target_sums
from assay.solvers.stochastic.sgd import ADAPTIVE

LOSSES: Mapping[str, tuple[str, str]] = {
    "squared_error": ("squared", ""),
    "huber": ("huber", "delta"),
    "epsilon_insensitive": ("epsilon_insensitive", "epsilon"),
    "squared_epsilon_insensitive": ("squared_epsilon_insensitive", "epsilon"),
    "absolute_error": ("absolute", ""),
    "quantile": ("quantile", "level"),
}
"""Names of the losses here, and in `assay.losses` with their parameter."""


class SGDRegressor(SgdModel, OneTarget):
    """Linear regression by stochastic gradient descent on batches of rows.

    Minimises over (w, b)

        (1/n) Σ_i s_i ℓ(y_i, x_iᵀw + b) + α [r ‖w‖₁ + ½ (1 − r) ‖w‖²],        n = Σ s, b not penalised,

    in one order of the rows whatever their source: windows one after the other, shuffled inside by the seed.
    Columns are centred and scaled on the way, b starts near the mean of y; the penalty by its proximal map.

    A weight is a factor of the gradient of its row, over the mean weight. In the objective and the
    certificates it is a repetition always; in the path of the descent exactly where all rows are one batch.

    Assumes: a prediction that is linear in the columns, and windows of rows in no telling order: rows are
    shuffled inside a window alone.

    Certificates: relative duality gap, measured on all rows from a feasible dual point, below `tol`; with
    early stopping, held-out loss below that of a constant.

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", \
"absolute_error", "quantile"}
        ℓ, of `assay.losses`; "squared_error" (halved) by default. For the last digits there are exact
        solvers: `Ridge`, `HuberRegressor`, `LinearSVR`, `QuantileRegressor`.
    penalty : {"l2", "l1", "elasticnet"} or None, default="l2"
        r = 0, r = 1, r = `l1_ratio`, or no penalty.
    alpha : float, default=0.0001
        Penalty on the scale of the mean loss, as in scikit-learn.
    l1_ratio : float, default=0.15
        Share r of the l1 norm with penalty="elasticnet".
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    learning_rate : {"auto", "invscaling", "root", "optimal", "constant", "adagrad", "rmsprop", \
"adadelta", "adam"}
        "auto" by default: as "root"; where all rows are one batch of a smooth loss, 1/L at the curvature
        where the descent stands. In units of 1/L, L the largest curvature of the risk of a batch:
        "invscaling" t^(−1/4), "root" t^(−1/2), "optimal" 1/(1 + λ₂t/L), "constant" ½. A constant step γ
        stalls at a floor: γσ²/μ in squared distance, for batches whose gradients have the variance σ² and a
        risk of strong convexity μ, or γσ² in the objective of the average. The others adapt to each
        coordinate, in units of the spread of the target.
    eta0 : float, default=1.0
        Factor of the steps.
    batch_size : int, default=256
        Rows averaged for one step.
    average : bool, default=True
        Whether the answer is the average of the points since the last power of two of passes, or the last.
    epsilon : float, default=0.1
        ε of the insensitive losses, and δ of Huber's.
    quantile : float, default=0.5
        Level of the quantile loss.
    tol : float, default=0.01
        Relative duality gap at which to stop, looked at after 1, 2, 4, … passes; relative to the objective,
        or to a thousandth of the loss of a constant if that is more. Without penalty the dual point needs a
        matrix of the columns: above 1000 of them the gap is infinite, and nothing is certified. With
        `early_stopping`, the share by which the held-out loss must fall.
    max_iter : int, default=2048
        Most passes over the rows; from 256 on, fewer when the gap makes no progress.
    early_stopping : bool, default=False
        Whether to hold rows out and stop when their mean loss falls no more; the answer is the best point
        seen, and what is certified its loss there.
    validation_fraction : float, default=0.1
        Share of the rows held out.
    n_iter_no_change : int, default=5
        Passes without a fall of the held-out loss after which to stop.
    history : bool, default=False
        Whether to keep the measured gaps (with `early_stopping`, the held-out losses) in `history_`.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows, and which are held out.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    dual_gap_ : float
        Relative duality gap; infinite where no dual point was found.
    dual_coef_ : array of shape (1, n_samples) or None
        For a loss with corners the mean slope of each row on the way, a dual point; else None, as the slopes
        at the answer are one.
    held_out_ : array of int
        Rows held out, with `early_stopping`.
    history_ : list of float
        With `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Passes, whether they ended by `tol`, and the relative gradient.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import SGDRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> model = SGDRegressor(batch_size=32, random_state=0).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> bool(model.dual_gap_ <= 0.01)
    True

    References
    ----------
    Rudi & Şimşekli §1.3.3, §3.2.3; Douc & Le Corff §5.4.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SGD_DOMAINS,
        "loss": parameters.one_of(*LOSSES),
        "epsilon": parameters.real(above=0),
        "quantile": LEVEL,
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        learning_rate: str = "auto",
        eta0: float = 1.0,
        batch_size: int = 256,
        average: bool = True,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        tol: float = 0.01,
        max_iter: int = 2048,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            loss,
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            learning_rate=learning_rate,
            eta0=eta0,
            batch_size=batch_size,
            average=average,
            tol=tol,
            max_iter=max_iter,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            history=history,
            random_state=random_state,
        )
        self.epsilon = epsilon
        self.quantile = quantile

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SGDRegressor:
        """One pass over further rows, from where the last pass ended.

        Columns are centred and scaled as the first rows told; the step rule goes on where it was. The
        certificates are those of the rows of this call.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            Factor of the gradient of a row.
        """
        if hasattr(self, "_descent"):
            self._check_parameters()
            assert_all_finite(y, input_name="y")
            data = self._open_new_rows(X, y, sample_weight, with_target=True)
        else:
            data = self._open_rows(X, y, sample_weight, with_target=True)
        self._continue(vector_target(data, self))
        return self

    def _loss(self) -> Loss:
        name, setting = LOSSES[self.loss]
        values = {"epsilon": self.epsilon, "delta": self.epsilon, "level": self.quantile}
        return named_loss(name, **({setting: float(values[setting])} if setting else {}))

    def _spread(self, data: Rows) -> float:
        """Standard deviation of the target, 1 if it is constant."""
        with np.errstate(over="ignore", invalid="ignore"):
            weight, total, squares = data.reduce(target_sums)
        require_spread(max(float(np.sqrt(squares / weight)), 1.0))
        variance = data.reduce(target_squares, total / weight) / weight
        return float(np.sqrt(variance)) if variance > 1e-24 * squares / weight else 1.0

    def _level(self, data: Rows) -> float:
        if not self.fit_intercept:
            return 0.0
        weight, total, _ = data.reduce(target_sums)
        # Adaptive steps divide a slope by its own size: at the mean they would follow its rounding.
        away = self._spread(data) if self.learning_rate in ADAPTIVE else 0.0
        return float(total / weight) - away
