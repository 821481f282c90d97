"""How much each row matters to a least-squares fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.linear._design import Design
from assay.linear._engine import Array
from assay.linear._robust import LEVERAGE_ONE, block_residuals
from assay.rows import Block


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
