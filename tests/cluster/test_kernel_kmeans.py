"""Kernel k-means: k-means in a feature space, known by inner products."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from assay.cluster import KernelKMeans, KMeans
from assay.cluster.quantizer.kernel_kmeans_solver import FeatureSpace
from assay.datasets import Rings
from assay.kernels import Polynomial


@pytest.fixture(scope="module")
def points():
    return make_blobs(240, 2, centers=4, cluster_std=1.5, random_state=9)[0]


@pytest.fixture(scope="module")
def rings():
    return Rings(radii=(1.0, 4.0), noise_std=0.15).sample(300, random_state=1)


def objective(K, labels, weight):
    """The criterion as it is written in the course, by loops over clusters."""
    total = 0.0
    for k in np.unique(labels):
        inside = labels == k
        w = weight[inside]
        part, size = K[np.ix_(inside, inside)], w.sum()
        total += w @ (part.diagonal() - 2 / size * part @ w + w @ part @ w / size**2)
    return total


@pytest.mark.spec("wei/M10.5")
@pytest.mark.parametrize("data", ["iris", "blobs"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_kernel_is_k_means(points, data, weighted):
    X = load_iris().data if data == "iris" else points
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float) if weighted else None
    start = [1, 60, 120, 30]
    plain = KMeans(4, init=X[start], tol=0, empty_clusters="keep").fit(X, sample_weight=weight)
    kernel = KernelKMeans(4, kernel="linear", init=start).fit(X, sample_weight=weight)
    present = slice(None) if weight is None else weight > 0
    assert_array_equal(kernel.labels_[present], plain.labels_[present])
    assert_allclose(kernel.inertia_, plain.inertia_, rtol=1e-10)
    new = X + 0.3
    assert_array_equal(kernel.predict(new), plain.predict(new))


@pytest.mark.spec("wei/M10.5")
def test_an_explicit_feature_map_gives_the_same_clusters(points):
    X = points / 5
    features = np.column_stack(
        [X[:, 0] ** 2, X[:, 1] ** 2, np.sqrt(2) * X[:, 0] * X[:, 1], np.sqrt(2) * X, np.ones(len(X))]
    )
    start = [0, 50, 100, 150]
    mapped = KMeans(4, init=features[start], tol=0).fit(features)
    kernel = KernelKMeans(4, kernel=Polynomial(2, gamma=1.0, coef0=1.0), init=start).fit(X)
    assert_array_equal(kernel.labels_, mapped.labels_)
    assert_allclose(kernel.inertia_, mapped.inertia_, rtol=1e-9)


@pytest.mark.spec("wei/M10.5")
def test_concentric_circles_are_told_apart_by_the_gaussian_kernel(rings):
    X, y = rings
    model = KernelKMeans(2, gamma=0.5, n_init=8, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    new, truth = Rings(radii=(1.0, 4.0), noise_std=0.15).sample(200, random_state=7)
    assert adjusted_rand_score(truth, model.predict(new)) > 0.98
    assert adjusted_rand_score(y, KMeans(2, random_state=0).fit(X).labels_) < 0.1


@pytest.mark.spec("wei/M10.5", "sangnier/KM-T2")
def test_cost_is_the_criterion_and_never_rises(points):
    weight = np.random.default_rng(1).integers(1, 4, len(points)).astype(float)
    model = KernelKMeans(4, gamma=0.2, init="random", random_state=3).fit(points, sample_weight=weight)
    K = rbf_kernel(points, gamma=0.2)
    assert_allclose(model.inertia_, objective(K, model.labels_, weight))
    assert len(model.inertia_trace_) > 2
    assert np.all(np.diff(model.inertia_trace_) <= 1e-12)
    # Every row is at its nearest mean, measured by the formula of the course.
    for i in (0, 17, 101):
        distances = []
        for k in range(4):
            w = weight * (model.labels_ == k)
            distances.append(K[i, i] - 2 / w.sum() * K[i] @ w + w @ K @ w / w.sum() ** 2)
        assert np.argmin(distances) == model.labels_[i]


def test_weights_are_repetitions(points):
    weight = np.tile([1, 2, 0, 3], 60)
    first = KernelKMeans(4, gamma=0.1, random_state=0).fit(points, sample_weight=weight)
    second = KernelKMeans(4, gamma=0.1, random_state=0).fit(np.repeat(points, weight, axis=0))
    assert_allclose(first.inertia_, second.inertia_)
    assert adjusted_rand_score(first.predict(points), second.predict(points)) == 1.0


def test_a_precomputed_kernel_gives_the_same_clusters(points):
    K = rbf_kernel(points, gamma=0.1)
    direct = KernelKMeans(4, gamma=0.1, random_state=0).fit(points)
    given = KernelKMeans(4, kernel="precomputed", random_state=0).fit(K)
    assert_array_equal(direct.labels_, given.labels_)
    new = points[:30] + 0.1
    assert_array_equal(direct.predict(new), given.predict(rbf_kernel(new, points, gamma=0.1)))
    assert given.certify(K).holds


def test_the_spectral_bound_is_below_every_partition(points):
    X = points[:60]
    model = KernelKMeans(3, gamma=0.1, n_init=5, random_state=0).fit(X)
    bound = model.certify(X).named("cost")
    assert 0 < bound.bound <= model.inertia_
    space = FeatureSpace(rbf_kernel(X, gamma=0.1), None)
    rng = np.random.default_rng(0)
    for _ in range(30):
        labels = rng.integers(0, 3, 60)
        assert space.cost(labels, space.means(labels, 3)) >= bound.bound


def test_certificates_see_damage(points):
    model = KernelKMeans(4, random_state=0).fit(points)
    model.labels_[:40] = (model.labels_[:40] + 1) % 4
    failed = {item.quantity for item in model.certify(points).failed}
    assert {"assignment excess", "error of the cost", "error of the means"} <= failed


@pytest.mark.parametrize(
    ("K", "sentence"),
    [
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        (np.array([[-1.0, 0.0], [0.0, 1.0]]), "not positive semi-definite"),
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
    ],
)
def test_matrices_that_are_no_kernels_are_refused(K, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelKMeans(1, kernel="precomputed").fit(K)


def test_a_matrix_with_a_hidden_negative_eigenvalue_is_found_out_by_certify():
    angle = np.cos(np.deg2rad(150))
    K = np.array([[1.0, angle, angle], [angle, 1.0, angle], [angle, angle, 1.0]])  # three obtuse angles
    model = KernelKMeans(1, kernel="precomputed").fit(K)
    assert not model.certify(K).named("smallest eigenvalue").holds


def test_other_bad_input_is_refused_or_said(points, tmp_path):
    with pytest.raises(ValueError, match="'n_clusters' parameter of KernelKMeans"):
        KernelKMeans(4).fit(points[:3])
    with pytest.raises(ValueError, match="'init' parameter of KernelKMeans must be an array of n_clusters=2"):
        KernelKMeans(2, init=[0, 0]).fit(points)
    with pytest.raises(ValueError, match="'kernel' parameter"):
        KernelKMeans(2, kernel="cubic").fit(points)
    with pytest.raises(ValueError, match="overflows"):
        KernelKMeans(2, kernel="exponential", gamma=1e6).fit(points)
    with pytest.warns(ConvergenceWarning, match="Only 2 of the 3 clusters"):
        KernelKMeans(3, random_state=0).fit(np.repeat([[0.0], [1.0]], 4, axis=0))
    np.save(tmp_path / "rows.npy", points)
    for act in (KernelKMeans(2).fit, KernelKMeans(2, random_state=0).fit(points).certify):
        with pytest.raises(ValueError, match="all pairs of rows"):
            act(str(tmp_path / "rows.npy"))
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=1"):
        KernelKMeans(4, max_iter=1, init="random", random_state=3, gamma=0.2).fit(points)
