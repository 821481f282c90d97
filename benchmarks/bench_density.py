"""Densities: exact and tolerant kernel sums, a grid of one column, cross-validation over many bandwidths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.kernel_sums import KernelSums, smoothing_kernel
from assay.kernel_sums.loops import GAUSSIAN, direct_sums, padded
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.density", "scikit-learn": "sklearn.neighbors"}


def worst(found: np.ndarray, exact: np.ndarray) -> float:
    """Largest relative error."""
    return float(np.max(np.abs(found / exact - 1)))


@pytest.mark.parametrize("rtol", [0.0, 1e-4], ids=["exact", "rtol 1e-4"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_kernel_density_of_two_columns(contest: Contest, library: str, rtol: float) -> None:
    rng = np.random.default_rng(4)
    X, queries = rng.standard_normal((rows(100_000), 2)), rng.standard_normal((rows(10_000), 2))
    kind = peer(LIBRARIES[library], "KernelDensity")
    model = kind(bandwidth=0.15, rtol=rtol).fit(X)
    exact = KernelSums(X, "gaussian", 0.15).directly(queries[:50])
    contest.run(
        f"KernelDensity, {'exact' if rtol == 0 else 'rtol 1e-4'}",
        f"n={len(X)} queries={len(queries)} d=2",
        library,
        lambda: model.score_samples(queries),
        lambda logs: worst(np.exp(logs[:50]), exact),
        rounds=3,
    )


@pytest.mark.parametrize("library", ["assay", "KDEpy", "KDEpy on 32768 points"])
def test_grid_of_one_column(contest: Contest, library: str) -> None:
    """KDEpy bins to its grid: it errs by 2e-5 of the maximum on 1024 points, by 2e-6 from 8192 points on.

    More points, up to 2^18, do not bring it to the 1e-6 that ours certifies.
    """
    x = np.random.default_rng(5).standard_normal(rows(1_000_000))
    bandwidth = 0.9 * len(x) ** -0.2
    n_points = 32768 if "32768" in library else 1024
    if library == "assay":
        kind = peer("assay.density", "KernelDensity")
        fit = lambda: kind(bandwidth=bandwidth).fit(x[:, np.newaxis]).on_grid(1024)[:2]  # noqa: E731
    else:
        kind = peer("KDEpy", "FFTKDE")
        fit = lambda: kind(bw=bandwidth).fit(x).evaluate(n_points)  # noqa: E731
    sums = KernelSums(x[:, np.newaxis], smoothing_kernel("gaussian"), bandwidth)

    def error(found) -> float:
        points, values = found
        some = slice(12, None, len(points) // 40)
        return float(np.abs(values[some] - sums(points[some, np.newaxis])).max() / values.max())

    contest.run("Gaussian density on 1024 points", f"n={len(x)}", library, fit, error, rounds=5)


@pytest.mark.parametrize("library", ["assay", "direct sums"])
def test_cross_validation(contest: Contest, library: str) -> None:
    """Direct sums are over all pairs, by the compiled loop: what is left is the algorithm."""
    n = rows(
        10_000
    )  # at a hundred thousand, direct sums take a hundred times as long, and bins hardly longer
    x = np.random.default_rng(6).standard_normal((n, 1))
    grid = np.geomspace(0.5, 2.0, 50) * n**-0.2
    model = peer("assay.density", "KernelDensity")(bandwidth="ucv", bandwidths=grid)

    def directly() -> np.ndarray:
        points, weights, none = *padded(x.T, np.ones((1, n))), np.empty(0)
        found = []
        for h in grid:
            wide, narrow = np.empty((n, 1)), np.empty((n, 1))
            direct_sums(points / (h * np.sqrt(2)), weights, x / (h * np.sqrt(2)), GAUSSIAN, none, wide)
            direct_sums(points / h, weights, x / h, GAUSSIAN, none, narrow)
            pairs = (narrow.sum() - n) / (n * (n - 1) * h * np.sqrt(2 * np.pi))
            found.append(wide.sum() / (n * n * h * 2 * np.sqrt(np.pi)) - 2 * pairs)
        return np.array(found)

    contest.run(
        "cross-validation of 50 bandwidths",
        f"n={n}",
        library,
        (lambda: model.fit(x).criterion_) if library == "assay" else directly,
        lambda found: float(np.min(found)),
        rounds=1 if library == "direct sums" else 3,
    )


@pytest.fixture(scope="module")
def column(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of twenty million numbers."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, rng = tmp_path_factory.mktemp("parquet") / "column.parquet", np.random.default_rng(7)
    with parquet.ParquetWriter(path, pa.schema([("x", pa.float64())])) as file:
        for _ in range(20):
            file.write_table(pa.table({"x": rng.standard_normal(rows(1_000_000))}))
    yield path
    path.unlink()


@pytest.mark.parametrize("library", ["assay", "pyarrow, reading only"])
def test_histogram_of_a_file(contest: Contest, library: str, column: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    kind = peer("assay.density", "HistogramDensity")

    def read() -> float:
        return float(sum(batch.num_rows for batch in dataset.dataset(column).to_batches()))

    contest.run(
        "HistogramDensity of 200 bins",
        f"Parquet n={20 * rows(1_000_000):.0e} d=1",
        library,
        (lambda: float(kind(200, support=(-9, 9)).fit(str(column)).n_samples_))
        if library == "assay"
        else read,
        float,
        rounds=3,
    )
