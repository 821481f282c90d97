"""The filter in single precision excludes no neighbour: the answers are those of a full sort, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from assay.distances import NeighborSearch, filtering
from assay.distances.brute import BruteSearch
from assay.rows import threads

N_ROWS, N_FEATURES = 2500, 26


def tables(rng):
    """Rows that tempt rounding: far from zero, of long tails, rounded to ties, duplicated, tiny and huge."""
    plain = rng.standard_normal((N_ROWS, N_FEATURES))
    return {
        "plain": plain,
        "far from zero": plain + 1e8,
        "long tails": plain * np.exp(2 * rng.standard_normal((N_ROWS, 1))),
        "ties": np.rint(plain),
        "duplicates": np.repeat(plain[::5], 5, axis=0),
        "huge": plain * 1e100,
        "tiny": plain * 1e-100,
    }


def with_and_without(X, queries, n_neighbors=9):
    engine = BruteSearch(X, 2)
    engine.filter = filtering.SingleFilter(X, engine.center, engine.norms)
    filtered = engine.nearest(n_neighbors, queries)
    engine.filter = None
    return filtered, engine.nearest(n_neighbors, queries)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "name", ["plain", "far from zero", "long tails", "ties", "duplicates", "huge", "tiny"]
)
def test_filtered_neighbours_are_those_without_a_filter(rng, name, dtype):
    X = tables(rng)[name]
    if dtype == np.float32:
        X = {"huge": X / 1e90, "tiny": X * 1e90}.get(name, X)
    X = X.astype(dtype)
    for queries in (None, X[:40] + X[40:80] * dtype(0.1)):
        filtered, plain = with_and_without(X, queries)
        for one, two in zip(filtered, plain, strict=True):
            assert_array_equal(one, two)


def test_the_bracket_of_a_neighbour_never_exceeds_its_limit(rng):
    X = tables(rng)["long tails"]
    engine = BruteSearch(X, 2)
    single = filtering.SingleFilter(X, engine.center, engine.norms)
    ready, norms = single.lengths(X[:50])
    brackets = (ready @ single.rows.T).astype(np.float64)
    exact = ((X[:50, None] - X[None]) ** 2).sum(axis=2)
    limits = exact * single.scale**2 - (1.0 - single.rounding) * norms[:, None]
    assert (brackets <= limits).all()
    # Without its room for rounding the bound is crossed: the test can fail.
    bare = exact * single.scale**2 - norms[:, None] - single.rounding * single.rows[:, -1]
    assert (brackets > bare - 1e-12).any()


def test_a_query_too_far_for_single_precision_is_searched_without_the_filter(rng):
    X = tables(rng)["plain"]
    queries = np.vstack([X[:3], 1e60 * X[3:5]])
    filtered, plain = with_and_without(X, queries)
    assert_array_equal(filtered[1], plain[1])


def test_the_filter_is_chosen_where_rows_are_spread_and_not_where_they_crowd_far_from_their_mean(rng):
    X = tables(rng)["plain"]
    assert BruteSearch(X, 2).filter is not None
    crowded = np.concatenate([X * 1e-4, X * 1e-4 + 1.0])
    assert BruteSearch(crowded, 2).filter is None
    assert BruteSearch(X[:500], 2).filter is None


def test_threads_and_blocks_do_not_matter(rng):
    X = tables(rng)["ties"]
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(NeighborSearch(X, method="brute").nearest(5))
    for one, two in zip(*found, strict=True):
        assert_array_equal(one, two)
