"""Pictures of support vector machines: lines go where rows on the margin are, marks are support vectors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import svm

from assay import display, theory
from assay.kernel_machines import (
    SVC,
    SVR,
    HardMarginSVC,
    KernelERM,
    KernelLogisticRegression,
    KernelQuantileRegressor,
)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(25, 2)) - 0.9, rng.normal(size=(25, 2)) + 0.9])
    return X, np.repeat(["no", "yes"], 25)


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 6, size=40))[:, None]
    return x, np.sin(x[:, 0]) + 0.2 * rng.normal(size=40)


def peer_of(X, y, **parameters):
    """scikit-learn's machine, to many digits."""
    return svm.SVC(tol=1e-8, random_state=0, **parameters).fit(X, y)


def contour(ax, level):
    """Points of the contour lines drawn at a level."""
    from matplotlib.contour import ContourSet

    (lines,) = (each for each in ax.collections if isinstance(each, ContourSet) and level in each.levels)
    return np.vstack([path.vertices for path in lines.get_paths()])


def marked(ax, words):
    """Points that the legend calls so."""
    (marks,) = (each for each in ax.collections if str(each.get_label()).startswith(words))
    return np.asarray(marks.get_offsets())


def in_order(points):
    return points[np.lexsort(points.T)]


def distances(points, lines):
    """Of each point to the nearest of the vertices."""
    return np.linalg.norm(points[:, None] - lines[None], axis=2).min(axis=1)


@pytest.mark.spec("wei/E8.3")
def test_separable_rows_are_drawn_with_the_hyperplane_half_way_and_the_margins_through_the_nearest_rows():
    # By symmetry the widest street between these is 0 ≤ x₁ ≤ 2.
    X = np.array([[0.0, 0.0], [0.0, 2.0], [-1.0, 1.0], [2.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    shown = display.MarginDisplay.from_estimator(HardMarginSVC(kernel="linear").fit(X, y), X, y)
    for level, place in ((-1.0, 0.0), (0.0, 1.0), (1.0, 2.0)):
        line = contour(shown.ax_, level)
        np.testing.assert_allclose(line[:, 0], place, atol=1e-4)
        assert np.ptp(line[:, 1]) > 2.0
    assert set(marked(shown.ax_, "on the margin")[:, 0]) == {0.0, 2.0}
    assert shown.title == "linear kernel: margin 1/‖h‖ = 1"
    assert shown.ax_.get_aspect() == 1.0


def test_margins_pass_through_the_rows_on_them_and_marks_are_the_support_vectors(clouds):
    X, y = clouds
    model = SVC(C=1.0).fit(X, y)
    ax = model.plot(X, y)
    on, bound = marked(ax, "on the margin"), marked(ax, "at the bound")
    sign = np.where(y == "yes", 1.0, -1.0)
    value = {tuple(row): f for row, f in zip(X, sign * model.decision_function(X), strict=True)}
    np.testing.assert_allclose([value[tuple(row)] for row in on], 1.0, atol=1e-4)
    assert all(value[tuple(row)] < 1.0 for row in bound)
    np.testing.assert_array_equal(in_order(np.vstack([on, bound])), in_order(X[model.support_]))

    lines = np.vstack([contour(ax, -1.0), contour(ax, 1.0)])
    cell = np.max(np.diff([ax.get_xlim(), ax.get_ylim()], axis=1)) / 240
    assert len(on) > 2
    assert distances(on, lines).max() < 2 * cell
    frontier = contour(ax, 0.0)
    np.testing.assert_allclose(model.decision_function(frontier), 0.0, atol=1e-2)


def test_a_squared_loss_has_no_bound_so_that_its_support_vectors_are_of_one_kind(clouds):
    X, y = clouds
    model = SVC(loss="squared_hinge").fit(X, y)
    ax = model.plot(X, y)
    np.testing.assert_array_equal(in_order(marked(ax, "support vectors")), in_order(X[model.support_]))
    assert not any(str(each.get_label()).startswith("on the margin") for each in ax.collections)


def test_several_classes_have_a_frontier_where_the_class_changes(clouds):
    X, y = clouds
    y = np.where(X[:, 1] > 1, "up", y)
    model = SVC().fit(X, y)
    shown = display.MarginDisplay.from_estimator(model, X, y)
    assert shown.values is None
    assert not shown.has_margins
    columns, rows = (
        low + (np.arange(240) + 0.5) / 240 * (high - low) for low, high in zip(*shown.limits, strict=True)
    )
    cells = np.column_stack([columns[[10, 120, 200]], rows[[10, 120, 200]]])
    np.testing.assert_array_equal(
        model.classes_[shown.said[[10, 120, 200], [10, 120, 200]]], model.predict(cells)
    )


@pytest.mark.parametrize("n_columns", [1, 4])
def test_the_tube_has_the_width_two_epsilon_and_its_marks_are_on_it_or_outside(waves, n_columns):
    x, y = waves
    X = x if n_columns == 1 else np.column_stack([np.sin((k + 1) * x[:, 0]) for k in range(4)])
    model = SVR(C=10.0, epsilon=0.15).fit(X, y)
    ax = model.plot(X, y)
    dashed = [line for line in ax.lines if line.is_dashed()]
    (fit,) = (line for line in ax.lines if line.get_label() == "fit")
    lower, upper = (line.get_ydata() for line in dashed)
    np.testing.assert_allclose(upper - lower, 0.3)
    np.testing.assert_allclose((upper + lower) / 2, fit.get_ydata())
    across = x[:, 0] if n_columns == 1 else model.predict(X)
    excess = np.abs(y - model.predict(X)) - 0.15
    for words, rows in (("on the edge", np.abs(excess) < 1e-4), ("at the bound", excess >= 1e-4)):
        expected = np.column_stack([across, y])[rows]
        np.testing.assert_allclose(in_order(marked(ax, words)), in_order(expected))


def test_rows_that_the_machine_was_not_fitted_on_are_not_marked(waves):
    x, y = waves
    model = SVR(C=10.0, epsilon=0.15).fit(x, y)
    for rows in (x[:20], x + 0.1):
        assert display.TubeDisplay.from_estimator(model, rows, y[: len(rows)]).sets is None


def test_a_quantile_has_its_share_of_the_rows_below(waves):
    x, y = waves
    model = KernelQuantileRegressor(quantile=0.8, C=10.0).fit(x, y)
    ax = model.plot(x, y)
    (curve,) = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()[:, None]))
    above, below = marked(ax, "above"), marked(ax, "below")
    height = np.interp(below[:, 0], curve.get_xdata(), curve.get_ydata())
    assert np.all(below[:, 1] < height + 1e-3)
    height = np.interp(above[:, 0], curve.get_xdata(), curve.get_ydata())
    assert np.all(above[:, 1] > height - 1e-3)
    assert len(below) <= 0.8 * len(x)
    assert len(above) <= 0.2 * len(x) + 1e-9


def test_the_path_shows_support_vectors_norm_and_loss_of_machines_fitted_elsewhere(clouds):
    X, y = clouds
    costs = [0.1, 1.0, 10.0]
    ax = SVC(kernel="linear").fit(X, y).plot(X, y, kind="path", Cs=costs)
    counts, norms, losses = (each.lines[0].get_ydata() for each in ax.child_axes)
    sign = np.where(y == "yes", 1.0, -1.0)
    for place, cost in enumerate(costs):
        peer = peer_of(X, y, kernel="linear", C=cost)
        assert abs(counts[place] - len(peer.support_)) <= 1
        assert norms[place] == pytest.approx(np.linalg.norm(peer.coef_), rel=1e-3)
        slack = np.maximum(1 - sign * peer.decision_function(X), 0).sum()
        assert losses[place] == pytest.approx(slack, rel=1e-3)


@pytest.mark.parametrize(
    ("form", "names"),
    [("ovo", ["a or b", "a or c", "b or c"]), ("ovr", ["a or another", "b or another", "c or another"])],
)
def test_the_path_of_several_machines_names_them(clouds, form, names):
    X, _ = clouds
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.7, 0.7])]
    model = SVC(multi_class=form).fit(X, y)
    ax = model.plot(X, y, kind="path", Cs=[0.1, 1.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    norms = ax.child_axes[1].lines
    for place, name in enumerate(names):
        (color,) = (each.get_color() for each in ax.lines if each.get_label() == name)
        assert norms[place].get_color() == color
        np.testing.assert_allclose(norms[place].get_ydata()[1], model.rkhs_norm_[place], rtol=1e-3)
    rest = y == "a"
    other = rest | (y == "b") if form == "ovo" else np.ones(len(y), dtype=bool)
    alone = SVC(gamma=model.kernel_.gamma).fit(X[other], rest[other])
    assert norms[0].get_ydata()[1] == pytest.approx(alone.rkhs_norm_[0], rel=1e-3)


def test_the_dual_rises_to_the_primal_and_weights_are_those_of_the_fit(clouds):
    X, y = clouds
    model = SVC(history=True).fit(X, y)
    ax = model.plot(kind="history")
    rising, least = (line.get_ydata() for line in ax.lines)
    assert np.all(np.diff(rising) >= -1e-9)
    assert rising[-1] == pytest.approx(least[0], rel=1e-5)
    shown = display.DualWeightsDisplay.from_estimator(model)
    np.testing.assert_allclose(shown.weights, np.sort(np.abs(model.dual_coef_[0]))[::-1])
    np.testing.assert_array_equal(shown.at_bound, shown.weights == 1.0)


@pytest.mark.parametrize(
    "kind", [SVC, SVR, KernelLogisticRegression, KernelERM], ids=lambda each: each.__name__
)
def test_the_gap_falls_with_the_time_of_a_fit_below_its_tolerance(clouds, kind):
    X, y = clouds
    target = y if kind in (SVC, KernelLogisticRegression) else X.sum(axis=1)
    model = kind(C=10.0).fit(X, target)
    shown = display.GapTimeDisplay.from_estimator(model, X, target)
    assert len(shown.gaps) >= 2 or kind is KernelERM
    assert shown.gaps[-1] <= model.tol
    assert np.all(shown.gaps[:-1] > model.tol)
    assert np.all(shown.seconds > 0)
    assert np.all(np.diff(shown.seconds) >= 0)
    assert model.plot(X, target, kind="gap").get_yscale() == "log"
    (line, dashed) = shown.ax_.lines
    np.testing.assert_array_equal(line.get_xdata(), shown.seconds)
    np.testing.assert_allclose(line.get_ydata(), np.maximum(shown.gaps, 1e-17))
    assert set(dashed.get_ydata()) == {model.tol}


@pytest.mark.parametrize("form", ["sparse", "precomputed", "one column", "four columns"])
@pytest.mark.parametrize("kind", [SVC, SVR, KernelQuantileRegressor], ids=lambda each: each.__name__)
def test_there_is_a_picture_of_every_form_of_rows(clouds, form, kind):
    X, y = clouds
    tables = {
        "sparse": csr_matrix(X),
        "precomputed": X @ X.T,
        "one column": X[:, :1],
        "four columns": np.hstack([X, X**2]),
    }
    table = tables[form]
    targets = [y, np.where(X[:, 1] > 1, "up", y)] if kind is SVC else [X.sum(axis=1)]
    for target in targets:
        model = kind(**({"kernel": "precomputed"} if form == "precomputed" else {})).fit(table, target)
        for data in ((table, target), (table,), ()):
            assert model.plot(*data).has_data()


def test_values_are_those_of_the_machine_beside_the_margins(clouds):
    X, y = clouds
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    shown = display.MachineValuesDisplay.from_estimator(model, X @ X.T, y)
    np.testing.assert_allclose(shown.values, peer_of(X, y, kernel="linear").decision_function(X), atol=1e-3)
    assert {round(float(line.get_xdata()[0])) for line in shown.ax_.lines} == {-1, 0, 1}
    np.testing.assert_allclose(np.abs(marked(shown.ax_, "on the margin")[:, 0]), 1.0, atol=1e-4)


def test_what_cannot_be_drawn_is_said_with_the_way_out(clouds):
    X, y = clouds
    with pytest.raises(ValueError, match=r"needs two columns or more.*kind='values'"):
        SVC().fit(X[:, :1], y).plot(X[:, :1], y, kind="margin")
    several = np.where(X[:, 1] > 1, "up", y)
    with pytest.raises(ValueError, match="needs two classes; the model has 3: draw kind='confusion'"):
        SVC().fit(X, several).plot(X, several, kind="values")
    with pytest.raises(ValueError, match="fit with history=True"):
        SVC().fit(X, y).plot(kind="history")


@pytest.mark.spec("sangnier/X-1.4.4")
def test_machines_in_action_show_kernels_and_costs_and_what_the_lift_makes_of_the_frontier():
    X, y = theory.circles(25, random_state=0)
    kernels = [SVC(kernel="linear"), SVC(kernel="polynomial", degree=2, gamma=1.0)]
    shown = display.plot_costs(kernels, X, y, Cs=[0.1, 10.0])
    assert shown.names == ["linear", "polynomial"]
    assert len(shown.ax_.child_axes) == 4
    for ax, (kernel, cost) in zip(
        shown.ax_.child_axes,
        [("linear", 0.1), ("linear", 10.0), ("poly", 0.1), ("poly", 10.0)],
        strict=True,
    ):
        peer = peer_of(X, y, kernel=kernel, degree=2, gamma=1.0, C=cost)
        np.testing.assert_allclose(peer.decision_function(contour(ax, 0.0)), 0.0, atol=0.02)
        assert f"C = {cost:g}" in ax.get_title()
    # The last panel: margins, and rows on them.
    for level in (-1.0, 1.0):
        np.testing.assert_allclose(peer.decision_function(contour(ax, level)), level, atol=0.02)
    assert set(map(tuple, marked(ax, "on the margin"))) <= set(map(tuple, X[peer.support_]))

    # The frontier is a curve in the plane, and lifted by φ it lies in a plane that separates the rows.
    def phi(points):
        return np.column_stack([points[:, 0] ** 2, points[:, 1] ** 2, np.sqrt(2) * points.prod(axis=1)])

    normal = peer.dual_coef_[0] @ phi(X[peer.support_])
    np.testing.assert_allclose(phi(contour(ax, 0.0)) @ normal + peer.intercept_, 0.0, atol=0.02)
    lifted = display.LiftDisplay.from_result(theory.lift(X, y))
    np.testing.assert_allclose(lifted.features, phi(X))
    sides = np.sign(lifted.features @ lifted.weights + lifted.intercept)
    assert len(set(sides[y == y[0]])) == 1
    assert len(set(sides)) == 2
