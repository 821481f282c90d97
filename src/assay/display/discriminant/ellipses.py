"""Gaussian classes as ellipses of equal Mahalanobis distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import class_colors, labels_of, point_colors
from assay.display.plane import Plane, column_names, principal_plane, sampled, shown_rows
from assay.display.style import FAINT_INK, INK, caption

RADII = (1.0, 2.0)
CORNERS = 181


class Assignment(NamedTuple):
    """A point with the class that is nearest by each of two distances."""

    place: NDArray
    euclidean: Any
    mahalanobis: Any


def ellipse(mean: NDArray, covariance: NDArray, radius: float) -> NDArray:
    """Points of the plane at a Mahalanobis distance from a mean, of shape (181, 2)."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, CORNERS)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + radius * (circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


class EllipsesDisplay(Display):
    """Means of Gaussian classes with ellipses of distance 1 and 2, and a point that two distances judge.

    Parameters
    ----------
    means : array of shape (n_classes, 2)
        In the plane of two features, or of two axes of more.
    covariances : array of shape (n_classes, 2, 2)
        Those of the projections on the plane.
    classes : array of shape (n_classes,)
    radii : sequence of float
    points : array of shape (n_rows, 2) or None
    observed : array of shape (n_rows,) or None
    judged : Assignment or None
        A point, with its nearest class by Euclidean and by Mahalanobis distance.
    axis_names : pair of str

    Examples
    --------
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> from assay.display import EllipsesDisplay
    >>> long = [[9.0, 0.0], [0.0, 0.25]]
    >>> model = LinearDiscriminantAnalysis.from_parameters([[0.0, 0.0], [4.0, 3.0]], long)
    >>> shown = EllipsesDisplay.from_estimator(model, point=[4.5, 0.5])
    >>> int(shown.judged.euclidean), int(shown.judged.mahalanobis)
    (1, 0)
    """

    means: NDArray
    covariances: NDArray
    classes: NDArray
    radii: Sequence[float]
    points: NDArray | None
    observed: NDArray | None
    judged: Assignment | None
    axis_names: tuple[str, str]

    @classmethod
    def _collect(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        point: Any = None,
        radii: Sequence[float] = RADII,
        feature_names: Any = None,
    ) -> Self:
        means, covariances = gaussian_parameters(estimator)
        plane = _plane(means, covariances.mean(axis=0), X)
        inside = np.array([plane.axes.T @ matrix @ plane.axes for matrix in covariances])
        names = column_names(estimator, X, feature_names, means.shape[1])
        points, observed = None, None
        if X is not None:
            rows, shown = shown_rows(X)
            points = plane.flatten(rows)
            observed = None if y is None else labels_of(X, y)[shown]
        judged = None if point is None else _judge(estimator, np.asarray(point, float), means, covariances)
        if judged is not None:
            judged = judged._replace(place=plane.flatten(judged.place[None])[0])
        classes, words = np.asarray(estimator.classes_), plane.labels(names)
        return cls(plane.flatten(means), inside, classes, tuple(radii), points, observed, judged, words)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        if self.points is not None:
            shown = sampled(len(self.points))
            tint: Any = FAINT_INK
            if self.observed is not None:
                tint = point_colors(self.observed, self.classes, palette)[shown]
            ax.scatter(*self.points[shown].T, c=tint, s=10, alpha=0.5, linewidths=0)
        for mean, matrix, color, label in zip(
            self.means, self.covariances, palette, self.classes, strict=True
        ):
            for radius in self.radii:
                ax.plot(*ellipse(mean, matrix, radius).T, color=color, linewidth=1.4, alpha=0.9)
            ax.plot(*mean, "+", color=color, markersize=11, markeredgewidth=2.2, label=str(label))
        title = f"ellipses of Mahalanobis distance {' and '.join(f'{radius:g}' for radius in self.radii)}"
        if self.judged is not None:
            place, near, apart = self.judged
            ax.plot(*place, "o", color=INK, markersize=7, zorder=5)
            places = dict(zip(self.classes.tolist(), self.means, strict=True))
            for label, look in ((near, (0, (2, 2))), (apart, "-")):
                ax.plot(*np.array([place, places[label]]).T, color=INK, linewidth=0.9, linestyle=look)
            title = f"nearest: {near} by Euclidean (dotted), {apart} by Mahalanobis distance"
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ax.set_aspect("equal", adjustable="datalim")
        caption(ax, *self.axis_names, title)


def gaussian_parameters(model: Any) -> tuple[NDArray, NDArray]:
    """Means (K, d) and covariances (K, d, d) of the classes of a fitted Gaussian model."""
    if hasattr(model, "centroids_"):
        means = np.asarray(model.centroids_, dtype=float)
        return means, np.repeat(np.diag(np.asarray(model.scale_, dtype=float) ** 2)[None], len(means), axis=0)
    means, matrix = np.asarray(model.means_, dtype=float), np.asarray(model.covariance_, dtype=float)
    return means, np.repeat(matrix[None], len(means), axis=0) if matrix.ndim == 2 else matrix


def _plane(means: NDArray, covariance: NDArray, X: Any) -> Plane:
    """That of two features, of the rows, or of the law of all classes."""
    if means.shape[1] == 1:
        raise ValueError("Ellipses need two features or more.")
    if means.shape[1] == 2:
        return Plane(np.zeros(2), np.eye(2), np.ones(2))
    if X is not None:
        return principal_plane(shown_rows(X)[0])
    center = means.mean(axis=0)
    total = covariance + (means - center).T @ (means - center) / len(means)
    values, vectors = np.linalg.eigh(total)
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    return Plane(center, axes, values[::-1][:2] / values.sum())


def _judge(model: Any, point: NDArray, means: NDArray, covariances: NDArray) -> Assignment:
    """The nearest mean by each distance."""
    steps = point - means
    plain = np.linalg.norm(steps, axis=1)
    solved = np.array(
        [np.linalg.solve(matrix, step) for matrix, step in zip(covariances, steps, strict=True)]
    )
    scaled = np.einsum("ij,ij->i", steps, solved)
    classes = np.asarray(model.classes_)
    return Assignment(point, classes[plain.argmin()], classes[scaled.argmin()])
