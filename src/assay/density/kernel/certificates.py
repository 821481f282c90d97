"""Certificates of kernel densities: integral, order of the kernel, evaluation error, bandwidth."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_least, at_most
from assay.density.bandwidths import places_inside
from assay.kernel_sums import SmoothingKernel

SOURCE = "Douc & Le Corff §2.2"

SAMPLED = 32
"""Rows at which the evaluation is compared with direct sums."""


def kernel_certificates(model: Any) -> list[Certificate]:
    """What a fit proves: cheap ones."""
    kernel = model.kernel_
    integral = integral_of(kernel, model.n_features_in_, is_product=model._is_product)
    claim = "The kernel, and with it the estimate, has integral 1."
    if not model._is_euclidean:
        claim = "The kernel has integral 1 for Euclidean distances; for others the estimate is a score."
    found = [at_most(claim, "|∫p̂ − 1|", abs(integral - 1.0), 1e-6, SOURCE)]
    largest = largest_moment(kernel, kernel.order)
    claim = f"The kernel is of order {kernel.order}: its moments up to that one vanish."
    found.append(at_most(claim, "largest vanishing moment", largest, 1e-8, "Douc & Le Corff Definition 2.4"))
    if not kernel.is_nonnegative:
        claim = f"{kernel.name} takes negative values: so may the estimate, whose logarithm is refused."
        name, limits = "least value of the kernel", (kernel.least, -kernel.largest)
        found.append(at_least(claim, name, *limits, SOURCE, informative=True))
    if isinstance(model.bandwidth, str) and model.bandwidth == "holder":
        beta = float((model.truth or {}).get("beta", 2.0))
        claim = "The kernel has the order that the Hölder class asks for."
        found.append(at_least(claim, "order of the kernel", kernel.order, math.floor(beta), SOURCE))
    if len(model.criterion_):
        claim, inside = "The criterion is least inside the bandwidths tried.", places_inside(model.criterion_)
        found.append(at_least(claim, "places from the ends of the grid", inside, 1, "Douc & Le Corff §2.2.3"))
    return found


def measured_certificates(model: Any, fresh: Any) -> list[Certificate]:
    """What `certify` measures on the data again."""
    chosen = fresh.chosen
    bound = 0.0 if chosen.bound is None else float(chosen.bound.at(chosen.bandwidth, fresh.weights.sum()))
    pairs = {
        "rows": (model.rows_kept_, fresh.rows),
        "weights": (model.weights_kept_, fresh.weights),
        "bandwidth": (model.bandwidth_, chosen.bandwidth),
        "bandwidths": (model.bandwidths_, chosen.grid),
        "criterion": (model.criterion_, chosen.curve),
        "risk bound": (model.risk_bound_, bound),
    }
    kept = agreement("Rows, weights and bandwidth are those of the data.", pairs, SOURCE)
    asked = sampled_rows(fresh.rows)
    said = model._evaluator().pdf(asked)
    exact = model._evaluator_of(fresh.rows, fresh.weights, chosen.bandwidth).directly(asked)
    allowed = model.atol + model.rtol * np.abs(exact)
    # Rounding is relative to the largest votes, which kernels with negative values cancel.
    rounding = 1e-9 * float(np.abs(exact).max(initial=0.0))
    excess = float(np.max(np.abs(said - exact) - allowed, initial=0.0))
    claim = f"At {len(asked)} rows the estimate is that of direct sums, to rtol and atol."
    proof = [
        kept,
        at_most(claim, "evaluation error beyond what is allowed", max(excess, 0.0), rounding, SOURCE),
    ]
    if model.n_features_in_ == 1 and model.kernel_.shape == "gaussian" and model._is_euclidean:
        proof.append(_grid_certificate(model))
    return proof


def _grid_certificate(model: Any) -> Certificate:
    """The density on a grid, where rows are gathered into bins, against direct sums at its points."""
    grid = model.on_grid(SAMPLED)
    exact = model._evaluator().directly(grid.points[:, np.newaxis])
    error = float(np.abs(grid.sums - exact).max())
    claim = f"On a grid of {SAMPLED} points the estimate is within the error that the grid promises."
    allowed = grid.error + 1e-9 * float(np.abs(exact).max())
    return at_most(claim, "error on a grid", error, allowed, "Taylor's formula at the bins")


def sampled_rows(rows: NDArray) -> NDArray[np.float64]:
    """Some of the rows and points between them."""
    some = np.asarray(rows[:: max(1, len(rows) // (SAMPLED // 2))][: SAMPLED // 2], dtype=np.float64)
    return np.concatenate([some, 0.5 * (some + np.roll(some, 1, axis=0))])


@lru_cache(maxsize=128)
def largest_moment(kernel: SmoothingKernel, order: int) -> float:
    """The largest |∫u^j K| for 1 ≤ j ≤ order, by quadrature of the values of K and no closed form."""
    if kernel.shape == "function" and not math.isfinite(kernel.support):
        return max((abs(kernel.moment(j)) for j in range(1, order + 1)), default=0.0)
    nodes, weights = legendre.leggauss(200)
    far = kernel.support if math.isfinite(kernel.support) else 40.0
    u = 0.5 * far * (nodes + 1.0)
    values = kernel(u) * weights * 0.5 * far, kernel(-u) * weights * 0.5 * far
    sums = [values[0] @ u**j + values[1] @ (-u) ** j for j in range(1, order + 1)]
    return float(np.max(np.abs(sums), initial=0.0))


@lru_cache(maxsize=128)
def integral_of(kernel: SmoothingKernel, n_features: int, *, is_product: bool) -> float:
    """∫ K over R^d by quadrature, of a product or of c K(‖u‖)."""
    if kernel.function is not None:
        return kernel.moment(0) ** n_features
    nodes, weights = legendre.leggauss(200)
    far = kernel.support if math.isfinite(kernel.support) else 12.0 + 6.0 * n_features
    r = 0.5 * far * (nodes + 1.0)
    if is_product:
        return float(far * (weights @ kernel(r))) ** n_features
    log_surface = math.log(2.0) + 0.5 * n_features * math.log(math.pi) - math.lgamma(n_features / 2)
    surface = np.exp(log_surface + (n_features - 1) * np.log(r))
    return float(0.5 * far * (weights @ (kernel.radial_constant(n_features) * kernel(r) * surface)))
