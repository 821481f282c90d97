"""The compiled step of Prim's algorithm."""

from __future__ import annotations

import numpy as np

from assay.distances._boruvka_loops import comes_before
from assay.loops import compiled


@compiled
def absorb_point(distances, current, cores, remaining, closest, parents):  # type: ignore[no-untyped-def]
    """Bring the shortest edges from the tree to the remaining points up to date with its newest point.

    Returns the place of the remaining point whose edge comes first, by length, then by the two ends.
    """
    core, nearest = cores[current], 0
    for place in range(remaining.shape[0]):
        number = remaining[place]
        length = max(np.float64(distances[place]), core, cores[number])
        if length <= closest[place] and comes_before(
            length, current, number, closest[place], parents[place], number
        ):
            closest[place], parents[place] = length, current
        if closest[place] <= closest[nearest] and comes_before(
            closest[place], parents[place], number, closest[nearest], parents[nearest], remaining[nearest]
        ):
            nearest = place
    return nearest
