"""Which pictures each clusterer has, in the order in which a reader wants them."""

from __future__ import annotations

from typing import Any

from assay import cluster
from assay.cluster.quantizer.base import RepresenterModel
from assay.display.base import Display
from assay.display.cluster import bicluster, centers, density, hierarchy, kmeans, spectral
from assay.display.cluster.map import ClusterMapDisplay
from assay.display.cluster.silhouette import SilhouetteDisplay
from assay.display.registry import Default, Pictures, declare, pictures

DISPLAYS: dict[str, type[Display]] = {
    "centers": centers.CentersDisplay,
    "condensed_tree": density.CondensedTreeDisplay,
    "convergence": kmeans.ConvergenceDisplay,
    "cross_validation": bicluster.OverlapErrorsDisplay,
    "dendrogram": hierarchy.DendrogramDisplay,
    "eigenvectors": spectral.EigenvectorsDisplay,
    "embedding": spectral.EmbeddingDisplay,
    "fitted": bicluster.BiclusterFitDisplay,
    "graph": spectral.GraphDisplay,
    "heights": hierarchy.HeightsDisplay,
    "inertia": hierarchy.InertiaDisplay,
    "iterations": kmeans.IterationsDisplay,
    "k_distance": density.KDistanceDisplay,
    "loadings": bicluster.OverlapLoadingsDisplay,
    "map": ClusterMapDisplay,
    "matrix": bicluster.BiclusterMatrixDisplay,
    "memberships": centers.MembershipsDisplay,
    "path": centers.ClusterPathDisplay,
    "reachability": density.ReachabilityDisplay,
    "restarts": kmeans.RestartsDisplay,
    "silhouette": SilhouetteDisplay,
    "singular_values": bicluster.BiclusterValuesDisplay,
    "sizes": density.ClusterSizesDisplay,
    "spectrum": spectral.SpectrumDisplay,
    "tree": kmeans.SplitTreeDisplay,
}
"""What draws each kind, where a clusterer has no display of its own for it."""


def kinds(names: str) -> dict[str, type[Display]]:
    """Displays by kind, in this order."""
    return {name: DISPLAYS[name] for name in names.split()}


ON_CENTERS, ON_MATRIX = Default("map", "centers"), Default("matrix", "fitted")
ON_VALUES, ON_LOADINGS = Default("matrix", "singular_values"), Default("loadings", "loadings")
BATCHES: dict[str, type[Display]] = {"convergence": kmeans.BatchesDisplay}
CONVEX = kinds("map centers path dendrogram convergence silhouette")
CONVEX |= {"map": centers.CentroidMapDisplay, "dendrogram": centers.FusionTreeDisplay}
DENSITY: dict[str, type[Display]] = {"map": density.DensityMapDisplay}
ON_TREE = Default("map", "condensed_tree")
for model_class, default, displays in (
    (cluster.KMeans, ON_CENTERS, kinds("map centers restarts convergence iterations silhouette")),
    (cluster.FuzzyCMeans, ON_CENTERS, kinds("map memberships centers convergence restarts silhouette")),
    (cluster.BisectingKMeans, Default("map", "tree"), kinds("map tree centers silhouette")),
    (cluster.MiniBatchKMeans, ON_CENTERS, kinds("map centers convergence silhouette") | BATCHES),
    (cluster.ConvexClustering, ON_CENTERS, CONVEX),
    (cluster.DBSCAN, Default("map", "sizes"), kinds("map k_distance sizes silhouette") | DENSITY),
    (cluster.OPTICS, Default("map", "reachability"), kinds("map reachability sizes silhouette") | DENSITY),
    (cluster.HDBSCAN, ON_TREE, kinds("map condensed_tree sizes silhouette") | DENSITY),
    (cluster.BlockBiclustering, ON_MATRIX, kinds("matrix fitted convergence")),
    (cluster.ConvexBiclustering, ON_MATRIX, kinds("matrix fitted convergence")),
    (cluster.SparseSVDBiclustering, ON_MATRIX, kinds("matrix fitted singular_values")),
    (cluster.SpectralBiclustering, ON_VALUES, kinds("matrix singular_values")),
    (cluster.SpectralCoclustering, ON_VALUES, kinds("matrix singular_values")),
    (cluster.OverlappingClustering, ON_LOADINGS, kinds("loadings cross_validation")),
):
    declare(model_class, default=default, **displays)


@pictures.register(cluster.AgglomerativeClustering)
@pictures.register(cluster.DivisiveClustering)
def _(model: Any) -> Pictures:
    ward = " inertia" if getattr(model, "linkage", "") == "ward" else ""
    default = Default("dendrogram" if model._is_precomputed else "map", "dendrogram")
    return Pictures(kinds(f"map dendrogram heights{ward} silhouette"), default)


@pictures.register(RepresenterModel)
def _(model: Any) -> Pictures:
    precomputed, kernel = getattr(model, "_is_precomputed", False), isinstance(model, cluster.KernelKMeans)
    own = "" if precomputed or kernel else " centers"
    # Of a precomputed kernel there are no dissimilarities.
    widths = "" if precomputed and kernel else " silhouette"
    alone = own.strip() or "convergence"
    default = Default(alone if precomputed else "map", alone)
    return Pictures(kinds(f"map convergence restarts{own}{widths}"), default)


@pictures.register(cluster.SpectralClustering)
def _(model: cluster.SpectralClustering) -> Pictures:
    widths = "" if model._is_precomputed else " silhouette"  # of affinities there are no dissimilarities
    return Pictures(kinds(f"map graph spectrum embedding eigenvectors{widths}"), Default("map", "spectrum"))
