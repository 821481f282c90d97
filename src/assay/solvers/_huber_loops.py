"""The evidence of Huber's loss on dense rows, each of which is read once."""

from __future__ import annotations

from assay.loops import compiled


@compiled
def huber_rows(X, y, weight, coef, intercept, sigma, epsilon, losses, sided, pulls):  # type: ignore[no-untyped-def]
    """Add rows to `losses` (fitted, at zero), to (gains, squares, mass) of each side and to `pulls`."""
    n, d = X.shape
    for i in range(n):
        score = 0.0
        for j in range(d):
            score += X[i, j] * coef[j]
        s, residual = weight[i], y[i] - score - intercept
        z, still = residual / sigma, y[i] / sigma
        clipped = min(max(z, -epsilon), epsilon)
        losses[0] += s * (1.0 + clipped * (2.0 * z - clipped))
        at_zero = min(max(still, -epsilon), epsilon)
        losses[1] += s * (1.0 + at_zero * (2.0 * still - at_zero))
        nu = 2.0 * s * clipped
        if nu == 0.0:
            continue
        side = 0 if nu > 0.0 else 1
        sided[0, side] += nu * residual
        sided[1, side] += s * clipped * clipped
        sided[2, side] += abs(nu)
        for j in range(d):
            pulls[side, j] += nu * X[i, j]
