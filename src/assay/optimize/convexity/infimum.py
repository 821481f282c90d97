"""What the infimum of a convex function is: attained, finite but approached only at infinity, or −∞."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_least, at_most
from assay.losses import Logistic
from assay.optimize.descent.gradient import gradient_descent
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth, signs, sum_of_losses
from assay.parameters import integer, real, require
from assay.solvers.least_squares.direct import Array
from assay.solvers.separation import separability

Status = Literal["attained", "finite, not attained", "minus infinity"]
SOURCE = "Rudi & Şimşekli 2.2.4"
FARTHEST, CHOSEN = 60, 40
"""Doublings along a direction: 2⁶⁰ is far beyond the scale of any data; the first of them choose the case."""


class InfimumStatus(NamedTuple):
    """Result of `infimum_status`.

    `value` is the minimum, the limit, or −∞; `point` a minimiser where there is one; `direction` one along
    which the function falls for ever, where there is none.
    """

    status: Status
    value: float
    point: Array | None
    direction: Array | None
    certificates: Certificates


def infimum_status(objective: Smooth, start: Any, *, tol: float = 1e-8, max_iter: int = 500) -> InfimumStatus:
    """Tell which of the three cases a convex differentiable function is in, with evidence.

    A descent finds a stationary point, or runs away. Along the way it ran, the function is followed through
    forty doublings of the distance t: the fall between t and 2t dies out when the infimum is finite, and
    stays or grows when it is −∞. The certificate asks the same of twenty doublings beyond, which had no part
    in the choice. A stationary point is a proof for a convex function; the rest is evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.optimize import Smooth, infimum_status
    >>> falling = Smooth(lambda x: float(np.exp(-x[0])), lambda x: -np.exp(-x), lambda x: np.diag(np.exp(-x)))
    >>> infimum_status(falling, [0.0]).status
    'finite, not attained'

    References
    ----------
    Rudi & Şimşekli §2.2.4.
    """
    require("infimum_status", real(above=0), tol=tol)
    require("infimum_status", integer(at_least=1), max_iter=max_iter)
    with np.errstate(all="ignore"):
        if objective.hessian is not None:
            point = newton(objective, start, tol=1e-3 * tol**2, max_iter=max_iter).point
        else:
            rule = "1/L" if objective.smoothness else "backtracking"
            point = gradient_descent(objective, start, step=rule, tol=0.1 * tol, max_iter=max_iter).point
        begin = np.asarray(start, dtype=float)
        # The way the descent ran; that of the steepest descent when it hardly moved.
        way = point - begin
        if np.linalg.norm(way) <= 1e-12 * max(1.0, float(np.linalg.norm(point))):
            way = -np.asarray(objective.gradient(point), dtype=float)
        direction = way / max(float(np.linalg.norm(way)), 1e-300)
        # A direction of descent at infinity is one from every point: the start has the digits to see it.
        base = begin if _runs(begin, point) else point
        falls = _falls(objective, base, direction)
    slope = float(np.linalg.norm(objective.gradient(point)))
    first = max(float(np.linalg.norm(objective.gradient(begin))), 1e-300)
    far = max(1.0, abs(float(objective.value(point))))
    room = tol * max(1.0, first)
    settled = falls is not None and falls.max() <= 1e-9 * far and not _runs(begin, point)
    if falls is None or (slope <= room and settled):
        # A function that rises in the only way out is taken to be attained; the gradient decides.
        claim = "The gradient is zero at the point, so the infimum is attained there."
        proof = at_most(claim, "gradient norm", slope, room, SOURCE, assumptions=("f is convex",))
        return InfimumStatus("attained", float(objective.value(point)), point, None, Certificates([proof]))
    # Chosen by the falls up to 2^CHOSEN, certified by those beyond, which may say otherwise.
    dying = bool(falls[CHOSEN - 1] <= 1e-9 * far or _kept(falls, CHOSEN) <= 0.75**10)
    claim = "The function falls along the direction without end."
    if dying:
        claim = "The fall along the direction dies out, yet never stops."
    what = f"fall over the last of {FARTHEST} doublings, over the one ten doublings before"
    compare = at_most if dying else at_least
    proof = compare(claim, what, _kept(falls, FARTHEST), 0.75**10, SOURCE, assumptions=("f is convex",))
    limit = float(objective.value(base + 2.0**FARTHEST * direction)) if dying else -np.inf
    status: Status = "finite, not attained" if dying else "minus infinity"
    return InfimumStatus(status, limit, None, direction, Certificates([proof]))


def logistic_infimum(
    X: Any, y: Any, *, fit_intercept: bool = True, sample_weight: Any = None
) -> InfimumStatus:
    """The infimum of the mean logistic loss: attained exactly when no hyperplane separates the labels.

    Zero and not attained when one separates them strictly. In between, the rows strictly on their side cost
    nothing in the limit, and the infimum is the minimum over the rows that stay on the plane.

    Examples
    --------
    >>> from assay.optimize import logistic_infimum
    >>> infimum = logistic_infimum([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> infimum.status, infimum.value
    ('finite, not attained', 0.0)

    References
    ----------
    Rudi & Şimşekli §2.2.4; Sangnier §1.2.2, remark 1.2.6.
    """
    verdict = separability(X, y, fit_intercept=fit_intercept, sample_weight=sample_weight)
    rows, sign = np.asarray(X, dtype=float), signs("logistic_infimum", np.asarray(y))
    weight = np.ones(len(sign)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    direction = verdict.direction
    if direction is not None and (fit_intercept or verdict.status == "separable"):
        direction = np.append(direction, verdict.intercept)
    if verdict.status == "separable":
        return InfimumStatus("finite, not attained", 0.0, None, direction, verdict.certificates)
    assert verdict.weights is not None
    left = verdict.weights > 0
    design = np.column_stack([rows, np.ones(len(rows))]) if fit_intercept else rows
    objective = sum_of_losses(Logistic(), design[left], sign[left], weight[left])
    fit = newton(objective, np.zeros(design.shape[1]), tol=1e-16)
    value = fit.value / float(weight.sum())
    if verdict.status == "overlapping":
        return InfimumStatus("attained", value, fit.point, None, verdict.certificates)
    return InfimumStatus("finite, not attained", value, None, direction, verdict.certificates)


def _falls(objective: Smooth, point: Array, direction: Array) -> Array | None:
    """f(x + td) − f(x + 2td) for t = 1, 2, 4, …, or None where f rises somewhere."""
    heights = np.array([float(objective.value(point + 2.0**k * direction)) for k in range(FARTHEST + 1)])
    with np.errstate(invalid="ignore"):
        falls = -np.diff(heights)
    size = max(1.0, abs(float(objective.value(point))))
    finite = bool(np.isfinite(falls).all())
    return np.maximum(falls, 0.0) if finite and direction.any() and falls.min() >= -1e-9 * size else None


def _kept(falls: Array, n: int) -> float:
    """The n-th fall over the one ten before it."""
    return float(falls[n - 1] / max(falls[n - 11], 1e-300))


def _runs(begin: Array, point: Array) -> bool:
    """Whether the descent went so far that a small gradient means a fading slope."""
    return float(np.linalg.norm(point - begin)) > 15 * (1 + float(np.linalg.norm(begin)))
