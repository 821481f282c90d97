"""Pictures of linear classifiers."""

from __future__ import annotations

from typing import Any

from assay.display._linear import _coefficients
from assay.display._registry import choose, draw
from assay.linear._classifier import LinearClassifier


@draw.register(LinearClassifier)
def draw_linear_classifier(
    model: LinearClassifier,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the coefficients."""
    kind = kind or "coefficients"
    pictures = {"coefficients": _coefficients}
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)
