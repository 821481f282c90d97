"""Penalties: functions of the coefficients, with their gradients, proximal maps and conjugates."""

from __future__ import annotations

from assay.penalties._squared_norm import SquaredNorm

__all__ = ["SquaredNorm"]
