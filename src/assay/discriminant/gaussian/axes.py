"""Axes of discrimination: directions of largest variance between the classes beside that within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.gaussian.covariance import Factored

Array = NDArray[np.float64]


class Axes(NamedTuple):
    """Generalised eigenvectors of Mw = λΣw, M = Σ_k π_k (μ_k − μ)(μ_k − μ)ᵀ.

    Attributes
    ----------
    directions : array of shape (d, q)
        The w_j as columns, with wᵀΣw = 1, by decreasing λ; the last class lies above the first.
    eigenvalues : array of shape (min(K − 1, d),)
        Rayleigh quotients; zeros beyond q.
    """

    directions: Array
    eigenvalues: Array


def discriminant_axes(means: Array, priors: Array, factor: Factored, tol: float) -> Axes:
    """The axes, from a singular value decomposition of the whitened means.

    Parameters
    ----------
    means : array of shape (K, d)
    priors : array of shape (K,)
    factor : Factored
        The covariance within the classes.
    tol : float
        Singular values at or below this share of the largest are none.
    """
    n_axes = min(len(means) - 1, means.shape[1])
    centred = (means - priors @ means) @ factor.whitening
    _, values, vt = np.linalg.svd(np.sqrt(priors)[:, None] * centred, full_matrices=False)
    size = float(np.abs(centred).max(initial=0.0))
    # K means about their mean span K − 1 dimensions: what is left beyond is rounding.
    found = min(n_axes, int(np.count_nonzero(values > max(tol, 1e-12) * values[:1].sum()))) if size > 0 else 0
    directions = oriented(factor.whitening @ vt[:found].T, means)
    eigenvalues = np.zeros(n_axes)
    eigenvalues[:found] = values[:found] ** 2
    return Axes(directions, eigenvalues)


def oriented(directions: Array, means: Array) -> Array:
    """Directions turned so that the last class is above the first, or the largest entry is positive."""
    steps = (means[-1] - means[0]) @ directions
    spread = np.ptp(means @ directions, axis=0)
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    signs = np.sign(np.where(np.abs(steps) > 1e-6 * spread, steps, largest))
    return np.asarray(directions * np.where(signs == 0, 1.0, signs))


def rayleigh_quotients(directions: Array, means: Array, priors: Array, covariance: Array) -> Array:
    """r(w) = Σ_k π_k (wᵀ(μ_k − μ))² / wᵀΣw of some columns w; 0 where w = 0."""
    between = priors @ ((means - priors @ means) @ directions) ** 2
    within = np.einsum("ij,ij->j", directions, covariance @ directions)
    return np.divide(between, within, out=np.zeros_like(between), where=within > 0)
