"""Why rows are mapped to few coordinates: cost, the error of neighbours, pictures; and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from assay.datasets import GaussianClasses
from assay.discriminant import FisherDiscriminant, Whitener
from assay.neighbors import KNeighborsClassifier
from assay.theory import knn_sample_complexity
from blocks import small_blocks


@pytest.fixture(scope="module")
def near_a_plane():
    """Rows x = μ + Vy + ε of 12 features with y in the plane, and the frame V, which is orthonormal."""
    rng = np.random.default_rng(0)
    angles = np.pi * np.arange(12) / 6
    frame = np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(6)
    latent = rng.normal(size=(400, 2)) * [3.0, 2.0]
    noise = 0.05 * rng.normal(size=(400, 12))
    return 5.0 + latent @ frame.T + noise, latent, frame


@pytest.mark.spec("sangnier/CD-P1")
def test_rows_near_a_plane_are_given_back_by_two_coordinates(near_a_plane):
    X, latent, frame = near_a_plane
    # Directions of a share of the spread of their column below `tol` are left out: two are kept.
    model = Whitener(method="principal", tol=0.2).fit(X)
    Z = model.transform(X)
    assert Z.shape == (400, 2)
    # The first view: rows are projected onto the plane, and no distance is distorted by much.
    again = model.inverse_transform(Z)
    assert np.linalg.matrix_rank(again - again.mean(axis=0), tol=1e-8) == 2
    before, after = pdist(X), pdist(again)
    far = before > 1.0
    assert np.abs(after[far] / before[far] - 1).max() < 0.1
    # What is lost is the noise of ten directions, and the mean squared distance by its definition.
    error = model.reconstruction_error(X)
    assert_allclose(error, ((X - again) ** 2).sum(axis=1).mean(), rtol=1e-10)
    assert abs(error / (10 * 0.05**2) - 1) < 0.15
    # The second view: x ≈ f(y) for a latent y, of which the coordinates are an affine function.
    ones = np.column_stack([Z, np.ones(400)])
    found = ones @ np.linalg.lstsq(ones, latent, rcond=None)[0]
    assert np.sqrt(np.mean((found - latent) ** 2)) < 0.06
    # The plane that is found is the plane of the law: its normal component vanishes.
    directions = np.linalg.qr(model.unwhitening_)[0]
    assert np.linalg.norm(directions - frame @ (frame.T @ directions)) < 0.02
    assert Whitener().fit(X).reconstruction_error(X) < 1e-20 * np.mean(X**2)


@pytest.mark.spec("sangnier/CD-P1")
def test_the_common_interface_of_maps_is_that_of_a_matrix(tmp_path):
    X, y = GaussianClasses(np.eye(3, 6) * 4).sample(200, random_state=0)
    weight = np.tile([1.0, 2.0, 0.0, 1.0], 50)
    for model in (FisherDiscriminant(n_components=1), FisherDiscriminant(), Whitener(tol=0.5)):
        model.fit(X, y, sample_weight=weight)
        Z = model.transform(X)
        W = np.linalg.lstsq(X[:20] - X[20:40], Z[:20] - Z[20:40], rcond=None)[0].T  # φ(x) = Wx + w₀
        assert W.shape == (Z.shape[1], 6)
        assert_allclose(Z, X @ W.T + (Z[0] - W @ X[0]), atol=1e-9)
        again = model.inverse_transform(Z)
        error = model.reconstruction_error(X, sample_weight=weight)
        assert_allclose(error, weight @ ((X - again) ** 2).sum(axis=1) / weight.sum(), rtol=1e-10)
        # φ(ψ(z)) = z: the way back leads to a row of the same coordinates.
        assert_allclose(model.transform(again), Z, atol=1e-9)
        # Blocks of a file give what memory gives.
        np.save(tmp_path / "rows.npy", X)
        with small_blocks():
            walked = model.reconstruction_error(str(tmp_path / "rows.npy"))
        assert_allclose(walked, model.reconstruction_error(X), rtol=1e-12)
        with pytest.raises(ValueError, match=rf"inverse_transform takes rows of {Z.shape[1]} coordinates"):
            model.inverse_transform(np.zeros((3, 9)))


@pytest.mark.spec("sangnier/CD-P1")
def test_no_affine_way_back_from_fishers_axes_loses_less():
    X, y = GaussianClasses(np.eye(3, 5) * 3, np.diag([1.0, 4.0, 1.0, 9.0, 0.5])).sample(300, random_state=1)
    model = FisherDiscriminant().fit(X, y)
    Z = model.transform(X)
    ones = np.column_stack([Z, np.ones(len(Z))])
    best = ones @ np.linalg.lstsq(ones, X, rcond=None)[0]  # least squares over all affine ways back
    assert_allclose(model.inverse_transform(Z), best, atol=1e-8)
    assert_allclose(model.reconstruction_error(X), ((X - best) ** 2).sum(axis=1).mean(), rtol=1e-9)


@pytest.mark.spec("sangnier/CD-P1")
def test_fewer_coordinates_cost_less_and_let_neighbours_generalise():
    n_features = 60
    means = np.zeros((3, n_features))
    means[1, 0], means[2, 1] = 3.0, 3.0
    law = GaussianClasses(means)
    X, y = law.sample(300, random_state=0)
    new, truth = law.sample(2000, random_state=1)
    flat = FisherDiscriminant().fit(X, y)
    errors = [
        1 - KNeighborsClassifier(5).fit(X, y).score(new, truth),
        1 - KNeighborsClassifier(5).fit(flat.transform(X), y).score(flat.transform(new), truth),
    ]
    # Generalisation: noise in 58 features drowns the neighbours; on two axes half of the excess is gone.
    assert errors[0] - errors[1] > 4 * np.sqrt(0.25 / 2000)
    assert errors[1] - law.bayes_risk(random_state=2).value < errors[0] - errors[1]
    # Computation: numbers that are stored and compared; rows that the theorem asks for.
    assert flat.transform(X).nbytes * n_features == X.nbytes * 2
    asked = [knn_sample_complexity(0.1, d, 10, 1.0) for d in (2, n_features)]
    assert asked[1] / asked[0] > 1e100
    # Display: two coordinates are a picture, and its axes have names.
    assert list(flat.get_feature_names_out()) == ["fisherdiscriminant0", "fisherdiscriminant1"]
    assert flat.transform(X).shape == (300, 2)
