"""Pictures of fitted models, in one house style.

`plot` draws any fitted model of the library; `draw` is the `functools.singledispatch` function behind it, on
which a picture of a further class can be registered.
"""

from assay.display import (  # noqa: F401  (each registers its pictures)
    _classification,
    _cluster,
    _features,
    _kernel,
    _linear,
    _pipeline,
    _sparse,
)
from assay.display._convex import (
    ConvexPicture,
    plot_chord,
    plot_convex_set,
    plot_descent,
    plot_loss_curves,
    plot_program,
    plot_separability,
)
from assay.display._images import plot_images
from assay.display._posterior import plot_posterior
from assay.display._predictions import plot_predictions
from assay.display._registry import draw, plot
from assay.display._risk_curves import (
    plot_dimension_free,
    plot_overfitting,
    plot_penalty_error,
    plot_principal_plane,
)
from assay.display._style import house_style, require_matplotlib

__all__ = [
    "ConvexPicture",
    "draw",
    "house_style",
    "plot",
    "plot_chord",
    "plot_convex_set",
    "plot_descent",
    "plot_dimension_free",
    "plot_images",
    "plot_loss_curves",
    "plot_overfitting",
    "plot_penalty_error",
    "plot_posterior",
    "plot_predictions",
    "plot_principal_plane",
    "plot_program",
    "plot_separability",
    "require_matplotlib",
]
