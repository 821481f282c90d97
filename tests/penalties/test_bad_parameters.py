"""Each bad parameter is refused in one sentence that names it."""

from __future__ import annotations

import numpy as np
import pytest

from assay import penalties as p
from assay.parameters import ParameterError

ONE = np.ones(3)
CASES = [
    (lambda: p.L1(-1.0), "'strength' parameter of L1 must be at least 0"),
    (lambda: p.L1(np.nan), "'strength' parameter of L1 must be a number or a vector, finite"),
    (lambda: p.L1("large"), "'strength' parameter of L1"),
    (
        lambda: p.L1([1.0, 2.0, 3.0]).value(ONE),
        "'strength' parameter of L1 must be a number, or one per column",
    ),
    (lambda: p.L1(1.0, [1.0, -1.0]), "'weights' parameter of L1 must be at least 0"),
    (lambda: p.L1(1.0, [1.0, np.nan]), "'weights' parameter of L1 must be a vector, without NaN"),
    (lambda: p.L1(1.0, [1.0, 1.0]).value(ONE), "'weights' parameter of L1 must be of length 3"),
    (lambda: p.ElasticNet(1.0, 1.5), "'l1_ratio' parameter of ElasticNet must be between 0 and 1"),
    (lambda: p.ElasticNet(-1.0), "'strength' parameter of ElasticNet must be at least 0"),
    (lambda: p.GroupL2(1.0, 3), "'groups' parameter of GroupL2 must be one label per feature or one list"),
    (lambda: p.GroupL2(1.0, []), "'groups' parameter of GroupL2"),
    (
        lambda: p.GroupL2(1.0, [[0, 1], [1, 2]]),
        "'groups' parameter of GroupL2 must be lists of indices that hold",
    ),
    (lambda: p.GroupL2(1.0, [[0], [2]]), "'groups' parameter of GroupL2 must be lists of indices that hold"),
    (lambda: p.GroupL2(1.0, [0, 0, 1], [1.0]), "'weights' parameter of GroupL2 must be of length 2"),
    (lambda: p.GroupL2(1.0, [0, 1]).value(ONE), "'groups' parameter of GroupL2 must be a partition of 3"),
    (lambda: p.SparseGroup(1.0, [0, 1], -0.1), "'l1_ratio' parameter of SparseGroup must be between 0 and 1"),
    (lambda: p.RowSparse(-1.0), "'strength' parameter of RowSparse must be at least 0"),
    (lambda: p.Nuclear([1.0]), "'strength' parameter of Nuclear must be a number, finite"),
    (lambda: p.MCP(1.0, 1.0), "'gamma' parameter of MCP must be above 1"),
    (lambda: p.SCAD(1.0, 2.0), "'gamma' parameter of SCAD must be above 2"),
    (lambda: p.MCP(1.0, 2.0).proximal(ONE, 2.0), "'step' parameter of MCP.proximal must be below gamma = 2"),
    (
        lambda: p.SCAD(1.0, 3.0).proximal(ONE, 2.5),
        "'step' parameter of SCAD.proximal must be below gamma - 1 = 2",
    ),
    (lambda: p.Box(1.0, 0.0), "'lower' parameter of Box must be at most 'upper'"),
    (lambda: p.Box([0.0, 0.0], [1.0, 1.0, 1.0]), "'upper' parameter of Box must be of length 2"),
    (lambda: p.Box([0.0, 0.0], 1.0).project(ONE), "'bounds' parameter of Box must be of length 3"),
    (lambda: p.Ball(0.0, -1.0), "'radius' parameter of Ball must be a finite number at least 0"),
    (lambda: p.Ball(0.0, 1.0, "l3"), "'norm' parameter of Ball must be one of 'l1', 'l2', 'linf'"),
    (lambda: p.Ball(0.0, 1.0, "l1").multiplier(ONE), "'norm' parameter of Ball.multiplier must be 'l2'"),
    (lambda: p.Simplex(0.0), "'total' parameter of Simplex must be a finite number above 0"),
    (lambda: p.L1Ball(-1.0), "'radius' parameter of L1Ball must be a finite number at least 0"),
    (lambda: p.HalfSpace([0.0, 0.0]), "'normal' parameter of HalfSpace must be a vector other than zero"),
    (lambda: p.Hyperplane([[1.0]]), "'normal' parameter of Hyperplane must be a vector"),
    (
        lambda: p.AffineSubspace([[1.0], [1.0]], [0.0, 1.0]),
        "'offset' parameter of AffineSubspace must be such",
    ),
    (
        lambda: p.AffineSubspace([[1.0]], [0.0, 1.0]),
        "'offset' parameter of AffineSubspace must be of length 1",
    ),
    (lambda: p.Polytope([[1.0]], [0.0, 1.0]), "'offset' parameter of Polytope must be of length 1"),
    (lambda: p.Polytope([[0.0]], [0.0]), "'matrix' parameter of Polytope must be without a row of zeros"),
    (lambda: p.ConvexHull(np.empty((0, 2))), "'points' parameter of ConvexHull must be at least one row"),
    (lambda: p.Intersection([]), "'sets' parameter of Intersection must be a sequence of at least one"),
    (lambda: p.Intersection([1]), "'sets' parameter of Intersection must be a sequence of at least one"),
    (lambda: p.Intersection([p.Ball()], tol=0.0), "'tol' parameter of Intersection"),
    (lambda: p.Ball().scaled(0.0), "'factor' parameter of Homothetic must be other than 0"),
    (lambda: p.Homothetic(3), "'original' parameter of Homothetic must be a ConvexSet"),
    (lambda: (p.Ball() & p.Simplex()).support(ONE), "'a' parameter of Intersection.linear_minimiser"),
    (lambda: p.ColumnSpace([1.0]), "'matrix' parameter of ColumnSpace must be a matrix, finite"),
    (lambda: p.norm(ONE, "l3"), "'name' parameter of norm must be one of l1, l2, linf"),
    (lambda: p.norm(ONE, "nuclear"), "'x' parameter of the nuclear norm must be a matrix"),
    (
        lambda: p.Quadratic([[0.0, 1.0], [0.0, 0.0]], [0.0, 0.0]),
        "'matrix' parameter of Quadratic must be symmetric",
    ),
    (
        lambda: p.kkt_residuals(p.Quadratic(None, ONE), ONE, multipliers=[1.0]),
        "'multipliers' parameter of kkt_residuals must be of length 0",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), CASES, ids=[sentence for _, sentence in CASES])
def test_is_refused(make, sentence):
    with pytest.raises(ParameterError) as caught:
        make()
    message = str(caught.value)
    assert sentence in message
    assert "Got" in message
    assert "\n" not in message.split("Got")[0]
