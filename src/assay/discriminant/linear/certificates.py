"""Certificates of linear discriminant analysis, from fresh moments, the rows and the fitted attributes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_most
from assay.discriminant.gaussian.axes import rayleigh_quotients
from assay.discriminant.gaussian.covariance import Factored
from assay.discriminant.gaussian.moments import ClassMoments, class_moments
from assay.discriminant.linear.solver import LinearSolution, finite_log
from assay.losses import chosen
from assay.rows import Block, MappedRows, Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.2; Douc & Le Corff §3.2.1; Wei §7.3"
LARGEST_CONDITION = 1e11
N_DIRECTIONS = 64


def rounding(dtype: Any) -> float:
    """Relative differences that the precision of the attributes may leave."""
    return 1e-3 if np.dtype(dtype) == np.float32 else 1e-7


def likelihood_gradient(
    moments: ClassMoments, means: Array, factor: Factored, priors: Array | None, dtype: Any
) -> Certificate:
    """The gradient of the log-likelihood per row, in units of the model: zero at the maximum.

    In μ_k: (n_k/n) Wᵀ(x̄_k − μ_k). In Σ: ½ (WᵀSW/n − I), S the scatter about the fitted means. In π:
    n_k/n − π_k.
    """
    n, shares = moments.total_weight, moments.weight / moments.total_weight
    off = (moments.means - means) @ factor.whitening
    level = np.abs(shares[:, None] * off).max(initial=0.0)
    spread = factor.whitening.T @ moments.within @ factor.whitening / n
    spread += (shares[:, None] * off).T @ off
    spread[np.diag_indices(len(spread))] -= 1
    value = max(level, 0.5 * np.abs(spread).max(initial=0.0))
    if priors is not None:
        value = max(value, float(np.abs(shares - priors).max()))
    claim = "The gradient of the log-likelihood in priors, means and covariance vanishes."
    return at_most(claim, "gradient per row", value, 10 * rounding(dtype), SOURCE)


def stored(model: Any, solution: LinearSolution, dtype: Any) -> Certificate:
    """Means, covariance, centre and axes against fresh ones, entry by entry in units of the columns."""
    scale = np.sqrt(np.maximum(np.diagonal(solution.factor.covariance), 0.0))
    scale = np.where(scale > 0, scale, np.abs(solution.means).max(axis=0, initial=0.0))
    scale = np.where(scale > 0, scale, 1.0)
    size = np.maximum(1.0, np.abs(solution.means / scale).max())
    pairs = {
        "means_": in_units(model.means_, solution.means, scale * size),
        "xbar_": in_units(model.xbar_, solution.center, scale * size),
        "covariance_": in_units(model.covariance_, solution.factor.covariance, scale, scale[:, None]),
        "explained_variance_ratio_": (model.explained_variance_ratio_, ratios(model, solution)),
    }
    claim = "Means, covariance and variance ratios are those of the rows."
    return agreement(claim, pairs, SOURCE, rtol=10 * rounding(dtype))


def in_units(value: Any, fresh: Array, *units: Array) -> tuple[Any, Any]:
    """Stored and fresh numbers for `agreement`, their entries compared in units of the columns."""
    if value is fresh:  # while fitting
        return fresh, fresh
    off = np.asarray(value - fresh)
    for unit in units:
        off = off / unit
    return 1 + off, np.ones_like(fresh)


def ratios(model: Any, solution: LinearSolution) -> Array:
    """Share of each axis in the variance between the classes."""
    values = solution.axes.eigenvalues
    shares = values / values.sum() if values.sum() > 0 else np.zeros_like(values)
    return np.asarray(shares[: model._max_components])


def equations(model: Any, factor: Factored, priors: Array, dtype: Any) -> list[Certificate]:
    """‖Σw − δ‖ for the stored coefficients, the levels of the scores, and the condition of Σ.

    In whitened coordinates: the part of w along the directions kept is Wᵀδ, and w has no other part.
    """
    means = np.asarray(model.means_, dtype=np.float64)
    coef = np.asarray(model.coef_, dtype=np.float64)
    level = np.asarray(model.intercept_, dtype=np.float64)
    steps, height = means - priors @ means, finite_log(priors)
    if len(coef) == 1 and len(means) == 2:
        middle = 0.5 * (means[0] + means[1])
        steps, height = (means[1] - means[0])[None], height[1:] - height[:1]
    else:
        middle = 0.5 * (means + priors @ means)
    wanted = steps @ factor.whitening
    given = coef @ factor.unwhitening
    size = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    outside = (coef - given @ factor.whitening.T) * np.sqrt(np.diagonal(factor.covariance))
    residual = max(np.abs(given - wanted).max(initial=0.0), np.abs(outside).max(initial=0.0)) / size
    # b_k = log π_k − ⟨w_k, (μ_k + c)/2⟩, and for two classes log(π₁/π₀) − ⟨w, (μ₀ + μ₁)/2⟩.
    product = np.einsum("ij,ij->i", coef, np.broadcast_to(middle, coef.shape))
    summands = np.abs(coef) @ np.abs(means).max(axis=0) + np.abs(height)
    off = np.abs(level + product - height) / np.maximum(1.0, summands)
    off = np.where(np.abs(height) > 1e29, 0.0, off)  # a class that never occurs has no level
    tolerance = rounding(dtype)
    claims = "Σw = μ_k − μ for the coefficients of every class."
    return [
        at_most(claims, "‖Σw − δ‖, whitened and relative", residual, tolerance, SOURCE),
        at_most(
            "The intercepts are log π_k − ½⟨w_k, μ_k + μ⟩.",
            "largest error of an intercept",
            off.max(),
            tolerance,
            SOURCE,
        ),
        at_most(
            "The covariance is well conditioned: the coefficients are certain to four digits.",
            "condition number",
            factor.condition,
            LARGEST_CONDITION,
            SOURCE,
        ),
    ]


def eigen_certificates(
    directions: Array, means: Array, priors: Array, factor: Factored, n_classes: int, dtype: Any
) -> list[Certificate]:
    """Mw = λΣw and wᵀΣw = 1 for every axis, at most K − 1 of them, no direction with a larger quotient."""
    source, tolerance = "Sangnier §1.1.3, §1.1.5", rounding(dtype)
    directions = np.asarray(directions, dtype=np.float64)
    # Whitened: B z = λ z with ‖z‖ = 1, B the variance of the whitened means.
    inside = factor.unwhitening.T @ directions
    centred = (means - priors @ means) @ factor.whitening
    image = centred.T @ (priors[:, None] * (centred @ inside))
    values = np.einsum("ij,ij->j", inside, image)
    largest = max(float(priors @ np.einsum("ij,ij->i", centred, centred)), 1e-300)
    residual = np.abs(image - values * inside).max(initial=0.0) / largest
    gram = inside.T @ inside
    gram[np.diag_indices(len(gram))] -= 1
    best = float((priors @ (centred @ trial_directions(factor.rank)) ** 2).max(initial=0.0))
    first = float(values[:1].sum())
    return [
        at_most(
            "Every axis solves Mw = λΣw with wᵀΣw = 1.",
            "generalised eigenvalue residual",
            max(residual, np.abs(gram).max(initial=0.0)),
            10 * tolerance,
            source,
        ),
        at_most(
            "There are at most K − 1 axes.", "number of axes", directions.shape[1], n_classes - 1, source
        ),
        at_most(
            f"None of {N_DIRECTIONS} random directions has a larger Rayleigh quotient than the first axis.",
            "largest quotient less that of the first axis, relative",
            (best - first) / largest,
            tolerance,
            source,
        ),
    ]


@lru_cache(maxsize=16)
def trial_directions(n_dims: int) -> Array:
    """Random unit vectors as columns, the same ones every time."""
    trials = np.random.default_rng(0).standard_normal((n_dims, N_DIRECTIONS))
    trials /= np.linalg.norm(trials, axis=0)
    trials.flags.writeable = False
    return trials


def left_out(
    means: Array, priors: Array, onto: Array, back: Array, instead: str = "shrinkage='auto'"
) -> list[Certificate]:
    """Where directions without variance within the classes are left out: the classes do not differ there.

    A row is taken to coordinates of the directions kept by `onto`, of shape (d, r), and from them by `back`.
    """
    n_left = onto.shape[0] - onto.shape[1]
    if n_left == 0:
        return []
    steps = means - priors @ means
    outside = steps - (steps @ onto) @ back.T
    size = np.maximum(np.abs(means).max(axis=0, initial=0.0), np.abs(steps).max(axis=0, initial=0.0))
    share = np.abs(outside) / np.where(size > 0, size, 1.0)
    claim = (
        f"The classes do not differ in the {n_left} directions in which no class varies, which are left out "
        f"({instead} keeps them)."
    )
    return [at_most(claim, "difference of means left out, relative", share.max(initial=0.0), 1e-6, SOURCE)]


def huygens(data: Rows, model: Any) -> Certificate:
    """Total scatter, from rows without their classes, against within + between of the attributes."""
    total = class_moments(MappedRows(data, of_one_class), 1, apart=False)
    weight, means = np.asarray(model.class_count_), np.asarray(model.means_, dtype=np.float64)
    n = float(weight.sum())
    divisor = n - np.count_nonzero(weight) if model.covariance == "unbiased" else n
    centred = means - weight @ means / n
    between = (weight[:, None] * centred).T @ centred
    split = np.asarray(model.covariance_) * divisor + (0.0 if model.covariance == "total" else between)
    lengths = np.sqrt(np.maximum(np.diagonal(total.within), 0.0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    off = np.abs(total.within - split) / lengths / lengths[:, None]
    claim = "Total scatter is that within the classes plus that between them."
    return at_most(claim, "Huygens defect", off.max(), rounding(data.dtype), "Sangnier §1.1.5")


def of_one_class(block: Block) -> Block:
    """A block without its classes."""
    assert block.y is not None
    return block._replace(y=np.zeros_like(block.y))


# Three roads to a label: hyperplanes, Mahalanobis distances, distances after whitening.


def roads(data: Rows, model: Any, factor: Factored, whitener: Array) -> Certificate:
    """Rows whose label by one of three roads differs from the others by more than rounding."""
    means = np.asarray(model.means_, dtype=np.float64)
    precision = np.linalg.pinv(np.asarray(model.covariance_, dtype=np.float64), hermitian=True)
    if factor.rank < len(means[0]):
        precision = factor.whitening @ factor.whitening.T
    state = means, precision, whitener, finite_log(np.asarray(model.priors_, dtype=np.float64))
    apart = data.reduce(roads_block, *state, model.coef_, model.intercept_, rounding(data.dtype))
    claim = "Hyperplane, Mahalanobis distance and whitened distance give every row the same class."
    return at_most(claim, "rows of which the three disagree", apart, 0, "Sangnier §1.1.2, remark 1.1.2")


def roads_block(
    block: Block,
    means: Array,
    precision: Array,
    whitening: Array,
    logs: Array,
    coef: NDArray,
    intercept: NDArray,
    tolerance: float,
) -> int:
    """Rows of one block that the three roads give to different classes, ties up to rounding set aside."""
    X = block.dense.astype(np.float64)
    plane = X @ np.asarray(coef, dtype=np.float64).T + intercept
    plane = np.column_stack([np.zeros(len(X)), plane]) if len(means) == 2 else plane
    steps = X[:, None, :] - means
    metric = logs - 0.5 * np.einsum("ikj,jl,ikl->ik", steps, precision, steps, optimize=True)
    white = logs - 0.5 * np.sum((steps @ whitening) ** 2, axis=2)
    labels = [chosen(scores) for scores in (plane, metric, white)]
    two = np.sort(metric, axis=1)[:, -2:]
    size = (
        1
        + np.abs(metric - logs).max(axis=1)
        + np.abs(X) @ np.abs(np.asarray(coef, dtype=np.float64)).max(axis=0)
    )
    clear = two[:, 1] - two[:, 0] > 10 * tolerance * size
    same = (labels[0] == labels[1]) & (labels[1] == labels[2])
    return int(np.count_nonzero(~same & clear))


def quotient_of(model: Any, directions: Array) -> Array:
    """Rayleigh quotients of some directions under the fitted law."""
    priors = np.asarray(model.priors_, dtype=np.float64)
    return rayleigh_quotients(directions, model.means_, priors, model.covariance_)
