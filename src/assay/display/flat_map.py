"""Flat maps of tables: the plane of the first two principal axes, and regions cut by linear scores in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.display.columns import MAX_POINTS, dense, sampled


class Plane(NamedTuple):
    """A plane in the space of the features: a point z of it is the row origin + axes z.

    Attributes
    ----------
    origin : array of shape (n_features,)
    axes : array of shape (n_features, 2)
        Orthonormal columns.
    share : array of shape (2,)
        Shares of the variance along them.
    """

    origin: NDArray
    axes: NDArray
    share: NDArray

    def flatten(self, rows: NDArray) -> NDArray:
        """Coordinates of the projections of rows."""
        return (rows - self.origin) @ self.axes

    def lift(self, points: NDArray) -> NDArray:
        """The rows at points of the plane."""
        return self.origin + points @ self.axes.T

    def labels(self, names: list[str]) -> dict[str, str]:
        """What the two directions are: the features themselves, or principal axes."""
        if len(names) == 2:
            return {"xlabel": names[0], "ylabel": names[1]}
        return {
            "xlabel": f"first principal axis ({self.share[0]:.0%} of the variance)",
            "ylabel": f"second principal axis ({self.share[1]:.0%})",
        }


def principal_plane(points: NDArray) -> Plane:
    """The plane of two features, or of the first two principal axes through the mean of more."""
    if points.shape[1] == 2:
        return Plane(np.zeros(2), np.eye(2), np.ones(2))
    origin = points.mean(axis=0)
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(points - origin, rowvar=False, bias=True)))
    first_two = axes[:, ::-1][:, :2]
    # Signs of eigenvectors are arbitrary: make the largest entry positive, so that pictures do not flip.
    first_two = first_two * np.sign(first_two[np.abs(first_two).argmax(axis=0), [0, 1]])
    total = variances.sum()
    return Plane(origin, first_two, variances[::-1][:2] / (total if total > 0 else 1.0))


def shown_rows(X: Any) -> tuple[NDArray, NDArray]:
    """The rows to show, all or a fixed sample, and their places."""
    shown = sampled(n_rows(X), MAX_POINTS)
    return dense(rows_at(X, shown)), shown


def n_rows(X: Any) -> int:
    """Number of rows of a table or a list."""
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def rows_at(X: Any, places: NDArray) -> Any:
    """Some rows of a table, with the names of its columns where it is a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    # Sparse matrices and polars frames take places as they are; a Dask array then reads no other rows.
    indexed = hasattr(X, "toarray") or hasattr(X, "columns") or hasattr(X, "dask")
    return X[places] if indexed else np.asarray(X)[places]


def limits_around(points: NDArray, margin: float = 0.06) -> tuple[NDArray, NDArray]:
    """Lower left and upper right corner of a frame around points."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * np.where(high > low, high - low, 1.0)
    return low - room, high + room


def regions(limits: tuple[NDArray, NDArray], slopes: NDArray, heights: NDArray) -> list[NDArray]:
    """Corners of the part of a frame where each of several scores is the largest.

    The scores are slopes_k·(z − m) + heights_k about the middle m of the frame: heights at a far origin would
    cost digits. Nearest centres are of this kind too: −‖z − c‖²/2 is linear but for a term common to all.
    """
    (left, bottom), (right, top) = limits
    middle = (limits[0] + limits[1]) / 2
    frame = np.array([(left, bottom), (right, bottom), (right, top), (left, top)]) - middle
    parts = []
    for chosen in range(len(slopes)):
        part = frame
        for other in range(len(slopes)):
            if other != chosen:
                part = cut(part, slopes[other] - slopes[chosen], heights[chosen] - heights[other])
        parts.append(part + middle)
    return parts


def cut(polygon: NDArray, normal: NDArray, level: float) -> NDArray:
    """The part of a convex polygon where normal·z ≤ level."""
    excess = polygon @ normal - level
    corners = []
    for (start, end), (before, after) in zip(
        zip(polygon, np.roll(polygon, -1, axis=0), strict=True),
        zip(excess, np.roll(excess, -1), strict=True),
        strict=True,
    ):
        if before <= 0:
            corners.append(start)
        if (before <= 0) != (after <= 0):
            corners.append(start + (end - start) * before / (before - after))
    return np.array(corners).reshape(-1, 2)


def rgb(color: Any) -> tuple[float, float, float]:
    """A colour as three numbers."""
    from matplotlib.colors import to_rgb

    return to_rgb(color)
