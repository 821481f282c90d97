"""Pictures of neighbours show what the models say: maps, errors over all numbers, shares, volumes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import svd

from assay.datasets import GaussianClasses, TwoMoons, digits, iris
from assay.display import (
    NeighborMapDisplay,
    NeighborPathDisplay,
    NeighborSharesDisplay,
    plot_dimensions,
    plot_selection,
)
from assay.neighbors import (
    KNeighborsClassifier,
    NadarayaWatsonRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)
from assay.theory import ball_share_of_cube, inner_share


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def centres(display, side):
    (left, bottom), (right, top) = display.limits
    x = left + (np.arange(side) + 0.5) / side * (right - left)
    z = bottom + (np.arange(side) + 0.5) / side * (top - bottom)
    return np.stack(np.meshgrid(x, z), axis=-1)


@pytest.mark.spec("sangnier/X-Fig1.10", "rudi/F6.1")
def test_the_map_shows_the_class_of_each_cell_for_several_numbers_of_neighbours():
    X, y = TwoMoons(noise_std=0.25).sample(120, random_state=0)
    model = KNeighborsClassifier(5).fit(X, y)
    display = NeighborMapDisplay.from_estimator(model, X, y, n_neighbors=[1, 9, 41])
    assert sorted(display.regions) == [1, 9, 41]
    side = len(display.regions[1])
    cells = centres(display, side)
    borders = {}
    for k, places in display.regions.items():
        fitted = KNeighborsClassifier(k).fit(X, y)
        said = fitted.predict(cells[::7, ::7].reshape(-1, 2))
        assert_array_equal(fitted.classes_[places[::7, ::7].ravel()], said)
        borders[k] = np.count_nonzero(np.diff(places, axis=0)) + np.count_nonzero(np.diff(places, axis=1))
        assert_array_equal(display.predicted[k], fitted.predict(None))  # each row left out
    assert borders[1] > borders[9] > borders[41]  # more neighbours, smoother frontiers
    # Of one neighbour that is the row itself every row would be right.
    assert (KNeighborsClassifier(1).fit(X, y).predict(X) == y).all()
    assert (display.predicted[1] != y).any()
    # What is drawn: one image per panel, over the frame, in the colours of the classes.
    panels = display.ax_.child_axes
    assert len(panels) == 3
    for panel, k in zip(panels, (1, 9, 41), strict=True):
        (image,) = panel.get_images()
        left, right, bottom, top = image.get_extent()
        assert_allclose([[left, bottom], [right, top]], display.limits)
        shown = np.asarray(image.get_array())[:, :, :3]
        same = (shown[:-1] == shown[1:]).all(axis=2)
        assert_array_equal(same, display.regions[k][:-1] == display.regions[k][1:])
        assert f"k = {k}" in panel.get_title()
        assert_allclose([panel.get_xlim(), panel.get_ylim()], display.limits.T)


@pytest.mark.spec("rudi/F6.1")
def test_neighbours_suffer_from_columns_that_say_nothing_and_their_number_must_grow():
    law = GaussianClasses([[0.0], [2.0]])
    rng = np.random.default_rng(0)
    X, y = law.sample(300, random_state=1)
    new, truth = law.sample(2000, random_state=2)
    errors = []
    for n_noise in (0, 4, 40):
        more, others = rng.normal(size=(300, n_noise)), rng.normal(size=(2000, n_noise))
        model = KNeighborsClassifier(9).fit(np.column_stack([X, more]), y)
        errors.append(np.mean(model.predict(np.column_stack([new, others])) != truth))
    assert errors[0] < law.bayes_risk().value + 0.03
    assert errors[0] < errors[1] < errors[2]
    assert errors[2] > errors[0] + 0.06
    # The best number depends on n.
    best = [
        KNeighborsClassifier()
        .fit(*law.sample(n, random_state=3))
        .score_path(new, truth, max_neighbors=most)
        .best
        for n, most in ((30, 29), (3000, 400))
    ]
    assert best[1] > 3 * best[0]


@pytest.mark.spec("peyre/X4")
def test_the_map_of_many_features_is_in_the_plane_of_the_two_leading_singular_vectors():
    X, y = digits(return_X_y=True)
    X, y = X[:400], y[:400]
    model = KNeighborsClassifier(3).fit(X, y)
    display = NeighborMapDisplay.from_estimator(model, X, y, n_neighbors=[1, 5, 30])
    _, lengths, right = svd(X - X.mean(axis=0), full_matrices=False)
    scores = (X - X.mean(axis=0)) @ right[:2].T
    for column in range(2):  # up to the sign of a singular vector
        sign = np.sign(scores[0, column] * display.points[0, column])
        assert_allclose(display.points[:, column], sign * scores[:, column], atol=1e-8)
    share = lengths[0] ** 2 / np.sum(lengths**2)
    assert f"{share:.0%}" in display.axis_names[0]
    side = len(display.regions[5])
    cells = centres(display, side)[::20, ::20].reshape(-1, 2)
    for k in (1, 5, 30):
        expected = KNeighborsClassifier(k).fit(display.points, y).predict(cells)
        assert_array_equal(display.classes[display.regions[k][::20, ::20].ravel()], expected)


@pytest.mark.spec("peyre/X2")
def test_shares_of_the_classes_around_a_row_as_the_number_grows():
    X, y = iris(return_X_y=True)
    model = KNeighborsClassifier(5).fit(X, y)
    display = NeighborSharesDisplay.from_estimator(model, X, row=70, max_neighbors=150)
    order = np.argsort(((X - X[70]) ** 2).sum(axis=1), kind="stable")
    for r in (1, 10, 60, 150):
        assert_allclose(
            display.shares[r - 1], [np.mean(y[order[:r]] == label) for label in range(3)], atol=1e-14
        )
    heights = np.cumsum(display.shares, axis=1)
    for layer, area in enumerate(display.ax_.collections):
        corners = area.get_paths()[0].vertices
        assert_allclose(corners[:, 1].max(), heights[:, layer].max(), atol=1e-12)
        assert corners[:, 0].max() == 150
    assert display.ax_.get_ylim() == (0.0, 1.0)


@pytest.mark.spec("peyre/X3")
def test_the_error_over_all_numbers_is_drawn_with_the_choice():
    X, y = GaussianClasses([[0.0, 0.0], [1.5, 0.0]]).sample(200, random_state=0)
    selection = KNeighborsClassifier().select(X, y, cv=5, max_neighbors=30, random_state=0)
    ax = selection.plot()
    curve = ax.lines[0]
    assert_array_equal(curve.get_xdata(), np.arange(1, 31))
    assert_allclose(curve.get_ydata(), selection.curve)
    (choice,) = [line for line in ax.lines if list(line.get_xdata()) == [selection.best] * 2]
    assert choice.get_linestyle() != "-"
    assert f"k = {selection.best}" in [text.get_text() for text in ax.texts]
    assert plot_selection(selection).get_title() == f"rule 'min' chooses {selection.best} neighbours"
    path = KNeighborsClassifier(9).fit(X, y).score_path()
    shown = NeighborPathDisplay.from_path(path)
    band = shown.ax_.collections[0].get_paths()[0].vertices
    assert_allclose(band[:, 1].max(), (path.error + path.standard_error).max())
    assert_allclose(shown.ax_.lines[0].get_ydata(), path.error)


@pytest.mark.spec("sangnier/CD-T3", "sangnier/CD-T4")
def test_volumes_over_the_dimension():
    display = plot_dimensions(12, epsilon=0.2)
    ball, inside = display.ax_.lines
    assert_allclose(ball.get_ydata(), [ball_share_of_cube(d) for d in range(1, 13)])
    assert_allclose(inside.get_ydata(), [inner_share(0.2, d) for d in range(1, 13)])
    assert_allclose(ball.get_ydata()[:3], [1.0, np.pi / 4, np.pi / 6])
    with pytest.raises(ValueError, match="epsilon"):
        plot_dimensions(5, epsilon=0.0)


def test_distances_and_bandwidths_are_drawn(rng):
    X = rng.normal(size=(80, 2))
    model = NearestNeighbors().fit(X)
    line = model.plot().lines[0]
    distances, _ = model.kneighbors(n_neighbors=20)
    assert_allclose(line.get_ydata(), np.median(distances, axis=0))
    ball = RadiusNeighborsClassifier(0.3).fit(X, np.arange(80) % 2)
    ax = ball.plot()
    assert ax.lines[1].get_ydata()[0] == 0.3
    alone = np.mean(model.kneighbors(n_neighbors=1)[0] > 0.3)
    assert ax.get_title() == f"{alone:.0%} of 80 rows have no neighbour within r"
    smoother = NadarayaWatsonRegressor().fit(X, X[:, 0])
    curve = smoother.plot().lines[0]
    assert_allclose(curve.get_ydata(), smoother.leave_one_out_losses_)
    with pytest.raises(ValueError, match="leave_one_out"):
        NadarayaWatsonRegressor(1.0).fit(X, X[:, 0]).plot(kind="bandwidth")
