"""Linear models of Nyström features: they stand for kernel machines on tables of too many rows for these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from assay.certificates import Certificates
from assay.kernel_machines import Nystroem
from assay.linear import LogisticRegression, Ridge
from assay.models import Criterion, Selection
from assay.models.selection import folds_at
from assay.randomness import generator
from assay.registry import Entry, title_of
from assay.suitability import Suitability

WIDTHS = np.array([0.03, 0.1, 0.3, 1.0])
"""Scales of the Gaussian kernel, times one over the number of features, on rows of unit variance."""

PENALTIES = np.logspace(-8, -2, 7)
"""Penalties on the mean loss of features, whose norm is at most one."""

SEARCH_ROWS = 2000
"""Rows that the scale of the kernel and the penalty are chosen on."""

HELD_ROWS = 300_000
"""Rows up to which their features are held in memory; beyond, every walk makes them anew."""

FROM = 5001
"""Rows from which on kernel machines are left out, and these tried in their place."""


class FirstFold(NamedTuple):
    """The first fold of a splitter, or one row in five, as a splitter."""

    cv: Any

    def split(self, X: Any, y: Any) -> Iterator[tuple[NDArray, NDArray]]:
        """Rows to learn from and rows to predict."""
        if hasattr(self.cv, "split") and not isinstance(self.cv, str):
            return islice(self.cv.split(X, y), 1)
        fold = np.arange(len(y)) % 5
        return iter([(np.flatnonzero(fold > 0), np.flatnonzero(fold == 0))])


class OnLandmarks(BaseEstimator):
    """Base of linear models of Nyström features φ(x) = k(x, L) K_LL^{−1/2} of a Gaussian kernel.

    Attributes
    ----------
    features_ : Nystroem
    linear_ : estimator
    certificates_ : Certificates
        Those of both.
    """

    _linear: ClassVar[type]
    _on_the_sum: ClassVar[bool] = False  # whether its path has penalties of the sum of the loss

    def __init__(
        self,
        linear: Any = None,
        gamma: float | None = None,
        n_components: int = 200,
        random_state: Any = None,
    ) -> None:
        self.linear = linear
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def _map(self, X: Any, gamma: float | None) -> Nystroem:
        draws = {"n_components": self.n_components, "random_state": self.random_state}
        return Nystroem(gamma=gamma, **draws).fit(X)

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the landmarks and fit the linear model."""
        features = self._map(X, self.gamma)
        linear = self._linear() if self.linear is None else clone(self.linear)
        if len(y) > HELD_ROWS:
            return self._take(features, linear.fit(features.features(X, y)))
        return self._take(features, linear.fit(features.transform(X), y))

    def _take(self, features: Nystroem, linear: Any) -> Self:
        self.features_, self.linear_ = features, linear
        self.n_features_in_ = features.n_features_in_
        self.certificates_ = Certificates([*features.certificates_, *linear.certificates_])
        if hasattr(linear, "classes_"):
            self.classes_ = linear.classes_
        return self

    def select(
        self,
        X: NDArray,
        y: NDArray,
        *,
        cv: Any = 5,
        criterion: Criterion | None = None,
        random_state: Any = None,
    ) -> Selection:
        """Choose the scale of the kernel and the penalty on a sample of the rows; fit at them on all.

        One split of the sample judges them: the first of given folds.
        """
        widths, rows = (WIDTHS / X.shape[1]).tolist(), np.arange(len(y))
        if rows.size > SEARCH_ROWS:
            rows = np.sort(generator(random_state).choice(rows.size, SEARCH_ROWS, replace=False))
        told: dict[str, Any] = {"cv": FirstFold(folds_at(cv, rows))}
        told["criterion"] = None if criterion is None else criterion.at(rows)
        some, tried = X[rows], []
        # Penalties on the mean of the loss are the same on the sample and on all rows.
        grid = PENALTIES * (len(rows) if self._on_the_sum else 1)
        for width in widths:
            features = self._map(some, width).transform(some)
            tried.append(self._linear().select(features, y[rows], alphas=grid, **told))
        losses = np.array([chosen.curve[chosen.index] for chosen in tried])
        place = int(np.argmin(losses))
        strength = tried[place].best / (len(rows) if self._on_the_sum else 1)
        linear = self._linear(penalty_strength=strength)
        model = clone(self).set_params(gamma=widths[place], linear=linear).fit(X, y)
        curve = "gamma", widths, tried[place].criterion, losses, None, place, "min"
        return Selection(*curve, {"gamma": widths[place]}, model)

    def predict(self, X: Any) -> NDArray:
        """Predictions of the linear model."""
        return np.asarray(self.linear_.predict(self.features_.transform(X)))

    def certify(self, X: Any, y: Any) -> Certificates:
        """Measure every certificate of both afresh."""
        claims = self.features_.certify(X), self.linear_.certify(self.features_.transform(X), y)
        return Certificates([item for some in claims for item in some])


class NystroemRidge(RegressorMixin, OnLandmarks):
    """Ridge regression on the kernel values of each row with some landmarks.

    Minimises over (w, b)

        Σ_i (y_i − wᵀφ(x_i) − b)² + α ‖w‖²,        φ(x) = K_LL^{−1/2} k(L, x),

    for m landmarks L drawn from the rows: kernel ridge regression among the functions that they span, in
    O(n m²). A comparison chooses the scale of the Gaussian kernel and α on up to 2,000 rows.

    Assumes: A mean of y that is smooth at the scale of the kernel, and landmarks enough to span it.

    Certificates: Those of the features and those of ridge regression on them.

    Parameters
    ----------
    linear : estimator, optional
        The linear model of the features.
    gamma : float, optional
        Scale of the kernel; one over the number of features by default.
    n_components : int, default=200
        Rows that are landmarks, drawn uniformly.
    random_state : int, optional
        Draws the landmarks.

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.report import NystroemRidge
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = NystroemRidge(n_components=30, random_state=0).select(X, np.sin(X[:, 0])).model
    >>> round(model.predict([[1.5]]).item(), 2), model.certificates_.holds
    (1.0, True)
    """

    _linear = Ridge
    _on_the_sum = True


class NystroemLogistic(ClassifierMixin, OnLandmarks):
    """Logistic regression on the kernel values of each row with some landmarks.

    Minimises over (w, b), for two classes named −1 and 1,

        (1/n) Σ_i log(1 + exp(−y_i (wᵀφ(x_i) + b))) + (λ/2) ‖w‖²,        φ(x) = K_LL^{−1/2} k(L, x),

    for m landmarks L drawn from the rows: kernel logistic regression among the functions that they span. A
    comparison chooses the scale of the Gaussian kernel and λ on up to 2,000 rows.

    Assumes: Log-odds that are smooth at the scale of the kernel, and landmarks enough to span them.

    Certificates: Those of the features and those of logistic regression on them.

    Parameters
    ----------
    linear : estimator, optional
        The linear model of the features.
    gamma : float, optional
        Scale of the kernel; one over the number of features by default.
    n_components : int, default=200
        Rows that are landmarks, drawn uniformly.
    random_state : int, optional
        Draws the landmarks.

    References
    ----------
    Sangnier §1.4.2; Wei §6.1.3.

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.report import NystroemLogistic
    >>> X, y = TwoMoons(noise_std=0.2).sample(300, random_state=0)
    >>> bool(NystroemLogistic(gamma=2.0, n_components=30, random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _linear = LogisticRegression

    def predict_proba(self, X: Any) -> NDArray:
        """Probability of each class."""
        return np.asarray(self.linear_.predict_proba(self.features_.transform(X)))


CLASS_ROWS = 1_500_000
"""Rows times classes, where these are more than two, up to which one probability per class is fitted."""


def landmark_entries() -> list[Entry]:
    """These models as entries of the roster."""
    room, found = "kernel_machines", []
    suits = Suitability(complexity=5, min_rows=FROM, select={})
    of_classes = replace(suits, max_class_rows=CLASS_ROWS)
    for kind, task, own in (
        (NystroemRidge, "regression", suits),
        (NystroemLogistic, "classification", of_classes),
    ):
        summary = str(kind.__doc__).partition("\n")[0]
        found.append(Entry(kind.__name__, kind, room, title_of(room), task, own, summary, ()))
    return found
