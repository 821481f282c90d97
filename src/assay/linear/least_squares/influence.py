"""How much each row matters to a least-squares fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.linear.least_squares.design import Design, dense
from assay.linear.least_squares.engine import Array
from assay.rows import Block, Rows

# Covariances that hold when every row has its own noise variance, by one walk over the rows.


LEVERAGE_ONE = 1e-10
"""Distance of a leverage from 1 below which the row alone decides its fitted value."""

POWERS = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}
"""r²/(1 − h)^power stands for the noise variance of a row."""


class Sandwich(NamedTuple):
    """Sums over the rows; the middle of the sandwich in the coordinates of the design."""

    weight: float
    middle: Array
    residual_ss: Array
    saturated: float


def robust_covariance(
    data: Rows, design: Design, coef: Array, intercept: Array, kind: str
) -> tuple[Array, Array]:
    """(XᵀX)⁻¹ (Σ s x xᵀ ω r²) (XᵀX)⁻¹ of each target, shape (p, p, t), and Σ s r².

    ω is 1 (HC0), n/(n − p) (HC1), 1/(1 − h) (HC2), 1/(1 − h)² (HC3), with h the leverage of one copy of
    the row.
    """
    power = POWERS[kind]
    found = data.reduce(sandwich_step, design, coef, intercept, power)
    check_weight(found.weight, design)
    if power and found.saturated:
        raise ValueError(
            f"A row has leverage 1, so its residual is 0 whatever its noise and {kind} is not defined; "
            "use covariance='HC1' or drop the row."
        )
    basis = design.basis()
    covariance = basis @ found.middle @ basis.T
    if kind == "HC1":
        covariance *= design.weight / (design.weight - design.n_parameters)
    return np.moveaxis(covariance, 0, -1), found.residual_ss


def sandwich_step(block: Block, design: Design, coef: Array, intercept: Array, power: int) -> Sandwich:
    """Sums over one block: Σ s, Σ s e eᵀ r²/(1 − h)^power, Σ s r², rows of leverage 1."""
    assert block.y is not None
    e = design.coordinates(block)
    weight = block.weights
    squares = block_residuals(block, coef, intercept) ** 2
    residual_ss = weight @ squares
    saturated = 0.0
    if power:
        free = 1 - np.einsum("ij,ij->i", e, e)
        alone = (free < LEVERAGE_ONE) & (weight > 0)
        saturated = float(alone.sum())
        squares = squares / np.maximum(free, LEVERAGE_ONE)[:, None] ** power
    squares *= weight[:, None]
    middle = np.stack([(e * squares[:, [k]]).T @ e for k in range(coef.shape[1])])
    return Sandwich(float(weight.sum()), middle, residual_ss, saturated)


def block_residuals(block: Block, coef: Array, intercept: Array) -> Array:
    """Residuals y − ŷ of one block as (n, t), in float64."""
    assert block.y is not None
    X = dense(block.X)
    return block.y.reshape(len(X), -1).astype(np.float64) - X @ coef - intercept


def check_weight(weight: float, design: Design) -> None:
    """Refuse rows that cannot be those of the fit."""
    if not np.isclose(weight, design.weight, rtol=1e-6, atol=0):
        raise ValueError(
            f"Inference needs the data of the fit with its weights: the rows count {weight:g} here and "
            f"counted {design.weight:g} in the fit."
        )


@dataclass(frozen=True, eq=False)
class Influence:
    """What each row of the fit weighs, and how far the fit would move without it.

    A row of weight 2 stands there twice; its numbers are those of one of the two copies. Where a row alone
    decides its fitted value (leverage 1) all but `leverage` and `resid` are NaN. Arrays have shape
    (n_samples,), or (n_samples, n_targets) after a fit to a matrix of targets; they are lazy Dask arrays for
    Dask input.

    Attributes
    ----------
    leverage : array of shape (n_samples,)
        h_i = x_iᵀ(XᵀX)⁻¹x_i, between 0 and 1.
    resid : array
        r_i = y_i − ŷ_i.
    resid_studentized_internal : array
        r_i/(σ̂ √(1 − h_i)).
    resid_studentized_external : array
        r_i/(σ̂₍ᵢ₎ √(1 − h_i)) with the noise variance of the fit without the row; of Student's law with
        n − p − 1 degrees of freedom under Gaussian noise.
    cooks_distance : array
        r_i² h_i/(p σ̂² (1 − h_i)²): how far all fitted values move without the row.
    dffits : array
        Externally studentized residual times √(h_i/(1 − h_i)): how far its own fitted value moves.
    resid_press : array
        r_i/(1 − h_i), the error of the fit without the row at the row.

    References
    ----------
    Cook (1977), Detection of influential observation in linear regression; Belsley, Kuh & Welsch (1980).
    """

    leverage: Any
    resid: Any
    resid_studentized_internal: Any
    resid_studentized_external: Any
    cooks_distance: Any
    dffits: Any
    resid_press: Any


N_MEASURES = 6


def influence_step(block: Block, coef: Array, intercept: Array, design: Design, noise: Array) -> Array:
    """Leverage and the six measures of each target, as columns: shape (n, 1 + 6t)."""
    e = design.coordinates(block)
    residual = block_residuals(block, coef, intercept)
    leverage = np.einsum("ij,ij->i", e, e)[:, None]
    free = np.where(leverage < 1 - LEVERAGE_ONE, 1 - leverage, np.nan)
    p = design.n_parameters
    df = design.weight - p
    with np.errstate(divide="ignore", invalid="ignore"):
        internal = residual / np.sqrt(noise * free)
        left = np.maximum(df * noise - residual**2 / free, 0.0) / (df - 1) if df > 1 else np.nan
        external = residual / np.sqrt(left * free)
        cooks = internal**2 * leverage / (p * free)
        dffits = external * np.sqrt(leverage / free)
        press = residual / free
    return np.concatenate([leverage, residual, internal, external, cooks, dffits, press], axis=1)
