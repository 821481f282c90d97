"""What a linear discriminant analysis says of its own error, and of the assumptions it rests on."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certificates import Certificate, at_most
from assay.datasets.gaussian import two_class_errors
from assay.discriminant.gaussian.assumptions import (
    covariance_certificate,
    normality_certificate,
    quantile_shares,
)
from assay.discriminant.gaussian.covariance import Factored, factored
from assay.discriminant.gaussian.moments import class_moments
from assay.discriminant.linear.errors import ErrorRates, Known, error_rates
from assay.rows import Rows

STANDARD_ERRORS = 4.0


def measured_errors(model: Any, data: Rows, factor: Factored) -> ErrorRates:
    """Errors of a fit on the rows of the fit."""
    weight = np.asarray(model.class_count_, dtype=np.float64)
    lost = float(np.count_nonzero(weight)) if model.covariance == "unbiased" else 0.0
    scale = np.sqrt(weight.sum() - lost)  # Σ = S/(n − lost)
    priors = np.asarray(model.priors_, dtype=np.float64)
    means = np.asarray(model.means_, dtype=np.float64)
    rule = model.coef_, model.intercept_
    known = Known(means, factor.whitening / scale, weight, priors, model._has_own_priors, lost, rule)
    training, out, expected = error_rates(data, known)
    plug_in = None
    if len(means) == 2:
        separation = float(np.linalg.norm((means[1] - means[0]) @ factor.whitening))
        plug_in = float(priors @ two_class_errors(separation, priors))
    return ErrorRates(training, out, expected, plug_in)


def certified_error(rates: ErrorRates, data: Rows, model: Any) -> Certificate:
    """That leave-one-out finds the error that the model expects of itself."""
    expected = rates.expected if rates.plug_in is None else rates.plug_in
    name = "the mean of 1 − max P(k | x)" if rates.plug_in is None else "Φ(−δ/2)"
    weight, priors = np.asarray(model.class_count_), np.asarray(model.priors_)
    used, k = weight > 0, len(model.classes_)
    # Errors of the classes count by their priors: Σ π_k² e(1 − e)/n_k, which is e(1 − e)/n for their shares.
    n = 1 / float(np.sum(priors[used] ** 2 / weight[used]))
    share = min(max(expected, 1 / n), 0.5)
    # A model of d + K numbers per class flatters itself by about as many rows.
    bound = STANDARD_ERRORS * np.sqrt(share * (1 - share) / n) + (data.shape[1] + k) / n
    # Without its row a class moves away from it: where nothing tells the classes apart, rules left one row
    # out are worse than guessing, which no law is.
    left = min(rates.leave_one_out, 1 - 1 / k)
    within = f"within {STANDARD_ERRORS:g} standard errors"
    claim = f"The error that the model expects, {name}, is that of leave-one-out {within}."
    gap, source = abs(expected - left), "Douc & Le Corff §8.4"
    quantity = f"difference of {expected:.3g} expected and {rates.leave_one_out:.3g} left out"
    return at_most(claim, quantity, gap, bound, source, trivial=1.0)


def assumption_proofs(model: Any, data: Rows) -> list[Certificate]:
    """Box's test, and normal quantiles of the classes, by two walks."""
    moments = class_moments(data, len(model.classes_), apart=True)
    pooled = factored(moments.within / moments.total_weight, model.tol)
    shares = quantile_shares(data, moments.means, [pooled.whitening] * len(moments.means))
    return [*covariance_certificate(moments), normality_certificate(*shares)]
