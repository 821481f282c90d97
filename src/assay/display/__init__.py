"""Pictures of fitted models, in one house style.

Each picture is a `Display` that keeps what it shows as attributes. `plot` draws any fitted model of the
library; `pictures` is the `functools.singledispatch` function behind it, on which the displays of a further
class can be registered.
"""

from assay.display import (  # noqa: F401  (each registers its pictures)
    _bicluster,
    _centers,
    _classification,
    _cluster,
    _convex_clusters,
    _density_clusters,
    _features,
    _hierarchy,
    _kernel,
    _linear,
    _overlap,
    _reduced_rank,
    _sparse,
    _spectral,
)
from assay.display._bicluster import (
    BiclusterFitDisplay,
    BiclusterMatrixDisplay,
    BiclusterValuesDisplay,
)
from assay.display._center_table import CentersDisplay
from assay.display._centers import MembershipsDisplay
from assay.display._class_curves import CalibrationDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.display._class_line import ClassLineDisplay
from assay.display._class_map import ClassMapDisplay
from assay.display._class_probability import ClassProbabilityDisplay
from assay.display._classification import HistoryDisplay
from assay.display._cluster import IterationsDisplay, SplitTreeDisplay
from assay.display._cluster_map import ClusterMapDisplay
from assay.display._cluster_traces import BatchesDisplay, ConvergenceDisplay, RestartsDisplay
from assay.display._coefficients import ClassCoefficientsDisplay, CoefficientsDisplay
from assay.display._color_quantization import ColorQuantizationDisplay, plot_color_quantization
from assay.display._confusion import ConfusionDisplay
from assay.display._convex import (
    ConvexPicture,
    ConvexSetDisplay,
    SeparabilityDisplay,
    plot_convex_set,
    plot_separability,
)
from assay.display._convex_clusters import CentroidMapDisplay, ClusterPathDisplay, FusionTreeDisplay
from assay.display._convex_functions import ChordDisplay, LossCurvesDisplay, plot_chord, plot_loss_curves
from assay.display._convex_problems import DescentDisplay, ProgramDisplay, plot_descent, plot_program
from assay.display._dendrogram import DendrogramDisplay
from assay.display._density_clusters import ClusterSizesDisplay, DensityMapDisplay
from assay.display._density_curves import KDistanceDisplay, ReachabilityDisplay
from assay.display._density_tree import CondensedTreeDisplay
from assay.display._display import Display
from assay.display._features import (
    CurveDisplay,
    EffectsDisplay,
    FeatureCoefficientsDisplay,
    FeatureFunctionsDisplay,
)
from assay.display._hierarchy import HeightsDisplay, InertiaDisplay
from assay.display._images import ImagesDisplay, plot_images
from assay.display._kernel import KernelCurveDisplay, KernelWeightsDisplay
from assay.display._kmeans_figures import (
    FrontiersDisplay,
    InitsDisplay,
    plot_cluster_frontiers,
    plot_inits,
)
from assay.display._linear import LeaveOneOutDisplay, PathDisplay
from assay.display._overlap import OverlapErrorsDisplay, OverlapLoadingsDisplay
from assay.display._partition import PartitionDisplay, plot_partition
from assay.display._posterior import PosteriorDisplay, plot_posterior
from assay.display._predictions import PredictionsDisplay, ResidualsDisplay
from assay.display._principal_plane import PrincipalPlaneDisplay, plot_principal_plane
from assay.display._reduced_rank import CoefficientMatrixDisplay, SingularValuesDisplay
from assay.display._registry import Pictures, kinds, pictures, plot
from assay.display._risk_curves import (
    DimensionFreeDisplay,
    OverfittingDisplay,
    PenaltyErrorDisplay,
    PolynomialFitsDisplay,
    plot_dimension_free,
    plot_overfitting,
    plot_penalty_error,
)
from assay.display._selection_curves import ElbowDisplay, SelectionOfKDisplay
from assay.display._selection_evidence import BreakpointsDisplay, EigengapDisplay, ReferenceInertiasDisplay
from assay.display._selection_of_k import plot_elbow, plot_selection
from assay.display._silhouette import SilhouetteDisplay, plot_silhouette, plot_silhouettes
from assay.display._sparse import SelectionDisplay, SparsePathDisplay
from assay.display._spectral import EigenvectorsDisplay, EmbeddingDisplay, SpectrumDisplay
from assay.display._spectral_graph import GraphDisplay
from assay.display._style import house_style, require_matplotlib

__all__ = [
    "BatchesDisplay",
    "BiclusterFitDisplay",
    "BiclusterMatrixDisplay",
    "BiclusterValuesDisplay",
    "BreakpointsDisplay",
    "CalibrationDisplay",
    "CentersDisplay",
    "CentroidMapDisplay",
    "ChordDisplay",
    "ClassCoefficientsDisplay",
    "ClassLineDisplay",
    "ClassMapDisplay",
    "ClassProbabilityDisplay",
    "ClusterMapDisplay",
    "ClusterPathDisplay",
    "ClusterSizesDisplay",
    "CoefficientMatrixDisplay",
    "CoefficientsDisplay",
    "ColorQuantizationDisplay",
    "CondensedTreeDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "ConvexPicture",
    "ConvexSetDisplay",
    "CurveDisplay",
    "DendrogramDisplay",
    "DensityMapDisplay",
    "DescentDisplay",
    "DimensionFreeDisplay",
    "Display",
    "EffectsDisplay",
    "EigengapDisplay",
    "EigenvectorsDisplay",
    "ElbowDisplay",
    "EmbeddingDisplay",
    "FeatureCoefficientsDisplay",
    "FeatureFunctionsDisplay",
    "FrontiersDisplay",
    "FusionTreeDisplay",
    "GraphDisplay",
    "HeightsDisplay",
    "HistoryDisplay",
    "ImagesDisplay",
    "InertiaDisplay",
    "InitsDisplay",
    "IterationsDisplay",
    "KDistanceDisplay",
    "KernelCurveDisplay",
    "KernelWeightsDisplay",
    "LeaveOneOutDisplay",
    "LossCurvesDisplay",
    "MembershipsDisplay",
    "OverfittingDisplay",
    "OverlapErrorsDisplay",
    "OverlapLoadingsDisplay",
    "PartitionDisplay",
    "PathDisplay",
    "PenaltyErrorDisplay",
    "Pictures",
    "PolynomialFitsDisplay",
    "PosteriorDisplay",
    "PrecisionRecallDisplay",
    "PredictionsDisplay",
    "PrincipalPlaneDisplay",
    "ProgramDisplay",
    "ReachabilityDisplay",
    "ReferenceInertiasDisplay",
    "ResidualsDisplay",
    "RestartsDisplay",
    "RocCurveDisplay",
    "SelectionDisplay",
    "SelectionOfKDisplay",
    "SeparabilityDisplay",
    "SilhouetteDisplay",
    "SingularValuesDisplay",
    "SparsePathDisplay",
    "SpectrumDisplay",
    "SplitTreeDisplay",
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
