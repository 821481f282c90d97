"""The nearest centroid in an RKHS: the formula term by term, the linear case, weights, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.datasets import GaussianClasses
from assay.discriminant import NearestCentroid
from assay.kernel_machines import KernelNearestCentroid
from assay.kernels import Polynomial


@pytest.fixture(scope="module")
def three():
    law = GaussianClasses([[1.5, 0.0], [-1.0, 1.0], [0.0, -1.5]])
    X, y = law.sample(120, random_state=0)
    return X, np.array(["a", "b", "c"])[y.astype(int)]


def brute_force(kernel, X, y, rows):
    """‖φ(x) − m_j‖² by the sums of the exercise, one term at a time."""
    result = np.empty((len(rows), len(np.unique(y))))
    for j, label in enumerate(np.unique(y)):
        own = X[y == label]
        inner = np.mean([[kernel(a, b) for b in own] for a in own])
        for i, x in enumerate(rows):
            result[i, j] = kernel(x, x) - 2 * np.mean([kernel(x, a) for a in own]) + inner
    return result


@pytest.mark.spec("sangnier/E-1.10")
def test_the_rule_is_the_exercise_term_by_term(three):
    X, y = three
    rows = np.random.default_rng(1).normal(size=(15, 2))
    for model, kernel in (
        (KernelNearestCentroid(gamma=0.7), lambda x, z: np.exp(-0.7 * np.sum((x - z) ** 2))),
        (KernelNearestCentroid("polynomial", degree=2, gamma=0.5), lambda x, z: (1 + 0.5 * x @ z) ** 2),
    ):
        squares = brute_force(kernel, X, y, rows)
        fitted = model.fit(X, y)
        assert_allclose(fitted.distances(rows) ** 2, squares, atol=1e-10)
        assert list(fitted.predict(rows)) == list(np.unique(y)[squares.argmin(axis=1)])
    # Two classes: +1 if and only if its centre is nearer.
    two = y != "c"
    signs = np.where(y[two] == "a", 1, -1)
    squares = brute_force(lambda x, z: np.exp(-0.7 * np.sum((x - z) ** 2)), X[two], signs, rows)
    fitted = KernelNearestCentroid(gamma=0.7).fit(X[two], signs)
    assert_allclose(fitted.decision_function(rows), squares[:, 0] - squares[:, 1], atol=1e-10)
    assert np.array_equal(fitted.predict(rows) == 1, squares[:, 1] < squares[:, 0])


@pytest.mark.spec("sangnier/E-1.10")
def test_the_linear_kernel_gives_the_nearest_centroid(three):
    X, y = three
    model, plain = KernelNearestCentroid("linear").fit(X, y), NearestCentroid().fit(X, y)
    rows = np.random.default_rng(2).normal(size=(200, 2))
    assert np.array_equal(model.predict(rows), plain.predict(rows))
    expected = np.linalg.norm(rows[:, None] - plain.centroids_, axis=2)
    assert_allclose(model.distances(rows), expected, atol=1e-10)


@pytest.mark.spec("sangnier/E-1.10")
def test_centres_are_means_not_sums(three):
    # The notes print the centre without the inverse count, which another number of rows of a class changes.
    X, y = three
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(y == "a")])
    once, more = (KernelNearestCentroid(gamma=0.7).fit(X[rows], y[rows]) for rows in (slice(None), twice))
    assert_allclose(more.decision_function(X), once.decision_function(X), atol=1e-12)
    features = Polynomial(2, 1.0).feature_map(X)
    means = np.array([features[y == label].mean(axis=0) for label in np.unique(y)])
    fitted = KernelNearestCentroid("polynomial", degree=2, gamma=1.0).fit(X, y)
    assert_allclose(fitted.centroid_norms_, (means**2).sum(axis=1))
    spread = [
        ((features[y == label] - mean) ** 2).sum(axis=1).mean()
        for label, mean in zip("abc", means, strict=True)
    ]
    assert_allclose(fitted.dispersion_, spread)


def test_a_precomputed_matrix_gives_the_same_classes(three):
    X, y = three
    rows = np.random.default_rng(3).normal(size=(30, 2))
    direct = KernelNearestCentroid(gamma=0.7).fit(X, y)
    given = KernelNearestCentroid("precomputed").fit(direct.kernel_.gram(X), y)
    assert_allclose(
        given.decision_function(direct.kernel_.cross(rows, X)), direct.decision_function(rows), atol=1e-12
    )
    assert given.certify(direct.kernel_.gram(X), y).holds
    with pytest.raises(ValueError, match=r"need k\(x, x\)"):
        given.distances(direct.kernel_.cross(rows, X))


def test_a_class_of_weight_zero_is_never_said(three):
    X, y = three
    model = KernelNearestCentroid(gamma=0.7).fit(X, y, sample_weight=np.where(y == "b", 0.0, 1.0))
    assert list(model.classes_) == ["a", "b", "c"]
    assert "b" not in model.predict(X)


@pytest.mark.parametrize(
    ("options", "X", "y", "words"),
    [
        ({"kernel": "precomputed"}, np.ones((3, 2)), [0, 1, 1], "square Gram matrix"),
        ({"kernel": "precomputed"}, np.array([[1.0, 0.5], [0.1, 1.0]]), [0, 1], "not symmetric"),
        ({"kernel": "exponential", "gamma": 1.0}, 1e3 * np.eye(3), [0, 1, 1], "overflows on these rows"),
        ({}, np.eye(3), [1, 1, 1], "at least two classes"),
    ],
)
def test_what_cannot_be_is_refused(options, X, y, words):
    with pytest.raises(ValueError, match=words):
        KernelNearestCentroid(**options).fit(X, y)


def test_an_indefinite_kernel_is_told_by_its_dispersion():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert not KernelNearestCentroid("precomputed").fit(K, [0, 0, 1]).certificates_.holds
