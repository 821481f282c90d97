"""A law that neighbours cannot learn from few rows: labels without noise and without structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets import requirements as checked
from assay.datasets.laws import ClassificationLaw
from assay.datasets.requirements import Array, Labels, refuse
from assay.randomness import RandomState, generator

MOST_POINTS = 2**22
"""Points of the largest lattice whose labels are drawn."""


@dataclass(frozen=True, eq=False, init=False)
class LatticeLaw(ClassificationLaw):
    """Points of a lattice of the unit cube, each with a label drawn once.

    X is uniform on the (L + 1)^d points of spacing 1/L in [0, 1]^d and Y = f(X), where f gives every point
    one of the labels 0 and 1. Between the points η can be continued with the slope L, and the Bayes risk is
    0; a point that was not drawn says nothing about its label, so that the error of any rule is ¼ or more
    on average over f while at most half of the points were drawn.

    Parameters
    ----------
    slope : int
        L, at least 1.
    n_features : int
        d.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the labels come from.

    Examples
    --------
    >>> from assay.datasets import LatticeLaw
    >>> law = LatticeLaw(3, 2, random_state=0)
    >>> law.n_points, law.bayes_risk().value
    (16, 0.0)
    >>> X, y = law.sample(5, random_state=1)
    >>> bool((law.bayes_rule(X) == y).all())
    True

    References
    ----------
    Sangnier §3.1, Theorem 63.
    """

    classes: Labels = field(init=False, repr=False)
    priors: Array = field(init=False, repr=False)
    slope: int
    labels: Labels = field(init=False, repr=False)

    def __init__(self, slope: int, n_features: int, random_state: RandomState = None) -> None:
        name = self._name
        slope = checked.integer_between(name, "slope", slope, 1)
        n_features = checked.integer_between(name, "n_features", n_features, 1)
        if (slope + 1) ** n_features > MOST_POINTS:
            refuse(
                name,
                "n_features",
                f"small enough for {MOST_POINTS} points of (slope + 1)^n_features",
                n_features,
            )
        n_points = (slope + 1) ** n_features
        labels = generator(random_state).integers(0, 2, size=n_points)
        if labels.min() == labels.max():  # a law of classes has both
            labels[0] = 1 - labels[0]
        share = float(labels.mean())
        self._set(n_features=n_features, slope=slope, labels=labels, classes=np.array([0, 1]))
        self._set(priors=np.array([1.0 - share, share]))

    @property
    def n_points(self) -> int:
        """Number of points of the lattice, (L + 1)^d."""
        return len(self.labels)

    def points(self, numbers: Labels) -> Array:
        """Points by their number, the first coordinate changing fastest."""
        steps = (np.asarray(numbers)[:, None] // (self.slope + 1) ** np.arange(self.n_features)) % (
            self.slope + 1
        )
        return steps / self.slope

    def numbers(self, X: ArrayLike) -> Labels:
        """The number of the nearest point of the lattice, one per row."""
        steps = np.clip(np.rint(self._rows(X) * self.slope), 0, self.slope).astype(np.int64)
        return steps @ (self.slope + 1) ** np.arange(self.n_features)

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log P(Y = k, X = x) at the nearest point of the lattice; −∞ for the other label."""
        label = self.labels[self.numbers(X)]
        with np.errstate(divide="ignore"):
            return np.log((label[:, None] == self.classes) / self.n_points)

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        chosen = np.empty(len(components), dtype=np.int64)
        for k in (0, 1):
            mine = components == k
            chosen[mine] = rng.choice(np.flatnonzero(self.labels == k), size=int(mine.sum()))
        return self.points(chosen)

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]] | None:
        whole = np.arange(self.n_points)
        return iter([(self.log_joint(self.points(whole)), np.full(self.n_points, 1.0 / self.n_points))])

    def _closed_form_bayes_risk(self) -> float | None:
        """Labels have no noise."""
        return 0.0
