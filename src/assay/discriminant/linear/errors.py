"""Error rates of a linear discriminant: leave-one-out in closed form, and what the model itself expects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from assay.discriminant.linear.forms import label_block
from assay.discriminant.linear.solver import finite_log
from assay.losses import chosen
from assay.rows import Block, Rows

Array = NDArray[np.float64]

LEAST = 1e-10
"""What is left of 1 − (leverage of a row) at least: a row that alone spans a direction has leverage 1."""


class ErrorRates(NamedTuple):
    """Shares of rows that are, or are expected to be, given to a wrong class.

    Attributes
    ----------
    training : float
        Of the rows of the fit.
    leave_one_out : float
        Each row judged by the fit to the others, in closed form.
    expected : float
        Mean of 1 − max_k P(k | x) over the rows, by the model itself.
    plug_in : float or None
        Two classes: the Bayes error of the fitted law, Φ(−δ̂/2) with equal priors.
    """

    training: float
    leave_one_out: float
    expected: float
    plug_in: float | None


class Known(NamedTuple):
    """What the rates need of a fit with the pooled scatter S of divisor n − `lost`.

    Attributes
    ----------
    means : array of shape (K, d)
    whitening : array of shape (d, r)
        W with WᵀSW = I, S the scatter itself.
    weight : array of shape (K,)
    priors : array of shape (K,)
    empirical : bool
        Whether the priors are the shares of the classes, and so change with a row.
    lost : float
        0 for the divisor n, K for the divisor n − K.
    rule : pair of arrays
        Coefficients and intercept by which the model predicts.
    """

    means: Array
    whitening: Array
    weight: Array
    priors: Array
    empirical: bool
    lost: float
    rule: tuple[NDArray, NDArray]


def error_rates(data: Rows, known: Known) -> tuple[float, float, float]:
    """Training error, leave-one-out error and expected error, by one walk; classes count by their priors."""
    counts, total = data.reduce(error_block, known)
    shares = counts / np.where(total > 0, total, 1.0)
    training, out, expected = (float(rate) for rate in shares @ known.priors)
    return training, out, expected


def error_block(block: Block, known: Known) -> tuple[Array, Array]:
    """Weights by class of one block: errors of the fit, errors without the row, expected errors; rows."""
    assert block.y is not None
    codes, weights = block.y.astype(np.intp), block.weights
    keep = weights > 0
    said = label_block(block, *known.rule, np.arange(len(known.weight)))[keep]  # as predictions, ties too
    codes, weights, X = codes[keep], weights[keep], block.dense[keep]
    n, places = float(known.weight.sum()), np.arange(len(codes))
    centre = known.priors @ known.means
    rows = (X - centre) @ known.whitening
    centers = (known.means - centre) @ known.whitening
    steps = rows[:, None, :] - centers  # (rows, classes, r): x − μ_k in units of the scatter
    squares = np.einsum("ikj,ikj->ik", steps, steps)
    joint = finite_log(known.priors) - 0.5 * (n - known.lost) * squares
    inner = np.einsum("ij,ikj->ik", steps[places, codes], steps)
    own = known.weight[codes]
    # Without row i of class k: μ_k moves by −u/(n_k − 1), u = x − μ_k, and S loses n_k/(n_k − 1) uuᵀ.
    factor = own / np.maximum(own - 1, LEAST)
    left = np.maximum(1 - factor * squares[places, codes], LEAST)
    without = squares + (factor / left)[:, None] * inner**2
    without[places, codes] = squares[places, codes] * factor**2 / left
    shares = np.broadcast_to(known.priors, without.shape)
    if known.empirical:
        shares = np.broadcast_to(known.weight, without.shape).copy()
        shares[places, codes] = np.maximum(own - 1, 0.0)
        shares = shares / shares.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.full(shares.shape, -1e30), where=shares > 0)
    judged = logs - 0.5 * (n - 1 - known.lost) * without
    posterior = np.exp(joint.max(axis=1) - logsumexp(joint, axis=1))
    events = (said != codes, chosen(judged) != codes, 1 - posterior)
    k = len(known.weight)
    counts = np.array([np.bincount(codes, weights * event, minlength=k) for event in events])
    return counts, np.bincount(codes, weights, minlength=k).astype(np.float64)
