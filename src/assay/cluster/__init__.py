"""Clustering: groups of rows that the data shows without being told."""

from __future__ import annotations

from assay.cluster.biclustering.blocks import BlockBiclustering
from assay.cluster.biclustering.checkerboard import SpectralBiclustering
from assay.cluster.biclustering.coclustering import SpectralCoclustering
from assay.cluster.biclustering.overlapping import OverlappingClustering
from assay.cluster.biclustering.overlapping_solver import check_identifiability
from assay.cluster.biclustering.sparse_svd import SparseSVDBiclustering
from assay.cluster.convex.biclustering import ConvexBiclustering
from assay.cluster.convex.biclustering_solver import HoldOut
from assay.cluster.convex.estimator import ConvexClustering
from assay.cluster.convex.path import ConvexPath
from assay.cluster.density.choice import k_distance_curve, suggest_eps, suggest_min_samples
from assay.cluster.density.dbscan import DBSCAN
from assay.cluster.density.dbscan_steps import DBSCANStep, dbscan_steps
from assay.cluster.density.hdbscan import HDBSCAN
from assay.cluster.density.hdbscan_tree import CondensedTree
from assay.cluster.density.optics import OPTICS
from assay.cluster.hierarchy.agglomerative import AgglomerativeClustering
from assay.cluster.hierarchy.divisive import DivisiveClustering
from assay.cluster.hierarchy.linkage import ward_distance
from assay.cluster.hierarchy.tree import MergeTree
from assay.cluster.kmeans.bisecting.estimator import BisectingKMeans
from assay.cluster.kmeans.bisecting.tree import SplitTree
from assay.cluster.kmeans.certificates import Anova
from assay.cluster.kmeans.estimator import KMeans, KMeansHistory
from assay.cluster.kmeans.exact_line import (
    LineClustering,
    OptimalMedoids,
    optimal_clustering_1d,
    optimal_medoids,
)
from assay.cluster.kmeans.minibatch.estimator import MiniBatchKMeans
from assay.cluster.kmeans.studies import InitComparison, QuantizedImage, compare_inits, quantize_colors
from assay.cluster.medoids.estimator import KMedian, KMedoids
from assay.cluster.quantizer.coordinate_median import KCoordinateMedian
from assay.cluster.quantizer.estimator import CentroidClustering
from assay.cluster.quantizer.fuzzy import FuzzyCMeans
from assay.cluster.quantizer.geometric_median import KGeometricMedian
from assay.cluster.quantizer.kernel_kmeans import KernelKMeans
from assay.cluster.quantizer.spherical import SphericalKMeans
from assay.cluster.quantizer.within import mixed_dissimilarity, within_dissimilarity
from assay.cluster.scores.internal import between_inertia, calinski_harabasz, davies_bouldin, within_inertia
from assay.cluster.scores.labels import (
    Alignment,
    align_labels,
    matched_accuracy,
    permutation_invariant_error,
)
from assay.cluster.scores.partitions import (
    ChanceScores,
    PairCounts,
    PartitionComparison,
    chance_scores,
    compare_partitions,
)
from assay.cluster.scores.silhouette import Silhouette, silhouette
from assay.cluster.selection.rules import Elbow, PenaltyHull, find_elbow, penalty_path
from assay.cluster.selection.select import select_k
from assay.cluster.selection.tables import ClusterStability, GapStatistic
from assay.cluster.spectral.estimator import SpectralClustering
from assay.homes import publish

__all__ = [
    "DBSCAN",
    "HDBSCAN",
    "OPTICS",
    "AgglomerativeClustering",
    "Alignment",
    "Anova",
    "BisectingKMeans",
    "BlockBiclustering",
    "CentroidClustering",
    "ChanceScores",
    "ClusterStability",
    "CondensedTree",
    "ConvexBiclustering",
    "ConvexClustering",
    "ConvexPath",
    "DBSCANStep",
    "DivisiveClustering",
    "Elbow",
    "FuzzyCMeans",
    "GapStatistic",
    "HoldOut",
    "InitComparison",
    "KCoordinateMedian",
    "KGeometricMedian",
    "KMeans",
    "KMeansHistory",
    "KMedian",
    "KMedoids",
    "KernelKMeans",
    "LineClustering",
    "MergeTree",
    "MiniBatchKMeans",
    "OptimalMedoids",
    "OverlappingClustering",
    "PairCounts",
    "PartitionComparison",
    "PenaltyHull",
    "QuantizedImage",
    "Silhouette",
    "SparseSVDBiclustering",
    "SpectralBiclustering",
    "SpectralClustering",
    "SpectralCoclustering",
    "SphericalKMeans",
    "SplitTree",
    "align_labels",
    "between_inertia",
    "calinski_harabasz",
    "chance_scores",
    "check_identifiability",
    "compare_inits",
    "compare_partitions",
    "davies_bouldin",
    "dbscan_steps",
    "find_elbow",
    "k_distance_curve",
    "matched_accuracy",
    "mixed_dissimilarity",
    "optimal_clustering_1d",
    "optimal_medoids",
    "penalty_path",
    "permutation_invariant_error",
    "quantize_colors",
    "select_k",
    "silhouette",
    "suggest_eps",
    "suggest_min_samples",
    "ward_distance",
    "within_dissimilarity",
    "within_inertia",
]

publish(globals())
