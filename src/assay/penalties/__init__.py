"""Penalties, norms and convex sets: functions of the coefficients, with proximal maps and projections.

A penalty adds its value to a risk; a set keeps the coefficients inside it. Both come with what certifies a
solution: conjugates and duality gaps, distances to the subdifferential, critical strengths.
"""

from __future__ import annotations

from assay.homes import publish
from assay.penalties.affine import AffineSubspace, ColumnSpace, HalfSpace, Hyperplane
from assay.penalties.balls import Ball, Box, L1Ball, Simplex
from assay.penalties.groups import GroupL2, RowSparse, SparseGroup
from assay.penalties.kkt import KKTResiduals, Quadratic, kkt_residuals
from assay.penalties.norms import (
    NORMS,
    Norm,
    Nuclear,
    dual_norm,
    n_nonzero_diagonal,
    n_nonzero_rows,
    norm,
    norm_inequalities,
)
from assay.penalties.penalty import Penalty
from assay.penalties.polytopes import ConvexHull, NonNegative, Polytope, PositiveSemidefinite, SecondOrderCone
from assay.penalties.separable import L1, MCP, SCAD, ElasticNet, SquaredNorm, soft_threshold
from assay.penalties.sets import ConvexSet, Homothetic, Intersection

__all__ = ["L1", "MCP", "NORMS", "SCAD", "AffineSubspace", "Ball", "Box", "ColumnSpace", "ConvexHull"]
__all__ += ["ConvexSet", "ElasticNet", "GroupL2", "HalfSpace", "Homothetic", "Hyperplane", "Intersection"]
__all__ += ["KKTResiduals", "L1Ball", "NonNegative", "Norm", "Nuclear", "Penalty", "Polytope"]
__all__ += ["PositiveSemidefinite", "Quadratic", "RowSparse", "SecondOrderCone", "Simplex", "SparseGroup"]
__all__ += ["SquaredNorm", "dual_norm", "kkt_residuals", "n_nonzero_diagonal", "n_nonzero_rows", "norm"]
__all__ += ["norm_inequalities", "soft_threshold"]

publish(globals())
