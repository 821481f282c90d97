"""Scores of a partition against a truth, and the matching of clusters with classes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import comb, gammaln
from sklearn import metrics

from assay.cluster import (
    KMeans,
    align_labels,
    chance_scores,
    compare_partitions,
    matched_accuracy,
    permutation_invariant_error,
)
from assay.datasets import iris

AVERAGES = {"arithmetic": np.mean, "geometric": lambda h: np.sqrt(np.prod(h)), "min": min, "max": max}


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, size=120)
    labels = np.where(rng.random(120) < 0.6, truth, rng.integers(0, 6, size=120))
    return truth, labels


def contingency(truth, labels):
    return np.array([[np.sum((truth == i) & (labels == j)) for j in set(labels)] for i in set(truth)])


def expected_information(rows, columns):
    """E MI of tables with these margins: the hypergeometric law, cell by cell."""
    n, total = rows.sum(), 0.0
    for a, b in itertools.product(rows, columns):
        for m in range(max(1, a + b - n), min(a, b) + 1):
            log_probability = (
                gammaln([a + 1, b + 1, n - a + 1, n - b + 1]).sum()
                - gammaln([n + 1, m + 1, a - m + 1, b - m + 1, n - a - b + m + 1]).sum()
            )
            total += m / n * np.log(n * m / (a * b)) * np.exp(log_probability)
    return total


@pytest.mark.spec("sangnier/EV-M1")
def test_pair_scores_are_their_formulas(pair):
    table = contingency(*pair)
    a, b, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    both, rows, columns = comb(table, 2).sum(), comb(a, 2).sum(), comb(b, 2).sum()
    expected = rows * columns / comb(n, 2)
    found = compare_partitions(*pair)
    assert_allclose(found.adjusted_rand, (both - expected) / ((rows + columns) / 2 - expected))
    assert_allclose(found.fowlkes_mallows, both / np.sqrt(rows * columns))
    assert (found.pairs.together, found.pairs.joined, found.pairs.parted) == (
        both,
        columns - both,
        rows - both,
    )
    same_truth, same_label = (values[:, None] == values for values in pair)
    above = np.triu(np.ones((n, n), dtype=bool), 1)
    assert found.pairs.apart == (~same_truth & ~same_label & above).sum()
    assert_allclose(found.rand, (same_truth == same_label)[above].mean())
    assert_allclose(found.jaccard, both / (rows + columns - both))
    assert_array_equal(found.contingency, table)


@pytest.mark.spec("sangnier/EV-M1")
def test_information_scores_are_their_formulas(pair):
    table = contingency(*pair)
    share = table / table.sum()
    p, q = share.sum(axis=1), share.sum(axis=0)
    entropies = [-(p * np.log(p)).sum(), -(q * np.log(q)).sum()]
    filled = share > 0
    information = (share[filled] * np.log(share[filled] / np.outer(p, q)[filled])).sum()
    by_chance = expected_information(table.sum(axis=1), table.sum(axis=0))
    found = compare_partitions(*pair)
    assert_allclose(found.mutual_information, information)
    for name, mean in AVERAGES.items():
        whole = mean(entropies)
        assert_allclose(found.normalized_mutual_informations[name], information / whole)
        adjusted = (information - by_chance) / (whole - by_chance)
        assert_allclose(found.adjusted_mutual_informations[name], adjusted)
    assert_allclose(found.homogeneity, 1 - (entropies[0] - information) / entropies[0])
    assert_allclose(found.completeness, 1 - (entropies[1] - information) / entropies[1])
    assert_allclose(found.variation_of_information, sum(entropies) - 2 * information)
    assert_allclose(found.v_measure, found.normalized_mutual_informations["arithmetic"])


@pytest.mark.spec("sangnier/EV-M1")
@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 3.0])
def test_v_measure_weighs_completeness_by_beta(pair, beta):
    found = compare_partitions(*pair, beta=beta)
    assert_allclose(found.v_measure, metrics.v_measure_score(*pair, beta=beta))


@pytest.mark.spec("sangnier/EV-M1")
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_scores_are_those_of_scikit_learn_and_ignore_names(n, seed):
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(0, 3, size=n), rng.integers(0, 4, size=n)
    found = compare_partitions(truth, labels)
    assert_allclose(found.adjusted_rand, metrics.adjusted_rand_score(truth, labels))
    for name in AVERAGES:
        theirs = metrics.normalized_mutual_info_score(truth, labels, average_method=name)
        assert_allclose(found.normalized_mutual_informations[name], theirs, atol=1e-9)
        if n in (len(set(truth)), len(set(labels))):
            continue  # rows alone in their groups: 0/0, which rounding decides there
        theirs = metrics.adjusted_mutual_info_score(truth, labels, average_method=name)
        assert_allclose(found.adjusted_mutual_informations[name], theirs, atol=1e-7)
    theirs = metrics.homogeneity_completeness_v_measure(truth, labels)
    assert_allclose((found.homogeneity, found.completeness, found.v_measure), theirs, atol=1e-9)
    renamed = np.array(["d", "b", "a", "c"])[labels]
    assert compare_partitions(truth, renamed).scores == pytest.approx(found.scores)


@pytest.mark.spec("sangnier/EV-T1")
def test_scores_by_chance():
    k = np.array([2, 5, 10, 50])
    found = chance_scores(600, k.tolist(), n_draws=15, random_state=0)
    error = dict(zip(found._fields[1:6], found.standard_error.T, strict=True))
    for name in ("adjusted_rand", "adjusted_mutual_information"):
        assert (np.abs(getattr(found, name)) <= 4 * error[name] + 1e-4).all(), name
    assert (np.diff(found.normalized_mutual_information) > 0).all()
    assert (np.diff(found.v_measure) > 0).all()
    assert found.v_measure[-1] > 0.2
    small = chance_scores(100, [10], n_draws=15, random_state=0)
    assert small.v_measure[0] > 4 * found.v_measure[2]
    assert abs(small.adjusted_rand[0]) < 0.01


@pytest.mark.spec("sangnier/EV-T1")
def test_fowlkes_mallows_of_random_labels_is_one_over_k_and_not_zero():
    k = np.array([2, 5, 10, 50])
    found = chance_scores(2000, k.tolist(), n_draws=10, random_state=1)
    error = found.standard_error[:, -1]
    assert (np.abs(found.fowlkes_mallows - 1 / k) <= 4 * error + 1e-3).all()
    rng = np.random.default_rng(0)
    draws = [compare_partitions(*rng.integers(0, 5, size=(2, 300))).fowlkes_mallows for _ in range(60)]
    many = chance_scores(300, [5], n_draws=60, random_state=0).standard_error[0, -1]
    assert many == pytest.approx(np.std(draws) / np.sqrt(60), rel=0.5)  # of a mean, not of one draw
    assert (found.fowlkes_mallows > 10 * error).all()


def test_chance_scores_check_their_parameters():
    for wrong in ({"n_samples": 0, "n_clusters": [2]}, {"n_samples": 5, "n_clusters": []}):
        with pytest.raises(ValueError, match="chance_scores"):
            chance_scores(**wrong)
    with pytest.raises(ValueError, match="n_draws"):
        chance_scores(5, [2], n_draws=0)


@pytest.mark.spec("peyre/X6")
def test_classes_inside_each_cluster_are_counted_and_matched():
    X, species = iris(return_X_y=True)
    labels = KMeans(3, n_init=5, random_state=0).fit(X).labels_
    found = compare_partitions(species, labels)
    names = np.unique(species)
    for column, cluster in enumerate(found.clusters):
        inside = [np.sum(species[labels == cluster] == name) for name in names]
        assert_array_equal(found.contingency[:, column], inside)
    best = max(np.mean(species == names[list(order)][labels]) for order in itertools.permutations(range(3)))
    assert_allclose(found.matched_accuracy, best)
    assert_allclose(found.adjusted_rand, metrics.adjusted_rand_score(species, labels))
    frame = found.to_frame()
    assert frame.shape == (3, 3)
    assert frame.to_numpy().sum() == 150
    assert "matched accuracy" in repr(found)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 10**6))
def test_matching_is_the_best_of_all_renamings(n_classes, n_clusters, seed):
    rng = np.random.default_rng(seed)
    truth, labels = rng.integers(0, n_classes, size=15), rng.integers(0, n_clusters, size=15)
    size = max(n_classes, n_clusters)
    best = max(np.mean(np.array(order)[labels] == truth) for order in itertools.permutations(range(size)))
    assert_allclose(matched_accuracy(truth, labels), best)
    assert_allclose(permutation_invariant_error(truth, labels), 1 - best, atol=1e-15)
    aligned = align_labels(truth, labels)
    assert_allclose(np.mean(aligned.labels == truth), best)
    assert compare_partitions(labels, aligned.labels).adjusted_rand == 1.0


def test_clusters_left_over_keep_a_label_of_their_own():
    aligned = align_labels([0, 0, 0, 1, 1, 1], [5, 5, 7, 2, 2, 2])
    assert aligned.mapping == {2: 1, 5: 0, 7: None}
    assert_array_equal(aligned.labels, [0, 0, 2, 1, 1, 1])
    words = align_labels(["x", "x", "y", "y"], [1, 1, 0, 3])
    assert list(words.labels) == ["x", "x", "y", "cluster 3"]
    assert words.error == 0.25


def test_noise_is_never_matched():
    aligned = align_labels([0, 0, 0, 1], [-1, -1, -1, 0])
    assert aligned.mapping[-1] is None
    assert aligned.accuracy == 0.25
    assert_array_equal(aligned.labels, [-1, -1, -1, 1])


def test_noise_is_a_cluster_unless_it_is_ignored():
    truth, labels = [0, 0, 1, 1, 1], [0, -1, 1, 1, -1]
    counted = compare_partitions(truth, labels)
    ignored = compare_partitions(truth, labels, ignore_noise=True)
    assert (counted.n_samples, counted.n_left_out, len(counted.clusters)) == (5, 0, 3)
    assert (ignored.n_samples, ignored.n_left_out, len(ignored.clusters)) == (3, 2, 2)
    assert ignored.adjusted_rand == 1.0
    assert counted.adjusted_rand < 1.0
    with pytest.raises(ValueError, match="all noise"):
        compare_partitions([0, 1], [-1, -1], ignore_noise=True)


def test_purity_takes_the_most_frequent_class_of_each_cluster():
    found = compare_partitions([0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 1, 1])
    assert_allclose(found.purity, (2 + 2) / 6)


def test_perfect_and_trivial_partitions():
    perfect = compare_partitions(["a", "b", "b"], [3, 1, 1])
    assert set(perfect.scores.values()) == {1.0, perfect.mutual_information, 0.0}
    assert perfect.variation_of_information == 0.0
    one = compare_partitions([0, 0, 0], [1, 1, 1])
    assert one.adjusted_rand == one.adjusted_mutual_information == one.v_measure == 1.0
    single = compare_partitions([0], [0])
    assert single.rand == single.jaccard == single.matched_accuracy == 1.0


@pytest.mark.parametrize("function", [compare_partitions, align_labels, matched_accuracy])
def test_bad_input_gets_a_sentence(function):
    with pytest.raises(ValueError, match="truth has 3 rows but labels has 2"):
        function([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match=r"'truth'.*one-dimensional"):
        function([], [])
    with pytest.raises(ValueError, match=r"'labels'.*NaN"):
        function([0, 1], [0.0, np.nan])
    with pytest.raises(ValueError, match=r"'labels'.*one-dimensional"):
        function([0, 1], [[0, 1]])


def test_bad_options_get_a_sentence():
    with pytest.raises(ValueError, match="'beta' parameter of compare_partitions"):
        compare_partitions([0, 1], [0, 1], beta=-1.0)
    with pytest.raises(ValueError, match="'ignore_noise'"):
        compare_partitions([0, 1], [0, 1], ignore_noise="yes")
