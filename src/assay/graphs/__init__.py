"""Graphs of rows: neighbourhoods as weights, Laplacians and their spectra, cuts, spanning trees."""

from __future__ import annotations

from assay.graphs.constructors import (
    Neighbors,
    epsilon_graph,
    gaussian_graph,
    grow_neighbors,
    nearest_neighbors_graph,
    similarity_graph,
    suggest_epsilon,
    suggest_knn,
    suggest_sigma,
)
from assay.graphs.cuts import (
    Cut,
    MinimumCut,
    Sweep,
    both_cuts,
    graph_cut,
    minimum_cut,
    norm_cut,
    partition_basis,
    ratio_cut,
    sweep_cut,
)
from assay.graphs.laplacians import LAPLACIANS, Scaled, as_weights, degrees, laplacian, with_loops_where_alone
from assay.graphs.measures import (
    DegreeReport,
    connected_components,
    degree_report,
    graph_distance,
    is_connected,
    size,
    volume,
)
from assay.graphs.relaxation import (
    Eigengap,
    Least,
    TraceOptimum,
    eigengap,
    n_components_from_spectrum,
    smallest_on_complement,
    subspace_distance,
    trace_optimum,
)
from assay.graphs.spanning_tree import (
    SpanningForest,
    boruvka,
    kruskal,
    prim,
    reverse_delete,
    spanning_tree_clusters,
)
from assay.graphs.spectrum import GraphSpectrum, find_minor_eigenpairs, minor_eigenpairs
from assay.homes import publish

__all__ = [
    "LAPLACIANS",
    "Cut",
    "DegreeReport",
    "Eigengap",
    "GraphSpectrum",
    "Least",
    "MinimumCut",
    "Neighbors",
    "Scaled",
    "SpanningForest",
    "Sweep",
    "TraceOptimum",
    "as_weights",
    "boruvka",
    "both_cuts",
    "connected_components",
    "degree_report",
    "degrees",
    "eigengap",
    "epsilon_graph",
    "find_minor_eigenpairs",
    "gaussian_graph",
    "graph_cut",
    "graph_distance",
    "grow_neighbors",
    "is_connected",
    "kruskal",
    "laplacian",
    "minimum_cut",
    "minor_eigenpairs",
    "n_components_from_spectrum",
    "nearest_neighbors_graph",
    "norm_cut",
    "partition_basis",
    "prim",
    "ratio_cut",
    "reverse_delete",
    "similarity_graph",
    "size",
    "smallest_on_complement",
    "spanning_tree_clusters",
    "subspace_distance",
    "suggest_epsilon",
    "suggest_knn",
    "suggest_sigma",
    "sweep_cut",
    "trace_optimum",
    "volume",
    "with_loops_where_alone",
]

publish(globals())
