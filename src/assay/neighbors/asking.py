"""Questions about neighbours: the nearest rows, all within a radius, and the graphs of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.distances import Nearest, Neighborhoods
from assay.neighbors.base import NeighborModel
from assay.neighbors.rule import nearest_of, stacked
from assay.rows import Block, MemoryRows


class HasNearest(NeighborModel):
    """Models that tell the nearest rows of queries."""

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest rows of each query, sorted by distance, then by row.

        Parameters
        ----------
        X : array, CSR matrix, frame, path, Arrow dataset or Dask collection, optional
            The queries; without them, the rows of the fit, none of which is a neighbour of its own.
        n_neighbors : int, optional
            How many; as the model says by default. Rows count once here, whatever they weigh.
        return_distance : bool, default=True

        Returns
        -------
        distances : array of shape (n_queries, n_neighbors)
            Only with `return_distance`.
        indices : array of int of shape (n_queries, n_neighbors)
            Numbers of the rows in the table of the fit.
        """
        check_is_fitted(self)
        near = self._nearest(X, self._checked_count(n_neighbors, X))
        return (near.distances, near.indices) if return_distance else near.indices

    def _nearest(self, X: Any, k: int) -> Nearest:
        rule = self._rule(k)
        if X is None:
            self._leave_out_in_memory()
            near = rule.search.nearest(k)
        else:
            data = self._open_queries(X)
            if isinstance(data, MemoryRows):
                near = nearest_of(Block(data.X, None, None, 0), rule, k)
            else:
                near = data.reduce(nearest_of, rule, k, combine=stacked)
        return near._replace(indices=self._numbered(near.indices))

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sparse.csr_matrix:
        """The nearest rows as a sparse matrix of ones, or of distances with mode="distance".

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit_)
        """
        check_mode("kneighbors_graph", mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        values = np.ones(distances.size) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, distances.size + 1, indices.shape[1])
        return sparse.csr_matrix((values, indices.ravel(), starts), shape=(len(indices), self.n_samples_fit_))


class HasRadius(NeighborModel):
    """Models that tell the rows within a radius of queries."""

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All rows within a radius of each query.

        Parameters
        ----------
        X : array, CSR matrix or frame, optional
            The queries; without them, the rows of the fit, none of which is a neighbour of its own.
        radius : float, optional
            As the model says by default.
        return_distance : bool, default=True
        sort_results : bool, default=False
            Whether to sort by distance; by row otherwise.

        Returns
        -------
        distances : array of n_queries arrays
            Only with `return_distance`.
        indices : array of n_queries arrays of int
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        near = self._within(X, radius)
        indices = np.split(near.indices, near.indptr[1:-1])
        distances = np.split(near.distances, near.indptr[1:-1])
        if sort_results:
            orders = [np.argsort(part, kind="stable") for part in distances]
            indices = [part[order] for part, order in zip(indices, orders, strict=True)]
            distances = [part[order] for part, order in zip(distances, orders, strict=True)]
        lists = as_objects(indices)
        return (as_objects(distances), lists) if return_distance else lists

    def _within(self, X: Any, radius: float | None) -> Neighborhoods:
        check_is_fitted(self)
        reach = self.radius if radius is None else radius
        if not parameters.real(at_least=0.0).contains(reach):
            raise parameters.refusal("radius_neighbors", "radius", "a finite number at least 0", reach)
        rule = self._rule(reach)._replace(weight=None)
        if X is None:
            self._leave_out_in_memory()
            near, _ = rule.within(None)
        else:
            data = self._open_queries(X)
            if not isinstance(data, MemoryRows):
                raise ValueError("radius_neighbors takes queries in memory; read them batch by batch.")
            near, _ = rule.within(rule.queries(Block(data.X, None, None, 0)))
        return near._replace(indices=self._numbered(near.indices))

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> sparse.csr_matrix:
        """The rows within a radius as a sparse matrix of ones, or of distances with mode="distance".

        Parameters
        ----------
        X, radius
            As in `radius_neighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
        sort_results : bool, default=False
            Whether the entries of a row stand by distance; needs mode="distance".

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit_)
        """
        check_mode("radius_neighbors_graph", mode)
        near = self._within(X, radius)
        values = np.ones(near.indices.size) if mode == "connectivity" else near.distances
        indices = near.indices
        if sort_results and mode == "distance":
            owners = np.repeat(np.arange(len(near.indptr) - 1), np.diff(near.indptr))
            order = np.lexsort((near.distances, owners))
            indices, values = indices[order], values[order]
        shape = (len(near.indptr) - 1, self.n_samples_fit_)
        return sparse.csr_matrix((values, indices, near.indptr), shape=shape)


def check_mode(owner: str, mode: Any) -> None:
    """Refuse a graph of another kind."""
    parameters.require(owner, parameters.one_of("connectivity", "distance"), mode=mode)


def as_objects(parts: list[NDArray]) -> NDArray:
    """Arrays of different lengths as an array of arrays."""
    lists = np.empty(len(parts), dtype=object)
    lists[:] = parts
    return lists
