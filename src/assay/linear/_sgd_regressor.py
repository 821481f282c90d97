"""Linear regression by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificates
from assay.linear._engine import Array
from assay.linear._predictor import LinearRegressor, vector_target
from assay.linear._sgd_model import SGD_DOMAINS, SgdModel, target_spread
from assay.losses import Loss
from assay.losses import loss as named_loss
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Rows
from assay.solvers._sgd_gap import gather_risk


class SGDRegressor(LinearRegressor, SgdModel):
    """Linear regression by stochastic gradient descent on batches of rows.

    Minimises over (w, b)

        (1/n) Σ_i s_i ℓ(y_i, x_iᵀw + b) + α [r ‖w‖₁ + ½ (1 − r) ‖w‖²],        n = Σ s, b not penalised,

    in one order of the rows whatever their source: windows one after the other, shuffled inside by the seed.
    Columns are centred and scaled on the way; the penalty by its proximal map.

    Certificates: relative duality gap, measured on all rows from a feasible dual point, below `tol`.

    Parameters
    ----------
    loss : {"squared", "squared_epsilon_insensitive"}
        ℓ, a smooth loss of `assay.losses`; "squared" by default. For those with corners there are exact
        solvers: `QuantileRegressor`, `LinearSVR`; for Huber's, `HuberRegressor`.
    penalty : {"l2", "l1", "elasticnet"} or None, default="l2"
        r = 0, r = 1, r = `l1_ratio`, or no penalty.
    alpha : float, default=0.0001
        Penalty on the scale of the mean loss, as in scikit-learn.
    l1_ratio : float, default=0.15
        Share r of the l1 norm with penalty="elasticnet".
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    learning_rate : {"invscaling", "root", "optimal", "constant", "adagrad", "adam"}
        "invscaling" by default. In units of 1/L, L the curvature of the risk of a batch: t^(−1/4) for it,
        t^(−1/2) for "root", "optimal" 1/(1 + λ₂t/L), "constant" ½, which stalls at a floor of its own.
    eta0 : float, default=1.0
        Factor of the steps.
    batch_size : int, default=256
        Rows averaged for one step. Where all rows are one batch the method is gradient descent, and a weight
        is a repetition exactly; in general it is one inside a batch.
    average : bool, default=True
        Whether the answer is the average of the points since the last power of two of passes, or the last.
    epsilon : float, default=0.1
        ε of the insensitive loss.
    tol : float, default=0.01
        Relative duality gap at which to stop, looked at after 1, 2, 4, … passes; without a squared norm in
        the penalty no dual point is at hand, and the relative gradient must fall to √tol.
    max_iter : int, default=512
        Most passes over the rows; from 256 on, fewer when the gap makes no progress.
    history : bool, default=False
        Whether to keep the measured gaps in `history_`.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    dual_gap_ : float
        Relative duality gap; infinite without a squared norm in the penalty.
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
        "loss": parameters.one_of("squared", "squared_epsilon_insensitive"),
        "epsilon": parameters.real(above=0),
    }

    def __init__(
        self,
        loss: str = "squared",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        learning_rate: str = "invscaling",
        eta0: float = 1.0,
        batch_size: int = 256,
        average: bool = True,
        epsilon: float = 0.1,
        tol: float = 0.01,
        max_iter: int = 512,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.batch_size = batch_size
        self.average = average
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.history = history
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SGDRegressor:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            See `batch_size`.
        """
        data = self._near(vector_target(self._open_rows(X, y, sample_weight, with_target=True), self))
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)

        def report(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: {"coef_": coef, "intercept_": intercept})

        with watch.run("sgd"):
            found, coef, intercept = self._descend(
                data, self._loss(), None, target_spread(data), generator(self.random_state), report
            )
        watch.finish()
        self.coef_, self.intercept_ = coef.astype(data.dtype), data.dtype.type(intercept)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        if self.history:
            self.history_ = found.gaps
        self._measure(data, keep=True)
        self._warn_unless_converged(self.certificates_[0].value)
        return self

    def _loss(self) -> Loss:
        if self.loss == "squared":
            return named_loss("squared")
        return named_loss(self.loss, epsilon=float(self.epsilon))

    def _measure(self, data: Rows, *, keep: bool) -> Certificates:
        """Certificates from the attributes and the rows, by one walk."""
        coef, intercept = self.coef_.astype(np.float64), float(self.intercept_)
        evidence = gather_risk(data, self._loss(), coef, intercept, None)
        gap = self._gap(evidence, coef)
        certificates = Certificates([self._risk_certificate([gap])])
        if keep:
            self.certificates_, self.dual_gap_, self.optimality_ = certificates, gap.relative, gap.gradient
        return certificates

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = vector_target(self._open_new_rows(X, y, sample_weight, with_target=True), self)
        return self._measure(data, keep=False)
