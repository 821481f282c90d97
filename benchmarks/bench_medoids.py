"""k-medoids on precomputed distances, against the Rust library: time and the cost reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.distances import distance_matrix
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer


@pytest.fixture(scope="session")
def matrices() -> dict[str, np.ndarray]:
    n, rng = rows(5_000), np.random.default_rng(0)
    centers = rng.uniform(-10, 10, size=(20, 10))
    blobs = centers[rng.integers(0, 20, size=n)] + 3 * rng.standard_normal((n, 10))
    return {"blobs": distance_matrix(blobs), "noise": distance_matrix(rng.standard_normal((n, 10)))}


def ours(D: np.ndarray, init: str) -> Any:
    return peer("assay.cluster", "KMedoids")(20, metric="precomputed", init=init, random_state=0).fit(D)


def rust(D: np.ndarray, init: str) -> Any:
    return peer("kmedoids", "fasterpam")(D, 20, init=init, random_state=0)


def cost(model: Any) -> float:
    return float(model.loss if hasattr(model, "loss") else model.inertia_)


@pytest.mark.parametrize("library", ["assay", "kmedoids"])
@pytest.mark.parametrize("table", ["blobs", "noise"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_default_start(contest: Contest, matrices, dtype: str, table: str, library: str) -> None:
    D = matrices[table].astype(dtype)
    contest.run(
        f"KMedoids, precomputed, default start, {dtype}",
        f"{table} n={len(D):.0e} k=20",
        library,
        (lambda: ours(D, "build")) if library == "assay" else (lambda: rust(D, "random")),
        cost,
    )


@pytest.mark.parametrize("library", ["assay", "kmedoids"])
@pytest.mark.parametrize("init", ["random", "build"])
def test_same_start(contest: Contest, matrices, init: str, library: str) -> None:
    D = matrices["blobs"]
    contest.run(
        f"KMedoids, precomputed, {init} start, float64",
        f"blobs n={len(D):.0e} k=20",
        library,
        (lambda: ours(D, init)) if library == "assay" else (lambda: rust(D, init)),
        cost,
        rounds=1 if init == "build" else 3,
    )


@pytest.mark.parametrize("library", ["assay", "kmedoids"])
def test_iris(contest: Contest, small, library: str) -> None:
    D = distance_matrix(small[0])

    def fit() -> Any:
        if library == "assay":
            return peer("assay.cluster", "KMedoids")(3, metric="precomputed").fit(D)
        return peer("kmedoids", "fasterpam")(D, 3, init="build", random_state=0, n_cpu=1)

    contest.run(
        "KMedoids, precomputed, build start, float64",
        "iris, k=3",
        library,
        fit,
        cost,
        rounds=100,
        iterations=3,
    )
