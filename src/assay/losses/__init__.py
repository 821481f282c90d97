"""Losses: functions of a target and a prediction, with their derivatives, conjugates and constants."""

from __future__ import annotations

from assay.losses._squared import Squared

__all__ = ["Squared"]
