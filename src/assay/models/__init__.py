"""What rooms share: bases by capability, selection, paths, inference."""

from assay.homes import publish
from assay.models.path import PenaltyPath
from assay.models.selection import Selection

__all__ = ["PenaltyPath", "Selection"]

publish(globals())
