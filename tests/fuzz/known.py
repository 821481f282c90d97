"""Cases known to be neither an answer nor a sentence: must be none. A line that is no longer needed fails."""

from __future__ import annotations

KNOWN: dict[str, tuple[str, ...]] = {
    "GeneralizedLinear()": ("a column at 1e+100", "asked about complex"),
    "KMeans()": ("one entry of 1.7e+308",),
    "KernelKMeans()": ("float32 at 1e-20",),
    "LinearSVR()": ("X at 1e+308",),
    "SpectralBiclustering()": ("X at 1e+200",),
    "SpectralCoclustering()": ("X at 9.99989e-321",),
}
"""Representation of a model → kinds."""
