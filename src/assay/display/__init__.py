"""Pictures of fitted models, in one house style.

Each picture is a `Display` that keeps what it shows as attributes. `plot` draws any fitted model of the
library; `pictures` is the `functools.singledispatch` function behind it, on which the displays of a further
class can be registered.
"""

from assay.display.base import Display
from assay.display.classes.curves import CalibrationDisplay, PrecisionRecallDisplay, RocCurveDisplay
from assay.display.classes.line import ClassLineDisplay, ClassProbabilityDisplay
from assay.display.classes.map import ClassMapDisplay
from assay.display.classes.pictures import ConfusionDisplay, HistoryDisplay
from assay.display.classes.scores import PosteriorDisplay, plot_posterior
from assay.display.cluster import pictures as _pictures  # noqa: F401  (declares which there are)
from assay.display.cluster.bicluster import (
    BiclusterFitDisplay,
    BiclusterMatrixDisplay,
    BiclusterValuesDisplay,
    OverlapErrorsDisplay,
    OverlapLoadingsDisplay,
)
from assay.display.cluster.centers import (
    CentersDisplay,
    CentroidMapDisplay,
    ClusterPathDisplay,
    FusionTreeDisplay,
    MembershipsDisplay,
)
from assay.display.cluster.density import (
    ClusterSizesDisplay,
    CondensedTreeDisplay,
    DensityMapDisplay,
    KDistanceDisplay,
    ReachabilityDisplay,
)
from assay.display.cluster.hierarchy import DendrogramDisplay, HeightsDisplay, InertiaDisplay
from assay.display.cluster.kmeans import (
    BatchesDisplay,
    ConvergenceDisplay,
    IterationsDisplay,
    RestartsDisplay,
    SplitTreeDisplay,
)
from assay.display.cluster.kmeans_figures import (
    ColorQuantizationDisplay,
    FrontiersDisplay,
    InitsDisplay,
    plot_cluster_frontiers,
    plot_color_quantization,
    plot_inits,
)
from assay.display.cluster.map import ClusterMapDisplay
from assay.display.cluster.selection import (
    BreakpointsDisplay,
    EigengapDisplay,
    ElbowDisplay,
    ReferenceInertiasDisplay,
    SelectionOfKDisplay,
    plot_elbow,
    plot_selection,
)
from assay.display.cluster.silhouette import (
    PartitionDisplay,
    SilhouetteDisplay,
    plot_partition,
    plot_silhouette,
    plot_silhouettes,
)
from assay.display.cluster.spectral import (
    EigenvectorsDisplay,
    EmbeddingDisplay,
    GraphDisplay,
    SpectrumDisplay,
)
from assay.display.density.curves import (
    BandwidthCriterionDisplay,
    DensityCurveDisplay,
    DensityRanksDisplay,
    StepsDisplay,
)
from assay.display.density.rates import DensityRateDisplay, plot_density_rate
from assay.display.discriminant.columns import ClassSharesDisplay, ColumnLawsDisplay, DecisionCostsDisplay
from assay.display.discriminant.ellipses import EllipsesDisplay
from assay.display.discriminant.frontier import FrontierDisplay, FrontierPanelsDisplay
from assay.display.discriminant.outlier import OutlierTiltDisplay
from assay.display.discriminant.pictures import AxesDisplay, RowWeightsDisplay, WhitenedDisplay
from assay.display.discriminant.projections import ProjectedDensitiesDisplay
from assay.display.kernel_curves import CurvePanelsDisplay, plot_curves
from assay.display.kernel_features import (
    CentroidDistancesDisplay,
    FrequencyLengthsDisplay,
    KernelErrorDisplay,
    LandmarksDisplay,
    LandmarkSpectrumDisplay,
)
from assay.display.kernel_levels import LevelMapDisplay, LevelValuesDisplay
from assay.display.kernel_lift import LiftDisplay, plot_lift
from assay.display.kernel_machines import KernelCurveDisplay, KernelWeightsDisplay
from assay.display.kernel_risks import ErrorSurfaceDisplay, KernelCentersDisplay, WidthAccuracyDisplay
from assay.display.linear.coefficients import (
    ClassCoefficientsDisplay,
    CoefficientsDisplay,
    ImagesDisplay,
    plot_images,
)
from assay.display.linear.features import (
    CoefficientMatrixDisplay,
    CurveDisplay,
    EffectsDisplay,
    FeatureCoefficientsDisplay,
    FeatureFunctionsDisplay,
    SingularValuesDisplay,
)
from assay.display.linear.pictures import LeaveOneOutDisplay, PathDisplay, SelectionDisplay, SparsePathDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.neighbors import pictures as _neighbor_pictures  # noqa: F401  (declares which there are)
from assay.display.neighbors.dimensions import DimensionDisplay, plot_dimensions
from assay.display.neighbors.maps import NeighborMapDisplay
from assay.display.neighbors.paths import (
    BandwidthDisplay,
    NeighborDistanceDisplay,
    NeighborPathDisplay,
    NeighborSharesDisplay,
)
from assay.display.optimize.problems import DescentDisplay, ProgramDisplay, plot_descent, plot_program
from assay.display.optimize.sets import (
    ChordDisplay,
    ConvexPicture,
    ConvexSetDisplay,
    LossCurvesDisplay,
    SeparabilityDisplay,
    plot_chord,
    plot_convex_set,
    plot_loss_curves,
    plot_separability,
)
from assay.display.optimize.traces import TracesDisplay, plot_traces
from assay.display.plane import PrincipalPlaneDisplay, plot_principal_plane
from assay.display.registry import Default, Pictures, kinds, list_pictures, pictures, plot
from assay.display.style import house_style, require_matplotlib
from assay.display.support_paths import (
    DualTraceDisplay,
    DualWeightsDisplay,
    GapTimeDisplay,
    SupportPathDisplay,
)
from assay.display.support_tubes import TubeDisplay
from assay.display.support_vectors import CostPanelsDisplay, MachineValuesDisplay, MarginDisplay, plot_costs
from assay.display.theory import (
    DimensionFreeDisplay,
    OverfittingDisplay,
    PenaltyErrorDisplay,
    PolynomialFitsDisplay,
    plot_dimension_free,
    plot_overfitting,
    plot_penalty_error,
)
from assay.display.trees.boosting import StagedRiskDisplay
from assay.display.trees.experiments import (
    ErrorDecompositionDisplay,
    FlippedWeightDisplay,
    ShrinkageGridDisplay,
)
from assay.display.trees.forest import ImportanceDisplay, OutOfBagDisplay, SingleMembersDisplay
from assay.display.trees.honesty import IntervalsDisplay, ReliabilityDisplay
from assay.display.trees.impurity import ImpurityCurvesDisplay, plot_impurity_curves
from assay.display.trees.pruning import PruningDisplay, PruningSelectionDisplay
from assay.display.trees.shapley import ShapBarsDisplay, ShapBeeswarmDisplay, ShapWaterfallDisplay
from assay.display.trees.single import TreeDisplay, TreePartitionDisplay
from assay.display.trees.stagewise import (
    BoundChainDisplay,
    MarginsDisplay,
    RoundErrorsDisplay,
    RoundFrontiersDisplay,
    RoundRiskDisplay,
)
from assay.homes import publish

__all__ = [
    "AxesDisplay",
    "BandwidthCriterionDisplay",
    "BandwidthDisplay",
    "BatchesDisplay",
    "BiclusterFitDisplay",
    "BiclusterMatrixDisplay",
    "BiclusterValuesDisplay",
    "BoundChainDisplay",
    "BreakpointsDisplay",
    "CalibrationDisplay",
    "CentersDisplay",
    "CentroidDistancesDisplay",
    "CentroidMapDisplay",
    "ChordDisplay",
    "ClassCoefficientsDisplay",
    "ClassLineDisplay",
    "ClassMapDisplay",
    "ClassProbabilityDisplay",
    "ClassSharesDisplay",
    "ClusterMapDisplay",
    "ClusterPathDisplay",
    "ClusterSizesDisplay",
    "CoefficientMatrixDisplay",
    "CoefficientsDisplay",
    "ColorQuantizationDisplay",
    "ColumnLawsDisplay",
    "CondensedTreeDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "ConvexPicture",
    "ConvexSetDisplay",
    "CostPanelsDisplay",
    "CurveDisplay",
    "CurvePanelsDisplay",
    "DecisionCostsDisplay",
    "Default",
    "DendrogramDisplay",
    "DensityCurveDisplay",
    "DensityMapDisplay",
    "DensityRanksDisplay",
    "DensityRateDisplay",
    "DescentDisplay",
    "DimensionDisplay",
    "DimensionFreeDisplay",
    "Display",
    "DualTraceDisplay",
    "DualWeightsDisplay",
    "EffectsDisplay",
    "EigengapDisplay",
    "EigenvectorsDisplay",
    "ElbowDisplay",
    "EllipsesDisplay",
    "EmbeddingDisplay",
    "ErrorDecompositionDisplay",
    "ErrorSurfaceDisplay",
    "FeatureCoefficientsDisplay",
    "FeatureFunctionsDisplay",
    "FlippedWeightDisplay",
    "FrequencyLengthsDisplay",
    "FrontierDisplay",
    "FrontierPanelsDisplay",
    "FrontiersDisplay",
    "FusionTreeDisplay",
    "GapTimeDisplay",
    "GraphDisplay",
    "HeightsDisplay",
    "HistoryDisplay",
    "ImagesDisplay",
    "ImportanceDisplay",
    "ImpurityCurvesDisplay",
    "InertiaDisplay",
    "InitsDisplay",
    "IntervalsDisplay",
    "IterationsDisplay",
    "KDistanceDisplay",
    "KernelCentersDisplay",
    "KernelCurveDisplay",
    "KernelErrorDisplay",
    "KernelWeightsDisplay",
    "LandmarkSpectrumDisplay",
    "LandmarksDisplay",
    "LeaveOneOutDisplay",
    "LevelMapDisplay",
    "LevelValuesDisplay",
    "LiftDisplay",
    "LossCurvesDisplay",
    "MachineValuesDisplay",
    "MarginDisplay",
    "MarginsDisplay",
    "MembershipsDisplay",
    "NeighborDistanceDisplay",
    "NeighborMapDisplay",
    "NeighborPathDisplay",
    "NeighborSharesDisplay",
    "OutOfBagDisplay",
    "OutlierTiltDisplay",
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
    "ProjectedDensitiesDisplay",
    "PruningDisplay",
    "PruningSelectionDisplay",
    "ReachabilityDisplay",
    "ReferenceInertiasDisplay",
    "ReliabilityDisplay",
    "ResidualsDisplay",
    "RestartsDisplay",
    "RocCurveDisplay",
    "RoundErrorsDisplay",
    "RoundFrontiersDisplay",
    "RoundRiskDisplay",
    "RowWeightsDisplay",
    "SelectionDisplay",
    "SelectionOfKDisplay",
    "SeparabilityDisplay",
    "ShapBarsDisplay",
    "ShapBeeswarmDisplay",
    "ShapWaterfallDisplay",
    "ShrinkageGridDisplay",
    "SilhouetteDisplay",
    "SingleMembersDisplay",
    "SingularValuesDisplay",
    "SparsePathDisplay",
    "SpectrumDisplay",
    "SplitTreeDisplay",
    "StagedRiskDisplay",
    "StepsDisplay",
    "SupportPathDisplay",
    "TracesDisplay",
    "TreeDisplay",
    "TreePartitionDisplay",
    "TubeDisplay",
    "WhitenedDisplay",
    "WidthAccuracyDisplay",
    "house_style",
    "kinds",
    "pictures",
    "plot",
    "plot_chord",
    "plot_cluster_frontiers",
    "plot_color_quantization",
    "plot_convex_set",
    "plot_costs",
    "plot_curves",
    "plot_density_rate",
    "plot_descent",
    "plot_dimension_free",
    "plot_dimensions",
    "plot_elbow",
    "plot_images",
    "plot_impurity_curves",
    "plot_inits",
    "plot_lift",
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
    "plot_traces",
    "require_matplotlib",
]

publish(globals())
list_pictures()
