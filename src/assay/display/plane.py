"""The plane of a picture: rows in it, its view and regions, outlines of sets; and how rows are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.style import GROUND, PALETTE, caption, write_beside
from assay.parameters import array, refusal
from assay.penalties import AffineSubspace, ConvexSet, HalfSpace, Hyperplane, Polytope


def level_lines(axes: Any, columns: NDArray, rows: NDArray, heights: NDArray) -> None:
    """Lines at equal shares of the points: they show a flat valley and a steep wall at once."""
    finite = heights[np.isfinite(heights)]
    levels = np.unique(np.quantile(finite, np.linspace(0.005, 0.98, 14)))
    if len(levels) > 1:
        axes.contour(columns, rows, heights, levels=levels, cmap="Blues_r", linewidths=1.0)


def on_grid(value: Callable[[NDArray], float], columns: NDArray, rows: NDArray) -> NDArray:
    """Values on a grid, one row for each ordinate."""
    return np.array([[float(value(np.array([a, b]))) for a in columns] for b in rows])


def outline_of(convex_set: ConvexSet, view: float) -> NDArray:
    """Corners of the part of a set that is in view: a point, the two ends of a line, or a polygon."""
    square = view * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if isinstance(convex_set, HalfSpace):
        return _clipped(square, np.atleast_2d(convex_set.normal), np.array([convex_set.offset]))
    if isinstance(convex_set, Polytope):
        return _clipped(square, convex_set.matrix, convex_set.offset)
    if isinstance(convex_set, (Hyperplane, AffineSubspace)):
        feet = np.array([convex_set.project(corner) for corner in 2 * square])
        first = feet[np.argmax(np.linalg.norm(feet - feet[0], axis=1))]
        last = feet[np.argmax(np.linalg.norm(feet - first, axis=1))]
        return first[None, :] if np.allclose(first, last) else np.array([first, last])
    angles = np.linspace(0, 2 * np.pi, 721)[:-1]
    circle = 1e3 * view * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.array([convex_set.project(point) for point in circle])


def _clipped(polygon: NDArray, normals: NDArray, offsets: NDArray) -> NDArray:
    """The part of a polygon with ⟨a, x⟩ ≥ b for each row: one cut after the other."""
    for normal, offset in zip(normals, offsets, strict=True):
        polygon = cut(polygon, -normal, -offset)
    return polygon


def hull_outline(points: NDArray) -> NDArray:
    """Corners of the convex hull, in order."""
    angles = np.linspace(0, 2 * np.pi, 361)
    corners = points[np.argmax(points @ np.array([np.cos(angles), np.sin(angles)]), axis=0)]
    keep = np.append(True, np.any(np.diff(corners, axis=0) != 0, axis=1))
    return corners[keep]


def line_in_view(normal: NDArray, offset: float, low: NDArray, high: NDArray) -> NDArray:
    """Two points of a line, far enough apart to cross the view."""
    foot = normal * (offset - normal @ (low + high) / 2) / (normal @ normal) + (low + high) / 2
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = float(np.linalg.norm(high - low))
    return np.array([foot - reach * along, foot + reach * along])


def label(axes: Any, text: str, place: Any, color: str, *, below: bool = False) -> None:
    """Direct label beside a point, readable on lines."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=2.5, foreground=GROUND)]
    look: dict[str, Any] = {"by": (7, -8), "va": "top"} if below else {"by": (7, 6), "va": "bottom"}
    write_beside(text, tuple(place), axes, color=color, fontsize=9.5, zorder=6, path_effects=rim, **look)


def view_of(points: NDArray, pad: float = 0.12, slimmest: float = 0.25) -> tuple[NDArray, NDArray]:
    """Corners of a rectangle around the points, its sides no less than a share of one another."""
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.maximum(high - low, slimmest * max(float((high - low).max()), 1e-9))
    middle = (low + high) / 2
    return middle - (0.5 + pad) * width, middle + (0.5 + pad) * width


def plane_points(owner: str, name: str, points: Any) -> NDArray:
    """Points of the plane, or a refusal by name."""
    if not array("", lambda values: values.ndim == 2 and values.shape[1] == 2 and len(values) > 0).contains(
        points
    ):
        raise refusal(owner, name, "points of the plane: finite numbers in two columns", points)
    return np.asarray(points, dtype=float)


class PrincipalPlaneDisplay(Display):
    """Rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    scores : array of shape (n_rows, 2)
        The rows shown.
    share : array of shape (2,)
        Shares of the variance of the two components.
    values : array of shape (n_rows,) or None
        Shown by colour.
    value_name : str, default="target"

    Examples
    --------
    >>> from assay import datasets, display
    >>> display.PrincipalPlaneDisplay.from_rows(datasets.diabetes().X).share.round(2)
    array([0.4 , 0.15])
    >>> display.plot_principal_plane(*datasets.diabetes(return_X_y=True)).get_xlabel()
    'first component (40% of the variance)'
    """

    scores: NDArray
    share: NDArray
    values: NDArray | None = None
    value_name: str = "target"

    @classmethod
    def from_rows(cls, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Draw rows in the plane of the first two principal components of their standardised columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two columns that vary.
        y : array-like of shape (n_samples,), optional
            Shown by colour.
        ax : matplotlib Axes, optional
        """
        rows = dense(X)
        rows = rows - rows.mean(axis=0)
        spread = rows.std(axis=0)
        if np.count_nonzero(spread) < 2:
            raise ValueError("A principal plane needs at least two columns that vary.")
        left, lengths, _ = np.linalg.svd(rows[:, spread > 0] / spread[spread > 0], full_matrices=False)
        share = lengths**2 / np.sum(lengths**2)
        shown = sampled(len(rows))
        values = None if y is None else np.asarray(y, dtype=float)[shown]
        name = str(getattr(y, "name", None) or "target")
        return cls((left[:, :2] * lengths[:2])[shown], share[:2], values, name).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        shade: dict[str, Any] = {"color": PALETTE[0]}
        if self.values is not None:
            shade = {"c": self.values, "cmap": "viridis"}
        points = ax.scatter(*self.scores.T, s=18, alpha=0.75, linewidths=0, **shade)
        if self.values is not None:
            bar = ax.figure.colorbar(points, ax=ax, label=self.value_name)
            bar.outline.set_visible(False)
        first, second = (f"{share:.0%}" for share in self.share)
        xlabel, ylabel = f"first component ({first} of the variance)", f"second component ({second})"
        caption(ax, xlabel, ylabel, "rows in their principal plane")


plot_principal_plane = drawn_by(PrincipalPlaneDisplay.from_rows, "plot_principal_plane", axes_of)


MAX_POINTS = 3000
"""Pictures show at most this many points; more would only make them heavier."""


def column_names(model: Any, X: Any, feature_names: Any, n_features: int) -> list[str]:
    """Names of the features: those handed in, those seen at fit, those of the frame, or x0, x1, …."""
    for names in (feature_names, getattr(model, "feature_names_in_", None), getattr(X, "columns", None)):
        if names is not None and len(names) == n_features:
            return [plain(str(name)) for name in names]
    return [f"x{index}" for index in range(n_features)]


def plain(name: str) -> str:
    """The name as matplotlib shows it literally: no mathematics between dollars, no label hidden by "_"."""
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def dense(X: Any) -> NDArray:
    """The rows as a dense two-dimensional array of floats."""
    values = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    return values.reshape(-1, 1) if values.ndim == 1 else values


def sampled(n_rows: int, max_points: int = MAX_POINTS) -> NDArray:
    """Indices of the rows to show: all, or a fixed sample when there are too many."""
    if n_rows <= max_points:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, max_points, replace=False))


WORDS = re.compile(r"[^\W_]+|[\W_]+")


def shortened(name: str, length: int = 24) -> str:
    """A name that fits beside an axis: its first words and its last ones, which often tell names apart.

    A word is never cut, unless it is too long by itself.

    Examples
    --------
    >>> shortened("distance_to_the_centre_in_kilometres"), shortened("Wohnfläche in Quadratmetern")
    ('distance_to_…_kilometres', 'Wohnfläche…Quadratmetern')
    """
    if len(name) <= length:
        return name
    parts = WORDS.findall(name)
    first, last = parts[0], ""
    if len(first) >= length:
        return f"{name[: length - 1]}…"
    front, back, room = 1, len(parts), length - 1 - len(first)
    while front < back:
        # A word from the end, then one from the beginning, as long as there is room for one.
        if len(last) <= len(first) and len(parts[back - 1]) <= room:
            back, last = back - 1, parts[back - 1] + last
            room -= len(parts[back])
        elif len(parts[front]) <= room:
            first, room = first + parts[front], room - len(parts[front])
            front += 1
        else:
            break
    return f"{first}…{last}"


def shortened_apart(names: Sequence[str], length: int = 24) -> list[str]:
    """Names that fit beside an axis, of which those that would look alike keep what tells them apart.

    Examples
    --------
    >>> shortened_apart(["size", *(f"line = level {k} of the production hierarchy" for k in (3, 14))])
    ['size', 'line = level 3…', 'line = level 14…']
    """
    told = [shortened(name, length) for name in names]
    for short in {short for short in told if told.count(short) > 1}:
        alike = [place for place, other in enumerate(told) if other == short]
        parts = [WORDS.findall(names[place]) for place in alike]
        same = next((k for k, words in enumerate(zip(*parts, strict=False)) if len({*words}) > 1), 0)
        for place, words in zip(alike, parts, strict=True):
            end = "" if same + 1 >= len(words) else "…"
            begin, own = "".join(words[:same]), "".join(words[same : same + 1])
            room = length - len(own) - len(end)
            begin = begin if len(begin) <= room else f"{begin[: max(room - 1, 0)]}…"
            told[place] = f"{begin}{own}{end}"[:length]
    return told


LEAST_SIDE, MAP_NUMBERS, PIECE_NUMBERS = 50, 40_000_000, 4_000_000
"""Cells per side of a map at least; numbers in the rows of all cells beyond which these are fewer than usual;
numbers that a model is asked about at once."""


def side_of(n_features: int, usual: int) -> int:
    """Cells per side of a map: fewer than usual where the row of each cell has very many features.

    Examples
    --------
    >>> side_of(20, 240), side_of(2000, 240), side_of(100_000, 240)
    (240, 141, 50)
    """
    return min(usual, max(LEAST_SIDE, int(np.sqrt(MAP_NUMBERS / n_features))))


class Plane(NamedTuple):
    """The rows origin + axes z, of orthonormal axes, which have a share of the variance each."""

    origin: NDArray
    axes: NDArray
    share: NDArray

    def flatten(self, rows: NDArray) -> NDArray:
        """Coordinates of the projections of rows."""
        return (rows - self.origin) @ self.axes

    def lift(self, points: NDArray) -> NDArray:
        """The rows at points of the plane."""
        return self.origin + points @ self.axes.T

    def ask(self, say: Callable[[NDArray], Any], points: NDArray) -> NDArray:
        """What is said of the rows at points of the plane; never are all of them in memory."""
        at_once = max(1, PIECE_NUMBERS // self.origin.size)
        pieces = [points[start : start + at_once] for start in range(0, len(points), at_once)]
        return np.concatenate([np.asarray(say(self.lift(piece))) for piece in pieces])

    def labels(self, names: list[str]) -> tuple[str, str]:
        """What the two directions are: the features themselves, or principal axes."""
        if len(names) == 2:
            return names[0], names[1]
        first, second = (f"{share:.0%}" for share in self.share)
        return f"first principal axis ({first} of the variance)", f"second axis ({second})"


def principal_plane(points: NDArray) -> Plane:
    """The plane of two features, or of the first two principal axes through the mean of more."""
    if points.shape[1] == 2:
        return Plane(np.zeros(2), np.eye(2), np.ones(2))
    origin = points.mean(axis=0)
    rows = points - origin
    n_rows, n_features = rows.shape
    # The inner products of fewer rows than features have the same eigenvalues as those of the features.
    by_rows = 2 <= n_rows < n_features
    products = (rows @ rows.T if by_rows else rows.T @ rows) / n_rows
    variances, axes = scipy.linalg.eigh(products, subset_by_index=[len(products) - 2, len(products) - 1])
    first_two = axes[:, ::-1]
    if by_rows:  # orthonormal, also where the rows vary in one direction alone
        first_two = np.linalg.qr(rows.T @ first_two)[0]
    # Signs of eigenvectors are arbitrary: make the largest entry positive, so that pictures do not flip.
    first_two = first_two * np.sign(first_two[np.abs(first_two).argmax(axis=0), [0, 1]])
    total = float(np.trace(products))
    return Plane(origin, first_two, variances[::-1] / (total if total > 0 else 1.0))


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
    ends, afterwards = np.roll(polygon, -1, axis=0), np.roll(excess, -1)
    for start, end, before, after in zip(polygon, ends, excess, afterwards, strict=True):
        if before <= 0:
            corners.append(start)
        if before * after < 0:
            corners.append(start + (end - start) * before / (before - after))
    return np.array(corners).reshape(-1, 2)


def rgb(color: Any) -> tuple[float, float, float]:
    """A colour as three numbers."""
    from matplotlib.colors import to_rgb

    return to_rgb(color)
