"""What inference knows of a table and reads off its rows: intervals, robust covariances, influence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from assay.linear.least_squares.engine import Array
from assay.rows import Block, Rows

SMALLEST_RCOND = 1e-13
"""Reciprocal condition of the scaled XᵀX below which its inverse is nothing but rounding."""


class ColumnGeometry(NamedTuple):
    """The columns of a table, with the column of ones in front if the model has an intercept.

    W = Σ s, the column means (zeros without an intercept), and A with AAᵀ the inverse of the (centred) XᵀX.
    """

    weight: float
    mean: Array
    root: Array
    fit_intercept: bool

    @property
    def n_parameters(self) -> int:
        """Number of parameters p, the intercept included."""
        return len(self.mean) + self.fit_intercept

    def coordinates(self, block: Block) -> Array:
        """The rows x of a block in an orthonormal basis: e with ‖e‖² = xᵀ(XᵀX)⁻¹x, shape (n, p)."""
        inner = (block.dense.astype(np.float64, copy=False) - self.mean) @ self.root
        if not self.fit_intercept:
            return inner
        return np.column_stack([np.full(len(inner), 1 / np.sqrt(self.weight)), inner])

    def basis(self) -> Array:
        """B with (XᵀX)⁻¹x = B e for every row x with coordinates e, so that BBᵀ = (XᵀX)⁻¹."""
        if not self.fit_intercept:
            return self.root
        p = self.n_parameters
        basis = np.zeros((p, p))
        basis[0, 0] = 1 / np.sqrt(self.weight)
        basis[0, 1:] = -self.mean @ self.root
        basis[1:, 1:] = self.root
        return basis


def inverse_root(scatter: Array, triangle: Array | None) -> Array | None:
    """A with AAᵀ = scatter⁻¹, from the triangle where there is one (no squaring); None if singular."""
    d = scatter.shape[0]
    if triangle is not None:
        norms = np.linalg.norm(triangle, axis=0)
        if triangle.shape[0] < d or not norms.all() or not np.diagonal(triangle).all():
            return None
        inverse, info = linalg.lapack.dtrtri(triangle / norms)
        return inverse / norms[:, None] if info == 0 else None
    diagonal = np.diagonal(scatter)
    if diagonal.min() <= 0:
        return None
    scale = 1 / np.sqrt(diagonal)
    matrix = scatter * scale * scale[:, None]
    factor, info = linalg.lapack.dpotrf(matrix, lower=False, overwrite_a=False, clean=True)
    if info != 0:
        return None
    rcond, _ = linalg.lapack.dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="U")
    if not rcond > SMALLEST_RCOND:
        return None
    inverse, _ = linalg.lapack.dtrtri(factor)
    return scale[:, None] * inverse


def not_independent(weight: float, rank: int, d: int, p: int) -> ValueError:
    """The refusal of inference on columns that do not determine p parameters, d of them slopes."""
    short = f"of rank {rank} of {d}" if rank < d else "collinear up to rounding"
    if weight <= p:
        short = f"a table of {weight:g} rows for {p} parameters"
    return ValueError(
        f"Inference needs linearly independent columns and X is {short}; drop columns or use Ridge."
    )


# Intervals of predictions, row by row.


def interval_step(
    block: Block, coef: Array, intercept: Array, design: ColumnGeometry, half: Array, noise: float
) -> Array:
    """ŷ ± half·√(noise + xᵀ(XᵀX)⁻¹x) of each row, all lower ends and then all upper ends: shape (n, 2t)."""
    e = design.coordinates(block)
    spread = np.sqrt(noise + np.einsum("ij,ij->i", e, e))
    center = block.dense.astype(np.float64, copy=False) @ coef + intercept
    width = np.multiply.outer(spread, half)
    return np.concatenate([center - width, center + width], axis=1)


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
    data: Rows, design: ColumnGeometry, coef: Array, intercept: Array, kind: str
) -> tuple[Array, Array]:
    """(XᵀX)⁻¹ (Σ s x xᵀ ω r²) (XᵀX)⁻¹ of each target, shape (p, p, t), and Σ s r².

    ω is 1 (HC0), n/(n − p) (HC1), 1/(1 − h) (HC2), 1/(1 − h)² (HC3), with h the leverage of one copy of
    the row.
    """
    power = POWERS[kind]
    sums = data.reduce(sandwich_step, design, coef, intercept, power)
    check_weight(sums.weight, design)
    if power and sums.saturated:
        raise ValueError(
            f"A row has leverage 1, so its residual is 0 whatever its noise and {kind} is not defined; "
            "use covariance='HC1' or drop the row."
        )
    basis = design.basis()
    covariance = basis @ sums.middle @ basis.T
    if kind == "HC1":
        covariance *= design.weight / (design.weight - design.n_parameters)
    return np.moveaxis(covariance, 0, -1), sums.residual_ss


def sandwich_step(
    block: Block, design: ColumnGeometry, coef: Array, intercept: Array, power: int
) -> Sandwich:
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
    X = block.dense.astype(np.float64, copy=False)
    return block.y.reshape(len(X), -1).astype(np.float64) - X @ coef - intercept


def check_weight(weight: float, design: ColumnGeometry) -> None:
    """Refuse rows that cannot be those of the fit."""
    if not np.isclose(weight, design.weight, rtol=1e-6, atol=0):
        raise ValueError(
            f"Inference needs the data of the fit with its weights: the rows count {weight:g} here and "
            f"counted {design.weight:g} in the fit."
        )


def check_targets(data: Rows, n_targets: int) -> None:
    """Refuse a target that cannot be that of the fit."""
    if data.n_targets != n_targets:
        raise ValueError(
            f"y must be the target of the fit, which had {n_targets} columns. "
            f"It has {data.n_targets} instead."
        )


@dataclass(frozen=True, eq=False)
class Influence:
    """What each row of the fit weighs, and how far the fit would move without it.

    A row of weight 2 counts twice; its numbers are those of one of the two copies. Where a row alone
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


def influence_of(
    data: Rows, coef: Array, intercept: Array, design: ColumnGeometry, noise: Array, *, vector: bool
) -> Influence:
    """The influence of every row, by one walk."""
    t = coef.shape[1]
    table = data.map(
        influence_step, coef, intercept, design, noise, dtype=np.float64, width=1 + N_MEASURES * t
    )
    columns = [table[:, k] if vector else table[:, k : k + t] for k in range(1, 1 + N_MEASURES * t, t)]
    return Influence(table[:, 0], *columns)


def influence_step(
    block: Block, coef: Array, intercept: Array, design: ColumnGeometry, noise: Array
) -> Array:
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
