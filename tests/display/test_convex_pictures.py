"""Pictures of convexity draw the numbers they are about."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.contour import ContourSet
from numpy.testing import assert_allclose

from assay.display import (
    plot_chord,
    plot_convex_set,
    plot_descent,
    plot_loss_curves,
    plot_program,
    plot_separability,
)
from assay.display.style import ACCENT
from assay.losses import Exponential, SquaredHinge
from assay.optimize import ConvexProgram, Smooth, gradient_descent, quadratic
from assay.parameters import ParameterError
from assay.penalties import (
    AffineSubspace,
    Ball,
    Box,
    ConvexHull,
    HalfSpace,
    Hyperplane,
    Polytope,
    Quadratic,
)

LEFT = np.array([[0.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
RIGHT = np.array([[2.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
SHIFT = np.array([2.5, 0.0])


def vertices(contours, level):
    return contours.get_paths()[level].vertices


def accents(ax):
    return [line for line in ax.lines if to_hex(line.get_color()) == ACCENT]


@pytest.mark.spec("rudi/F2.1")
def test_separable_labels_show_the_line_between_them_and_its_margin():
    picture = plot_separability(np.vstack([LEFT, RIGHT]), [0, 0, 0, 1, 1, 1])
    line, *edges = accents(picture.ax_)
    assert_allclose(line.get_xdata(), 1.0)
    assert sorted(float(edge.get_xdata()[0]) for edge in edges) == pytest.approx([0.0, 2.0])
    assert picture.data["margin"] == pytest.approx(2.0)
    dots = [line for line in picture.ax_.lines if line.get_linestyle() == "None"]
    assert_allclose([np.column_stack(line.get_data()) for line in dots], [LEFT, RIGHT])
    hulls = [patch.get_xy()[:-1] for patch in picture.ax_.patches]
    for hull, corners in zip(hulls, (LEFT, RIGHT), strict=True):
        assert {tuple(corner) for corner in hull} == {tuple(corner) for corner in corners}
    assert picture.ax_.get_title() == "separable, with a margin of 2"
    assert picture.figure_ is picture.ax_.figure


@pytest.mark.spec("rudi/F2.1")
def test_overlapping_labels_show_a_point_of_both_hulls():
    picture = plot_separability(np.vstack([LEFT, RIGHT - SHIFT]), ["a"] * 3 + ["b"] * 3)
    (mark,) = accents(picture.ax_)
    common = np.array([mark.get_xdata()[0], mark.get_ydata()[0]])
    assert ConvexHull(LEFT).contains(common)
    assert ConvexHull(RIGHT - SHIFT).contains(common)
    assert not picture.data["separated"]
    assert picture.data["line"] is None
    assert "not separable" in picture.ax_.get_title()


@pytest.mark.spec("rudi/F2.2")
def test_the_loss_curves_are_the_formulas_and_lie_above_the_binary_one():
    picture = plot_loss_curves()
    data = picture.data
    u = data["margin"]
    for line, formula in zip(
        picture.ax_.lines,
        (lambda f: f < 0, lambda f: np.maximum(1 - f, 0), lambda f: np.log2(1 + np.exp(-f))),
        strict=True,
    ):
        f, height = map(np.asarray, line.get_data())
        clear = np.isfinite(height) & (np.abs(f) > 0.01)
        assert_allclose(height[clear], formula(f[clear]), atol=1e-12)
        assert (f[0], f[-1]) == (-2.0, 3.0)
    assert_allclose(data["Hinge"], np.maximum(1 - u, 0))
    assert_allclose(data["Logistic"], np.log2(1 + np.exp(-u)))
    assert np.all(data["Hinge"] >= data["ZeroOne"])
    assert np.all(data["Logistic"] >= data["ZeroOne"])
    assert_allclose(data["ZeroOne"][np.abs(u) > 0.01], (u < 0)[np.abs(u) > 0.01])


@pytest.mark.spec("rudi/F2.2")
def test_other_losses_can_be_drawn_and_the_jump_is_not_a_line():
    assert {"SquaredHinge", "Exponential"} < set(plot_loss_curves([SquaredHinge(), Exponential()]).data)
    drawn = plot_loss_curves().ax_.lines[0].get_ydata()
    assert np.isnan(drawn).sum() == 1
    texts = [text.get_text() for text in plot_loss_curves().ax_.texts]
    assert texts == ["0-1", "hinge", "logistic (base 2)"]


@pytest.mark.spec("rudi/F2.3")
@pytest.mark.parametrize(
    "found",
    [
        Hyperplane([1.0, 2.0], 1.0),
        AffineSubspace([[1.0, -1.0]], [0.5]),
        HalfSpace([1.0, 1.0], 1.0),
        Polytope([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [-1.0, -1.0, -1.5]),
        Ball([0.5, 0.0], 1.0),
        Box([-1.0, -1.0], [1.0, 0.5]),
    ],
)
def test_sets_are_drawn_where_they_are_with_right_projections(found):
    points = np.array([[-2.0, 2.0], [2.5, 2.5], [-1.0, -2.0]])
    picture = plot_convex_set(found, points)
    assert all(found.contains(corner, 1e-6) for corner in picture.data["outline"])
    assert_allclose(picture.data["projections"], [found.project(point) for point in points])
    # What is drawn is that outline, those points, and an arrow from each point to its projection.
    outline = picture.data["outline"]
    drawn = np.column_stack(picture.ax_.lines[0].get_data())
    assert_allclose(drawn, outline if len(outline) == 2 else [*outline, outline[0]])
    if len(outline) == 2:
        assert np.all(np.abs(outline).max(axis=1) >= 3)  # a line goes through the whole view
        assert np.abs(found.project(np.zeros(2))).max() < 3
    else:
        assert_allclose(picture.ax_.patches[0].get_xy()[:-1], outline)
        x, y = outline.T
        area = abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2
        expected = {HalfSpace: 12.5, Polytope: 3.5**2 / 2, Ball: np.pi, Box: 3.0}[type(found)]
        assert area == pytest.approx(expected, rel=2e-3)
    before, after = (np.column_stack(line.get_data()) for line in picture.ax_.lines[-2:])
    assert_allclose(before, points)
    assert_allclose(after, picture.data["projections"])
    arrows = {(*note.xyann, *note.xy) for note in picture.ax_.texts if note.get_text() == ""}
    for point in points:
        if not found.contains(point):
            assert (*point, *found.project(point)) in arrows
    inside = picture.data["outline"].mean(axis=0)
    assert found.contains(inside, 1e-6)
    # The outline is a boundary: each corner is the farthest point of the part in view in some direction.
    if not isinstance(found, (Hyperplane, AffineSubspace)):
        pushed = inside + 1.001 * (picture.data["outline"] - inside)
        in_view = np.all(np.abs(pushed) <= 3, axis=1)
        assert not any(found.contains(corner, 1e-6) for corner in pushed[in_view])


@pytest.mark.spec("rudi/F2.3")
def test_a_polytope_is_drawn_with_its_vertices_and_a_point_as_a_point():
    triangle = Polytope([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [-1.0, -1.0, -1.5])
    outline = plot_convex_set(triangle).data["outline"]
    assert {tuple(corner) for corner in outline.round(9)} == {(-1.0, -1.0), (2.5, -1.0), (-1.0, 2.5)}
    point = AffineSubspace(np.eye(2), [1.0, 2.0])
    assert_allclose(plot_convex_set(point).data["outline"], [[1.0, 2.0]])


@pytest.mark.spec("rudi/F2.7")
def test_a_convex_graph_is_below_its_chord_and_a_double_well_is_not():
    below = plot_chord(lambda t: t**2, -1.0, 2.0)
    assert_allclose(below.data["chord"], 2 + below.data["x"])
    assert_allclose(below.data["graph"], below.data["x"] ** 2)
    assert below.data["largest_excess"] <= 1e-12
    assert below.ax_.get_title() == "the graph is below its chord"
    graph, chord, bar = below.ax_.lines[:3]
    t, height = map(np.asarray, graph.get_data())
    assert t[0] < -1 < 2 < t[-1]
    assert_allclose(height, t**2)
    assert_allclose(np.column_stack(chord.get_data()), [[-1, 1], [2, 4]])
    assert_allclose(np.column_stack(bar.get_data()), [[0.5, 0.25], [0.5, 2.5]])  # half-way
    above = plot_chord(lambda t: (t**2 - 1) ** 2, 1.0, -1.0)
    assert above.data["largest_excess"] == pytest.approx(1.0)
    assert above.ax_.get_title() == "the graph is above its chord somewhere"


@pytest.mark.spec("rudi/F3.1")
def test_a_constrained_problem_shows_its_solution_and_the_balance_of_gradients():
    disk = Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)
    problem = ConvexProgram(Quadratic(2 * np.eye(2), [-4.0, -2.0], 5.0), [disk], start=[0.0, 0.0])
    picture = plot_program(problem)
    expected = np.array([2.0, 1.0]) / np.sqrt(5)
    assert_allclose(picture.data["point"], expected, atol=1e-6)
    assert_allclose(picture.data["pull"], picture.data["multipliers"] * disk.gradient(expected), atol=1e-5)
    assert picture.data["feasible"].mean() == pytest.approx(np.pi / 16, rel=0.03)
    dot = accents(picture.ax_)[0]
    assert_allclose([dot.get_xdata()[0], dot.get_ydata()[0]], expected, atol=1e-6)
    assert_allclose(picture.data["multipliers"], np.sqrt(5) - 1, atol=1e-5)
    (arrow,) = (note for note in picture.ax_.texts if note.get_text() == "")
    assert_allclose(arrow.xyann, expected, atol=1e-6)
    along = np.subtract(arrow.xy, arrow.xyann)
    assert_allclose(along / np.linalg.norm(along), expected, atol=1e-5)  # −∇f points away from the disk
    levels, filled, edge = (item for item in picture.ax_.collections if isinstance(item, ContourSet))
    assert_allclose(np.linalg.norm(vertices(edge, 0), axis=1), 1, atol=1e-3)
    assert filled.get_paths()[0].contains_point([0.0, 0.0])
    for k, level in enumerate(levels.levels):
        corners = vertices(levels, k)
        assert_allclose(np.sum((corners - [2.0, 1.0]) ** 2, axis=1), level, rtol=0.02, atol=0.02)


@pytest.mark.spec("rudi/F3.1")
def test_an_equality_is_drawn_as_a_line_and_named_in_the_balance():
    problem = ConvexProgram(
        Quadratic(np.eye(2), [0.0, 0.0]), [], [Quadratic(None, [1.0, 1.0], -2.0)], start=[0.0, 0.0]
    )
    picture = plot_program(problem)
    assert_allclose(picture.data["point"], [1.0, 1.0], atol=1e-8)
    assert any("ν∇h" in text.get_text() for text in picture.ax_.texts)
    *_, line = (item for item in picture.ax_.collections if isinstance(item, ContourSet))
    assert_allclose(vertices(line, 0).sum(axis=1), 2, atol=1e-9)


@pytest.mark.spec("rudi/F3.2")
def test_a_descent_is_drawn_through_its_points():
    f = quadratic([[1.0, 0.0], [0.0, 6.0]], [0.0, 0.0])
    run = gradient_descent(f, [3.0, 1.0], step=0.28, max_iter=30, keep_points=True)
    picture = plot_descent(f, run.trace)
    (line,) = accents(picture.ax_)
    assert_allclose(np.column_stack(line.get_data()), run.trace.points)
    assert_allclose(picture.data["values"], run.trace.values)
    assert "always down" in picture.ax_.get_title()
    wild = gradient_descent(f, [3.0, 1.0], step=0.35, max_iter=5, keep_points=True)
    assert "not always down" in plot_descent(f, wild.trace.points).ax_.get_title()


@pytest.mark.spec("rudi/F1.3")
@pytest.mark.parametrize("surface", [False, True])
def test_a_descent_on_a_surface_that_is_not_convex_ends_in_the_valley_of_its_start(surface):
    def value(x):
        return float((x[0] ** 2 - 1) ** 2 + x[1] ** 2 + 0.2 * x[0])

    def gradient(x):
        return np.array([4 * x[0] * (x[0] ** 2 - 1) + 0.2, 2 * x[1]])

    wells = Smooth(value, gradient)
    ends = []
    for side in (-1, 1):
        run = gradient_descent(wells, [0.3 * side, 1.5], step=0.05, max_iter=300, keep_points=True)
        picture = plot_descent(wells, run.trace, surface=surface)
        assert_allclose(picture.data["points"], run.trace.points)
        columns, rows, heights = (picture.data[name] for name in ("columns", "rows", "heights"))
        for i, j in ((0, 160), (40, 7), (160, 0)):
            assert heights[j, i] == pytest.approx(value([columns[i], rows[j]]))
        (line,) = accents(picture.ax_)
        path = np.column_stack(line.get_data_3d() if surface else line.get_data())
        assert_allclose(path[:, :2], run.trace.points)
        if surface:  # the path lies on the surface, lifted a little to be seen
            lift = path[:, 2] - run.trace.values
            assert_allclose(lift, lift[0], atol=1e-9)
            assert 0 < lift[0] < 0.03 * np.ptp(heights)
        else:
            (levels,) = (item for item in picture.ax_.collections if isinstance(item, ContourSet))
            for k, level in enumerate(levels.levels):
                on_line = [value(corner) for corner in vertices(levels, k)]
                assert_allclose(on_line, level, atol=0.02 * np.ptp(heights))
        ends.append((picture.data["points"][-1, 0], picture.data["values"][-1]))
    assert ends[0][0] < -0.9 < 0.9 < ends[1][0]
    assert ends[0][1] < ends[1][1]  # one of the two valleys is only a local minimum
    assert picture.ax_.name == ("3d" if surface else "rectilinear")


def test_pictures_are_drawn_on_given_axes():
    ax = plt.subplots()[1]
    assert plot_chord(lambda t: t**2, 0.0, 1.0, ax=ax).ax_ is ax
    assert plot_loss_curves(ax=plt.subplots()[1]).figure_ is not ax.figure


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: plot_separability([[1.0, 2.0, 3.0]], [0]), "X"),
        (lambda: plot_separability([[1.0, np.nan]], [0]), "X"),
        (lambda: plot_separability([[1.0, 2.0], [2.0, 1.0]], [0, 0]), "y"),
        (lambda: plot_convex_set("ball"), "convex_set"),
        (lambda: plot_convex_set(Ball(), [[1.0]]), "points"),
        (lambda: plot_chord(abs, 1.0, 1.0), "y"),
        (lambda: plot_program(3), "program"),
        (lambda: plot_descent(quadratic([[1.0]], [0.0]), [[1.0]]), "path"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(call, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        call()
