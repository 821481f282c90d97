"""Checkerboard biclustering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.cluster.base import best_of, watched
from assay.cluster.biclustering import base as tools
from assay.cluster.biclustering.base import Biclusterer, by_appearance, label_costs, pair_of
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import RandomState, generator, spawn_each

SOURCE = "Wei §10.2.3"


class BlockBiclustering(Biclusterer, IterativeModel):
    """Rows and columns in clusters, so that the matrix is a checkerboard of constant blocks.

    Minimises over row labels k(i), column labels r(j) and block values μ

        ½ Σ_ij (x_ij − μ_{k(i) r(j)})² + λ Σ_kr |μ_kr|

    by alternation: row labels, column labels and block values in turn, each exactly (values are block means,
    soft-thresholded at λ over the entries of the block). Not convex: the best of `n_init` starts is kept.

    Assumes: entries on one scale, with a mean that is constant on each block and noise of equal variance; the
    numbers of row and column clusters are given.

    Certificates: the objective never rises, every row and every column is in its best cluster, block values
    are minimisers; `certify` adds a lower bound on every checkerboard from the singular values.

    Parameters
    ----------
    n_clusters : int or pair of ints, default=2
        Numbers of row and of column clusters; one int stands for both.
    penalty_strength : float, default=0.0
        λ: blocks with a mean of at most λ over their number of entries become 0. Centre the matrix first if 0
        means nothing in it.
    n_init : int, default=10
        Number of starts: the first from k-means of the rows and of the columns, the others at random.
    max_iter : int, default=300
        Largest number of passes of a start.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the starts come from.

    Attributes
    ----------
    row_labels_, column_labels_ : arrays of int32 of shape (n_samples,) and (n_features,)
        Cluster of each row and of each column, numbered by first members.
    rows_, columns_ : arrays of bool of shape (n_biclusters, n_samples) and (n_biclusters, n_features)
        Members of each block, row clusters first.
    block_values_ : array of shape (n_row_clusters, n_column_clusters)
        μ.
    objective_ : float
        Value of the criterion.
    objective_trace_ : array
        Its value after each half-step of the best start.
    restart_objectives_ : array of shape (n_init,)
        Value that each start reached.
    n_iter_ : int
        Passes of the best start.
    converged_ : bool
        Whether its labels stayed.
    optimality_ : float
        What moving single rows and columns to their best clusters would gain, over the sum of squares.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import BlockBiclustering
    >>> X = np.array([[9.0, 1.0, 9.0, 1.0], [2.0, 5.0, 2.0, 5.0], [9.0, 1.0, 9.0, 1.0]])
    >>> model = BlockBiclustering(2, random_state=0).fit(X)
    >>> model.row_labels_, model.column_labels_
    (array([0, 1, 0], dtype=int32), array([0, 1, 0, 1], dtype=int32))
    >>> model.block_values_
    array([[9., 1.],
           [2., 5.]])

    References
    ----------
    Wei §10.2.3. Hartigan (1972), direct clustering. Tan & Witten (2014), sparse biclustering.
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": tools.numbers_of_clusters,
        "penalty_strength": parameters.real(at_least=0.0),
        "n_init": parameters.integer(at_least=1),
        "max_iter": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        n_clusters: Any = 2,
        *,
        penalty_strength: float = 0.0,
        n_init: int = 10,
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty_strength = penalty_strength
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Any) -> None:
        data = self._open_matrix(X)
        shape = pair_of(self.n_clusters)
        self._require_clusters(data.shape, *shape)
        matrix = data.X.astype(np.float64)
        watch = self._watch_fit(X, n_runs=self.n_init, max_iter=self.max_iter)
        names = "row_labels_", "column_labels_", "block_values_", "n_iter_"

        def stop(*state: Any) -> bool:
            return watch.iteration(lambda: dict(zip(names, state, strict=True)))

        def run(start: tuple[NDArray, NDArray]) -> tools.BlockAlternation:
            return tools.alternate(matrix, *start, shape, self.penalty_strength, self.max_iter, stop)

        best, self.restart_objectives_ = best_of(watched(run, self._starts(matrix, shape), watch))
        self._conclude(matrix, data.dtype, best, shape)
        watch.finish()

    def _certify(self, matrix: Any) -> list[Certificate]:
        matrix = np.asarray(matrix, dtype=np.float64)
        rank = min(pair_of(self.n_clusters))
        tail = 0.5 * float((np.linalg.svd(matrix, compute_uv=False)[rank:] ** 2).sum())
        scale = float((matrix**2).sum()) or 1.0
        claim = "No checkerboard of this size has an objective below the singular values beyond its rank."
        value = self._measured_objective(matrix) / scale
        quantity, source = "objective over the sum of squares", "Eckart & Young; " + SOURCE
        details: Any = {"trivial": 0.0, "tolerance": 1e-12, "informative": True}
        bound = at_least(claim, quantity, value, tail / scale, source, **details)
        members = tools.checkerboard_certificate(self, SOURCE, pair_of(self.n_clusters))
        return [*self._measure(matrix), self._reported(matrix), members, bound]

    def _reported(self, matrix: NDArray) -> Certificate:
        """The objective of the fit and of its best restart, measured again, over the sum of squares."""
        scale = float((matrix**2).sum()) or 1.0
        measured = self._measured_objective(matrix)
        reported = self.objective_, float(self.restart_objectives_.min())
        claim = "The objective is that of the labels and block values, and that of the best restart."
        value = max(abs(number - measured) for number in reported) / scale
        value = max(value, abs(self.optimality_ - sum(self._excesses(matrix))))
        bound = 1e-9 + 16.0 * float(np.finfo(self.block_values_.dtype).eps) ** 2
        quantity = "largest error of objective_, restart_objectives_, optimality_ over the sum of squares"
        return at_most(claim, quantity, value, bound, SOURCE)

    def _starts(self, matrix: NDArray, shape: tuple[int, int]) -> Iterator[tuple[NDArray, NDArray]]:
        for run, random in enumerate(spawn_each(self.random_state, self.n_init)):
            if run == 0:
                seeds = [int(seed) for seed in generator(random).integers(2**31, size=2)]
                # A start need not be settled.
                yield (
                    tools.grouped(matrix, shape[0], "auto", seeds[0], tol=1e-4)[0],
                    tools.grouped(matrix.T, shape[1], "auto", seeds[1], tol=1e-4)[0],
                )
            else:
                # Labels of equal frequency in random order: no cluster is empty.
                rows, columns = (np.arange(n) % k for n, k in zip(matrix.shape, shape, strict=True))
                yield random.permutation(rows), random.permutation(columns)

    def _conclude(
        self, matrix: NDArray, dtype: Any, best: tools.BlockAlternation, shape: tuple[int, int]
    ) -> None:
        self.row_labels_, row_order = by_appearance(best.row_labels, shape[0])
        self.column_labels_, column_order = by_appearance(best.column_labels, shape[1])
        self.rows_, self.columns_ = tools.checkerboard(self.row_labels_, self.column_labels_, *shape)
        self.block_values_ = best.values[row_order][:, column_order].astype(dtype)
        self.objective_trace_ = np.array(best.trace)
        self.objective_ = self._measured_objective(matrix)
        self.n_iter_, self.converged_ = best.n_iter, best.converged
        self.optimality_ = sum(self._excesses(matrix))
        self.certificates_ = self._measure(matrix)
        filled = (len(np.unique(self.row_labels_)), len(np.unique(self.column_labels_)))
        if filled != shape:
            convergence.warn(
                f"Only {filled[0]} of the {shape[0]} row clusters and {filled[1]} of the {shape[1]} column "
                "clusters of BlockBiclustering have members. Take fewer clusters, or a larger n_init."
            )
        if not self.converged_ and self.n_iter_ == self.max_iter:
            convergence.warn(
                f"BlockBiclustering did not converge in max_iter={self.max_iter} passes. Raise max_iter."
            )

    def _measured_objective(self, matrix: NDArray) -> float:
        values = np.asarray(self.block_values_, dtype=np.float64)
        fitted = values[self.row_labels_][:, self.column_labels_]
        return float(0.5 * ((matrix - fitted) ** 2).sum() + self.penalty_strength * np.abs(values).sum())

    def _excesses(self, matrix: NDArray) -> tuple[float, float]:
        """What moving rows, and columns, to their best clusters would gain, over the sum of squares."""
        scale = float((matrix**2).sum()) or 1.0
        values = np.asarray(self.block_values_, dtype=np.float64)
        row_costs = label_costs(matrix, self.column_labels_, values)
        column_costs = label_costs(matrix.T, self.row_labels_, values.T)
        rows, columns = _excess(row_costs, self.row_labels_), _excess(column_costs, self.column_labels_)
        return rows / scale, columns / scale

    def _measure(self, matrix: NDArray) -> Certificates:
        scale = float((matrix**2).sum()) or 1.0
        shape = pair_of(self.n_clusters)
        labels = self.row_labels_, self.column_labels_
        blocks = tools.block_values(matrix, *labels, shape, self.penalty_strength)
        largest = float(np.abs(blocks.means).max()) or 1.0
        away = float(np.abs(self.block_values_ - blocks.values).max()) / largest
        rounding = float(np.finfo(self.block_values_.dtype).eps)
        rows, columns = self._excesses(matrix)
        rises = np.diff([*self.objective_trace_, self._measured_objective(matrix)])
        rise, bound = max(float(rises.max(initial=0.0)), 0.0) / scale, 1e-11 + 4.0 * rounding**2
        claim = "The objective never rises, from one half-step to the next and to the final measurement."
        proof = [at_most(claim, "largest rise of the objective", rise, bound, SOURCE)]
        claim = "Every row is in the cluster that fits it best."
        proof.append(at_most(claim, "gain from moving rows", rows, 4e-12 + rounding, SOURCE))
        claim = "Every column is in the cluster that fits it best."
        proof.append(at_most(claim, "gain from moving columns", columns, 4e-12 + rounding, SOURCE))
        claim = "Block values are the minimisers for these labels: soft-thresholded block means."
        proof.append(at_most(claim, "largest error of a block value", away, 1e-12 + 2.0 * rounding, SOURCE))
        return Certificates(proof)


def _excess(costs: NDArray, labels: NDArray) -> float:
    return float((costs[np.arange(len(labels)), labels] - costs.min(axis=1)).sum())
