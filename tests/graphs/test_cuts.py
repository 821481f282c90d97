"""Cuts of a graph: their values, their matrix forms, and the two-way case."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from assay.graphs import (
    graph_cut,
    laplacian,
    minor_eigenpairs,
    norm_cut,
    partition_basis,
    ratio_cut,
    sweep_cut,
)


def graph(n=12, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.6)
    return np.triu(W) + np.triu(W, 1).T + 0.1 * np.eye(n)


@pytest.fixture(params=range(4))
def partition(request):
    rng = np.random.default_rng(request.param)
    labels = np.concatenate([np.arange(4), rng.integers(0, 4, size=8)])
    return graph(seed=request.param), labels


@pytest.mark.spec("sangnier/SG-M1", "sangnier/SG-M2")
def test_cuts_are_sums_over_pairs_in_different_clusters(partition):
    W, labels = partition
    cuts = np.zeros(4)
    for i in range(12):
        for j in range(12):
            if labels[i] != labels[j]:
                cuts[labels[i]] += W[i, j]
    sizes = np.bincount(labels)
    volumes = np.array([W[labels == k].sum() for k in range(4)])
    for given in (W, sparse.csr_array(W)):
        cut, ratio, norm = graph_cut(given, labels), ratio_cut(given, labels), norm_cut(given, labels)
        assert_allclose(cut.terms, cuts)
        assert_allclose(ratio.terms, cuts / sizes)
        assert_allclose(norm.terms, cuts / volumes)
        for found in (cut, ratio, norm):
            assert_allclose(found.value, found.terms.sum())
            assert_allclose(found.volumes, volumes)
            assert_array_equal(found.sizes, sizes)


@pytest.mark.spec("sangnier/SG-M1")
def test_each_undirected_edge_is_counted_from_both_sides():
    W = np.zeros((4, 4))
    W[1, 2] = W[2, 1] = 0.7  # the one edge between {0, 1} and {2, 3}
    W[0, 1] = W[1, 0] = W[2, 3] = W[3, 2] = 1.0
    assert_allclose(graph_cut(W, [0, 0, 1, 1]).value, 2 * 0.7)
    assert_allclose(graph_cut(W, [0, 0, 1, 1]).terms, [0.7, 0.7])


@pytest.mark.spec("sangnier/SG-T1", "sangnier/SG-T2")
def test_ratio_cut_and_norm_cut_are_traces(partition):
    W, labels = partition
    degree = W.sum(axis=1)
    member = np.eye(4)[labels]
    by_size = member / np.sqrt(member.sum(axis=0))
    assert_allclose(by_size, partition_basis(labels))
    assert_allclose(by_size.T @ by_size, np.eye(4), atol=1e-14)
    assert_allclose(np.trace(by_size.T @ laplacian(W) @ by_size), ratio_cut(W, labels).value)
    by_volume = member / np.sqrt(degree @ member)
    assert_allclose(np.sqrt(degree)[:, np.newaxis] * by_volume, partition_basis(labels, degree))
    assert_allclose(by_volume.T @ np.diag(degree) @ by_volume, np.eye(4), atol=1e-14)
    assert_allclose(np.trace(by_volume.T @ laplacian(W) @ by_volume), norm_cut(W, labels).value)


@pytest.mark.spec("sangnier/SG-T1")
def test_the_indicator_has_roots_of_the_sizes(partition):
    W, labels = partition
    member = np.eye(4)[labels]
    printed = member / member.sum(axis=0)  # 1/#I_j, as the remark displays it
    assert np.abs(printed.T @ printed - np.eye(4)).max() > 0.1
    assert abs(np.trace(printed.T @ laplacian(W) @ printed) - ratio_cut(W, labels).value) > 0.1


@pytest.mark.spec("sangnier/SG-T7")
def test_norm_cut_also_maximises_what_stays_within(partition):
    W, labels = partition
    norm = norm_cut(W, labels)
    within = np.array([W[np.ix_(labels == k, labels == k)].sum() for k in range(4)])
    assert_allclose(norm.within, within)
    assert_allclose(within, norm.volumes - norm.cuts)
    assert_allclose(norm.value, 4 - (within / norm.volumes).sum())  # least cut, most within
    sizes = norm.sizes
    assert abs(ratio_cut(W, labels).value - (4 - (within / sizes).sum())) > 0.1  # not so for sizes


@pytest.mark.spec("sangnier/SG-M2")
def test_a_partition_into_components_cuts_nothing_at_all():
    W = np.kron(np.eye(3), np.full((4, 4), 0.1))
    for given in (W, sparse.csr_array(W)):
        assert norm_cut(given, np.repeat([0, 1, 2], 4)).value == 0.0
        assert ratio_cut(given, np.repeat(["a", "b", "c"], 4)).value == 0.0
    assert norm_cut(np.zeros((2, 2)), [0, 1]).value == 0.0  # no volume, no cut


@pytest.mark.spec("sangnier/X21-3A")
@pytest.mark.parametrize("seed", range(4))
def test_two_way_norm_cut_is_a_quadratic_form(seed):
    W = graph(seed=seed)
    degree = W.sum(axis=1)
    inside = np.random.default_rng(seed).uniform(size=12) < 0.5
    inside[:2] = [True, False]
    volume_in, volume_out = degree[inside].sum(), degree[~inside].sum()
    f = np.where(inside, np.sqrt(volume_out / volume_in), -np.sqrt(volume_in / volume_out))
    across = (f[inside][0] - f[~inside][0]) ** 2
    assert_allclose(across, degree.sum() / volume_in + degree.sum() / volume_out)
    assert_allclose(degree @ f, 0.0, atol=1e-12)
    assert_allclose(f @ (degree * f), degree.sum())
    norm = norm_cut(W, inside).value
    assert_allclose(f @ laplacian(W) @ f, degree.sum() * norm)
    found = minor_eigenpairs(W, 2)
    relaxed = np.sqrt(degree.sum() / degree) * found.vectors[:, 1]
    assert_allclose(degree @ relaxed, 0.0, atol=1e-10)
    assert_allclose(relaxed @ (degree * relaxed), degree.sum())
    assert_allclose(relaxed @ laplacian(W) @ relaxed, degree.sum() * found.values[1])
    assert norm >= found.values[1]


@pytest.mark.spec("sangnier/X21-3A")
@pytest.mark.parametrize("by_size", [False, True])
def test_the_sweep_tries_every_threshold(rng, by_size):
    W = graph(seed=5)
    score = rng.integers(0, 6, size=12).astype(float)  # with ties
    criterion = ratio_cut if by_size else norm_cut
    levels = np.unique(score)
    values = [criterion(W, score > level).value for level in levels[:-1]]
    for given in (W, sparse.csr_array(W)):
        found = sweep_cut(given, score, by_size=by_size)
        assert_allclose(found.values, values)
        assert_allclose(found.value, min(values))
        assert_allclose(criterion(W, found.labels).value, found.value)
        assert_array_equal(found.labels, score > found.threshold)


def test_labels_must_fit_the_graph():
    with pytest.raises(ValueError, match="as many labels"):
        norm_cut(graph(), [0, 1])
    assert sweep_cut(graph(), np.zeros(12)).value == np.inf  # one level: nothing to cut
