"""The picture of rows lifted to space."""

from __future__ import annotations

import numpy as np
import pytest

from assay.display import LiftDisplay, plot_lift
from assay.display.kernel_lift import plane_in_box
from assay.kernels import Polynomial
from assay.theory import circles, lift


@pytest.mark.spec("rudi/F4.1")
def test_the_lift_shows_both_classes_and_the_plane_between_them():
    import matplotlib.pyplot as plt

    result = lift(*circles(25, random_state=0))
    shown = LiftDisplay.from_result(result)
    assert shown.ax_.name == "3d"
    assert shown.title == "in the plane overlapping, lifted separable"
    assert np.array_equal(shown.features, result.features)
    assert len(shown.ax_.collections) == 3
    assert sum(len(each.get_offsets()) for each in shown.ax_.collections[:2]) == 50
    corners = np.column_stack(
        [side.ravel() for side in plane_in_box(shown.weights, shown.intercept, shown.features)]
    )
    corners = corners[np.isfinite(corners).all(axis=1)]
    assert len(corners) > 50
    assert np.allclose(corners @ result.weights + result.intercept, 0.0, atol=1e-9)
    assert np.all(corners >= result.features.min(axis=0))
    assert np.all(corners <= result.features.max(axis=0))
    assert plot_lift(result, names="abc").get_xlabel() == "a"
    plt.close("all")


def test_a_lift_into_more_features_is_not_drawn():
    result = lift(*circles(10, random_state=0), Polynomial(2))
    with pytest.raises(ValueError, match=r"three features\. It has 6"):
        LiftDisplay.from_result(result)
