"""Convex biclustering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificates, agreement, at_most
from assay.cluster.biclustering.base import (
    Biclusterer,
    by_appearance,
    checkerboard,
    checkerboard_certificate,
)
from assay.cluster.convex import biclustering_solver as solver
from assay.cluster.convex.biclustering_solver import HoldOut, SideGraph, side_graph
from assay.cluster.convex.graph import check_penalty
from assay.cluster.convex.loops import TWO, make_feasible
from assay.cluster.convex.solver import (
    apart_certificate,
    check_dual,
    gap_certificate,
    proven_share,
    reported_certificate,
)
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import RandomState, generator

AUTO_SHARE = 0.5
SOURCE = "Wei §10.2.3; Chi, Allen & Baraniuk (2017)"

SideGraphs: TypeAlias = tuple[SideGraph, SideGraph]

auto = Domain("'auto'", lambda value: isinstance(value, str) and value == "auto")
penalty_domain = auto | parameters.real(at_least=0.0)


class ConvexBiclustering(Biclusterer, IterativeModel):
    """Biclusters as blocks of a matrix whose rows and columns two penalties have fused; convex (COBRA).

    Minimises over matrices U of the size of X

        ½ ‖X − U‖² + λ_row Σ_{i<i'} w_ii' ‖U_i· − U_i'·‖ + λ_col Σ_{j<j'} h_jj' ‖U_·j − U_·j'‖

    by a Dykstra-like alternation of convex clustering of the rows and of the columns, each with the forces of
    the other subtracted. Weights are Gaussian, on nearest neighbours. Compares pairs of rows and of columns.

    Assumes: entries on one scale, and weights that are large between the rows and the columns of a bicluster.

    Certificates: duality gap at the exactly fused matrix, constant blocks, the mean is kept, and the share of
    neighbouring clusters that the gap proves to be apart in the true minimiser too.

    Parameters
    ----------
    row_penalty, column_penalty : "auto" or float, default="auto"
        λ_row and λ_col. 0 fuses nothing on that side: λ_col = 0 gives convex clustering of the rows.
        "auto" is half of the penalty from which each connected component of the neighbour graph is one
        cluster; `select` compares others on held-out entries.
    n_neighbors : int, default=10
        Nearest neighbours of a row, and of a column, that draw it.
    gamma : float, optional
        Weights are exp(−γ‖·‖²); by default γ is one over the median squared distance between neighbours.
    tol : float, default=1e-6
        Converged when the relative duality gap is at most `tol`. The passes go on for up to half as long
        again while the gap does not prove all clusters to be apart.
    max_iter : int, default=2000
        Largest number of passes over rows and columns.

    Attributes
    ----------
    row_labels_, column_labels_ : arrays of int32 of shape (n_samples,) and (n_features,)
        Cluster of each row and of each column, numbered by first members.
    rows_, columns_ : arrays of bool of shape (n_biclusters, n_samples) and (n_biclusters, n_features)
        Members of each block, row clusters first.
    fitted_ : array of shape (n_samples, n_features)
        U, constant on each block.
    row_penalty_, column_penalty_ : float
        Penalties of the fit.
    objective_ : float
        Value of the objective.
    dual_gap_ : float
        The objective minus the value of a feasible dual point.
    optimality_ : float
        The gap over the objective: compares with `tol`.
    proven_apart_ : float
        Share of the pairs of clusters joined by an edge that the gap proves to be apart in the minimiser.
    row_dual_, column_dual_ : arrays of shape (n_row_edges, n_features) and (n_column_edges, n_samples)
        Feasible dual point.
    gap_trace_ : array
        Relative gap after each pass.
    n_iter_ : int
        Passes.
    converged_ : bool
        Whether the stopping rule was met.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import ConvexBiclustering
    >>> noise = np.random.default_rng(3).normal(size=(8, 6))
    >>> X = 9.0 * np.outer([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]) + noise
    >>> model = ConvexBiclustering(n_neighbors=3).fit(X)
    >>> model.row_labels_
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int32)
    >>> model.column_labels_, model.certificates_.holds
    (array([0, 0, 0, 1, 1, 1], dtype=int32), True)

    References
    ----------
    Wei §10.2.3. Chi, Allen & Baraniuk (2017), convex biclustering.
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = {
        "row_penalty": penalty_domain,
        "column_penalty": penalty_domain,
        "n_neighbors": parameters.integer(at_least=1),
        "gamma": parameters.nothing | parameters.real(at_least=0.0),
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
    }

    def __init__(
        self,
        row_penalty: float | str = "auto",
        column_penalty: float | str = "auto",
        *,
        n_neighbors: int = 10,
        gamma: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 2000,
    ) -> None:
        self.row_penalty = row_penalty
        self.column_penalty = column_penalty
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: Any) -> None:
        data = self._open_matrix(X)
        matrix, mean = _centred(data.X)
        for name in ("row_penalty", "column_penalty"):
            if not isinstance(getattr(self, name), str):
                check_penalty(float(getattr(self, name)), matrix, "ConvexBiclustering", name)
        rows, columns = self._sides(matrix)
        self.row_penalty_ = _chosen(self.row_penalty, rows)
        self.column_penalty_ = _chosen(self.column_penalty, columns)
        watch = self._watch_fit(X, n_runs=1, max_iter=self.max_iter)

        def stop(board: solver.Checkerboard, n_iter: int) -> bool:
            return watch.iteration(lambda: {"fitted_": board.fitted + mean, "n_iter_": n_iter})

        with watch.run():
            sides = rows.at(self.row_penalty_), columns.at(self.column_penalty_)
            result = solver.cobra(matrix, *sides, tol=self.tol, max_iter=self.max_iter, stop=stop)
        self._conclude(matrix, mean, data.dtype, (rows, columns), result)
        watch.finish()

    def select(
        self, X: Any, shares: Any = None, *, held_out: float = 0.1, random_state: RandomState = None
    ) -> HoldOut:
        """Compare penalties by their error at entries that are left out of the fit.

        Missing entries are filled from the fit, in turn with it: each round majorises the objective on the
        entries that were seen.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The matrix, in memory.
        shares : array, optional
            Candidates, as shares of the penalties from which each neighbour component is one cluster; by
            default 8 from 0.01 to 1 on a logarithmic scale.
        held_out : float, default=0.1
            Share of the entries left out.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Which entries are left out.

        Returns
        -------
        comparison : HoldOut
            Penalties, errors, and the `best` pair.
        """
        if not 0.0 < held_out < 1.0:
            must_be = "a number between 0 and 1"
            raise parameters.refusal("ConvexBiclustering.select", "held_out", must_be, held_out)
        matrix, _ = _centred(self._open_matrix(X).X)
        chosen = np.geomspace(0.01, 1.0, 8) if shares is None else np.sort(np.asarray(shares, dtype=float))
        seen = generator(random_state).uniform(size=matrix.shape) >= held_out
        if seen.all() or not seen.any():
            raise ValueError(
                f"A share of {held_out:g} of {matrix.size} entries holds out none or all of them."
            )
        return solver.hold_out(matrix, seen, chosen, self.n_neighbors, self.gamma, tol=max(self.tol, 1e-4))

    def _proven_numbers(self) -> tuple[str, ...]:
        return ("optimality_",)  # the gap itself, not over the objective, has a certificate of its own

    def _certify(self, matrix: Any) -> Certificates:
        matrix, mean = _centred(matrix)
        graphs = self._sides(matrix)
        proof = [*self._measure(matrix, mean, graphs)]
        claim = "The penalties are those asked for, or half of those that fuse each component."
        pairs = {"row_penalty_": (self.row_penalty_, _chosen(self.row_penalty, graphs[0]))}
        pairs["column_penalty_"] = self.column_penalty_, _chosen(self.column_penalty, graphs[1])
        proof.append(agreement(claim, pairs, SOURCE, rtol=1e-6))
        return Certificates([*proof, checkerboard_certificate(self, SOURCE)])

    def _sides(self, matrix: NDArray) -> SideGraphs:
        across = np.ascontiguousarray(matrix.T)
        how = self.n_neighbors, self.gamma
        return side_graph(matrix, *how), side_graph(across, *how)

    def _conclude(
        self, matrix: NDArray, mean: float, dtype: Any, graphs: SideGraphs, result: solver.Cobra
    ) -> None:
        board = result.board
        shape = int(board.row_labels.max()) + 1, int(board.column_labels.max()) + 1
        self.row_labels_ = by_appearance(board.row_labels, shape[0])[0]
        self.column_labels_ = by_appearance(board.column_labels, shape[1])[0]
        self.rows_, self.columns_ = checkerboard(self.row_labels_, self.column_labels_, *shape)
        self.fitted_ = (board.fitted + mean).astype(dtype)
        self.row_dual_, self.column_dual_ = result.row_dual, result.column_dual
        self.gap_trace_ = np.array(result.trace)
        self.n_iter_, self.converged_ = max(result.n_iter, 1), result.converged
        self.proven_apart_ = 0.0
        self.certificates_ = self._measure(matrix, mean, graphs, claim=True)
        if not result.converged and result.n_iter >= self.max_iter:
            convergence.warn(
                f"ConvexBiclustering did not converge in max_iter={self.max_iter} passes: the relative "
                f"duality gap is {self.optimality_:.2g} (tol={self.tol:g}). Raise max_iter or tol."
            )

    def _measure(
        self, matrix: NDArray, mean: float, graphs: SideGraphs, *, claim: bool = False
    ) -> Certificates:
        """Certificates from the fitted attributes; the fit claims what it proves."""
        sides = graphs[0].at(self.row_penalty_), graphs[1].at(self.column_penalty_)
        duals = np.array(self.row_dual_), np.array(self.column_dual_)
        for side, dual, n_across, name in zip(
            sides, duals, matrix.shape[::-1], ("row_dual_", "column_dual_"), strict=True
        ):
            check_dual(dual, (len(side.edges), n_across), name)
            make_feasible(side.radii, dual, TWO)
        fitted = np.asarray(self.fitted_, dtype=np.float64) - mean
        gap = solver.joint_gap(matrix, sides, fitted, duals)
        board = solver.Checkerboard(fitted, self.row_labels_, self.column_labels_, gap)
        apart = solver.board_separations(*sides, board)
        if claim:
            self.objective_, self.dual_gap_, self.optimality_ = *gap, gap.relative
            self.proven_apart_ = proven_share(apart, gap)
        first_rows = np.unique(self.row_labels_, return_index=True)[1]
        first_columns = np.unique(self.column_labels_, return_index=True)[1]
        blocks = fitted[first_rows][:, first_columns]
        spread = np.abs(fitted - blocks[self.row_labels_][:, self.column_labels_]).max()
        rounding = float(np.finfo(self.fitted_.dtype).eps) * float(np.abs(self.fitted_).max())
        lost = 8.0 * matrix.size * rounding**2 / gap.primal if gap.primal > 0 else 0.0
        scale = float(np.sqrt((matrix**2).mean())) + rounding
        certificates = [gap_certificate(gap, self.tol + lost, SOURCE)]
        text = "The fitted matrix is constant on each block of a row and a column cluster."
        certificates.append(at_most(text, "spread within blocks", spread, 0.0, SOURCE))
        text = "The fitted matrix keeps the mean of the matrix: the forces cancel."
        value = abs(float(fitted.mean())) / scale if scale > 0 else 0.0
        bound = 1e-9 + 4.0 * rounding / scale if scale > 0 else 0.0
        certificates.append(at_most(text, "shift of the mean", value, bound, SOURCE))
        reported = self.objective_, self.dual_gap_, self.optimality_
        certificates.append(reported_certificate(reported, gap, SOURCE))
        if apart.size:
            certificates.append(apart_certificate(apart, gap, self.proven_apart_, SOURCE))
        return Certificates(certificates)


def _centred(X: NDArray) -> tuple[NDArray, float]:
    """The matrix in float64 about its mean."""
    matrix = np.asarray(X, dtype=np.float64)
    mean = float(matrix.mean())
    matrix = matrix - mean
    rest = float(matrix.mean())
    return np.ascontiguousarray(matrix - rest), mean + rest


def _chosen(penalty: float | str, side: SideGraph) -> float:
    return AUTO_SHARE * side.penalty_max if isinstance(penalty, str) else float(penalty)
