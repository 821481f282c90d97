"""Pictures of classifiers show what the model says, and say what they show."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.path import Path
from scipy import sparse
from scipy.special import expit
from sklearn.decomposition import PCA
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.datasets import GaussianClasses, TwoMoons, digits, iris, wine
from assay.display import ConfusionDisplay, plot, plot_posterior
from assay.display.plane import limits_around, principal_plane, regions
from assay.display.style import PALETTE
from assay.linear import LinearSVC, LogisticRegression, SGDClassifier
from assay.parameters import ParameterError

COLORS = np.array([to_rgb(color) for color in PALETTE])


@pytest.fixture(scope="module")
def two():
    law = GaussianClasses([[0.0, 0.0], [2.2, 1.6]], classes=np.array(["benign", "malignant"]))
    return law.sample(200, random_state=0)


@pytest.fixture(scope="module")
def logistic(two):
    return LogisticRegression(C=np.inf, history=True).fit(*two)


@pytest.fixture(scope="module")
def flowers():
    table = iris(as_frame=True)
    return table.X, np.array(iris().target_names)[iris().y]


@pytest.fixture(scope="module")
def three(flowers):
    return LogisticRegression().fit(*flowers)


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def outlines(ax) -> list[np.ndarray]:
    """Corners of the drawn regions."""
    return [patch.get_xy() for patch in ax.patches]


def shade_at(ax, point) -> np.ndarray:
    """Colour of the shaded picture at a point."""
    image = ax.images[0]
    left, right, bottom, top = image.get_extent()
    picture = np.asarray(image.get_array())
    column = int((point[0] - left) / (right - left) * picture.shape[1])
    row = int((point[1] - bottom) / (top - bottom) * picture.shape[0])
    *color, strength = picture[row, column]
    return 1 - strength * (1 - np.array(color))  # on white


def test_the_map_of_two_features_has_their_names_and_the_exact_regions(logistic, two):
    ax = logistic.plot(*two)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    inside = np.array([Path(part).contains_points(two.X) for part in outlines(ax)])
    np.testing.assert_array_equal(inside.sum(axis=0), 1)
    np.testing.assert_array_equal(logistic.classes_[inside.argmax(axis=0)], logistic.predict(two.X))
    assert {"benign", "malignant", "0.1", "0.9"} == set(words(ax))


@pytest.mark.spec("peyre/X10")
def test_the_shade_of_a_point_mixes_the_colours_by_their_probabilities(logistic, two):
    ax = logistic.plot(*two)
    left, right, bottom, top = ax.images[0].get_extent()
    side = ax.images[0].get_array().shape[0]
    for column, row in ((10, 20), (120, 120), (200, 230)):
        point = np.array(
            [left + (column + 0.5) / side * (right - left), bottom + (row + 0.5) / side * (top - bottom)]
        )
        share = logistic.predict_proba(point[None])[0]
        strength = 0.05 + 0.33 * (2 * share.max() - 1)
        np.testing.assert_allclose(shade_at(ax, point), 1 - strength * (1 - share @ COLORS[:2]), atol=1e-6)


def test_the_dashes_are_where_the_probability_is_a_tenth_and_nine_tenths(logistic, two):
    ax = logistic.plot(*two)
    levels = [logistic.predict_proba(np.column_stack(line.get_data()))[:, 1] for line in ax.lines]
    np.testing.assert_allclose(levels, [[0.1, 0.1], [0.9, 0.9]], rtol=1e-9)


def test_rows_stand_in_the_colour_of_their_class_and_mistakes_are_ringed(logistic, two):
    ax = logistic.plot(*two)
    right, wrong = ax.collections
    mistakes = two.y != logistic.predict(two.X)
    np.testing.assert_allclose(wrong.get_offsets(), two.X[mistakes])
    np.testing.assert_allclose(right.get_offsets(), two.X[~mistakes])
    color = COLORS[(two.y[mistakes] == "malignant").astype(int)]
    np.testing.assert_allclose(wrong.get_facecolor()[:, :3], color, atol=1e-12)
    assert ax.get_title() == f"{1 - mistakes.mean():.1%} of the rows right (mistakes ringed)"


def test_a_machine_without_probabilities_shows_its_regions(two):
    model = LinearSVC().fit(*two)
    ax = model.plot(*two)
    assert not ax.images
    inside = np.array([Path(part).contains_points(two.X) for part in outlines(ax)])
    np.testing.assert_array_equal(model.classes_[inside.argmax(axis=0)], model.predict(two.X))
    assert set(words(ax)) == {"benign", "malignant"}


def test_the_map_of_many_features_is_the_plane_of_the_principal_axes(three, flowers):
    ax = three.plot(*flowers)
    X = flowers[0].to_numpy()
    assert ax.get_xlabel().splitlines() == [
        "first principal axis (92% of the variance)",
        "shaded: the plane through the mean",
    ]
    scores = PCA(2).fit_transform(X)
    drawn = np.vstack([points.get_offsets() for points in ax.collections])
    np.testing.assert_allclose(np.sort(np.abs(drawn[:, 0])), np.sort(np.abs(scores[:, 0])), atol=1e-9)
    plane = principal_plane(X)
    middle = np.array([part.mean(axis=0) for part in outlines(ax)])
    rows = pd.DataFrame(plane.lift(middle), columns=flowers[0].columns)
    np.testing.assert_array_equal(three.predict(rows), three.classes_)


@pytest.mark.spec("peyre/X17")
def test_class_probabilities_after_two_principal_components_are_mixed_into_one_map():
    table = wine()
    model = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(table.X, table.y)
    ax = plot(model, table.X, table.y)
    flat = model[:-1].transform(table.X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("pca0", "pca1")
    # Colours undone: the share of each class at a cell follows from the colour mixed there.
    shares = model[-1].predict_proba(flat)
    certainty = (shares.max(axis=1) - 1 / 3) * 1.5
    for point, share, sure in list(zip(flat, shares, certainty, strict=True))[::15]:
        mixed = 1 - (1 - shade_at(ax, point)) / (0.05 + 0.33 * sure)
        np.testing.assert_allclose(np.linalg.solve(COLORS[:3].T, mixed), share, atol=0.06)
    inside = np.array([Path(part).contains_points(flat) for part in outlines(ax)])
    np.testing.assert_array_equal(inside.argmax(axis=0), model.predict(table.X))
    assert model.score(table.X, table.y) > 0.95
    assert set(words(ax)) == {"0", "1", "2"}


def test_one_feature_shows_the_probability_curve_over_the_rows(two, logistic):
    X = two.X[:, :1]
    model = LogisticRegression(C=np.inf).fit(X, two.y)
    ax = model.plot(X, two.y)
    grid, curve = ax.lines[0].get_data()
    np.testing.assert_allclose(curve, expit(model.coef_[0, 0] * grid + model.intercept_[0]))
    assert ax.get_ylabel() == "probability of malignant"
    boundary = ax.lines[1].get_xdata()[0]
    assert boundary == pytest.approx(-model.intercept_[0] / model.coef_[0, 0], abs=np.diff(grid[:2])[0])
    ticks = {len(line.get_xdata()) for line in ax.lines[2:]}
    assert ticks == {int(np.sum(two.y == label)) for label in model.classes_}
    assert LinearSVC().fit(X, two.y).plot(X, two.y).get_ylabel() == "score of malignant"


def test_one_feature_and_three_classes_shows_a_curve_for_each(flowers):
    X = flowers[0][["petal length (cm)"]]
    model = LogisticRegression().fit(X, flowers[1])
    ax = model.plot(X, flowers[1])
    assert words(ax) == list(model.classes_)
    drawn = np.column_stack([line.get_ydata() for line in ax.lines[:3]])
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0)
    assert ax.get_xlabel() == "petal length (cm)"


def test_the_confusion_matrix_counts_and_shares(three, flowers):
    ax = three.plot(*flowers, kind="confusion")
    counts = confusion_matrix(flowers[1], three.predict(flowers[0]))
    assert words(ax)[0::2] == [str(count) for count in counts.ravel()]
    assert words(ax)[1::2] == [
        f"{share:.0%}" for share in (counts / counts.sum(axis=1, keepdims=True)).ravel()
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted", "observed")
    assert ax.get_title() == f"{np.trace(counts)} of 150 rows right ({np.trace(counts) / 150:.1%})"


def test_a_class_that_the_model_never_saw_has_a_line_in_the_confusion_matrix(three, flowers):
    X, y = flowers[0].iloc[:10], np.array(["other"] * 4 + ["setosa"] * 6)
    ax = three.plot(X, y, kind="confusion")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["other", *three.classes_]
    assert ax.get_title().startswith("6 of 10 rows right")
    assert three.plot(X, y).has_data()


def test_thousands_in_a_confusion_matrix_are_parted_as_in_the_text():
    shown = ConfusionDisplay(np.array([[1200, 30], [40, 2500]]), ["no", "yes"]).plot()
    assert words(shown.ax_)[::2] == ["1,200", "30", "40", "2,500"]
    assert shown.ax_.get_title() == "3,700 of 3,770 rows right (98.1%)"


@pytest.mark.spec("sangnier/T-1.2.1-e")
def test_probability_is_nearly_linear_with_slope_a_quarter_of_the_norm_and_saturates(logistic, two):
    ax = logistic.plot(*two, kind="probability")
    distance, curve = ax.lines[2].get_data()
    size = np.linalg.norm(logistic.coef_)
    np.testing.assert_allclose(curve, expit(size * distance), atol=1e-12)
    at_plane = np.gradient(curve, distance)[np.argmin(np.abs(distance))]
    assert at_plane == pytest.approx(size / 4, rel=1e-3)
    tangent = ax.lines[3]
    assert np.diff(tangent.get_ydata())[0] / np.diff(tangent.get_xdata())[0] == pytest.approx(size / 4)
    # |σ(t) − ½ − t/4| ≤ |t|³/48, and 1 − σ(t) ≤ e⁻ᵗ.
    t = size * distance
    assert np.all(np.abs(curve - 0.5 - t / 4) <= np.abs(t) ** 3 / 48 + 1e-12)
    assert np.all(1 - curve[t > 0] <= np.exp(-t[t > 0]))
    assert np.all(curve[t < 0] <= np.exp(t[t < 0]))
    assert f"slope ‖w‖/4 = {size / 4:.3g}\nat the hyperplane" in words(ax)


@pytest.mark.spec("sangnier/T-1.2.1-e")
def test_the_probability_picture_shows_the_rows_at_their_signed_distance(logistic, two):
    ax = logistic.plot(*two, kind="probability")
    size = np.linalg.norm(logistic.coef_)
    negative = two.X[two.y == "benign"]
    np.testing.assert_allclose(
        ax.lines[4].get_xdata(), (negative @ logistic.coef_[0] + logistic.intercept_[0]) / size
    )
    assert logistic.plot(kind="probability").has_data()


def test_coefficients_without_data(logistic, three, flowers):
    ax = logistic.plot()
    assert ax.get_xlabel() == "coefficient (positive speaks for malignant)"
    order = np.argsort(-np.abs(logistic.coef_[0]))[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], logistic.coef_[0, order])
    ax = three.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(three.classes_)
    assert "petal length (cm)" in [label.get_text() for label in ax.get_yticklabels()]


def test_coefficients_as_images_stand_in_their_places():
    table = digits()
    model = LogisticRegression().fit(table.X[:400] / 16, table.y[:400])
    ax = model.plot(image_shape=(8, 8))
    sheet = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert words(ax) == [str(digit) for digit in range(10)]
    np.testing.assert_allclose(sheet[3:11, 0:8], model.coef_[0].reshape(8, 8))
    np.testing.assert_allclose(sheet[14:22, 36:44], model.coef_[9].reshape(8, 8))
    assert ax.images[0].get_clim() == pytest.approx((-np.abs(model.coef_).max(), np.abs(model.coef_).max()))


def test_history_shows_what_the_fit_kept(logistic, flowers):
    ax = logistic.plot(kind="history")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), logistic.history_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", "objective")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(logistic.n_iter_ + 1))
    machine = LinearSVC(loss="hinge", history=True).fit(*flowers)
    ax = machine.plot(kind="history")
    assert (len(ax.lines), ax.get_yscale(), ax.get_ylabel()) == (3, "log", "relative duality gap")
    assert ax.get_xlabel() == "iteration"
    now_and_then = LinearSVC(solver="dual_coordinate", history=True, random_state=0).fit(*flowers)
    assert now_and_then.plot(kind="history").get_xlabel() == "measurement"
    stopped = SGDClassifier(early_stopping=True, history=True, random_state=0).fit(*flowers)
    ax = stopped.plot(kind="history")
    assert ax.get_ylabel() == "held-out loss"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), stopped.history_[0])


def test_frames_lists_and_sparse_rows_are_drawn_alike(two):
    y = (two.y == "malignant").astype(int)
    model = LogisticRegression().fit(two.X, y)
    plain = model.plot(two.X, y).collections[0].get_offsets()
    for rows in (two.X.tolist(), sparse.csr_matrix(two.X)):
        np.testing.assert_allclose(model.plot(rows, list(y)).collections[0].get_offsets(), plain)
    frame = pd.DataFrame(two.X, columns=["first", "second"])
    ax = LogisticRegression().fit(frame, y).plot(frame, pd.Series(y))
    assert ax.get_xlabel() == "first"
    with pytest.raises(ValueError, match="feature names"):
        LogisticRegression().fit(frame, y).plot(frame[["second", "first"]], y)


def test_large_tables_are_sampled_and_classes_without_room_get_a_legend(rng):
    X = rng.normal(size=(5000, 2))
    model = LogisticRegression().fit(X, (np.arange(5000) < 5).astype(int))  # so rare that it never wins
    ax = model.plot(X)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 3000
    assert ax.get_title() == "2 classes of LogisticRegression"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]


@pytest.mark.parametrize(
    "X",
    [
        np.column_stack([np.ones(20), np.arange(20.0)]),
        np.column_stack([np.ones(20), np.arange(20.0), np.ones(20)]),
        np.repeat(np.arange(20.0)[:, None], 3, axis=1) * 1e8,
        1e5 + np.random.default_rng(0).normal(size=(20, 2)),
    ],
    ids=["constant column", "constant columns", "huge duplicates", "far from the origin"],
)
def test_odd_tables_are_drawn(X):
    y = np.arange(20) % 2 == 0
    y[:8] = True
    for model in (LogisticRegression().fit(X, y), LinearSVC(max_iter=100_000).fit(X / np.abs(X).max(), y)):
        ax = model.plot(X, y)
        ax.figure.canvas.draw()
        assert np.isfinite(ax.get_xlim()).all()
    one = LogisticRegression().fit(X, y).plot(X[:1], y[:1])
    one.figure.canvas.draw()


def test_regions_far_from_the_origin_keep_their_digits(rng):
    points = 1e8 + rng.normal(size=(200, 2))
    limits = limits_around(points)
    middle = (limits[0] + limits[1]) / 2
    centers = 1e8 + np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0]])
    apart = centers - middle
    parts = regions(limits, apart, -(apart**2).sum(axis=1) / 2)
    nearest = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    inside = np.array([Path(part - middle).contains_points(points - middle) for part in parts])
    np.testing.assert_array_equal(inside.argmax(axis=0), nearest)


def test_bad_requests_are_refused_in_one_sentence(logistic, three, two, flowers):
    every = r"'map', 'confusion', 'roc', 'precision_recall', 'calibration', 'probability', 'coefficients', "
    with pytest.raises(ValueError, match=rf"must be one of {every}'history'\. Got 'pie' instead"):
        logistic.plot(kind="pie")
    with pytest.raises(ValueError, match="The 'confusion' picture of LogisticRegression needs X and y"):
        logistic.plot(two.X, kind="confusion")
    with pytest.raises(ValueError, match="is of two classes; this LogisticRegression has 3"):
        three.plot(kind="probability")
    with pytest.raises(ValueError, match="needs predict_proba, which LinearSVC lacks"):
        LinearSVC().fit(*two).plot(kind="probability")
    with pytest.raises(ValueError, match="fit with history=True"):
        three.plot(kind="history")
    with pytest.raises(ValueError, match=r"number of features, 2\. Got \(8, 8\)"):
        logistic.plot(image_shape=(8, 8))
    with pytest.raises(ValueError, match=r"number of features, 2\. Got 'square'"):
        logistic.plot(image_shape="square")
    with pytest.raises(ValueError, match="one label for each of the 200 rows"):
        logistic.plot(two.X, two.y[:5])
    with pytest.raises(ValueError, match="features"):
        logistic.plot(two.X[:, :1], two.y)
    with pytest.raises(ValueError, match="there is no hyperplane"):
        LogisticRegression(penalty_strength=100.0, l1_ratio=1.0).fit(*two).plot(kind="probability")


def test_the_posterior_of_a_law_is_shaded_as_it_is():
    law = TwoMoons(noise_std=0.3)
    X, y = law.sample(150, random_state=0)
    picture = plot_posterior(law, X, y)
    shares, (low, high) = picture.data["probabilities"], picture.data["limits"]
    side = shares.shape[0]
    point = low + (np.array([30, 100]) + 0.5) / side * (high - low)
    np.testing.assert_allclose(shares[100, 30], law.posterior(point[None])[0])
    drawn = np.vstack(
        [
            part.get_offsets()
            for part in picture.ax_.collections
            if hasattr(part, "get_sizes") and len(part.get_offsets()) > 1
        ]
    )
    assert len(drawn) == 150
    with pytest.raises(ParameterError, match="a law of two features"):
        plot_posterior(GaussianClasses(np.eye(3)), np.eye(3), [0, 1, 2])
    assert len(plt.get_fignums()) == 1
