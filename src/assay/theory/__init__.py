"""Executable theory: exact risks, bounds and simulations with a known truth."""

from __future__ import annotations

from assay.theory._ridge import RidgeRisk, Stability, excess_risk, ridge_risk, squaring_experiment

__all__ = ["RidgeRisk", "Stability", "excess_risk", "ridge_risk", "squaring_experiment"]
