"""Linear classification by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from assay import parameters, rows
from assay.linear.margin.base import OneAgainstRest
from assay.linear.stochastic.base import SgdModel
from assay.linear.stochastic.ground import SGD_DOMAINS
from assay.losses import Loss
from assay.losses import loss as named_loss
from assay.parameters import Domain
from assay.rows import Rows
from assay.suitability import Suitability

LOSSES: Mapping[str, str] = {"log_loss": "logistic", "hinge": "hinge", "squared_hinge": "squared_hinge"}
"""Names of the losses here, and in `assay.losses`."""


class SGDClassifier(SgdModel, OneAgainstRest):
    """Linear classification by stochastic gradient descent on batches of rows.

    Minimises over (w, b), with labels t = ±1,

        (1/n) Σ_i s_i φ(t_i (x_iᵀw + b)) + α [r ‖w‖₁ + ½ (1 − r) ‖w‖²],        n = Σ s, b not penalised,

    in one order of the rows whatever their source: windows one after the other, shuffled inside by the seed.
    Columns are centred and scaled on the way. Several classes: one against the rest.

    A weight is a factor of the gradient of its row, over the mean weight. In the objective and the
    certificates it is a repetition always; in the path of the descent exactly where all rows are one batch.

    Assumes: scores that are linear in the columns, and windows of rows in no telling order: rows are shuffled
    inside a window alone.

    Certificates: relative duality gap, measured on all rows from a feasible dual point, below `tol`; training
    error below the mean of φ/φ(0), which majorises it; with early stopping, held-out loss below that of a
    constant in place of the first.

    Parameters
    ----------
    loss : {"log_loss", "hinge", "squared_hinge"}
        φ, of `assay.losses`; "log_loss" by default. For the last digits there are exact solvers:
        `LogisticRegression`, `LinearSVC`. The loss of the perceptron has its minimum at zero with any
        penalty: see `Perceptron`.
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
        Share of the rows held out, of every class alike.
    n_iter_no_change : int, default=5
        Passes without a fall of the held-out loss after which to stop.
    history : bool, default=False
        Whether to keep the measured gaps (with `early_stopping`, the held-out losses) in `history_`.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows, and which are held out.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    dual_gap_ : float
        Relative duality gap, the worst class; infinite where no dual point was found.
    dual_coef_ : array of shape (n_machines, n_samples) or None
        For a loss with corners the mean slope of each row on the way, a dual point; else None, as the slopes
        at the answer are one.
    held_out_ : array of int
        Rows held out, with `early_stopping`.
    history_ : list of lists of float
        One per machine, with `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Passes (the slowest class), whether all ended by `tol`, and the relative gradient.

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> from assay.linear import SGDClassifier
    >>> X, y = GaussianClasses([[1.0, 0.0], [-1.0, 0.5]]).sample(400, random_state=0)
    >>> model = SGDClassifier(alpha=0.01, random_state=0).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> bool(model.score(X, y) > 0.8)
    True

    References
    ----------
    Rudi & Şimşekli §2.1.2, §2.1.3, §3.2.3; Wei §7.3.3; Douc & Le Corff §5.4; Sangnier §1.2.1.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=3,
        min_rows=10_000,
        max_features=500,
        settings={"max_iter": 200},  # what has not converged by then hardly does in ten times as many passes
        summary="Linear classification by stochastic gradient steps, for tables of many rows.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {**SGD_DOMAINS, "loss": parameters.one_of(*LOSSES)}

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> SGDClassifier:
        """One pass over further rows, from where the last pass ended.

        Columns are centred and scaled as the first rows told; the step rule goes on where it was. The
        certificates are those of the rows of this call.

        Parameters
        ----------
        X, y
            As in `fit`.
        classes : array-like of shape (n_classes,), optional
            All labels there will be; needed in the first call.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            Factor of the gradient of a row.
        """
        self._check_parameters()
        known = hasattr(self, "_descent")
        if not known and classes is None:
            raise ValueError(
                f"The first call of partial_fit of {type(self).__name__} must be given 'classes', all labels "
                "that there will be. Got None instead."
            )
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if known and not np.array_equal(given, self.classes_):
                raise ValueError(
                    f"The 'classes' of partial_fit must be those of the first call, "
                    f"{self.classes_.tolist()}. Got {given.tolist()} instead."
                )
            self._set_classes(given)
        if known:
            data = self._open_new_classes(X, y, sample_weight)
        else:
            data = self._open_first(X, y, sample_weight)
        self._continue(data)
        return self

    def _open_first(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows of a first call, whose labels are some of the classes."""
        if not rows.is_external(X):
            X, y, sample_weight = rows.split_columns(X, y, sample_weight)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        codes = rows.code(labels, self.classes_).astype(np.float64)
        return self._open_rows(X, codes, sample_weight, with_target=True)

    def _loss(self) -> Loss:
        return named_loss(LOSSES[self.loss])
