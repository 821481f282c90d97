"""Pictures of fitted models, in one house style.

`plot` draws any fitted model of the library; `draw` is the `functools.singledispatch` function behind it, on
which a picture of a further class can be registered.
"""

from assay.display import _classification, _cluster, _kernel, _linear, _pipeline  # noqa: F401  (each registers its pictures)
from assay.display._predictions import plot_predictions
from assay.display._registry import draw, plot
from assay.display._style import house_style, require_matplotlib

__all__ = ["draw", "house_style", "plot", "plot_predictions", "require_matplotlib"]
