"""What a spectral clustering proves about itself, from the graph and the fitted attributes alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_least, at_most
from assay.cluster.spectral.embedding import coordinates, squared_distances
from assay.graphs import Cut, Scaled, both_cuts, partition_basis, smallest_on_complement, subspace_distance

COURSE = "Sangnier §2.2.6"


class Claims(NamedTuple):
    """The fitted attributes that the certificates test."""

    laplacian: str
    rounding: str
    eigenvalues: NDArray
    eigenvectors: NDArray
    embedding: NDArray
    centers: NDArray
    labels: NDArray
    trace: NDArray
    ratio_cut: float
    norm_cut: float
    subspace_distance: float
    n_components: int


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
    W: Any, claims: Claims, measured: SpectralMeasurement, *, tol: float
) -> list[Certificate]:
    """Certificates of a fit that makes these claims about this graph."""
    U, weight = claims.eigenvectors, vertex_weights(W, claims.laplacian)
    rule = coordinates(claims.laplacian, claims.rounding, U, weight)
    placed = rule.place(U / np.sqrt(weight)[:, np.newaxis])
    claim = "The reported cuts are those of the labels."
    value = max(
        _relative(claims.ratio_cut, measured.ratio.value),
        _relative(claims.norm_cut, measured.norm.value),
    )
    proof = [
        *_eigenpair_certificates(claims, measured, tol),
        at_most(claim, "error of the reported cuts", value, 1e-9, "Sangnier §2.2.5"),
    ]
    claim = "The coordinates are those of the eigenvectors."
    value = _farthest(placed, claims.embedding)
    proof.append(at_most(claim, "error of the embedding", value, 1e-9, "Sangnier Algorithms 11 to 13"))
    claim = "Every row of the embedding belongs to its nearest centre."
    value = _assignment_excess(claims.embedding, claims.centers, claims.labels)
    proof.append(
        at_most(claim, "assignment excess", value, 1e-10, "Sangnier Algorithms 11 to 13; examination of 2021")
    )
    claim = "The distance of the relaxed solution to the partition, ½‖P_U − P_I‖², is the reported one."
    value = abs(claims.subspace_distance - measured.distance)
    bound = 1e-8 * max(1.0, measured.distance)
    proof.append(
        at_most(
            claim, "error of the subspace distance", value, bound, "Sangnier, examinations of 2021 and 2023"
        )
    )
    proof += _rounding_certificates(claims, measured)
    return proof


def _eigenpair_certificates(claims: Claims, measured: SpectralMeasurement, tol: float) -> list[Certificate]:
    """The eigenpairs, and the bound on the criterion that they give."""
    U = claims.eigenvectors
    name = "RatioCut" if claims.laplacian == "unnormalized" else "NormCut"
    criterion = measured.criterion(claims.laplacian)
    n_zero = int(np.count_nonzero(claims.eigenvalues <= 1e-13 * measured.scale))
    claim = "Every pair is an eigenpair of the Laplacian."
    value = measured.residual
    proof = [at_most(claim, "eigenpair residual", value, np.sqrt(U.shape[1]) * max(tol, 1e-12), COURSE)]
    claim = "The eigenvectors are orthonormal."
    value = np.abs(U.T @ U - np.eye(U.shape[1])).max()
    proof.append(at_most(claim, "orthonormality residual", value, 1e-10, "Sangnier Theorem 59"))
    claim = "The eigenvalue 0 is there for every component of the graph (as far as asked for)."
    bound = min(claims.n_components, U.shape[1])
    proof.append(at_least(claim, "zero eigenvalues", n_zero, bound, "Sangnier Proposition 62"))
    claim = (
        f"No partition into {len(measured.norm.terms)} clusters has a {name} below {measured.bound:.6g}"
        + (f"; this one exceeds it by {measured.gap:.1%} of its value." if criterion > 0.0 else ".")
    )
    bound = measured.bound
    proof.append(
        at_least(
            claim,
            name,
            criterion,
            bound,
            "Sangnier Propositions 58 and 60, Theorem 59",
            assumptions=("no smaller eigenvalue was passed over: certify(X) looks for one",),
            trivial=0.0,
            tolerance=1e-12 * max(1.0, criterion),
        )
    )
    return proof


def _rounding_certificates(claims: Claims, measured: SpectralMeasurement) -> list[Certificate]:
    proof = []
    if claims.trace.size:
        scale = float(np.square(claims.embedding).sum()) or 1.0
        claim = "The criterion of the rounding never rises."
        value = float(np.diff(claims.trace, prepend=claims.trace[0]).max()) / scale
        proof.append(
            at_most(
                claim,
                "largest rise of the rounding",
                value,
                1e-10,
                "Sangnier, examination of 2021; Proposition 56",
            )
        )
    if claims.rounding == "sweep" and claims.laplacian != "unnormalized" and claims.eigenvalues.size == 2:
        claim = "The best threshold has a NormCut of at most 2√(2 λ₂) (Cheeger)."
        value = measured.norm.value
        bound = 2.0 * float(np.sqrt(2.0 * (claims.eigenvalues[1] + measured.residual)))
        proof.append(
            at_most(
                claim,
                "NormCut of the sweep",
                value,
                bound,
                "Cheeger's inequality for graphs, Alon & Milman (1985)",
                trivial=2.0,
                tolerance=1e-9,
            )
        )
    return proof


def complement_certificate(
    W: Any, claims: Claims, measured: SpectralMeasurement, random_state: Any
) -> Certificate:
    """Look for an eigenvalue that was passed over; the bound that stands whether or not there is one."""
    matrix = Scaled(W, claims.laplacian)
    least = smallest_on_complement(matrix, claims.eigenvectors, random_state=random_state)
    n_clusters = len(measured.norm.terms)
    values = np.minimum(np.sort(claims.eigenvalues / matrix.scale)[:n_clusters], max(least.value, 0.0))
    bound = max(float(values.sum()) - n_clusters * measured.residual, 0.0) * matrix.scale
    name = "RatioCut" if claims.laplacian == "unnormalized" else "NormCut"
    claim = (
        f"No partition into {n_clusters} clusters has a {name} below {bound:.6g}, whatever was passed over"
        + (f" (probability {1.0 - least.failure:.7g})." if least.failure > 0.0 else ".")
    )
    value = measured.criterion(claims.laplacian)
    return at_least(
        claim,
        f"{name} and the complement",
        value,
        bound,
        "Sangnier Theorem 59; Kuczyński & Woźniakowski (1992)",
        trivial=0.0,
        tolerance=1e-12 * max(1.0, measured.criterion(claims.laplacian)),
    )


def landmark_certificate(expected: NDArray, labels: NDArray) -> Certificate:
    """Rows that are no landmarks have the labels of their extension."""
    claim = "Rows that are no landmarks are labelled by extension."
    value = np.count_nonzero(expected != labels)
    return at_most(claim, "rows labelled otherwise", value, 0.0, "Nyström's extension")


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
    return abs(claimed - proof) / max(1.0, abs(proof))


def _farthest(first: NDArray, second: NDArray) -> float:
    if first.shape != second.shape:
        return np.inf
    return float(np.abs(first - second).max()) / (float(np.abs(first).max()) or 1.0)
