"""Pictures of wrapped models: those of the model inside, on the data as that model sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from assay.display._registry import draw


@draw.register(Pipeline)
def draw_pipeline(model: Pipeline, X: Any = None, y: Any = None, *, ax: Any, **options: Any) -> None:
    """Draw the last step of a pipeline."""
    before, last = model[:-1], model[-1]
    if len(before) and "feature_names" not in options:
        try:
            options["feature_names"] = before.get_feature_names_out()
        except (AttributeError, ValueError):  # a step that does not name its output
            options["feature_names"] = None
    draw(last, before.transform(X) if X is not None and len(before) else X, y, ax=ax, **options)


@draw.register(TransformedTargetRegressor)
def draw_transformed_target(
    model: TransformedTargetRegressor, X: Any = None, y: Any = None, *, ax: Any, **options: Any
) -> None:
    """Draw the regressor inside, on its own scale of the target."""
    if y is not None:
        y = np.asarray(y, dtype=float)
        y = model.transformer_.transform(y.reshape(y.shape[0], -1)).reshape(y.shape)
    draw(model.regressor_, X, y, ax=ax, **options)
