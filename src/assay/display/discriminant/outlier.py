"""How far one gross outlier tilts the frontier of a classifier, and of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.display.base import Display
from assay.display.style import PALETTE, caption


def tilt(first: Any, second: Any) -> float:
    """Angle in degrees between the normals of the frontiers of two linear classifiers of two classes."""
    one, other = (np.asarray(normal, dtype=float).ravel() for normal in (first, second))
    cosine = one @ other / (np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


class OutlierTiltDisplay(Display):
    """Angle by which a frontier turns as one row of a class moves away: the influence curve of the direction.

    Parameters
    ----------
    distances : array of shape (n_distances,)
        How far the row is moved.
    angles : array of shape (n_models, n_distances)
        Degrees from the frontier without the row.
    names : sequence of str

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> from assay.display import OutlierTiltDisplay
    >>> X, y = two_gaussians_law().sample(60, random_state=0)
    >>> models = [LinearDiscriminantAnalysis()]
    >>> shown = OutlierTiltDisplay.from_models(models, X, y, [1.0, -1.0], [1, 10, 100])
    >>> bool(shown.angles[0, 2] > shown.angles[0, 0])
    True
    """

    distances: NDArray
    angles: NDArray
    names: Sequence[str]

    @classmethod
    def from_models(
        cls,
        models: Sequence[Any],
        X: Any,
        y: Any,
        direction: Any,
        distances: Any,
        *,
        label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Fit each model without and with one more row of a class at distances along a direction.

        Parameters
        ----------
        models : sequence of classifiers with coef_
        X, y : array-like
            Rows of two classes.
        direction : array-like of shape (n_features,)
            Where the outlier goes, from the mean of its class.
        distances : array-like
        label : object, optional
            Class of the outlier; the last by default.
        ax : matplotlib Axes, optional
        """
        table, labels = np.asarray(X, dtype=float), np.asarray(y)
        chosen = np.unique(labels)[-1] if label is None else label
        way = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
        center, lengths = table[labels == chosen].mean(axis=0), np.asarray(distances, dtype=float)
        angles = []
        for model in models:
            plain = clone(model).fit(table, labels).coef_
            moved = [
                clone(model).fit(np.vstack([table, center + length * way]), np.append(labels, chosen)).coef_
                for length in lengths
            ]
            angles.append([tilt(plain, normal) for normal in moved])
        names = [type(model).__name__ for model in models]
        return cls(lengths, np.array(angles), names).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        for place, (angles, name) in enumerate(zip(self.angles, self.names, strict=True)):
            ax.plot(self.distances, angles, color=PALETTE[place % len(PALETTE)], label=name, marker="o", ms=3)
        ax.legend()
        caption(
            ax,
            "distance of the outlier from its class",
            "tilt of the frontier (degrees)",
            "one gross outlier",
        )
