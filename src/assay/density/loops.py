"""Hot loop of histograms."""

from __future__ import annotations

from assay.loops import _exact


@_exact
def count_line(x, weight, low, width, masses):  # type: ignore[no-untyped-def]
    """Add the weight of each number to its cell ⌊(x − low)/width⌋; the ends take what is beyond them.

    No weights (an empty array) mean ones. The quotient is that of NumPy to the last bit.
    """
    last = masses.shape[0] - 1
    for i in range(x.shape[0]):
        place, cell = (x[i] - low) / width, 0
        if place >= last:
            cell = last
        elif place > 0.0:
            cell = int(place)
        masses[cell] += weight[i] if weight.shape[0] > 0 else 1.0
