"""Values of a given rank are found where sorting would bring them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.order_statistics import select


@pytest.mark.parametrize("rank", [0, 70, 2000, 3599, 3999])
@pytest.mark.parametrize("carries", [False, True])
def test_values_are_selected_as_sorting_would_place_them(rank, carries):
    random = np.random.default_rng(0)
    for given in (
        random.standard_normal(4000),
        np.arange(4000.0),
        random.integers(0, 3, 4000).astype(float),
    ):
        values, order = given.copy(), np.arange(4000 if carries else 0)
        select(values, order, 0, 3999, rank)
        assert values[rank] == np.sort(given)[rank]
        assert values[:rank].max(initial=-np.inf) <= values[rank] <= values[rank:].min()
        assert not carries or np.array_equal(given[order], values)


def test_values_outside_the_places_stay():
    values, order = np.random.default_rng(1).standard_normal(3000), np.arange(3000)
    given = values.copy()
    select(values, order, 500, 2499, 1000)
    outside = np.r_[0:500, 2500:3000]
    assert np.array_equal(values[outside], given[outside])
    assert values[1000] == np.sort(given[500:2500])[500]
