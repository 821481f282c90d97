"""Linear classification by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificates
from assay.linear._classifier import LinearClassifier
from assay.linear._engine import Array
from assay.linear._sgd_model import SGD_DOMAINS, SgdModel, surrogate_bound
from assay.losses import loss as named_loss
from assay.parameters import Domain
from assay.randomness import spawn
from assay.rows import Rows
from assay.solvers._sgd_gap import gather_risk


class SGDClassifier(LinearClassifier, SgdModel):
    """Linear classification by stochastic gradient descent on batches of rows.

    Minimises over (w, b), with labels t = ±1,

        (1/n) Σ_i s_i φ(t_i (x_iᵀw + b)) + α [r ‖w‖₁ + ½ (1 − r) ‖w‖²],        n = Σ s, b not penalised,

    in one order of the rows whatever their source: windows one after the other, shuffled inside by the seed.
    Columns are centred and scaled on the way. Several classes: one against the rest.

    Certificates: relative duality gap, measured on all rows from a feasible dual point, below `tol`; training
    error below the mean of φ/φ(0), which majorises it.

    Parameters
    ----------
    loss : {"logistic", "squared_hinge"}
        φ, a smooth loss of `assay.losses`; "logistic" by default. For the hinge there is an exact solver,
        `LinearSVC`.
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
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    dual_gap_ : float
        Relative duality gap, the worst class; infinite without a squared norm in the penalty.
    history_ : list of lists of float
        One a machine, with `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Passes (the slowest class), whether all ended by `tol`, and the relative gradient.

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> from assay.linear import SGDClassifier
    >>> X, y = GaussianClasses([[1.0, 0.0], [-1.0, 0.5]]).sample(400, random_state=0)
    >>> model = SGDClassifier("logistic", alpha=0.01, random_state=0).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> bool(model.score(X, y) > 0.8)
    True

    References
    ----------
    Rudi & Şimşekli §2.1.2, §2.1.3, §3.2.3; Wei §7.3.3; Douc & Le Corff §5.4; Sangnier §1.2.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **SGD_DOMAINS,
        "loss": parameters.one_of("logistic", "squared_hinge"),
    }

    def __init__(
        self,
        loss: str = "logistic",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        learning_rate: str = "invscaling",
        eta0: float = 1.0,
        batch_size: int = 256,
        average: bool = True,
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
        self.tol = tol
        self.max_iter = max_iter
        self.history = history
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SGDClassifier:
        """Fit to rows in memory, on disk or on a cluster.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            See `batch_size`.
        """
        data, _ = self._open_classes(X, y, sample_weight)
        data = self._near(data)
        watch = self._watch_fit(X, y, n_runs=len(self._positives()), max_iter=self.max_iter)

        def report(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: {"coef_": coef[None], "intercept_": np.array([intercept])})

        fits = []
        children = spawn(self.random_state, len(self._positives()))
        for positive, rng in zip(self._positives(), children, strict=True):
            with watch.run("sgd"):
                fits.append(self._descend(data, named_loss(self.loss), positive, 1.0, rng, report))
        watch.finish()
        self.coef_ = np.array([coef for _, coef, _ in fits], dtype=data.dtype)
        self.intercept_ = np.array([intercept for _, _, intercept in fits], dtype=data.dtype)
        self.n_iter_ = max(found.n_iter for found, _, _ in fits)
        self.converged_ = all(found.converged for found, _, _ in fits)
        if self.history:
            self.history_ = [found.gaps for found, _, _ in fits]
        self._measure(data, keep=True)
        self._warn_unless_converged(self.certificates_[0].value)
        return self

    def _positives(self) -> list[int]:
        """Class numbers whose label is +1, one a machine."""
        return list(range(len(self.classes_))) if len(self.classes_) > 2 else [1]

    def _measure(self, data: Rows, *, keep: bool) -> Certificates:
        """Certificates from the attributes and the rows, by one walk a machine."""
        evidences, gaps = [], []
        for positive, row, intercept in zip(self._positives(), self.coef_, self.intercept_, strict=True):
            coef = row.astype(np.float64)
            evidence = gather_risk(data, named_loss(self.loss), coef, float(intercept), positive)
            evidences.append(evidence)
            gaps.append(self._gap(evidence, coef))
        majorant = surrogate_bound(evidences, named_loss(self.loss))
        certificates = Certificates([self._risk_certificate(gaps), majorant])
        if keep:
            self.certificates_ = certificates
            self.dual_gap_ = max(gap.relative for gap in gaps)
            self.optimality_ = max(gap.gradient for gap in gaps)
        return certificates

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates on the rows themselves, by one walk a machine.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        return self._measure(self._open_new_classes(X, y, sample_weight), keep=False)
