"""Norms: axioms, duality, inequalities, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.penalties import (
    L1,
    NORMS,
    GroupL2,
    Nuclear,
    RowSparse,
    dual_norm,
    n_nonzero_diagonal,
    n_nonzero_rows,
    norm,
    norm_inequalities,
)

entries = st.floats(-100, 100, allow_subnormal=False)
MATRICES = [name for name, member in NORMS.items() if member.kind == "matrix"]
VECTORS = [name for name, member in NORMS.items() if member.kind == "vector"]


@pytest.mark.spec("wei/M1.8")
def test_norms_are_those_of_numpy(rng):
    x, A = rng.standard_normal(5), rng.standard_normal((4, 3))
    for name, order in {"l1": 1, "l2": 2, "linf": np.inf}.items():
        assert norm(x, name) == pytest.approx(np.linalg.norm(x, order))
    orders = {"frobenius": "fro", "induced_1": 1, "spectral": 2, "induced_inf": np.inf, "nuclear": "nuc"}
    for name, order in orders.items():
        assert norm(A, name) == pytest.approx(np.linalg.norm(A, order))
    assert norm(A, "l1_l2") == pytest.approx(sum(np.linalg.norm(row) for row in A))
    assert norm(A, "l1_l1") == pytest.approx(np.sum(np.abs(A)))
    assert n_nonzero_rows(A * [[1], [0], [1], [0]]) == 2
    assert n_nonzero_diagonal(np.diag([1.0, 0.0, 2.0])) == 2


@pytest.mark.spec("wei/M1.8")
def test_induced_norms_are_largest_ratios(rng):
    A = rng.standard_normal((4, 3))
    pairs = {"induced_1": "l1", "spectral": "l2", "induced_inf": "linf"}
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    directions = [*rng.standard_normal((500, 3)), *np.eye(3), *corners, np.linalg.svd(A)[2][0]]
    for name, vector in pairs.items():
        ratios = [norm(A @ v, vector) / norm(v, vector) for v in directions]
        assert max(ratios) == pytest.approx(norm(A, name))


@pytest.mark.spec("wei/M1.8")
@settings(max_examples=25, deadline=None)
@given(arrays(float, (3, 4), elements=entries), arrays(float, (3, 4), elements=entries), entries)
def test_norm_axioms(A, B, scale):
    cases = [(name, A, B) for name in MATRICES] + [(name, A[0], B[0]) for name in VECTORS]
    for name, x, y in cases:
        size = norm(x, name)
        assert size >= 0
        assert (size == 0) == (not np.any(x)) or size < 1e-150
        assert norm(scale * x, name) == pytest.approx(abs(scale) * size, rel=1e-9, abs=1e-9)
        assert norm(x + y, name) <= (size + norm(y, name)) * (1 + 1e-12) + 1e-12


@pytest.mark.spec("wei/M1.8")
@settings(max_examples=25, deadline=None)
@given(arrays(float, (3, 4), elements=entries), arrays(float, (4, 2), elements=entries))
def test_compatible_norms_are_submultiplicative(A, B):
    for name in MATRICES:
        if NORMS[name].submultiplicative:
            assert norm(A @ B, name) <= norm(A, name) * norm(B, name) * (1 + 1e-10) + 1e-10


def test_norms_said_not_to_be_submultiplicative_are_not():
    ones = np.ones((3, 3))
    for name in MATRICES:
        if not NORMS[name].submultiplicative:
            assert norm(ones @ ones, name) > norm(ones, name) ** 2


@pytest.mark.spec("wei/M1.8")
@settings(max_examples=25, deadline=None)
@given(arrays(float, (3, 4), elements=entries), arrays(float, (3, 4), elements=entries))
def test_dual_norms_bound_inner_products(A, B):
    cases = [(name, A, B) for name in MATRICES] + [(name, A[0], B[0]) for name in VECTORS]
    for name, x, y in cases:
        assert np.sum(x * y) <= norm(x, name) * dual_norm(y, name) * (1 + 1e-10) + 1e-10


def extreme_points(name, rng):
    """Points of the unit sphere of a matrix norm on 2 × 2 matrices: its extreme points, or many of them."""
    units = [s * np.outer(np.eye(2)[i], np.eye(2)[j]) for i in range(2) for j in range(2) for s in (-1, 1)]
    signs = [np.array(c).reshape(2, 2) for c in np.ndindex(2, 2, 2, 2)]
    signs = [2.0 * s - 1 for s in signs]
    circle = [np.array([np.cos(t), np.sin(t)]) for t in np.linspace(0, 2 * np.pi, 400, endpoint=False)]
    if name == "l1_l1":
        return units
    if name == "linf_linf":
        return signs
    if name == "frobenius":
        draws = rng.standard_normal((20_000, 2, 2))
        return list(draws / np.sqrt(np.sum(draws**2, axis=(1, 2), keepdims=True)))
    if name == "nuclear":
        return [np.outer(u, v) for u in circle[::2] for v in circle[::2]]
    if name == "spectral":
        rotations = [np.array([[u[0], -u[1]], [u[1], u[0]]]) for u in circle]
        return [q @ np.diag([1.0, s]) for q in rotations for s in (-1.0, 1.0)]
    if name in ("column_maxima", "row_maxima"):
        corners = [np.array([a, b]) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
        columns = [np.outer(corner, np.eye(2)[k]) for corner in corners for k in range(2)]
        return columns if name == "column_maxima" else [c.T for c in columns]
    if name in ("induced_1", "induced_inf"):
        vertices = [s * e for e in np.eye(2) for s in (-1, 1)]
        pairs = [np.column_stack([u, v]) for u in vertices for v in vertices]
        return pairs if name == "induced_1" else [p.T for p in pairs]
    if name == "l1_l2":
        return [np.outer(np.eye(2)[i], u) for i in range(2) for u in circle]
    return [np.vstack([u, v]) for u in circle[::2] for v in circle[::2]]  # linf_l2


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.spec("wei/M1.8")
def test_dual_norms_by_brute_force(name, rng):
    points = np.array(extreme_points(name, rng))
    assert all(norm(z, name) == pytest.approx(1) for z in points[::97])
    for x in rng.standard_normal((3, 2, 2)):
        best = np.max(np.einsum("jk,ijk->i", x, points))
        assert best <= dual_norm(x, name) * (1 + 1e-12)
        assert best >= dual_norm(x, name) * 0.99
        assert NORMS[NORMS[name].dual].dual == name


@pytest.mark.spec("wei/M1.8")
def test_norm_inequalities_hold_and_are_reached(rng):
    for x in (rng.standard_normal(6), np.eye(4)[0], np.ones(5), np.zeros(3)):
        assert norm_inequalities(x).holds
    for A in (rng.standard_normal((5, 3)), np.eye(4), np.ones((3, 2)), np.zeros((2, 2))):
        assert norm_inequalities(A).holds
    assert norm_inequalities(np.ones(5))[2].slack == pytest.approx(0)
    assert norm_inequalities(np.eye(4)[0])[1].slack == pytest.approx(0)


@pytest.mark.spec("wei/M1.8")
def test_proximal_maps_of_the_norms_shrink_what_the_norm_counts(rng):
    """Moreau: the proximal map of a norm is the identity minus the projection on the dual ball."""
    B = rng.standard_normal((4, 3))
    step = 0.6
    pairs = [("l1_l1", L1(1.0)), ("l1_l2", RowSparse(1.0)), ("nuclear", Nuclear(1.0))]
    for name, penalty in pairs:
        shrunk = penalty.proximal(B, step)
        assert dual_norm(B - shrunk, name) <= step * (1 + 1e-12)
        assert np.sum(shrunk * (B - shrunk)) == pytest.approx(step * norm(shrunk, name))
    group = GroupL2(1.0, [0, 0, 1, 1], [1.0, 1.0])
    assert np.all(group.dual_norm(B - group.proximal(B, step)) <= step * (1 + 1e-12))
