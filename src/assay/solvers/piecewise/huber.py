"""Huber regression with its scale: Newton steps over rows, and the duality gap.

With z = r/σ, r = y − Aθ, minimises Σ s (σ + σ H(z)) + α‖w‖² over θ = (w, b) and, unless it is given, σ > 0,
where H(z) = z² for |z| ≤ ε and 2ε|z| − ε² beyond: convex in both. Rows with |z| > ε do not enter the Hessian.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.loops import compiled
from assay.rows import Block, Rows
from assay.solvers.in_memory import pilot
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.tilted import Frame, design, gram, pulled, scores
from assay.solvers.smooth.newton import row_newton

# The evidence of Huber's loss on dense rows, each of which is read once.


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


SMALLEST_SCALE = 1e-10
"""Scale at which a fit counts as perfect, relative to the spread of the target."""


ROUGH = 1e-4
"""Relative decrement that is enough for a start."""


class HuberFit(NamedTuple):
    """Result of `huber_newton`."""

    point: Array
    scale: float
    n_iter: int
    converged: bool
    values: list[float]


def huber_newton(
    data: Rows,
    frame: Frame,
    penalty: Array,
    *,
    epsilon: float,
    scale: float | None,
    tol: float,
    max_iter: int,
    report: Callable[[Array, float], bool] = lambda point, scale: False,
) -> HuberFit:
    """Minimise over θ and, when `scale` is None, over σ.

    Parameters
    ----------
    data, frame : Rows, Frame
        The rows and the coordinates of θ.
    penalty : array of shape (k,)
        α of each coordinate, 0 for the intercept.
    epsilon : float
        ε, from which the loss is linear.
    scale : float or None
        A given σ.
    tol, max_iter
        See `row_newton`.
    report : callable
        Told θ and σ after each step; true asks to stop.
    """
    k = len(penalty)
    weight, total, squares = data.reduce(target_sums)
    center = total / weight if frame.intercept else 0.0
    spread = float(np.sqrt(max(data.reduce(target_squares, center), 0.0) / weight))
    start = np.zeros(k)
    if frame.intercept:
        start[-1] = center
    if scale is None and spread <= 8 * np.finfo(float).eps * np.sqrt(squares / weight):
        return HuberFit(start, float(np.finfo(float).tiny ** 0.5), 1, True, [0.0])
    free = scale is None
    smallest = SMALLEST_SCALE * spread

    def split(point: Array) -> tuple[Array, float]:
        return point[:k], float(point[k]) if scale is None else float(scale)

    def evaluate(point: Array) -> tuple[float, Array, Array]:
        theta, sigma = split(point)
        if sigma <= 0:
            return np.inf, np.zeros(k + free), np.eye(k + free)
        value, gradient, hessian = data.reduce(curve_step, frame, epsilon, theta, sigma)
        value, gradient = value + float(penalty @ theta**2), gradient.copy()
        gradient[:k] += 2 * penalty * theta
        hessian[np.arange(k), np.arange(k)] += 2 * penalty
        return value, gradient[: k + free], hessian[: k + free, : k + free]

    def along(point: Array, direction: Array, steps: Array) -> Array:
        places = [split(point + step * direction) for step in steps]
        thetas = np.array([theta for theta, _ in places])
        sigmas = np.array([sigma if sigma > 0 else 1.0 for _, sigma in places])
        values = data.reduce(line_step, frame, epsilon, thetas, sigmas) + thetas**2 @ penalty
        return np.where([sigma > 0 for _, sigma in places], values, np.inf)

    def told(point: Array) -> bool:
        theta, sigma = split(point)
        return report(theta, sigma) or (free and sigma <= smallest)

    first = np.append(start, spread) if free else start
    some = pilot(data, k)
    if some is not None:
        share = some.shape[0] / data.shape[0]
        rough = huber_newton(
            some, frame, share * penalty, epsilon=epsilon, scale=scale, tol=ROUGH, max_iter=20
        )
        if rough.scale > smallest:
            first = np.append(rough.point, rough.scale) if free else rough.point
    found = row_newton(evaluate, along, first, tol=tol, max_iter=max_iter, report=told)
    theta, sigma = split(found.point)
    if free and not found.converged and sigma > smallest and found.n_iter < max_iter:
        # Towards σ = 0 the function is nearly homogeneous, Newton's matrix singular: one after the other.
        inner = huber_newton(
            data, frame, penalty, epsilon=epsilon, scale=sigma, tol=tol, max_iter=max_iter, report=report
        )
        better = data.reduce(scale_step, frame, epsilon, inner.point, sigma)
        sigma = float(np.sqrt(better[0] / better[1])) if better[1] > 0 else sigma
        if sigma > smallest:
            start = np.append(inner.point, sigma)
            found = row_newton(evaluate, along, start, tol=tol, max_iter=max_iter, report=told)
            theta, sigma = split(found.point)
        else:
            theta, sigma = inner.point, smallest
    perfect = free and sigma <= smallest
    return HuberFit(theta, sigma, found.n_iter, found.converged or perfect, found.values)


def row_weights(block: Block) -> Array:
    """Weights of the rows of one block."""
    return block.weights


def row_targets(block: Block) -> Array:
    """Targets of the rows of one block."""
    assert block.y is not None
    return block.y.reshape(block.X.shape[0]).astype(np.float64)


def target_sums(block: Block) -> tuple[float, float, float]:
    """Σ s, Σ s y and Σ s y² of one block."""
    weight, y = row_weights(block), row_targets(block)
    return float(weight.sum()), float(weight @ y), float(weight @ y**2)


def target_squares(block: Block, center: float) -> float:
    """Σ s (y − center)² of one block."""
    return float(row_weights(block) @ (row_targets(block) - center) ** 2)


def curve_step(
    block: Block, frame: Frame, epsilon: float, theta: Array, sigma: float
) -> tuple[float, Array, Array]:
    """Value, gradient and Hessian of one block in (θ, σ)."""
    weight = row_weights(block)
    z = (row_targets(block) - scores(block, frame, theta)) / sigma
    clipped = np.clip(z, -epsilon, epsilon)
    value = sigma * float(weight @ (1 + clipped * (2 * z - clipped)))
    gradient = np.append(-2 * pulled(block, frame, weight * clipped), weight @ (1 - clipped**2))
    inner = np.flatnonzero((np.abs(z) <= epsilon) & (weight > 0))
    root = np.sqrt(2 * weight[inner] / sigma)
    rows, slope = design(block, frame, root, inner), z[inner] * root
    k = rows.shape[1]
    hessian = np.empty((k + 1, k + 1))
    hessian[:k, :k] = gram(rows, frame)
    hessian[:k, k] = hessian[k, :k] = slope @ rows
    hessian[: len(frame.scale), k] /= frame.scale
    hessian[k, : len(frame.scale)] /= frame.scale
    hessian[k, k] = slope @ slope
    return value, gradient, hessian


def scale_step(block: Block, frame: Frame, epsilon: float, theta: Array, sigma: float) -> tuple[float, float]:
    """Σ s r² of the inner rows and Σ s less ε² times the outer: their ratio is the best σ² for this split."""
    weight = row_weights(block)
    residual = row_targets(block) - scores(block, frame, theta)
    inner = np.abs(residual) <= epsilon * sigma
    return float(weight[inner] @ residual[inner] ** 2), float(
        weight.sum() - epsilon**2 * weight[~inner].sum()
    )


def line_step(block: Block, frame: Frame, epsilon: float, thetas: Array, sigmas: Array) -> Array:
    """Values of one block at several points."""
    weight, y = row_weights(block), row_targets(block)
    z = (y[:, None] - np.column_stack([scores(block, frame, theta) for theta in thetas])) / sigmas
    clipped = np.clip(z, -epsilon, epsilon)
    return sigmas * (weight @ (1 + clipped * (2 * z - clipped)))


class HuberEvidence(NamedTuple):
    """Sums over the rows at ν = s H'(z), parts above and below zero apart; `squares` are Σ ν²/(4s)."""

    weight: float
    loss: float
    loss_at_zero: float
    gains: Array
    squares: Array
    mass: Array
    pulls: Array


def evidence_step(block: Block, epsilon: float, coef: Array, intercept: float, sigma: float) -> HuberEvidence:
    """Evidence of one block for the certificates."""
    weight, y = row_weights(block), row_targets(block)
    X, slope = block.X, coef
    if block.is_sparse:
        # One column that holds the scores: the rows are multiplied here, all else is the same loop.
        X, slope = np.asarray(block.X @ coef, dtype=np.float64)[:, np.newaxis], np.ones(1)
    losses, sided, pulls = np.zeros(2), np.zeros((3, 2)), np.zeros((2, X.shape[1]))
    huber_rows(X, y, weight, slope, float(intercept), float(sigma), float(epsilon), losses, sided, pulls)
    if block.is_sparse:
        nu = 2 * weight * np.clip((y - X[:, 0] - intercept) / sigma, -epsilon, epsilon)
        parts = np.stack([np.maximum(nu, 0), np.minimum(nu, 0)])
        pulls = np.asarray(block.X.T @ parts.T, dtype=np.float64).T
    return HuberEvidence(
        float(weight.sum()),
        sigma * float(losses[0]),
        sigma * float(losses[1]),
        sided[0],
        sided[1],
        sided[2],
        pulls,
    )


def huber_gap(
    evidence: HuberEvidence, coef: Array, sigma: float, *, alpha: float, fit_intercept: bool, fixed: bool
) -> tuple[float, float]:
    """Objective and duality gap at a feasible dual point.

    Dual: Σ ν y − ‖Xᵀν‖²/(4α) over |ν| ≤ 2εs, Σν = 0 with an intercept, and Σ ν²/(4s) ≤ Σ s for a fitted σ, or
    less σ Σ ν²/(4s) and plus σ Σ s for a given one. The heavier side of ν is scaled down to balance them,
    then both for the last constraint. Without penalty the gap is that of a dual point with Xᵀν = 0.
    """
    share = np.ones(2)
    up, down = evidence.mass
    if fit_intercept and min(up, down) > 0:
        share = np.array([min(1.0, down / up), min(1.0, up / down)])
    size = float(share**2 @ evidence.squares)
    if not fixed and size > evidence.weight:
        share = share * np.sqrt(evidence.weight / size)
    gap = evidence.loss - float(share @ evidence.gains)
    if fixed:
        gap += sigma * float(share**2 @ evidence.squares) - sigma * evidence.weight
    pull = share @ evidence.pulls
    objective = evidence.loss + alpha * float(coef @ coef)
    if alpha > 0:
        gap += float(np.sum((2 * alpha * coef - pull) ** 2)) / (4 * alpha)
    else:
        gap += abs(float(coef @ pull))
    return objective, max(gap, 0.0)
