"""Cases known to be neither an answer nor a sentence: must be none. A line that is no longer needed fails."""

from __future__ import annotations

KNOWN: dict[str, tuple[str, ...]] = {}
"""Representation of a model → kinds."""
