"""Pictures of fitted models, in one house style.

`plot` draws any fitted model of the library; `draw` is the `functools.singledispatch` function behind it, on
which a picture of a further class can be registered.
"""

from assay.display import (  # noqa: F401  (each registers its pictures)
    _bicluster,
    _centers,
    _classification,
    _cluster,
    _convex_clusters,
    _dendrogram,
    _density_clusters,
    _features,
    _kernel,
    _linear,
    _pipeline,
    _sparse,
    _spectral,
)
from assay.display._class_evidence import ClassEvidence
from assay.display._coefficients import CoefficientsDisplay
from assay.display._convex import (
    ConvexPicture,
    plot_chord,
    plot_convex_set,
    plot_descent,
    plot_loss_curves,
    plot_program,
    plot_separability,
)
from assay.display._display import Display
from assay.display._features import (
    CoefficientMatrixDisplay,
    CurveDisplay,
    EffectsDisplay,
    FeatureCoefficientsDisplay,
    FeatureFunctionsDisplay,
    SingularValuesDisplay,
)
from assay.display._images import plot_images
from assay.display._kernel import KernelCurveDisplay, KernelWeightsDisplay
from assay.display._kmeans_figures import plot_cluster_frontiers, plot_color_quantization, plot_inits
from assay.display._linear import LeaveOneOutDisplay, PathDisplay
from assay.display._posterior import plot_posterior
from assay.display._predictions import PredictionsDisplay, ResidualsDisplay
from assay.display._registry import Pictures, draw, kinds, pictures, plot
from assay.display._risk_curves import (
    plot_dimension_free,
    plot_overfitting,
    plot_penalty_error,
    plot_principal_plane,
)
from assay.display._selection_of_k import plot_elbow, plot_partition, plot_selection
from assay.display._silhouette import plot_silhouette, plot_silhouettes
from assay.display._sparse import SelectionDisplay, SparsePathDisplay
from assay.display._style import house_style, require_matplotlib

__all__ = [
    "ClassEvidence",
    "CoefficientMatrixDisplay",
    "CoefficientsDisplay",
    "ConvexPicture",
    "CurveDisplay",
    "Display",
    "EffectsDisplay",
    "FeatureCoefficientsDisplay",
    "FeatureFunctionsDisplay",
    "KernelCurveDisplay",
    "KernelWeightsDisplay",
    "LeaveOneOutDisplay",
    "PathDisplay",
    "Pictures",
    "PredictionsDisplay",
    "ResidualsDisplay",
    "SelectionDisplay",
    "SingularValuesDisplay",
    "SparsePathDisplay",
    "draw",
    "house_style",
    "kinds",
    "pictures",
    "plot",
    "plot_chord",
    "plot_cluster_frontiers",
    "plot_color_quantization",
    "plot_convex_set",
    "plot_descent",
    "plot_dimension_free",
    "plot_elbow",
    "plot_images",
    "plot_inits",
    "plot_loss_curves",
    "plot_overfitting",
    "plot_partition",
    "plot_penalty_error",
    "plot_posterior",
    "plot_principal_plane",
    "plot_program",
    "plot_selection",
    "plot_separability",
    "plot_silhouette",
    "plot_silhouettes",
    "require_matplotlib",
]
