"""Graphs of rows: neighbourhoods as weights, Laplacians and their spectra, cuts, spanning trees."""

from __future__ import annotations

__all__: list[str] = []
