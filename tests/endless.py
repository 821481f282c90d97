"""A risk that falls without end, which no solver may take for a problem with a solution."""

from __future__ import annotations

import numpy as np

from assay.losses import Loss


class Quartic(Loss):
    """−f⁴, whatever the target: it falls faster than ‖h‖² rises."""

    convex = False

    def value(self, y, prediction):
        return -(prediction**4)

    def gradient(self, y, prediction):
        return -4 * prediction**3

    def curvature(self, y, prediction):
        return -12 * prediction**2

    def conjugate(self, y, slope):
        return np.full_like(slope, np.inf)

    def constant_minimiser(self, y, sample_weight=None):
        return np.inf
