"""Executable theory: exact risks, bounds and simulations with a known truth."""

from __future__ import annotations

__all__: list[str] = []
