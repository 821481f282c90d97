"""The loops of hierarchical clustering against their NumPy twins, and rounds against the chain."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist, squareform

from assay.cluster import AgglomerativeClustering
from assay.cluster.hierarchy import center_loops, loops
from assay.cluster.hierarchy import linkage as _linkage
from assay.cluster.hierarchy import rounds as _linkage_rounds
from assay.cluster.hierarchy import tree as tree_loops
from assay.cluster.hierarchy.rounds import Merges, Pairs, mutual_pairs, nearest_neighbours, row_blocks

ROUNDS = ("complete", "average", "weighted", "ward")


def triangle_of(D):
    return D[np.tril_indices(len(D), -1)].copy()


@pytest.fixture
def few(monkeypatch):
    """Rounds also for few rows."""
    monkeypatch.setattr(_linkage_rounds, "FEW", 8)
    monkeypatch.setattr(_linkage, "FEW", 8)
    monkeypatch.setattr(_linkage, "FEW_FEATURES", 0)


@pytest.mark.spec("sangnier/HC-P2")
@pytest.mark.parametrize("linkage", ROUNDS)
@pytest.mark.parametrize("n_features", [1, 2, 6, 40])
def test_rounds_give_the_tree_of_scipy(linkage, n_features, few, rng):
    X = rng.normal(size=(500, n_features))
    Z = hierarchy.linkage(X, linkage)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert_allclose(model.distances_, Z[:, 2], rtol=1e-9)
    assert_array_equal(model.children_, np.sort(Z[:, :2], axis=1))
    assert model.certificates_.holds


@pytest.mark.parametrize("linkage", ROUNDS)
def test_rounds_keep_to_weights(linkage, few, rng):
    X, weight = rng.normal(size=(120, 2)), rng.integers(1, 4, size=120)
    weighted = AgglomerativeClustering(3, linkage=linkage).fit(X, sample_weight=weight)
    repeated = hierarchy.linkage(np.repeat(X, weight, axis=0), linkage)
    assert_allclose(weighted.distances_, repeated[-119:, 2], rtol=1e-9)


@pytest.mark.parametrize("linkage", ["complete", "average", "weighted"])
def test_rounds_on_given_dissimilarities_leave_them_alone(linkage, few, rng):
    D = squareform(pdist(rng.normal(size=(300, 3)), "cityblock"))
    before = D.copy()
    model = AgglomerativeClustering(linkage=linkage, metric="precomputed").fit(D)
    assert_array_equal(D, before)
    assert_allclose(model.distances_, hierarchy.linkage(squareform(D), linkage)[:, 2], rtol=1e-9)


@pytest.mark.parametrize("linkage", ROUNDS)
def test_a_hub_that_all_rows_are_nearest_to_is_left_to_the_chain(linkage, few):
    # Row 0 is the nearest of every other: each round has a single pair.
    X = np.diag(np.linspace(1.0, 3.0, 60))
    Z = hierarchy.linkage(X, linkage)
    model = AgglomerativeClustering(linkage=linkage).fit(X)
    assert_allclose(model.distances_, Z[:, 2], rtol=1e-9)


def test_ties_everywhere_give_a_tree_of_the_definition(few):
    grid = np.array([[x, y] for x in range(8) for y in range(8)], dtype=float)
    for linkage in ("single", *ROUNDS, "centroid", "median"):
        model = AgglomerativeClustering(5, linkage=linkage).fit(grid)
        model.certify(grid).require()


@pytest.mark.parametrize("code", [loops.COMPLETE, loops.AVERAGE, loops.WEIGHTED, loops.WARD])
def test_join_rows_joins_rows_and_columns_of_the_matrix(code, rng):
    m = 40
    D = squareform(pdist(rng.normal(size=(m, 3))))
    weights = rng.uniform(1, 3, size=m)
    pairs = mutual_pairs(*nearest_neighbours(triangle_of(D), m))
    assert pairs.joins.any()
    assert not pairs.joins.all()
    new = _linkage_rounds._join_triangle(triangle_of(D), code, pairs, weights)

    def join(A, B, d_ab, w_a, w_b, w_x):
        return {
            loops.COMPLETE: np.maximum(A, B),
            loops.AVERAGE: (w_a * A + w_b * B) / (w_a + w_b),
            loops.WEIGHTED: (A + B) / 2,
            loops.WARD: ((w_a + w_x) * A + (w_b + w_x) * B - w_x * d_ab) / (w_a + w_b + w_x),
        }[code]

    full, w = D.copy(), weights.copy()
    for a, b, d_ab in zip(pairs.first, pairs.second, pairs.joint, strict=True):
        if a >= 0:
            full[b] = full[:, b] = join(full[a], full[b], d_ab, w[a], w[b], w)
            w[b] += w[a]
    assert_allclose(new, triangle_of(full[np.ix_(pairs.second, pairs.second)]), rtol=1e-12)


def test_gathered_rows_are_rows_of_the_matrix(rng):
    D = squareform(pdist(rng.normal(size=(90, 3))))
    first = np.sort(rng.choice(60, 20, replace=False))
    second = first + rng.integers(1, 30, size=20)
    out = np.full((20, 90), np.nan)
    for start in range(0, 20, 6):
        loops.gather_rows(triangle_of(D), first, second, start, min(start + 6, 20), out)
    for p in range(20):
        assert_array_equal(out[p, : second[p]], D[first[p], : second[p]])


def test_nearest_neighbours_take_the_lowest_index_of_ties(rng):
    D = squareform(rng.integers(1, 4, size=30 * 29 // 2).astype(float))
    distance, nearest = nearest_neighbours(triangle_of(D), 30)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(nearest, D.argmin(axis=1))
    assert_array_equal(distance, D.min(axis=1))


def test_mutual_pairs_are_ordered_by_their_later_member():
    pairs = mutual_pairs(np.array([1.0, 2.0, 1.0, 5.0, 2.0]), np.array([2, 4, 0, 2, 1]))
    assert_array_equal(pairs.second, [2, 3, 4])
    assert_array_equal(pairs.first, [0, -1, 1])
    assert_array_equal(pairs.joint, [1.0, 0.0, 2.0])
    capped = mutual_pairs(np.array([1.0, 2.0, 1.0, 5.0, 2.0]), np.array([2, 4, 0, 2, 1]), at_most=1)
    assert isinstance(capped, Pairs)
    assert_array_equal(capped.second, [1, 2, 3, 4])
    assert_array_equal(capped.first, [-1, 0, -1, -1])


@pytest.mark.parametrize("n_rows", [1, 2, 777])
def test_blocks_of_rows_cover_the_triangle_once(n_rows):
    blocks = list(row_blocks(n_rows, 1000))
    assert blocks[0][0] == 0
    assert blocks[-1][1] == n_rows
    assert all(left[1] == right[0] for left, right in itertools.pairwise(blocks))


def test_costs_of_centres_are_those_of_numpy(rng):
    X, weights = rng.normal(size=(30, 4)), rng.uniform(1, 3, size=30)
    out = np.empty(center_loops.TILE)
    squares = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    factor = 1 / (1 / weights[:, np.newaxis] + 1 / weights)
    for i in (0, 13, 29):
        for kind, expected in ((center_loops.CENTROID, squares), (center_loops.WARD, factor * squares)):
            center_loops.costs_to(kind, np.ascontiguousarray(X.T), weights, i, 5, 30, out)
            assert_allclose(out[:25], expected[i, 5:])
    found, cost = center_loops.closest(
        center_loops.WARD, np.ascontiguousarray(X.T), weights, 3, 30, out, out.view(np.int64)
    )
    assert found == (factor * squares)[3].argmin()
    assert_allclose(cost, (factor * squares)[3].min())


def test_sorted_merges_never_fall_and_keep_children_below_parents():
    merges = Merges(4)
    # The second join is a hair below the first it stands on: it is lifted.
    merges.add(np.array([0, 4, 5]), np.array([1, 2, 3]), np.array([1.0, 1.0 - 1e-16, 0.5]))
    tree = merges.sorted()
    assert_array_equal(tree.height, [1.0, 1.0, 1.0])
    assert_array_equal(tree.children, [[0, 1], [2, 4], [3, 5]])


def test_edges_become_nodes_by_union_find():
    children = np.empty((4, 2), dtype=np.int64)
    tree_loops.label_edges(np.array([0, 2, 1, 3]), np.array([1, 3, 2, 4]), children)
    assert_array_equal(children, [[0, 1], [2, 3], [5, 6], [4, 7]])
