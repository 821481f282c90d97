"""Spectral clustering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.base import IterativeModel
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.cluster.kmeans.centers import count_distinct
from assay.cluster.spectral import affinity as affinities
from assay.cluster.spectral import certificates
from assay.cluster.spectral.affinity import ALL_PAIRS, NEIGHBORS, Affinity
from assay.cluster.spectral.certificates import vertex_weights
from assay.cluster.spectral.embedding import TWO_WAY, Extension, coordinates, extend_block, round_rows
from assay.distances import metric_domain
from assay.graphs import (
    LAPLACIANS,
    GraphSpectrum,
    degree_report,
    find_minor_eigenpairs,
    with_loops_where_alone,
)
from assay.models import convergence
from assay.models.clusterer import PairwiseClusterer, UnweightedFit
from assay.parameters import Domain
from assay.randomness import RandomState, generator
from assay.rows import MemoryRows, alone
from assay.suitability import Suitability

two_way = Domain(
    "'sign' or 'sweep' (two clusters)", lambda value: isinstance(value, str) and value in TWO_WAY
)
precomputed = Domain("'precomputed'", lambda value: isinstance(value, str) and value == "precomputed")


class SpectralClustering(UnweightedFit, PairwiseClusterer, IterativeModel):
    """Clusters of a graph of the rows, cut where it is thin.

    Minimises a relaxation of the normalised cut over partitions I_1, …, I_K of the vertices,

        NormCut(I) = Σ_j cut(I_j)/vol(I_j) = tr(HᵀLH),        HᵀDH = I,   L = D − W,

    where H may be any matrix ("unnormalized": RatioCut, cut(I_j)/#I_j, and HᵀH = I). The relaxed optimum is
    made of the K minor eigenvectors of the Laplacian (Lanczos' iteration; the null vectors are known from the
    components); k-means on its rows makes a partition of it. There is no guarantee beforehand of how much the
    rounding loses: the sum of the K least eigenvalues bounds every partition from below, and says it
    afterwards. (Semi-definite relaxations give tighter bounds at a far higher price; they are not built.)

    Assumes: symmetric affinities ≥ 0 that are large inside clusters and small between them; the number of
    clusters is given.

    `predict` solves the equation of the eigenvectors at a new row x with its affinities s(x, x_i) to the
    vertices, h(x) = Σ_i s(x, x_i) h_i/((1 − λ) Σ_i s(x, x_i)) (Nyström), and takes the
    centre nearest to h(x). A row of the fit is treated as new too: near a border its label may differ from
    that of `labels_`; a row without any affinity has the label −1.

    Certificates: eigenpairs, their orthonormality, as many zero eigenvalues as components, the cut of the
    labels against the least cut of any partition, labels at their nearest centres, a rounding that never gets
    worse. `certify` also looks for an eigenvalue that was passed over.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    laplacian : {"random_walk", "symmetric", "unnormalized"}, default="random_walk"
        Rows to cluster: those of D^{−1/2}U with U the minor eigenvectors of L_s = I − D^{−1/2}WD^{−1/2} (the
        eigenvectors of L_w = I − D⁻¹W), those of U made of norm 1, or those of the eigenvectors of L.
    rounding : {"kmeans", "weighted_kmeans", "sign", "sweep"}, default="kmeans"
        k-means on the rows; k-means weighted by the degrees (ones for "unnormalized"), which minimises the
        distance ½‖P_U − P_I‖² between the relaxed solution and the partition; or, for two clusters, the sign
        of the second eigenvector, or the threshold on it of least cut.
    affinity : {"nearest_neighbors", "mutual_nearest_neighbors", "epsilon", "rbf", "precomputed"} or \
callable, default="nearest_neighbors"
        The graph. Rows are joined if one is among the `n_neighbors` nearest of the other, if each is, if they
        are within `eps`, or all, with weight exp(−`gamma` d²). "precomputed": X is the matrix W, dense or
        sparse. A callable is a similarity s(x, z) of two rows. Every vertex keeps its loop, W_ii = s(x_i,
        x_i).
    n_neighbors : "auto" or int, default="auto"
        Number of neighbours, the row itself not counted. "auto": ln n (twice that for mutual ones), raised up
        to 8 ln n (or 64) while the graph has more components than clusters.
    eps : "auto" or float, default="auto"
        Radius of the ε-graph. "auto": the least that makes it connected.
    gamma : "auto" or float, default="auto"
        1/(2σ²) of the Gaussian. "auto": σ is the mean distance of a row to its neighbour of rank ln n.
    metric : str or function, default="euclidean"
        Distance of rows; "precomputed": X holds the dissimilarities, from which the graph is built.
    n_landmarks : int, optional
        Cut the graph of this many rows, drawn at random, and place the others by `predict`. For affinities of
        all pairs beyond 20,000 rows.
    n_init : int, default=10
        Restarts of k-means; the partition of least NormCut (RatioCut for "unnormalized") is kept.
    tol : float, default=1e-8
        Largest residual of an eigenpair; relative to the greatest degree for "unnormalized".
    max_iter : int, default=1000
        Largest number of cycles of Lanczos' iteration.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the starts of the iterations and the landmarks come from.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered by first appearance.
    eigenvalues_ : array of shape (n_clusters,)
        The least eigenvalues of the Laplacian, increasing.
    eigenvectors_ : array of shape (n_vertices, n_clusters)
        Orthonormal eigenvectors of L_s, or of L.
    embedding_ : array of shape (n_vertices, n_clusters)
        The rows that were rounded; one column for two-way cuts.
    embedding_centers_ : array
        Centres of the clusters among them.
    affinity_matrix_ : array or csr_array of shape (n_vertices, n_vertices)
        The weights W.
    cut_, ratio_cut_, norm_cut_ : float
        Σ_j cut_j, Σ_j cut_j/#I_j and Σ_j cut_j/vol(I_j) of the partition.
    cut_bound_ : float
        The least NormCut (RatioCut for "unnormalized") that any partition could have.
    cut_gap_ : float
        (cut − bound)/cut: 0 when the partition is proved optimal.
    within_similarity_ : array of shape (n_clusters,)
        Σ_{i, ℓ ∈ I_j} W_iℓ = vol(I_j) − cut_j.
    subspace_distance_ : float
        ½‖P_U − P_I‖², from 0 (the relaxed solution is a partition) to K.
    n_components_ : int
        Connected components of the graph.
    degree_report_ : DegreeReport
        How even the degrees are, and the Laplacian that this speaks for.
    rounding_trace_ : array
        Criterion of the rounding after every half-step of its best restart.
    n_neighbors_, eps_, gamma_
        The parameter of the graph in use; None for the others.
    landmarks_ : array of int or None
        Rows that are the vertices of the graph; None when all are.
    n_iter_ : int
        Cycles of Lanczos' iteration; 1 for a small graph, which is decomposed whole.
    converged_ : bool
        Whether the eigenpairs met `tol` and k-means its own.
    optimality_ : float
        Largest residual of an eigenpair: compares with `tol`.
    X_fit_ : array or None
        The vertices; None for precomputed pairs.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from assay.cluster import SpectralClustering
    >>> from assay.datasets import Rings
    >>> X, y = Rings(noise_std=0.05).sample(300, random_state=0)
    >>> model = SpectralClustering(n_clusters=2, random_state=0).fit(X)
    >>> bool(((model.labels_ == model.labels_[0]) == (y == y[0])).all())
    True
    >>> model.certificates_.holds
    True

    References
    ----------
    Sangnier §2.2.3 to §2.2.7, examinations of 2021 and 2023. Shi & Malik (2000). Ng, Jordan & Weiss (2002).
    von Luxburg (2007), A tutorial on spectral clustering.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1),
        "laplacian": parameters.one_of(*LAPLACIANS),
        "rounding": parameters.one_of("kmeans", "weighted_kmeans") | two_way,
        "affinity": parameters.one_of(*NEIGHBORS, "epsilon", "rbf") | precomputed | parameters.function,
        "n_neighbors": parameters.one_of("auto") | parameters.integer(at_least=1),
        "eps": parameters.one_of("auto") | parameters.real(above=0.0),
        "gamma": parameters.one_of("auto") | parameters.real(above=0.0),
        "metric": metric_domain(),
        "n_landmarks": parameters.nothing | parameters.integer(at_least=2),
        "n_init": parameters.integer(at_least=1),
        "tol": parameters.real(above=0.0),
        "max_iter": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }
    _instead = "fit on a sample and predict the other rows, or use KMeans"
    _suits: ClassVar[Suitability | None] = Suitability(complexity=4, max_rows=5000)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        laplacian: str = "random_walk",
        rounding: str = "kmeans",
        affinity: Any = "nearest_neighbors",
        n_neighbors: int | str = "auto",
        eps: float | str = "auto",
        gamma: float | str = "auto",
        metric: Any = "euclidean",
        n_landmarks: int | None = None,
        n_init: int = 10,
        tol: float = 1e-8,
        max_iter: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.laplacian = laplacian
        self.rounding = rounding
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eps = eps
        self.gamma = gamma
        self.metric = metric
        self.n_landmarks = n_landmarks
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    @property
    def _is_precomputed(self) -> bool:
        return self._accepts_sparse or super()._is_precomputed

    @property
    def affinity_matrix_(self) -> Any:
        """The weights W."""
        weights = self.__dict__.get("_weights")
        if weights is None:
            raise AttributeError("SpectralClustering has no affinity_matrix_ before it is fitted.")
        if len(weights) == 1:
            return weights[0]
        return sparse.csr_array(weights, shape=(len(self.eigenvectors_), len(self.eigenvectors_)))

    def _affinity(self) -> Affinity:
        if callable(self.affinity):
            return Affinity("callable", self.metric, function=self.affinity)
        return affinities.named_affinity(self.affinity, self.metric, self.n_neighbors, self.eps, self.gamma)

    def _fitted_affinity(self) -> Affinity:
        return self._affinity()._replace(n_neighbors=self.n_neighbors_, eps=self.eps_, gamma=self.gamma_)

    def _check_rows(self, data: MemoryRows) -> None:
        n = data.shape[0]
        if n < 2:
            raise ValueError(
                "SpectralClustering needs at least 2 rows to make a graph. Got 1 sample instead."
            )
        if self._is_precomputed and n != data.shape[1]:
            raise ValueError(
                f"SpectralClustering needs a square matrix of pairs. Got shape {data.shape} instead."
            )
        if self.n_clusters > n:
            must_be = f"at most the number of distinct rows ({count_distinct(data, n)})"
            raise self._refuse("n_clusters", must_be)
        if self.rounding in TWO_WAY and self.n_clusters != 2:
            raise self._refuse("n_clusters", f"2 for rounding={self.rounding!r}, which cuts in two")
        affinity = self._affinity()
        if affinity.n_neighbors is not None and affinity.n_neighbors > n - 1:
            raise self._refuse("n_neighbors", f"at most the number of other rows ({n - 1})")
        if self.n_landmarks is not None and (self._is_precomputed or self.n_landmarks < self.n_clusters):
            raise self._refuse("n_landmarks", "None for precomputed pairs, else at least n_clusters")
        if affinity.is_full and min(n, self.n_landmarks or n) > ALL_PAIRS:
            raise ValueError(
                f"SpectralClustering with affinity={self.affinity!r} stores all pairs of {n:,} rows: "
                f"set n_landmarks to at most {ALL_PAIRS:,}, or take affinity='nearest_neighbors'."
            )

    def _draw_landmarks(self, X: Any, random: np.random.Generator) -> tuple[Any, Any]:
        if self.n_landmarks is None or self.n_landmarks >= X.shape[0]:
            return None, X
        chosen = np.sort(random.choice(X.shape[0], self.n_landmarks, replace=False))
        return chosen, np.ascontiguousarray(X[chosen])

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X)
        self._check_rows(data)
        random = generator(self.random_state)
        self.landmarks_, vertices = self._draw_landmarks(data.X, random)
        watch = self._watch_fit(X, n_runs=1, max_iter=self.max_iter)
        affinity, W = affinities.resolve(self._affinity(), vertices, self.n_clusters)
        W, lonely = with_loops_where_alone(W)
        with watch.run("eigenvectors"):
            options: Any = {"tol": self.tol, "max_iter": self.max_iter, "random_state": random}
            options["watch"] = lambda: watch.iteration(dict)
            spectrum = find_minor_eigenpairs(W, self.n_clusters, self.laplacian, **options)
        self.X_fit_ = None if self._is_precomputed else vertices
        # Plain arrays, which a model file can hold.
        self._weights = (W.data, W.indices, W.indptr) if hasattr(W, "indptr") else (W,)
        self.n_neighbors_, self.eps_, self.gamma_ = affinity.n_neighbors, affinity.eps, affinity.gamma
        self._embed(W, spectrum, data.shape[0], random)
        self._conclude(W, data, spectrum)
        self._warn(data, spectrum, n_lonely=len(lonely))
        watch.finish()

    def _predicted(self, data: Any) -> Any:
        return data.map(extend_block, self._extension(), dtype=np.int32)

    def _proven_numbers(self) -> tuple[str, ...]:
        return ()  # the residuals are those of the solver; the certificate measures them again

    def _certify(self, data: Any) -> list[Certificate]:
        vertices = data.X if self.landmarks_ is None else data.X[self.landmarks_]
        W, _ = with_loops_where_alone(self._fitted_affinity().graph(vertices))
        measured = self._measure(W)
        proof = [*certificates.spectral_certificates(W, self, measured)]
        proof += certificates.reported_certificates(W, self, measured)
        proof.append(certificates.complement_certificate(W, self, measured, random_state=1))
        difference = abs(W - self.affinity_matrix_)
        claim = "The graph is that of the rows."
        value = float(difference.max()) / (float(W.max()) or 1.0)
        bound = 1e-12 if data.dtype == np.float64 else 1e-6
        proof.append(at_most(claim, "error of the weights", value, bound, "Sangnier §2.2.4"))
        kept = {"X_fit_": (self.X_fit_, None if self._is_precomputed else vertices)}
        proof.append(agreement("The rows kept for predictions are those of the fit.", kept, rtol=0.0))
        if self.landmarks_ is not None:
            expected = self._predicted(data)
            expected[self.landmarks_] = self.labels_[self.landmarks_]
            claim = "Rows that are no landmarks are labelled by extension."
            n_wrong = np.count_nonzero(expected != self.labels_)
            proof.append(at_most(claim, "rows labelled otherwise", n_wrong, 0.0, "Nyström's extension"))
        return proof

    def _embed(self, W: Any, spectrum: GraphSpectrum, n_samples: int, random: np.random.Generator) -> None:
        """Coordinates of the vertices, and their clusters."""
        weight = vertex_weights(W, self.laplacian)
        rule = coordinates(self.laplacian, self.rounding, spectrum.vectors, weight)
        self.eigenvalues_, self.eigenvectors_ = spectrum.values, spectrum.vectors
        self.embedding_ = rule.place(spectrum.vectors / np.sqrt(weight)[:, np.newaxis])
        how = self.n_clusters, self.rounding, W, weight
        rounded = round_rows(self.embedding_, *how, n_init=self.n_init, random=random)
        self.labels_ = rounded.labels
        if self.landmarks_ is not None:
            self.labels_ = np.full(n_samples, -1, dtype=np.int32)
            self.labels_[self.landmarks_] = rounded.labels
        self.embedding_centers_ = rounded.centers
        self.rounding_trace_ = rounded.trace
        self.n_components_, self.n_iter_ = spectrum.n_components, spectrum.n_iter
        self.converged_ = spectrum.converged and rounded.converged

    def _conclude(self, W: Any, data: MemoryRows, spectrum: GraphSpectrum) -> None:
        """Labels of all rows, and what is measured of the partition."""
        measured = alone(self._measure, W)
        self.ratio_cut_, self.norm_cut_ = measured.ratio.value, measured.norm.value
        self.cut_ = float(measured.norm.cuts.sum())
        self.cut_bound_, self.cut_gap_ = measured.bound, measured.gap
        self.within_similarity_ = measured.norm.within
        self.subspace_distance_ = measured.distance
        self.optimality_ = float(spectrum.residuals.max()) / measured.scale
        self.degree_report_ = degree_report(W)
        self.certificates_ = Certificates(certificates.spectral_certificates(W, self, measured))
        if self.landmarks_ is not None:
            self.labels_ = np.where(self.labels_ < 0, self._predicted(data), self.labels_)

    def _measure(self, W: Any) -> certificates.SpectralMeasurement:
        pairs = self.eigenvalues_, self.eigenvectors_
        return certificates.measure(W, self.laplacian, *pairs, self._vertex_labels)

    @property
    def _vertex_labels(self) -> NDArray:
        return self.labels_ if self.landmarks_ is None else self.labels_[self.landmarks_]

    def _extension(self) -> Extension:
        weight = vertex_weights(self.affinity_matrix_, self.laplacian)
        rule = coordinates(self.laplacian, self.rounding, self.eigenvectors_, weight)
        scaled = self.eigenvectors_ / np.sqrt(weight)[:, np.newaxis]
        reach = affinities.Reach(self._fitted_affinity(), self.X_fit_, len(scaled))
        return Extension(reach, rule, scaled, self.eigenvalues_, self.embedding_centers_)

    def _warn(self, data: MemoryRows, spectrum: GraphSpectrum, *, n_lonely: int) -> None:
        """Say what the user should know before trusting the clusters."""
        chosen = self._affinity() == self._fitted_affinity()  # the graph, not a rule of thumb for it
        counts = n_lonely, self.degree_report_.isolated, spectrum.n_components, self.n_clusters
        said = affinities.doubts_about_graph(*counts, chosen=chosen)
        if said:
            convergence.warn(f"SpectralClustering: {'; '.join(said)}.", UserWarning)
        distinct = self.n_clusters if self._is_precomputed else count_distinct(data, self.n_clusters)
        if distinct < self.n_clusters:
            convergence.warn(
                f"SpectralClustering finds only {distinct} distinct rows for n_clusters={self.n_clusters}: "
                "clusters of equal rows mean nothing. Take fewer clusters."
            )
        if not spectrum.converged and spectrum.n_iter >= self.max_iter:
            convergence.warn(
                f"SpectralClustering did not converge in max_iter={self.max_iter} cycles: an eigenpair has a "
                f"residual of {self.optimality_:.2g} (tol={self.tol:g}). Raise max_iter or tol."
            )
