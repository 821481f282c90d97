"""B-splines of a block of rows: the values that do not vanish, by the triangle of de Boor and Cox."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled

CONSTANT, LINEAR, CONTINUE = 0, 1, 2


@compiled
def spline_block(X, knots, first_knot, first_column, degree, cyclic, mode, features):  # type: ignore[no-untyped-def]
    """Add the B-splines of each column of `X` to `features`, which holds zeros.

    Column j has the knots `knots[first_knot[j]:first_knot[j + 1]]`, with its boundary at positions `degree`
    and −1 − `degree` of them, and the features from `first_column[j]` on; the splines of a cyclic column
    wrap around. Features past `features.shape[1]` or past the column's own are left out.

    Parameters
    ----------
    mode : int
        What a column that is not cyclic does outside its boundary: CONSTANT, LINEAR or CONTINUE.
    """
    values = np.empty(degree + 1)
    left, right = np.empty(degree + 1), np.empty(degree + 1)
    for j in range(X.shape[1]):
        t = knots[first_knot[j] : first_knot[j + 1]]
        width = first_column[j + 1] - first_column[j]
        start = first_column[j]
        last = t.shape[0] - degree - 1  # position of the upper boundary
        low, high = t[degree], t[last]
        n_splines = last - degree if cyclic[j] else last
        for i in range(X.shape[0]):
            x = np.float64(X[i, j])
            outside = 0.0
            if cyclic[j]:
                period = high - low
                x = low + (x - low) - period * np.floor((x - low) / period)
                x = low if x >= high else max(x, low)
            elif x < low or x > high:
                edge = low if x < low else high
                if mode == LINEAR:
                    outside = x - edge
                if mode != CONTINUE:
                    x = edge
            below, above = degree, last
            while above - below > 1:
                middle = (below + above) // 2
                if t[middle] <= x:
                    below = middle
                else:
                    above = middle
            values[0] = 1.0
            for k in range(1, degree + 1):
                left[k], right[k] = x - t[below + 1 - k], t[below + k] - x
                saved = 0.0
                for r in range(k):
                    gap = right[r + 1] + left[k - r]
                    share = values[r] / gap if gap > 0 else 0.0
                    values[r] = saved + right[r + 1] * share
                    saved = left[k - r] * share
                values[k] = saved
            for r in range(degree + 1):
                column = below - degree + r
                if cyclic[j]:
                    column %= n_splines
                if column < width:
                    features[i, start + column] += values[r]
            if outside != 0.0 and degree > 0:
                # At a boundary of full multiplicity only the two outermost splines have a slope.
                outer = 0 if outside < 0 else n_splines - 1
                inner = 1 if outside < 0 else n_splines - 2
                reach = t[degree + 1] - low if outside < 0 else high - t[last - 1]
                slope = degree * outside / reach if reach > 0 else 0.0
                if outside < 0:
                    slope = -slope
                if outer < width:
                    features[i, start + outer] += slope
                if inner < width:
                    features[i, start + inner] -= slope
