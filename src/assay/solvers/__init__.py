"""Solvers: what the estimators run on, as pure functions from rows and vocabulary to a result."""

from __future__ import annotations

from assay.homes import publish
from assay.solvers.least_squares.direct import (
    Solution,
    by_cholesky,
    by_dual,
    by_triangle,
    decomposed,
    minimum_norm,
    triangle,
)
from assay.solvers.least_squares.iterative import by_conjugate_gradient, by_gradient_descent
from assay.solvers.least_squares.moments import TableMoments, augmented_rows, moments
from assay.solvers.requirements import requires
from assay.solvers.separation import Separability, separability
from assay.solvers.smooth.fit import SmoothFit, calm_blas, fit_smooth, risk_step, silent
from assay.solvers.smooth.newton import newton_direction, newton_step, row_newton
from assay.solvers.smooth.proximal import proximal_rows
from assay.solvers.smooth.quasi_newton import QuasiNewton, quasi_newton
from assay.solvers.smooth.row_risk import RowMeasure, RowRisk, row_duality_gap
from assay.solvers.smooth.row_sums import LinearScore, Split, block_terms, row_weights, shifted_columns
from assay.solvers.smooth.wide import narrowed
from assay.solvers.sparse.path import SparseProblem, SparseSolutions, sparse_path

__all__ = [
    "LinearScore",
    "QuasiNewton",
    "RowMeasure",
    "RowRisk",
    "Separability",
    "SmoothFit",
    "Solution",
    "SparseProblem",
    "SparseSolutions",
    "Split",
    "TableMoments",
    "augmented_rows",
    "block_terms",
    "by_cholesky",
    "by_conjugate_gradient",
    "by_dual",
    "by_gradient_descent",
    "by_triangle",
    "calm_blas",
    "decomposed",
    "fit_smooth",
    "minimum_norm",
    "moments",
    "narrowed",
    "newton_direction",
    "newton_step",
    "proximal_rows",
    "quasi_newton",
    "requires",
    "risk_step",
    "row_duality_gap",
    "row_newton",
    "row_weights",
    "separability",
    "shifted_columns",
    "silent",
    "sparse_path",
    "triangle",
]

publish(globals())
