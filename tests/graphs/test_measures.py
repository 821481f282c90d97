"""Degrees, volumes, components, paths, and the minimum cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph

from assay.graphs import (
    connected_components,
    degree_report,
    degrees,
    graph_distance,
    is_connected,
    laplacian,
    minimum_cut,
    minor_eigenpairs,
    n_components_from_spectrum,
    norm_cut,
    size,
    volume,
)


def random_graph(n, density, seed):
    rng = np.random.default_rng(seed)
    W = rng.uniform(0.1, 2.0, size=(n, n)) * (rng.uniform(size=(n, n)) < density)
    W = np.triu(W)
    return W + np.triu(W, 1).T


@pytest.mark.spec("sangnier/SG-M3")
def test_degrees_volumes_and_sizes_are_sums():
    W = random_graph(12, 0.4, 0)
    for graph in (W, sparse.csr_array(W), sparse.csr_matrix(W)):
        assert_allclose(degrees(graph), W.sum(axis=1))
        assert_allclose(volume(graph), W.sum())
        assert_allclose(volume(graph, [1, 4, 7]), W[[1, 4, 7]].sum())
        mask = np.arange(12) % 2 == 0
        assert_allclose(volume(graph, mask), W[mask].sum())
    assert size(mask) == 6
    assert size([3, 5, 3]) == 2


@pytest.mark.spec("sangnier/SG-M3", "sangnier/SG-T6")
@pytest.mark.parametrize("seed", range(6))
def test_components_are_those_of_scipy_and_of_the_spectrum(seed):
    W = random_graph(40, 0.035, seed)
    expected, labels = csgraph.connected_components(W, directed=False)
    for graph in (W, sparse.csr_array(W)):
        count, found = connected_components(graph)
        assert count == expected
        assert_array_equal(found, labels)
        assert is_connected(graph) == (expected == 1)
    assert n_components_from_spectrum(np.linalg.eigvalsh(laplacian(W))) == expected
    assert n_components_from_spectrum([0.0, 5e-10, 2e-9, 1.0]) == 2
    assert n_components_from_spectrum([0.0, 4e-9, 6e-9, 5.0]) == 2
    looped = W + np.eye(40)
    assert n_components_from_spectrum(np.linalg.eigvalsh(laplacian(looped, "symmetric"))) == expected
    found = minor_eigenpairs(looped, 40)
    assert found.n_components == n_components_from_spectrum(found.values) == expected


@pytest.mark.spec("sangnier/SG-M8")
@pytest.mark.parametrize("seed", range(4))
def test_hops_and_lengths_are_those_of_scipy(seed):
    W = random_graph(150, 0.015, seed)
    for graph in (W, sparse.csr_array(W)):
        hops = graph_distance(graph)
        assert_array_equal(hops, csgraph.shortest_path(W, method="D", unweighted=True))
        lengths = graph_distance(graph, weighted=True)
        assert_allclose(lengths, csgraph.shortest_path(W, method="D"))
        assert_allclose(graph_distance(graph, sources=[3, 77], weighted=True), lengths[[3, 77]])
    assert np.isinf(hops).any()  # some vertices cannot be reached


@pytest.mark.spec("sangnier/SG-M8")
def test_hops_are_a_distance():
    hops = graph_distance(random_graph(40, 0.1, 3))
    assert_array_equal(hops, hops.T)
    assert_array_equal(hops.diagonal(), 0.0)
    assert np.all(hops[:, :, np.newaxis] <= hops[:, np.newaxis, :] + hops.T[np.newaxis])


def test_lengths_of_edges_are_not_negative():
    with pytest.raises(ValueError, match="at least 0"):
        graph_distance([[0.0, -1.0], [-1.0, 0.0]], weighted=True)
    with pytest.raises(ValueError, match="square"):
        graph_distance(np.ones((2, 3)))


@pytest.mark.spec("sangnier/SG-M9")
@pytest.mark.parametrize("seed", range(8))
def test_the_minimum_cut_is_that_of_exhaustive_search(seed):
    W = random_graph(9, 0.6, seed)
    best = np.inf
    for sides in itertools.product([0, 1], repeat=8):
        side = np.array([0, *sides])
        if side.any():
            best = min(best, W[np.ix_(side == 0, side == 1)].sum())
    for graph in (W, sparse.csr_array(W)):
        found = minimum_cut(graph)
        assert_allclose(found.value, best, atol=1e-12)
        assert set(found.labels) == {0, 1}
        assert_allclose(W[np.ix_(found.labels == 0, found.labels == 1)].sum(), best, atol=1e-12)


@pytest.mark.spec("sangnier/SG-M9")
def test_the_minimum_cut_isolates_a_vertex_that_norm_cut_keeps():
    W = np.kron(np.eye(2), np.ones((6, 6)))
    W[:6, 6:] = W[6:, :6] = 0.05
    W[0, 1:] = W[1:, 0] = 0.1  # a vertex loosely attached to its cluster
    np.fill_diagonal(W, 0.0)
    found = minimum_cut(W)
    assert min(np.bincount(found.labels)) == 1
    halves = np.repeat([0, 1], 6)
    assert norm_cut(W, halves).value < norm_cut(W, found.labels).value
    with pytest.raises(ValueError, match="two vertices"):
        minimum_cut([[1.0]])


@pytest.mark.spec("sangnier/SG-P3")
def test_the_degrees_say_which_laplacian_to_prefer():
    even = degree_report(np.ones((5, 5)))
    assert even.variation == 0.0
    assert "nearly equivalent" in even.recommendation
    W = np.diag([1.0, 1.0, 30.0, 1.0])
    W[0, 1] = W[1, 0] = 1.0
    uneven = degree_report(sparse.csr_array(W))
    assert (uneven.least, uneven.median, uneven.greatest) == (1.0, 2.0, 30.0)
    # The border is a coefficient of variation of a tenth.
    for spread, word in ((0.09, "even"), (0.11, "uneven")):
        degree = np.diag([1 - spread, 1 + spread])
        assert degree_report(degree).recommendation.startswith(f"The degrees are {word}:")
    assert_allclose(uneven.variation, np.std([2, 2, 30, 1]) / np.mean([2, 2, 30, 1]))
    assert uneven.isolated == 2
    assert "'random_walk' before 'symmetric'" in uneven.recommendation
