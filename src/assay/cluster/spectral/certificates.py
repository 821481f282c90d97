"""What a spectral clustering proves about itself, from the graph and the fitted attributes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_least, at_most
from assay.cluster.spectral.embedding import TWO_WAY, coordinates, round_rows, squared_distances
from assay.graphs import Cut, Scaled, both_cuts, partition_basis, smallest_on_complement, subspace_distance

if TYPE_CHECKING:
    from assay.cluster.spectral.estimator import SpectralClustering


class SpectralMeasurement(NamedTuple):
    """Claims measured on a graph."""

    ratio: Cut
    norm: Cut
    residual: float
    """‖MU − U diag(λ)‖_F, relative to the scale of the Laplacian."""
    scale: float
    bound: float
    """No partition has a smaller criterion, if no eigenvalue was passed over."""
    gap: float
    """(criterion − bound)/criterion."""
    distance: float

    def criterion(self, laplacian: str) -> float:
        """What the relaxation is a relaxation of."""
        return self.ratio.value if laplacian == "unnormalized" else self.norm.value


def measure(W: Any, laplacian: str, eigenvalues: NDArray, U: NDArray, labels: NDArray) -> SpectralMeasurement:
    """Cuts, residuals, bound and distance of subspaces, recomputed."""
    matrix = Scaled(W, laplacian)
    values = eigenvalues / matrix.scale
    residual = float(np.linalg.norm(matrix.apply(U) - U * values))
    ratio, norm = both_cuts(W, labels)
    n_clusters = len(ratio.terms)
    criterion = ratio.value if laplacian == "unnormalized" else norm.value
    # Each of the least eigenvalues is within the norm of the residual of one of these (Weyl).
    sum_of_values = float(np.sort(values)[:n_clusters].sum())
    bound = max(sum_of_values - n_clusters * residual, 0.0) * matrix.scale
    gap = (criterion - bound) / criterion if criterion > 0.0 else 0.0
    distance = subspace_distance(U, partition_basis(labels, matrix.weight))
    return SpectralMeasurement(ratio, norm, residual, matrix.scale, bound, gap, distance)


def spectral_certificates(
    W: Any, model: SpectralClustering, measured: SpectralMeasurement
) -> Iterator[Certificate]:
    """Certificates of a fit on this graph."""
    U, weight = model.eigenvectors_, vertex_weights(W, model.laplacian)
    yield from _eigenpair_certificates(model, measured)
    claim = "The reported cuts are those of the labels."
    ratio, norm = measured.ratio, measured.norm
    value = max(_relative(model.ratio_cut_, ratio.value), _relative(model.norm_cut_, norm.value))
    value = max(value, _relative(model.cut_, float(norm.cuts.sum())))
    yield at_most(claim, "error of the reported cuts", value, 1e-9, "Sangnier §2.2.5")
    claim, least = "The reported bound is that of the eigenvalues.", measured.criterion(model.laplacian)
    # It is known up to the residuals that it allows for.
    room = 1e-9 * least + 4.0 * len(ratio.terms) * measured.residual * measured.scale
    value = abs(model.cut_bound_ - measured.bound)
    yield at_most(claim, "error of the reported bound", value, room, "Sangnier §2.2.5")
    claim, source = "The coordinates are those of the eigenvectors.", "Sangnier Algorithms 11 to 13"
    rule = coordinates(model.laplacian, model.rounding, U, weight)
    value = _farthest(rule.place(U / np.sqrt(weight)[:, np.newaxis]), model.embedding_)
    yield at_most(claim, "error of the embedding", value, 1e-9, source)
    claim = "Every row of the embedding belongs to its nearest centre."
    value = _assignment_excess(model.embedding_, model.embedding_centers_, model._vertex_labels)
    yield at_most(claim, "assignment excess", value, 1e-10, source + "; examination of 2021")
    claim = "The distance of the relaxed solution to the partition, ½‖P_U − P_I‖², is the reported one."
    source = "Sangnier, examinations of 2021 and 2023"
    value, bound = abs(model.subspace_distance_ - measured.distance), 1e-8 * max(1.0, measured.distance)
    yield at_most(claim, "error of the subspace distance", value, bound, source)
    yield from _rounding_certificates(model, measured)


def _eigenpair_certificates(
    model: SpectralClustering, measured: SpectralMeasurement
) -> Iterator[Certificate]:
    """The eigenpairs, and the bound on the criterion that they give."""
    U, criterion = model.eigenvectors_, measured.criterion(model.laplacian)
    claim = "Every pair is an eigenpair of the Laplacian."
    bound = np.sqrt(U.shape[1]) * max(model.tol, 1e-12)
    yield at_most(claim, "eigenpair residual", measured.residual, bound, "Sangnier §2.2.6")
    claim = "The eigenvectors are orthonormal."
    value = np.abs(U.T @ U - np.eye(U.shape[1])).max()
    yield at_most(claim, "orthonormality residual", value, 1e-10, "Sangnier Theorem 59")
    claim = "The eigenvalue 0 is there for every component of the graph (as far as asked for)."
    n_zero, bound = np.count_nonzero(model.eigenvalues_ <= 1e-13 * measured.scale), U.shape[1]
    yield at_least(
        claim, "zero eigenvalues", n_zero, min(model.n_components_, bound), "Sangnier Proposition 62"
    )
    excess = f"; this one exceeds it by {measured.gap:.1%} of its value." if criterion > 0.0 else "."
    assumption = "no smaller eigenvalue was passed over: certify(X) looks for one"
    source = "Sangnier Propositions 58 and 60, Theorem 59"
    yield _cut_bound(model, measured, measured.bound, excess, "", source, assumptions=(assumption,))


def _cut_bound(
    model: SpectralClustering,
    measured: SpectralMeasurement,
    bound: float,
    excess: str,
    beside: str,
    source: str,
    assumptions: tuple[str, ...] = (),
) -> Certificate:
    """The least criterion of any partition; `excess` ends the claim, `beside` the name of the quantity."""
    name = "RatioCut" if model.laplacian == "unnormalized" else "NormCut"
    value = measured.criterion(model.laplacian)
    details: Any = {"assumptions": assumptions, "trivial": 0.0, "tolerance": 1e-12 * max(1.0, value)}
    details["informative"] = True
    claim = f"No partition into {len(measured.norm.terms)} clusters has a {name} below {bound:.6g}{excess}"
    return at_least(claim, name + beside, value, bound, source, **details)


def _rounding_certificates(model: SpectralClustering, measured: SpectralMeasurement) -> Iterator[Certificate]:
    trace, values = model.rounding_trace_, model.eigenvalues_
    if trace.size:
        claim, source = (
            "The criterion of the rounding never rises.",
            "Sangnier, examination of 2021; Proposition 56",
        )
        value = float(np.diff(trace, prepend=trace[0]).max()) / (
            float(np.square(model.embedding_).sum()) or 1.0
        )
        yield at_most(claim, "largest rise of the rounding", value, 1e-10, source)
    if model.rounding == "sweep" and model.laplacian != "unnormalized" and values.size == 2:
        claim = "The best threshold has a NormCut of at most 2√(2 λ₂) (Cheeger)."
        source = "Cheeger's inequality for graphs, Alon & Milman (1985)"
        value, bound = measured.norm.value, 2.0 * float(np.sqrt(2.0 * (values[1] + measured.residual)))
        yield at_most(claim, "NormCut of the sweep", value, bound, source, trivial=2.0, tolerance=1e-9)


def reported_certificates(
    W: Any, model: SpectralClustering, measured: SpectralMeasurement
) -> Iterator[Certificate]:
    """What predictions, pictures and reports read: the centres, the cuts and their bound."""
    weight = vertex_weights(W, model.laplacian)
    centers = _expected_centers(W, model, weight)
    scale = float(np.abs(model.embedding_).max()) or 1.0
    fits = centers.shape == model.embedding_centers_.shape
    value = float(np.abs(centers - model.embedding_centers_).max()) / scale if fits else np.inf
    claim = "The centres are the means of the embedded rows of their clusters (two-way: by the threshold)."
    yield at_most(claim, "largest error of a centre", value, 1e-4, "Sangnier Algorithms 11 to 13")
    total = float(W.sum()) or 1.0
    value = abs(model.cut_ - float(measured.norm.cuts.sum())) / total
    value = max(value, abs(model.cut_bound_ - measured.bound) / measured.scale)
    value = max(value, abs(model.cut_gap_ - measured.gap))
    within = model.within_similarity_
    fits = within.shape == measured.norm.within.shape
    value = max(value, float(np.abs(within - measured.norm.within).max()) / total if fits else np.inf)
    claim = "The reported cut, its bound and gap and the similarities within are those of the labels."
    quantity = "largest error of cut_, cut_bound_, cut_gap_, within_similarity_"
    yield at_most(claim, quantity, value, 1e-9, "Sangnier §2.2.5")


def _expected_centers(W: Any, model: SpectralClustering, weight: NDArray) -> NDArray:
    embedding, labels = model.embedding_, model._vertex_labels
    if model.rounding in TWO_WAY:
        how: Any = {"n_init": 1, "random": None}
        return round_rows(embedding, 2, model.rounding, W, weight, **how).centers
    mass = weight if model.rounding == "weighted_kmeans" else np.ones(len(weight))
    members = (labels == np.arange(len(model.embedding_centers_))[:, np.newaxis]) * mass
    means: NDArray = members @ embedding / np.maximum(members.sum(axis=1), 1e-300)[:, np.newaxis]
    return means


def complement_certificate(
    W: Any, model: SpectralClustering, measured: SpectralMeasurement, random_state: Any
) -> Certificate:
    """Look for an eigenvalue that was passed over; the bound that stands whether or not there is one."""
    matrix = Scaled(W, model.laplacian)
    least = smallest_on_complement(matrix, model.eigenvectors_, random_state=random_state)
    n_clusters = len(measured.norm.terms)
    values = np.minimum(np.sort(model.eigenvalues_ / matrix.scale)[:n_clusters], max(least.value, 0.0))
    bound = max(float(values.sum()) - n_clusters * measured.residual, 0.0) * matrix.scale
    excess = f" (probability {1.0 - least.failure:.7g})." if least.failure > 0.0 else "."
    source = "Sangnier Theorem 59; Kuczyński & Woźniakowski (1992)"
    excess = ", whatever was passed over" + excess
    return _cut_bound(model, measured, bound, excess, " and the complement", source)


def vertex_weights(W: Any, laplacian: str) -> NDArray:
    """Degrees, or ones for L: what the eigenvectors are divided by the roots of."""
    if laplacian == "unnormalized":
        return np.ones(W.shape[0])
    return np.asarray(W.sum(axis=1), dtype=np.float64).ravel()


def _assignment_excess(embedding: NDArray, centers: NDArray, labels: NDArray) -> float:
    """Largest ‖h − c_own‖² − min_j ‖h − c_j‖², relative to the spread of the coordinates."""
    if labels.max(initial=-1) >= len(centers) or labels.min(initial=0) < 0:
        return np.inf
    squares = squared_distances(embedding, centers)
    excess = squares[np.arange(len(labels)), labels] - squares.min(axis=1)
    scale = float(squares.max()) or 1.0
    return float(excess.max()) / scale


def _relative(claimed: float, proof: float) -> float:
    return abs(claimed - proof) / (abs(proof) or 1.0)  # cuts are sums of weights, in which nothing cancels


def _farthest(first: NDArray, second: NDArray) -> float:
    if first.shape != second.shape:
        return np.inf
    return float(np.abs(first - second).max()) / (float(np.abs(first).max()) or 1.0)
