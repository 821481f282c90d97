"""Membership of hulls and separation of sets are decided with proofs of either answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, spatial
from scipy.spatial import Delaunay

from assay.optimize import (
    caratheodory,
    hull_membership,
    hull_vertices,
    linear_program,
    separating_hyperplane,
)
from assay.parameters import ParameterError
from assay.penalties import Ball, Box, ConvexHull


@pytest.mark.spec("rudi/M2.9", "rudi/T2.3")
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_membership_agrees_with_the_linear_programme_and_is_proved(seed, d):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((rng.integers(1, 15), d))
    x = 0.7 * rng.standard_normal(d)
    found = hull_membership(x, points)
    system = np.vstack([points.T, np.ones(len(points))])
    programme = linear_program(np.zeros(len(points)), system, np.append(x, 1.0))
    assert found.inside == (programme.status == "optimal")
    assert found.certificates.holds
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)
    assert np.count_nonzero(found.weights) <= d + 1
    if found.inside:
        assert_allclose(found.weights @ points, x, atol=1e-8)
    else:
        assert found.normal @ x > found.offset
        assert np.all(points @ found.normal <= found.offset + 1e-12)
        assert found.distance == pytest.approx(ConvexHull(points).distance(x), abs=1e-7)


@pytest.mark.spec("rudi/M2.9")
def test_membership_is_that_of_a_triangulation(rng):
    points = rng.standard_normal((20, 2))
    probes = 2 * rng.standard_normal((60, 2))
    inside = Delaunay(points).find_simplex(probes) >= 0
    assert [hull_membership(x, points).inside for x in probes] == inside.tolist()


@pytest.mark.spec("rudi/M2.9")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_vertices_are_those_of_qhull(rng, d):
    points = rng.standard_normal((30, d))
    expected = [int(points.argmin()), int(points.argmax())] if d == 1 else spatial.ConvexHull(points).vertices
    assert sorted(hull_vertices(points)) == sorted(expected)
    # Points of the hull, on a face or twice the same, add no vertex.
    corners = hull_vertices(points)
    inside = rng.dirichlet(np.ones(len(corners)), 10) @ points[corners]
    middle = (points[corners[0]] + points[corners[1]]) / 2
    more = np.vstack([points[corners], inside, middle, points[corners[:1]]])
    assert hull_vertices(more).tolist() == list(range(len(corners)))
    assert hull_vertices([[2.0] * d] * 3).tolist() == [0]


@pytest.mark.spec("rudi/M2.9")
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5))
def test_caratheodory_keeps_the_mean_with_at_most_one_more_point_than_dimensions(seed, d):
    rng = np.random.default_rng(seed)
    points, weights = rng.standard_normal((25, d)), rng.dirichlet(np.ones(25))
    fewer = caratheodory(weights, points)
    assert np.count_nonzero(fewer) <= d + 1
    assert fewer.min() >= 0
    assert_allclose(fewer @ points, weights @ points, atol=1e-10)


@pytest.mark.spec("rudi/M2.10", "rudi/T2.3")
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_the_hyperplane_between_clouds_has_the_largest_margin(seed):
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((6, 2)) + rng.uniform(0, 4) * np.array([1.0, 0.5])
    second = rng.standard_normal((7, 2))
    found = separating_hyperplane(first, second)
    differences = (first[:, None, :] - second[None, :, :]).reshape(-1, 2)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    widths = (differences @ np.array([np.cos(angles), np.sin(angles)])).min(axis=0)
    assert found.certificates.holds
    if found.separated:
        # A grid of angles finds at most the largest width, and misses it by at most its step.
        assert widths.max() <= found.margin + 1e-12
        assert widths.max() >= found.margin - np.abs(differences).max() * 2 * np.diff(angles)[0]
        assert (first @ found.normal).min() == pytest.approx(found.offset + found.margin / 2)
        assert (second @ found.normal).max() == pytest.approx(found.offset - found.margin / 2)
    else:
        assert widths.max() <= 1e-6
        assert_allclose(found.first_weights @ first, found.second_weights @ second, atol=1e-7)


@pytest.mark.spec("rudi/M2.10", "rudi/T2.3")
def test_two_convex_sets_are_separated_by_their_projections():
    found = separating_hyperplane(Ball([4.0, 0.0], 1.0), Box([-1.0, -1.0], [1.0, 1.0]))
    assert found.separated
    assert_allclose(found.normal, [1.0, 0.0], atol=1e-9)
    assert found.margin == pytest.approx(2.0)
    assert found.offset == pytest.approx(2.0)
    assert found.certificates.holds
    met = separating_hyperplane(Ball([1.5, 0.0], 1.0), Box([-1.0, -1.0], [1.0, 1.0]))
    assert not met.separated
    assert met.certificates.holds
    assert Ball([1.5, 0.0], 1.0).contains(met.first_point)


def test_touching_and_degenerate_sets_have_an_answer():
    assert hull_membership([1.0, 0.5], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]).inside
    assert hull_membership([2.0], [[2.0]]).inside
    assert not hull_membership([2.0], [[3.0]]).inside
    repeated = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    assert hull_membership([0.25, 0.25], repeated).inside
    assert not hull_membership([0.25, 0.3], repeated).inside
    touching = separating_hyperplane([[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [2.0, 1.0]])
    assert not touching.separated
    assert touching.certificates.holds


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_answers_do_not_depend_on_the_unit(scale, rng):
    points = rng.standard_normal((12, 3))
    for x in (points.mean(axis=0), points.mean(axis=0) + 5):
        found = hull_membership(scale * x, scale * points)
        assert found.inside == hull_membership(x, points).inside
        assert found.certificates.holds


def test_far_from_the_origin_a_thin_gap_is_still_seen():
    far = np.array([1e6, -1e6])
    found = separating_hyperplane(far + [[1e-3, 0.0], [1.0, 1.0]], far + [[-1e-3, 0.0], [-1.0, 1.0]])
    assert found.separated
    assert found.margin == pytest.approx(2e-3, rel=1e-5)


def test_the_nearest_points_solve_the_quadratic_programme(rng):
    first, second = rng.standard_normal((5, 3)) + 3, rng.standard_normal((5, 3))
    found = separating_hyperplane(first, second)
    stacked = np.vstack([first, -second])
    oracle = optimize.minimize(
        lambda w: np.sum((w @ stacked) ** 2),
        np.full(10, 0.2),
        jac=lambda w: 2 * stacked @ (w @ stacked),
        bounds=[(0, 1)] * 10,
        constraints=[
            {"type": "eq", "fun": lambda w: w[:5].sum() - 1},
            {"type": "eq", "fun": lambda w: w[5:].sum() - 1},
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert found.margin == pytest.approx(np.sqrt(oracle.fun), rel=1e-5)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: hull_membership([np.nan], [[1.0]]), "point"),
        (lambda: hull_membership([1.0, 2.0], [[1.0]]), "point"),
        (lambda: hull_membership([1.0], np.empty((0, 1))), "points"),
        (lambda: separating_hyperplane([[np.inf]], [[1.0]]), "first"),
        (lambda: separating_hyperplane([[1.0]], [[1.0, 2.0]]), "second"),
        (lambda: separating_hyperplane(Ball(), [[1.0]]), "second"),
        (lambda: caratheodory([-1.0, 2.0], [[1.0], [2.0]]), "weights"),
    ],
)
def test_bad_sets_are_refused_by_name(call, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter"):
        call()
