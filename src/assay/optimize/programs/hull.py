"""Convex hulls and the hyperplanes between them: membership, nearest points, separation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.parameters import matrix, refusal, require, vector
from assay.penalties import ConvexSet
from assay.solvers.least_squares.direct import Array

Pair: TypeAlias = tuple[int, int]
Oracle: TypeAlias = "Callable[[Array], Pair]"


def caratheodory(weights: Any, points: Any) -> Array:
    """Convex weights of the same mean with at most d + 1 of them positive.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.optimize import caratheodory
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> fewer = caratheodory([0.25, 0.25, 0.25, 0.25], corners)
    >>> int(np.count_nonzero(fewer)), fewer @ corners
    (3, array([0.5, 0.5]))
    """
    cloud = _cloud("caratheodory", points=points)
    m = len(cloud)
    if not vector(m).contains(weights) or np.min(weights) < 0 or np.sum(weights) <= 0:
        raise refusal("caratheodory", "weights", f"{m} numbers at least 0, not all of them zero", weights)
    share = np.array(weights, dtype=float)
    share /= share.sum()
    size = float(np.abs(cloud).max()) or 1.0
    lifted = np.column_stack([cloud / size, np.ones(m)])
    while True:
        used = np.flatnonzero(share)
        # A combination of the used points that is zero and of total weight zero can be taken away.
        values, spectrum = np.linalg.svd(lifted[used].T)[1:]
        independent = int(np.sum(values > 1e-12 * values[0]))
        if independent == len(used):
            return share
        change = spectrum[-1]
        change = change if change.max() > 0 else -change
        grows = change > 0
        ratio = np.where(grows, share[used] / np.where(grows, change, 1.0), np.inf)
        first = int(np.argmin(ratio))
        share[used] = np.maximum(share[used] - ratio[first] * change, 0.0)
        share[used[first]] = 0.0
        share /= share.sum()


def least_norm(oracle: Oracle, vector: Callable[..., Array], size: float) -> tuple[list[Pair], Array]:
    """Wolfe's algorithm: the convex combination of least norm of the vectors that an oracle chooses from."""
    start = oracle(np.zeros_like(vector(0, 0)))
    kept, rows, weights = [start], vector(*start)[None, :] / size, np.ones(1)
    for _ in range(1000 + 20 * rows.shape[1]):
        mean = weights @ rows
        squared = float(mean @ mean)
        chosen = oracle(mean)
        candidate = vector(*chosen) / size
        if squared <= 1e-24 or mean @ candidate >= squared - 1e-12 * max(squared, 1e-12) or chosen in kept:
            break
        kept, rows = [*kept, chosen], np.vstack([rows, candidate])
        weights = np.append(weights, 0.0)
        while True:
            # Weights of sum one, of any sign, whose combination of the rows has the least norm.
            rest = np.linalg.lstsq((rows[1:] - rows[0]).T, -rows[0], rcond=None)[0]
            free = np.append(1 - rest.sum(), rest)
            if np.all(free > 1e-14):
                weights = free
                break
            falling = free <= 1e-14
            ratio = weights[falling] / np.maximum(weights[falling] - free[falling], 1e-300)
            share = min(1.0, float(np.min(ratio)))
            weights = weights + share * (free - weights)
            stay = weights > 1e-14
            stay[np.flatnonzero(falling)[int(np.argmin(ratio))]] = False
            kept = [pair for pair, keep in zip(kept, stay, strict=True) if keep]
            rows, weights = rows[stay], weights[stay] / weights[stay].sum()
    return kept, weights


def _gathered(shares: Array, indices: Sequence[int], length: int) -> Array:
    """Shares added up by index."""
    return np.asarray(np.bincount(indices, shares, length), dtype=float)


def _cloud(owner: str, **points: Any) -> Array:
    """Points as a matrix, one per row."""
    require(owner, matrix, **points)
    return np.asarray(next(iter(points.values())), dtype=float)


SOURCE = "Rudi & Şimşekli 2.2.2"
TOUCHING = 1e-9
"""Sets nearer than this share of the size of their points are taken to meet."""


class HullMembership(NamedTuple):
    """Result of `hull_membership`.

    Inside, `weights` are those of a convex combination equal to the point, at most d + 1 of them positive.
    Outside, they give the `nearest` point of the hull and ⟨normal, x⟩ > offset ≥ ⟨normal, pᵢ⟩ for all i.
    """

    inside: bool
    weights: Array
    nearest: Array
    distance: float
    normal: Array | None
    offset: float | None
    certificates: Certificates


class Separation(NamedTuple):
    """Result of `separating_hyperplane`.

    Separated, ⟨normal, x⟩ ≥ offset + margin/2 on the first set and ≤ offset − margin/2 on the second, and
    `margin` is the distance between the sets. Otherwise `first_point` and `second_point` agree: a common
    point, with its convex weights in both sets when these are given by points.
    """

    separated: bool
    normal: Array | None
    offset: float | None
    margin: float
    first_point: Array
    second_point: Array
    first_weights: Array | None
    second_weights: Array | None
    certificates: Certificates


class LinearMinimum(NamedTuple):
    """Result of `linear_minimum`: where ⟨a, x⟩ is least on the points, and so on their hull."""

    point: Array
    value: float
    row: int
    certificates: Certificates


def hull_membership(point: Any, points: Any) -> HullMembership:
    """Whether a point is in the convex hull of others, with the proof of either answer.

    The nearest point of the hull is found by Wolfe's algorithm, which ends after finitely many steps on a
    set of affinely independent points (hence at most d + 1, as Carathéodory promises).

    Parameters
    ----------
    point : array-like of shape (d,)
    points : array-like of shape (m, d)

    Examples
    --------
    >>> from assay.optimize import hull_membership
    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> within = hull_membership([0.5, 0.25], square)
    >>> within.inside, within.certificates.holds
    (True, True)
    >>> outside = hull_membership([3.0, 0.5], square)
    >>> outside.inside, outside.distance, outside.normal.round(12) + 0.0
    (False, 2.0, array([1., 0.]))

    References
    ----------
    Rudi & Şimşekli §2.2.2; Wolfe (1976).
    """
    cloud = _cloud("hull_membership", points=points)
    require("hull_membership", vector(cloud.shape[1]), point=point)
    x = np.asarray(point, dtype=float)
    shifted = cloud - x
    size = float(np.abs(shifted).max()) or 1.0
    pairs, shares = least_norm(lambda a: (int(np.argmin(shifted @ a)), 0), lambda i, j: shifted[i], size)
    weights = _gathered(shares, [i for i, _ in pairs], len(cloud))
    gap = weights @ shifted
    distance = float(np.linalg.norm(gap))
    size = float(np.abs(cloud).max(initial=0.0)) + float(np.abs(x).max()) or 1.0
    if distance <= TOUCHING * size:
        proofs = Certificates(_combination(weights, cloud, x, size))
        return HullMembership(True, weights, x + gap, 0.0, None, None, proofs)
    normal = -gap / distance
    reach = float(np.max(cloud @ normal))
    beyond = float(x @ normal) - reach
    claim = "The point is strictly beyond a hyperplane that has the whole hull behind it."
    quantity = "distance of the point beyond the hyperplane, over the distance to the hull"
    proof = at_least(claim, quantity, beyond / distance, 1 - 1e-6, SOURCE)
    return HullMembership(False, weights, x + gap, distance, normal, reach, Certificates([proof]))


def hull_vertices(points: Any) -> Array:
    """Indices of the points that are vertices of the convex hull of all: outside the hull of the others.

    Of points that coincide the first is taken.

    Parameters
    ----------
    points : array-like of shape (m, d)

    Examples
    --------
    >>> from assay.optimize import hull_vertices
    >>> hull_vertices([[0.0, 0.0], [1.0, 0.0], [0.25, 0.25], [0.0, 1.0], [0.5, 0.5]])
    array([0, 1, 3])

    References
    ----------
    Rudi & Şimşekli §2.2.2.
    """
    cloud = _cloud("hull_vertices", points=points)
    kept = np.sort(np.unique(cloud, axis=0, return_index=True)[1])
    for index in kept.copy():  # what is left out is in the hull of the rest, so that it need not come back
        others = kept[kept != index]
        if len(others) and hull_membership(cloud[index], cloud[others]).inside:
            kept = others
    return np.asarray(kept)


def separating_hyperplane(first: Any, second: Any, *, max_iter: int = 10_000) -> Separation:
    """A hyperplane between two convex sets that keeps as far as possible from both, or a common point.

    Two sets given by points are taken as convex hulls and their nearest points are found by Wolfe's algorithm
    on the differences. Two `ConvexSet` objects are compared by alternating projections; their support
    functions then prove the answer.

    Parameters
    ----------
    first, second : array-like of shape (m, d), or ConvexSet
        Both of one kind.
    max_iter : int, default=10000
        Most alternating projections.

    Examples
    --------
    >>> from assay.optimize import separating_hyperplane
    >>> plane = separating_hyperplane([[2.0, 0.0], [3.0, 1.0]], [[0.0, 0.0], [-1.0, 5.0]])
    >>> plane.separated, plane.normal, plane.offset, plane.margin
    (True, array([1., 0.]), 1.0, 2.0)

    References
    ----------
    Rudi & Şimşekli §2.2.2, proposition 2.3; Wolfe (1976).
    """
    if isinstance(first, ConvexSet) != isinstance(second, ConvexSet):
        raise refusal("separating_hyperplane", "second", "a set of the same kind as the first", second)
    if isinstance(first, ConvexSet):
        return _between_sets(first, second, max_iter)
    a, b = _cloud("separating_hyperplane", first=first), _cloud("separating_hyperplane", second=second)
    if a.shape[1] != b.shape[1]:
        raise refusal("separating_hyperplane", "second", f"points of {a.shape[1]} coordinates", b.shape)
    # A hyperplane does not change when all points are moved: near the origin less is lost to rounding.
    origin = (a.mean(axis=0) + b.mean(axis=0)) / 2
    near_a, near_b = a - origin, b - origin
    size = float(max(np.abs(near_a).max(), np.abs(near_b).max())) or 1.0

    def oracle(u: Array) -> tuple[int, int]:
        return int(np.argmin(near_a @ u)), int(np.argmax(near_b @ u))

    pairs, shares = least_norm(oracle, lambda i, j: near_a[i] - near_b[j], size)
    left, right = zip(*pairs, strict=True)
    weights = _gathered(shares, left, len(a)), _gathered(shares, right, len(b))
    gap = weights[0] @ near_a - weights[1] @ near_b
    points = weights[0] @ a, weights[1] @ b
    distance = float(np.linalg.norm(gap))
    if distance <= TOUCHING * size:
        middle = (points[0] + points[1]) / 2
        room = float(max(np.abs(a).max(), np.abs(b).max())) or 1.0
        proofs = [*_combination(weights[0], a, middle, room), *_combination(weights[1], b, middle, room)]
        return Separation(False, None, None, 0.0, *points, *weights, Certificates(proofs))
    normal = gap / distance
    low, high = float(np.min(near_a @ normal)), float(np.max(near_b @ normal))
    offset = (low + high) / 2 + float(origin @ normal)
    proof = _strict((low - high) / distance)
    return Separation(True, normal, offset, distance, *points, *weights, Certificates([proof]))


def linear_minimum(points: Any, direction: Any) -> LinearMinimum:
    """Minimise ⟨a, x⟩ over finitely many points, which is to minimise it over their convex hull.

    Examples
    --------
    >>> from assay.optimize import linear_minimum
    >>> linear_minimum([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]], [-1.0, 0.5]).point
    array([2., 1.])

    References
    ----------
    Rudi & Şimşekli §3.1.
    """
    cloud = _cloud("linear_minimum", points=points)
    require("linear_minimum", vector(cloud.shape[1]), direction=direction)
    heights = cloud @ np.asarray(direction, dtype=float)
    index = int(np.argmin(heights))
    # ⟨a, Σ wᵢ pᵢ⟩ = Σ wᵢ ⟨a, pᵢ⟩ is a mean of the heights: none is below the least of them.
    point, room = cloud[index].copy(), 1e-12 * float(np.abs(heights).max())
    above = float(point @ np.asarray(direction, dtype=float)) - float(np.min(heights))
    claim, quantity = "No point is lower, hence no convex combination.", "height above the lowest point"
    proof = at_most(claim, quantity, above, 0.0, "Rudi & Şimşekli 3.1", tolerance=room)
    return LinearMinimum(point, float(heights[index]), index, Certificates([proof]))


def _between_sets(first: ConvexSet, second: ConvexSet, max_iter: int) -> Separation:
    # Any start will do; the shape of a point is that of a projection of the number zero.
    names = ("normal", "points", "matrix", "lower", "center")
    known = [getattr(one, name, None) for one in (first, second) for name in names]
    sizes = [np.shape(value)[-1] for value in known if value is not None and np.ndim(value) > 0]
    if not sizes:
        words = "one whose dimension can be read from its normal, points, matrix, bounds or centre"
        raise refusal("separating_hyperplane", "first", words, first)
    x = np.atleast_1d(np.asarray(first.project(np.zeros(sizes[0])), dtype=float))
    y = np.asarray(second.project(x), dtype=float)
    for _ in range(max_iter):
        moved = np.asarray(first.project(y), dtype=float)
        y = np.asarray(second.project(moved), dtype=float)
        settled = np.linalg.norm(moved - x) <= 1e-14 * max(1.0, float(np.linalg.norm(moved)))
        x = moved
        if settled:
            break
    gap = x - y
    distance = float(np.linalg.norm(gap))
    size = max(1.0, float(np.abs(x).max()), float(np.abs(y).max()))
    if distance <= 1e-7 * size:
        away = max(first.distance(y), second.distance(x)) / size
        claim = "The point is in both sets."
        proof = at_most(claim, "relative distance from the sets", away, 1e-7, source=SOURCE)
        return Separation(False, None, None, 0.0, x, y, None, None, Certificates([proof]))
    normal = gap / distance
    low, high = -first.support(-normal), second.support(normal)
    proof = _strict((low - high) / distance)
    return Separation(True, normal, (low + high) / 2, distance, x, y, None, None, Certificates([proof]))


def _strict(share: float) -> Certificate:
    claim = "The sets lie strictly on the two sides of the hyperplane, as far from it as sets can."
    quantity = "width of the gap between the sets, over their distance"
    return at_least(claim, quantity, share, 1 - 1e-6, "Rudi & Şimşekli 2.2.2, proposition 2.3")


def _combination(weights: Array, cloud: Array, target: Array, size: float) -> list[Certificate]:
    mean, convex = "The point is the combination of the points with these weights.", "The weights are convex."
    away = float(np.linalg.norm(weights @ cloud - target)) / size
    off = max(-float(np.min(weights)), abs(float(np.sum(weights)) - 1))
    return [
        at_most(mean, "relative distance from the combination", away, 2 * TOUCHING, SOURCE),
        at_most(convex, "largest of −min w and |Σw − 1|", off, 1e-12, SOURCE),
    ]
