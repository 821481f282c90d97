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
from assay.cluster.quantizer.base import RepresenterModel
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

DISPLAYS: dict[str, type[Display]] = {
    "centers": centers.CentersDisplay,
    "condensed_tree": density_curves.CondensedTreeDisplay,
    "convergence": traces.ConvergenceDisplay,
    "cross_validation": bicluster.OverlapErrorsDisplay,
    "dendrogram": hierarchy.DendrogramDisplay,
    "eigenvectors": spectral.EigenvectorsDisplay,
    "embedding": spectral.EmbeddingDisplay,
    "fitted": bicluster.BiclusterFitDisplay,
    "graph": spectral.GraphDisplay,
    "heights": hierarchy.HeightsDisplay,
    "inertia": hierarchy.InertiaDisplay,
    "iterations": kmeans.IterationsDisplay,
    "k_distance": density_curves.KDistanceDisplay,
    "loadings": bicluster.OverlapLoadingsDisplay,
    "map": ClusterMapDisplay,
    "matrix": bicluster.BiclusterMatrixDisplay,
    "memberships": centers.MembershipsDisplay,
    "path": convex.ClusterPathDisplay,
    "reachability": density_curves.ReachabilityDisplay,
    "restarts": traces.RestartsDisplay,
    "silhouette": SilhouetteDisplay,
    "singular_values": bicluster.BiclusterValuesDisplay,
    "sizes": density.ClusterSizesDisplay,
    "spectrum": spectral.SpectrumDisplay,
    "tree": kmeans.SplitTreeDisplay,
}
"""What draws each kind, where a clusterer has no display of its own for it."""


def kinds(names: str, **own: type[Display]) -> dict[str, type[Display]]:
    """Displays by kind, in this order."""
    return {name: own.get(name, DISPLAYS[name]) for name in names.split()}


ON_CENTERS = Default("map", "centers")
declare(KMeans, default=ON_CENTERS, **kinds("map centers restarts convergence iterations silhouette"))
declare(FuzzyCMeans, default=ON_CENTERS, **kinds("map memberships centers convergence restarts silhouette"))
declare(BisectingKMeans, default=Default("map", "tree"), **kinds("map tree centers silhouette"))
declare(
    MiniBatchKMeans,
    default=ON_CENTERS,
    **kinds("map centers convergence silhouette", convergence=traces.BatchesDisplay),
)
declare(
    ConvexClustering,
    default=ON_CENTERS,
    **kinds(
        "map centers path dendrogram convergence silhouette",
        map=convex.CentroidMapDisplay,
        dendrogram=convex.FusionTreeDisplay,
    ),
)
for density_model, own in ((DBSCAN, "k_distance"), (OPTICS, "reachability"), (HDBSCAN, "condensed_tree")):
    declare(
        density_model,
        default=Default("map", "sizes" if density_model is DBSCAN else own),
        **kinds(f"map {own} sizes silhouette", map=density.DensityMapDisplay),
    )
ON_MATRIX = Default("matrix", "fitted")
declare(BlockBiclustering, ConvexBiclustering, default=ON_MATRIX, **kinds("matrix fitted convergence"))
declare(SparseSVDBiclustering, default=ON_MATRIX, **kinds("matrix fitted singular_values"))
declare(
    SpectralBiclustering,
    SpectralCoclustering,
    default=Default("matrix", "singular_values"),
    **kinds("matrix singular_values"),
)
declare(OverlappingClustering, default=Default("loadings", "loadings"), **kinds("loadings cross_validation"))


@pictures.register(AgglomerativeClustering)
@pictures.register(DivisiveClustering)
def _(model: Any) -> Pictures:
    ward = " inertia" if getattr(model, "linkage", "") == "ward" else ""
    default = Default("dendrogram" if model._is_precomputed else "map", "dendrogram")
    return Pictures(kinds(f"map dendrogram heights{ward} silhouette"), default)


@pictures.register(RepresenterModel)
def _(model: Any) -> Pictures:
    precomputed, kernel = getattr(model, "_is_precomputed", False), isinstance(model, KernelKMeans)
    own = "" if precomputed or kernel else " centers"
    # Of a precomputed kernel there are no dissimilarities.
    widths = "" if precomputed and kernel else " silhouette"
    alone = own.strip() or "convergence"
    default = Default(alone if precomputed else "map", alone)
    return Pictures(kinds(f"map convergence restarts{own}{widths}"), default)


@pictures.register(SpectralClustering)
def _(model: SpectralClustering) -> Pictures:
    widths = "" if model._is_precomputed else " silhouette"  # of affinities there are no dissimilarities
    return Pictures(kinds(f"map graph spectrum embedding eigenvectors{widths}"), Default("map", "spectrum"))
