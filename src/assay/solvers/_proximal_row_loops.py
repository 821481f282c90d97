"""Coordinate descent on a quadratic model with an l1 penalty."""

from __future__ import annotations

from assay.loops import compiled


@compiled
def quadratic_l1_cycles(hessian, gradient, threshold, point, moved, tol, max_iter):  # type: ignore[no-untyped-def]
    """Minimise g·d + ½ dᵀHd + Σ t|x + d| over d by cycles of coordinates; d is `moved`, 0 at first.

    `gradient` is kept equal to g + H d. Ends when no coordinate of a cycle gains more than `tol`; returns the
    number of cycles.
    """
    size = point.shape[0]
    for cycle in range(max_iter):
        gain = 0.0
        for j in range(size):
            curvature = hessian[j, j]
            if curvature <= 0.0:
                continue
            old = point[j] + moved[j]
            raw = curvature * old - gradient[j]
            new = 0.0
            if raw > threshold[j]:
                new = (raw - threshold[j]) / curvature
            elif raw < -threshold[j]:
                new = (raw + threshold[j]) / curvature
            step = new - old
            if step != 0.0:
                moved[j] += step
                for i in range(size):
                    gradient[i] += step * hessian[j, i]
                gain = max(gain, curvature * step * step)
        if gain <= tol:
            return cycle + 1
    return max_iter
