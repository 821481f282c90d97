"""Penalties, norms and convex sets: functions of the coefficients, with proximal maps and projections.

A penalty adds its value to a risk; a set keeps the coefficients inside it. Both come with what certifies a
solution: conjugates and duality gaps, distances to the subdifferential, critical strengths.
"""

from __future__ import annotations

from assay.homes import publish
from assay.penalties._affine_sets import AffineSubspace, HalfSpace, Hyperplane
from assay.penalties._ball import Ball
from assay.penalties._box import Box
from assay.penalties._column_space import ColumnSpace
from assay.penalties._composed_sets import Homothetic, Intersection
from assay.penalties._concave import MCP, SCAD
from assay.penalties._cones import NonNegative, PositiveSemidefinite, SecondOrderCone
from assay.penalties._convex_set import ConvexSet
from assay.penalties._elastic_net import ElasticNet
from assay.penalties._group_l2 import GroupL2
from assay.penalties._kkt import KKTResiduals, Quadratic, kkt_residuals
from assay.penalties._l1 import L1, soft_threshold
from assay.penalties._norms import (
    NORMS,
    Norm,
    dual_norm,
    n_nonzero_diagonal,
    n_nonzero_rows,
    norm,
    norm_inequalities,
)
from assay.penalties._nuclear import Nuclear
from assay.penalties._penalty import Penalty
from assay.penalties._polytopes import ConvexHull, Polytope
from assay.penalties._row_sparse import RowSparse
from assay.penalties._simplex import L1Ball, Simplex
from assay.penalties._sparse_group import SparseGroup
from assay.penalties._squared_norm import SquaredNorm

__all__ = [
    "L1",
    "MCP",
    "NORMS",
    "SCAD",
    "AffineSubspace",
    "Ball",
    "Box",
    "ColumnSpace",
    "ConvexHull",
    "ConvexSet",
    "ElasticNet",
    "GroupL2",
    "HalfSpace",
    "Homothetic",
    "Hyperplane",
    "Intersection",
    "KKTResiduals",
    "L1Ball",
    "NonNegative",
    "Norm",
    "Nuclear",
    "Penalty",
    "Polytope",
    "PositiveSemidefinite",
    "Quadratic",
    "RowSparse",
    "SecondOrderCone",
    "Simplex",
    "SparseGroup",
    "SquaredNorm",
    "dual_norm",
    "kkt_residuals",
    "n_nonzero_diagonal",
    "n_nonzero_rows",
    "norm",
    "norm_inequalities",
    "soft_threshold",
]

publish(globals())
