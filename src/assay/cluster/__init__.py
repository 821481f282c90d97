"""Clusters: groups of rows that the data shows without being told."""

from __future__ import annotations

from assay.cluster._agglomerative import AgglomerativeClustering
from assay.cluster._alignment import Alignment, align_labels, matched_accuracy, permutation_invariant_error
from assay.cluster._bicluster_checkerboard import SpectralBiclustering
from assay.cluster._bicluster_spectral import SpectralCoclustering
from assay.cluster._bisecting import BisectingKMeans
from assay.cluster._bisecting_tree import SplitTree
from assay.cluster._block_biclustering import BlockBiclustering
from assay.cluster._cobra import ConvexBiclustering
from assay.cluster._cobra_selection import HoldOut
from assay.cluster._convex import ConvexClustering
from assay.cluster._convex_path import ConvexPath
from assay.cluster._dbscan import DBSCAN
from assay.cluster._dbscan_choice import k_distance_curve, suggest_eps, suggest_min_samples
from assay.cluster._dbscan_steps import DBSCANStep, dbscan_steps
from assay.cluster._divisive import DivisiveClustering
from assay.cluster._exact_line import LineClustering, OptimalMedoids, optimal_clustering_1d, optimal_medoids
from assay.cluster._fuzzy import FuzzyCMeans
from assay.cluster._gap import Gap
from assay.cluster._geometric_median import KGeometricMedian
from assay.cluster._hdbscan import HDBSCAN
from assay.cluster._hdbscan_tree import CondensedTree
from assay.cluster._hierarchy_tree import MergeTree
from assay.cluster._kernel_kmeans import KernelKMeans
from assay.cluster._kmeans import KMeans, KMeansHistory
from assay.cluster._kmeans_certificates import Anova
from assay.cluster._kmeans_colors import QuantizedImage, quantize_colors
from assay.cluster._kmeans_inits import InitComparison, compare_inits
from assay.cluster._kmedian import KMedian
from assay.cluster._kmedian_coordinate import KCoordinateMedian
from assay.cluster._linkage_ward import ward_distance
from assay.cluster._love import OverlappingClustering
from assay.cluster._love_identifiability import check_identifiability
from assay.cluster._medoids import KMedoids
from assay.cluster._minibatch import MiniBatchKMeans
from assay.cluster._optics import OPTICS
from assay.cluster._quantizer import CentroidClustering
from assay.cluster._quantizer_within import mixed_dissimilarity, within_dissimilarity
from assay.cluster._scores import between_inertia, calinski_harabasz, davies_bouldin, within_inertia
from assay.cluster._scores_chance import ChanceScores, chance_scores
from assay.cluster._scores_partitions import PairCounts, PartitionComparison, compare_partitions
from assay.cluster._select import ClusterSelection, select_k
from assay.cluster._select_penalty import PenaltyPath, penalty_path
from assay.cluster._select_rules import Elbow, find_elbow
from assay.cluster._silhouette import Silhouette, silhouette
from assay.cluster._sparse_svd import SparseSVDBiclustering
from assay.cluster._spectral import SpectralClustering
from assay.cluster._spherical import SphericalKMeans
from assay.cluster._stability import Stability

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
    "ClusterSelection",
    "CondensedTree",
    "ConvexBiclustering",
    "ConvexClustering",
    "ConvexPath",
    "DBSCANStep",
    "DivisiveClustering",
    "Elbow",
    "FuzzyCMeans",
    "Gap",
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
    "PenaltyPath",
    "QuantizedImage",
    "Silhouette",
    "SparseSVDBiclustering",
    "SpectralBiclustering",
    "SpectralClustering",
    "SpectralCoclustering",
    "SphericalKMeans",
    "SplitTree",
    "Stability",
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
