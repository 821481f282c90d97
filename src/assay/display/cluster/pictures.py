"""Which pictures each clusterer has, in the order in which a reader wants them."""

from __future__ import annotations

from typing import Any

from assay.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    BisectingKMeans,
    BlockBiclustering,
    ConvexBiclustering,
    ConvexClustering,
    DivisiveClustering,
    FuzzyCMeans,
    KernelKMeans,
    KMeans,
    MiniBatchKMeans,
    OverlappingClustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralClustering,
    SpectralCoclustering,
)
from assay.cluster.quantizer.engine import RepresenterModel
from assay.display.base import Display
from assay.display.cluster import (
    bicluster,
    centers,
    convex,
    density,
    density_curves,
    hierarchy,
    kmeans,
    spectral,
    traces,
)
from assay.display.cluster.map import ClusterMapDisplay
from assay.display.cluster.silhouette import SilhouetteDisplay
from assay.display.registry import Default, Pictures, declare, pictures

declare(
    KMeans,
    default=Default("map", "centers"),
    map=ClusterMapDisplay,
    centers=centers.CentersDisplay,
    restarts=traces.RestartsDisplay,
    convergence=traces.ConvergenceDisplay,
    iterations=kmeans.IterationsDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    MiniBatchKMeans,
    default=Default("map", "centers"),
    map=ClusterMapDisplay,
    centers=centers.CentersDisplay,
    convergence=traces.BatchesDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    BisectingKMeans,
    default=Default("map", "tree"),
    map=ClusterMapDisplay,
    tree=kmeans.SplitTreeDisplay,
    centers=centers.CentersDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    FuzzyCMeans,
    default=Default("map", "centers"),
    map=ClusterMapDisplay,
    memberships=centers.MembershipsDisplay,
    centers=centers.CentersDisplay,
    convergence=traces.ConvergenceDisplay,
    restarts=traces.RestartsDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    DBSCAN,
    default=Default("map", "sizes"),
    map=density.DensityMapDisplay,
    k_distance=density_curves.KDistanceDisplay,
    sizes=density.ClusterSizesDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    OPTICS,
    default=Default("map", "reachability"),
    map=density.DensityMapDisplay,
    reachability=density_curves.ReachabilityDisplay,
    sizes=density.ClusterSizesDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    HDBSCAN,
    default=Default("map", "condensed_tree"),
    map=density.DensityMapDisplay,
    condensed_tree=density_curves.CondensedTreeDisplay,
    sizes=density.ClusterSizesDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    ConvexClustering,
    default=Default("map", "centers"),
    map=convex.CentroidMapDisplay,
    centers=centers.CentersDisplay,
    path=convex.ClusterPathDisplay,
    dendrogram=convex.FusionTreeDisplay,
    convergence=traces.ConvergenceDisplay,
    silhouette=SilhouetteDisplay,
)
declare(
    BlockBiclustering,
    ConvexBiclustering,
    default=Default("matrix", "fitted"),
    matrix=bicluster.BiclusterMatrixDisplay,
    fitted=bicluster.BiclusterFitDisplay,
    convergence=traces.ConvergenceDisplay,
)
declare(
    SparseSVDBiclustering,
    default=Default("matrix", "fitted"),
    matrix=bicluster.BiclusterMatrixDisplay,
    fitted=bicluster.BiclusterFitDisplay,
    singular_values=bicluster.BiclusterValuesDisplay,
)
declare(
    SpectralBiclustering,
    SpectralCoclustering,
    default=Default("matrix", "singular_values"),
    matrix=bicluster.BiclusterMatrixDisplay,
    singular_values=bicluster.BiclusterValuesDisplay,
)
declare(
    OverlappingClustering,
    default=Default("loadings", "loadings"),
    loadings=bicluster.OverlapLoadingsDisplay,
    cross_validation=bicluster.OverlapErrorsDisplay,
)


@pictures.register(AgglomerativeClustering)
@pictures.register(DivisiveClustering)
def _(model: Any) -> Pictures:
    displays: dict[str, type[Display]] = {
        "map": ClusterMapDisplay,
        "dendrogram": hierarchy.DendrogramDisplay,
        "heights": hierarchy.HeightsDisplay,
    }
    if getattr(model, "linkage", "") == "ward":
        displays["inertia"] = hierarchy.InertiaDisplay
    displays["silhouette"] = SilhouetteDisplay
    return Pictures(displays, Default("dendrogram" if model._is_precomputed else "map", "dendrogram"))


@pictures.register(RepresenterModel)
def _(model: Any) -> Pictures:
    displays: dict[str, type[Display]] = {
        "map": ClusterMapDisplay,
        "convergence": traces.ConvergenceDisplay,
        "restarts": traces.RestartsDisplay,
    }
    precomputed = getattr(model, "_is_precomputed", False)
    if not precomputed and not isinstance(model, KernelKMeans):
        displays["centers"] = centers.CentersDisplay
    # Of a precomputed kernel there are no dissimilarities.
    if not (precomputed and isinstance(model, KernelKMeans)):
        displays["silhouette"] = SilhouetteDisplay
    alone = "centers" if "centers" in displays else "convergence"
    return Pictures(displays, Default(alone if precomputed else "map", alone))


@pictures.register(SpectralClustering)
def _(model: SpectralClustering) -> Pictures:
    displays: dict[str, type[Display]] = {
        "map": ClusterMapDisplay,
        "graph": spectral.GraphDisplay,
        "spectrum": spectral.SpectrumDisplay,
        "embedding": spectral.EmbeddingDisplay,
        "eigenvectors": spectral.EigenvectorsDisplay,
    }
    if not model._is_precomputed:  # of affinities there are no dissimilarities
        displays["silhouette"] = SilhouetteDisplay
    return Pictures(displays, Default("map", "spectrum"))
