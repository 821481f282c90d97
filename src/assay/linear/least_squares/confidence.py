"""Fisher's test of a linear hypothesis and the ellipsoid that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg

from assay.linear.least_squares.engine import Array
from assay.parameters import refusal


@dataclass(frozen=True)
class WaldTest:
    """Test of Lβ = r.

    Attributes
    ----------
    fvalue, pvalue : float or array of shape (n_targets,)
        Statistic, and its p-value under F(df_num, df_denom).
    df_num : int
        Rows q of L.
    df_denom : float
        n − p.
    """

    fvalue: Any
    pvalue: Any
    df_num: int
    df_denom: float


@dataclass(frozen=True, eq=False)
class ConfidenceRegion:
    """Ellipsoid {b : (b − center)ᵀ shape⁻¹ (b − center) ≤ radius²} that covers Lβ with probability `level`.

    Attributes
    ----------
    center : array of shape (q,)
        Lβ̂.
    shape : array of shape (q, q)
        Estimated covariance of Lβ̂.
    radius : float
        √(q f_{q, n−p, level}).
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import ConfidenceRegion
    >>> disc = ConfidenceRegion(np.zeros(2), np.eye(2), 2.0, 0.95)
    >>> disc.contains([[1.0, 1.0], [2.0, 1.0]])
    array([ True, False])
    """

    center: Array
    shape: Array
    radius: float
    level: float

    @property
    def axes(self) -> Array:
        """Half-axes of the ellipsoid as rows, the longest first."""
        values, vectors = np.linalg.eigh(self.shape)
        lengths = self.radius * np.sqrt(np.maximum(values, 0.0))
        return (vectors * lengths).T[::-1]

    def contains(self, points: Any) -> Any:
        """Whether points of the space of Lβ lie inside.

        Parameters
        ----------
        points : array-like of shape (q,) or (n_points, q)
            Values Lβ of the hypothesis; β itself if L was not given.

        Returns
        -------
        inside : bool or boolean array of shape (n_points,)
        """
        given = np.asarray(points, dtype=np.float64)
        q = len(self.center)
        if given.ndim not in (1, 2) or given.shape[-1] != q:
            raise ValueError(
                f"The points of ConfidenceRegion.contains must have {q} coordinates. Got shape {given.shape}."
            )
        inside = quadratic_form(self.shape, (given - self.center).reshape(-1, q).T) <= self.radius**2
        return bool(inside[0]) if given.ndim == 1 else inside


def check_level(owner: str, name: str, level: Any) -> None:
    """Refuse what is no probability strictly between 0 and 1."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < float(level) < 1:
        raise refusal(owner, name, "a number above 0 and below 1", level)


def hypothesis(owner: str, L: Any, names: tuple[str, ...]) -> Array:
    """The matrix of a linear hypothesis, given as numbers or by the names of parameters."""
    p = len(names)
    wanted = np.atleast_1d(np.asarray(L))
    if wanted.ndim == 1 and wanted.dtype.kind in "UO":
        unknown = [name for name in wanted.tolist() if name not in names]
        if unknown:
            raise refusal(owner, "L", f"numbers or names of parameters ({_few(names)})", unknown[0])
        matrix = np.eye(p)[[names.index(name) for name in wanted.tolist()]]
    else:
        matrix = np.atleast_2d(np.asarray(L, dtype=np.float64))
    if matrix.ndim != 2 or matrix.shape[1] != p or not matrix.shape[0]:
        raise ValueError(
            f"The 'L' parameter of {owner} must have {p} columns, one a parameter ({_few(names)}). "
            f"Got shape {np.shape(L)} instead."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"The 'L' parameter of {owner} must hold finite numbers.")
    rank = int(np.linalg.matrix_rank(matrix))
    if rank < matrix.shape[0]:
        raise ValueError(
            f"The 'L' parameter of {owner} must have linearly independent rows. Got {matrix.shape[0]} rows "
            f"of rank {rank} instead; drop the redundant ones."
        )
    return matrix


def quadratic_form(matrix: Array, vectors: Array) -> Array:
    """vᵀ matrix⁻¹ v of each column v, the matrix scaled to unit diagonal first; NaN if it is singular."""
    diagonal = np.diagonal(matrix)
    if not diagonal.all():  # no noise at all: any difference is infinitely many standard errors
        return np.where(np.any(vectors != 0, axis=0), np.inf, 0.0)
    scale = 1 / np.sqrt(diagonal)
    factor, info = linalg.lapack.dpotrf(matrix * scale * scale[:, None], lower=True, clean=True)
    if info != 0:
        return np.full(vectors.shape[1], np.nan)
    whitened = linalg.solve_triangular(factor, scale[:, None] * vectors, lower=True)
    return np.sum(whitened**2, axis=0)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names if len(names) <= 6 else (*names[:5], "…"))
