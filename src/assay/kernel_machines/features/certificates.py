"""Certificates of features of kernels, measured from rows and fitted attributes alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_least, at_most
from assay.kernels import Kernel
from assay.rows import Block

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.4.2"

EPSILON = float(np.finfo(np.float64).eps)

NOISE = float(np.sqrt(EPSILON))
"""Shares of a trace up to here are rounding."""


class Residuals(NamedTuple):
    """k(x, x) − ‖φ(x)‖² over rows.

    Attributes
    ----------
    total, lost : float
        tr K and tr(K − K̃).
    least, largest : float
        The smallest difference, and the largest k(x, x).
    """

    total: float
    lost: float
    least: float
    largest: float

    @property
    def share(self) -> float:
        """tr(K − K̃) over tr K."""
        return self.lost / self.total if self.total > 0 else 0.0

    @property
    def error(self) -> float:
        """The share, 0 where it is rounding."""
        return self.share if abs(self.share) > NOISE else 0.0

    @staticmethod
    def merge(first: Residuals, second: Residuals) -> Residuals:
        """Of two blocks together."""
        return Residuals(
            first.total + second.total,
            first.lost + second.lost,
            min(first.least, second.least),
            max(first.largest, second.largest),
        )


def residual_block(block: Block, kernel: Kernel, mapping: Any) -> Residuals:
    """The differences of one block."""
    X = block.X.astype(np.float64, copy=False)
    diagonal, features = kernel.diagonal(X), mapping(X)
    left = diagonal - np.einsum("ij,ij->i", features, features)
    return Residuals(float(diagonal.sum()), float(left.sum()), float(left.min()), float(diagonal.max()))


def rounding(n_landmarks: int) -> float:
    """What rounding makes of ⟨φ(x), φ(z)⟩, relative to k(x, x).

    A row of K is rounded to eps and multiplied by roots of inverse eigenvalues, of which the largest is
    1/√(10 m eps λ₁) by the choice of those that are inverted; λ₁ is at most m k(x, x).
    """
    return 20.0 * float(np.sqrt(n_landmarks * EPSILON))


def landmark_certificates(
    features: NDArray, gram: Array, eigenvalues: Array, rank: int, least: float
) -> list[Certificate]:
    """From the features of the landmarks, their kernel matrix and its eigenvalues, largest first."""
    scale = float(gram.diagonal().max()) or 1.0
    apart = float(np.abs(features @ features.T - gram).max()) / scale
    top = float(eigenvalues[0]) if eigenvalues[0] > 0 else 1.0
    inverted = float(eigenvalues[rank - 1]) / top if rank > 0 else 1.0
    return [
        at_most(
            "The features of the landmarks have the kernel matrix of the landmarks: K̃ = K there.",
            "largest difference on landmarks",
            apart,
            rounding(len(gram)),
            SOURCE,
        ),
        at_least(
            "Every eigenvalue that is inverted is more than rounding.",
            "smallest inverted eigenvalue over the largest",
            inverted,
            least / top,
            SOURCE,
        ),
    ]


def residual_certificates(residuals: Residuals, n_landmarks: int) -> list[Certificate]:
    """From the diagonal of K − K̃, which is positive semi-definite: its trace bounds its norms."""
    scale = residuals.largest if residuals.largest > 0 else 1.0
    slack = rounding(n_landmarks)
    return [
        at_least(
            "The diagonal of K − K̃ is not negative.",
            "smallest k(x, x) − k̃(x, x) over the largest k(x, x)",
            residuals.least / scale,
            -slack,
            SOURCE,
            assumptions=("the kernel is positive semi-definite",),
        ),
        at_most(
            "‖K − K̃‖₂ ≤ ‖K − K̃‖_F ≤ tr(K − K̃), which is this share of tr K.",
            "share of the trace that is lost",
            residuals.share,
            1.0,
            SOURCE,
            assumptions=("the kernel is positive semi-definite",),
            tolerance=slack,
        ),
    ]


def stored_certificates(
    pairs: dict[str, tuple[Any, Any]], indices: NDArray, trace: tuple[float, float]
) -> list[Certificate]:
    """Landmarks against the rows of the table, and what the fit measured against the same again."""
    claim = "Landmarks and eigenvalues are those that the rows give again."
    repeated = len(indices) - len(np.unique(indices))
    stored, fresh = trace
    apart = abs(stored - fresh) / max(abs(fresh), NOISE)
    return [
        agreement(claim, pairs, SOURCE),
        at_most("No row is a landmark twice.", "landmarks that repeat", repeated, 0, SOURCE),
        at_most("The trace that is lost is what the rows give again.", "change of trace_error_", apart, 5e-3),
    ]
