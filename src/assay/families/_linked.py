"""A family with a link: the terms of a generalised linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.families._families import Family
from assay.families._links import Link


@dataclass(frozen=True)
class LinkedFamily:
    """The loss ½ d(y, g⁻¹(f)) of a score f: half the unit deviance, at dispersion 1.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.families import Gamma, LinkedFamily, link
    >>> losses, slopes, curvatures = LinkedFamily(Gamma(), link("log")).score_terms(np.ones(1), np.zeros(1))
    >>> losses, slopes, curvatures
    (array([0.]), array([0.]), array([1.]))
    """

    family: Family
    link: Link

    def mean(self, scores: NDArray) -> NDArray:
        """The mean of each score, NaN outside the domain of the link."""
        inside = (scores > self.link.low) & (scores < self.link.high)
        return self.link.mean(np.where(inside, scores, np.nan))

    def score_terms(self, y: NDArray, scores: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Loss, slope and expected curvature of each row; the loss is inf where the law has no such mean.

        The slope is (μ − y) μ'/V(μ) and the expected curvature μ'²/V(μ).
        """
        with np.errstate(all="ignore"):
            mean = self.mean(scores)
            slope_of_mean = self.link.slope(scores)
            ratio = slope_of_mean / self.family.variance(mean)
            losses = self.family.unit_deviance(y, mean) / 2
            bad = ~self.family.inside(mean) | ~np.isfinite(losses)
            losses = np.where(bad, np.inf, losses)
            residual = np.where(bad, 0.0, (mean - y) * ratio)
            curvature = np.where(bad, 0.0, slope_of_mean * ratio)
        dtype = scores.dtype
        return losses.astype(dtype), residual.astype(dtype), curvature.astype(dtype)
