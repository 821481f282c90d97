"""Maps of rows of very many features: the plane of the rows, few cells, and never all of them in memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from assay.discriminant import QuadraticDiscriminantAnalysis
from assay.display import (
    ClassMapDisplay,
    FrontierDisplay,
    LevelMapDisplay,
    MarginDisplay,
    RoundFrontiersDisplay,
)
from assay.display.plane import Plane, principal_plane
from assay.kernel_machines import SVC, OneClassSVM
from assay.linear import LogisticRegression
from assay.trees import AdaBoostClassifier


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (12, 12), (2, 5)])
def test_the_plane_is_that_of_the_first_singular_vectors(rng, shape):
    rows = rng.normal(size=shape) * np.geomspace(3, 1, shape[1]) + 5
    plane = principal_plane(rows)
    _, lengths, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    assert_allclose(plane.share, lengths[:2] ** 2 / np.sum(lengths**2), atol=1e-12)
    assert_allclose(plane.axes.T @ plane.axes, np.eye(2), atol=1e-12)
    for place in range(2 if lengths[1] > 1e-9 else 1):
        axis = axes[place] * np.sign(axes[place][np.abs(axes[place]).argmax()])
        assert_allclose(plane.axes[:, place], axis, atol=1e-7)


def test_rows_on_a_line_and_equal_rows_have_a_plane_too(rng):
    for rows in (np.outer(rng.normal(size=6), rng.normal(size=30)), np.ones((4, 9)), np.ones((1, 9))):
        plane = principal_plane(rows)
        assert_allclose(plane.axes.T @ plane.axes, np.eye(2), atol=1e-12)
        assert np.isfinite(plane.share).all()


def test_no_matrix_of_features_times_features_is_made_for_few_rows(rng, monkeypatch):
    sizes, original = [], scipy.linalg.eigh

    def eigh(matrix, **options):
        sizes.append(matrix.shape)
        return original(matrix, **options)

    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    principal_plane(rng.normal(size=(10, 500)))
    assert sizes == [(10, 10)]


MODELS = {
    "map": (LogisticRegression(), ClassMapDisplay),
    "frontier": (QuadraticDiscriminantAnalysis(shrinkage=0.5), FrontierDisplay),
    "margin": (SVC(), MarginDisplay),
    "level": (OneClassSVM(), LevelMapDisplay),
    "rounds": (AdaBoostClassifier(n_estimators=4), RoundFrontiersDisplay),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_map_of_wide_rows_has_few_cells_and_asks_about_them_in_pieces(rng, monkeypatch, name):
    monkeypatch.setattr("assay.display.plane.MAP_NUMBERS", 40_000)
    monkeypatch.setattr("assay.display.plane.PIECE_NUMBERS", 10_000)
    monkeypatch.setattr("assay.display.plane.LEAST_SIDE", 10)
    lifted, lift = [], Plane.lift

    def counted(plane, points):
        rows = lift(plane, points)
        lifted.append(rows.size)
        return rows

    monkeypatch.setattr(Plane, "lift", counted)
    model, display = MODELS[name]
    X, y = rng.normal(size=(40, 100)), np.repeat([0, 1], 20)
    X[:, :3] += 2 * y[:, None]
    model.fit(X) if name == "level" else model.fit(X, y)
    display.from_estimator(model, X, y).plot()
    assert max(lifted) <= 10_000
    n_cells = sum(size // 100 for size in lifted if size > 100)
    assert n_cells == 400 * (2 if name == "frontier" else 1)  # for scores and for probabilities
