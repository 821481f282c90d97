"""`assay predict` on a table of ten million rows: time, and the peak of resident memory of its process.

A child process predicts, as the command does, and tells its peak; the limit is a gibibyte.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest

GIBIBYTE = 2**30
N_NUMBERS = 20
TOWNS = np.array(["Brest", "Lille", "Lyon", "Nantes", "Nice", "Paris", "Rennes", "Toulouse"])
STEP = 500_000

CHILD = """
import json, resource, sys
from assay import load
from assay.report import predict_table
model, source, output = sys.argv[1:]
predicted = predict_table(load(model), source, output)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"rows": predicted.n_rows, "peak": peak}))
"""


def frame(n_rows: int, rng: np.random.Generator, *, words: bool) -> Any:
    """Rows of a table: twenty columns of numbers, and two of words if asked."""
    import pandas as pd

    table = pd.DataFrame({f"x{number}": rng.standard_normal(n_rows) for number in range(N_NUMBERS)})
    if words:
        table["town"] = TOWNS[rng.integers(len(TOWNS), size=n_rows)]
        table["code"] = rng.integers(100, size=n_rows).astype(str)
    return table


def write_rows(path: Path, n_rows: int, *, words: bool) -> None:
    """Write a table in pieces, so that the parent stays small."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng, writer = np.random.default_rng(3), None
    for start in range(0, n_rows, STEP):
        block = frame(min(STEP, n_rows - start), rng, words=words)
        if path.suffix == ".csv":
            block.to_csv(path, mode="a", header=start == 0, index=False, float_format="%.6g")
            continue
        table = pa.Table.from_pandas(block, preserve_index=False)
        if path.suffix == ".feather":
            writer = writer or pa.ipc.new_file(str(path), table.schema)
        else:
            writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def fitted(folder: Path, *, words: bool) -> Path:
    """A saved model for such tables."""
    from assay.report import fit_table

    table = frame(5_000, np.random.default_rng(4), words=words)
    table["y"] = table.sum(axis=1, numeric_only=True)
    table.to_parquet(folder / "fit.parquet")
    return fit_table("Ridge", folder / "fit.parquet", target="y", output=folder / "m.skops", force=True).path


CASES = {
    "Parquet, 20 columns of numbers": ("parquet", False, 10_000_000),
    "Parquet, and 2 of words": ("parquet", True, 10_000_000),
    "Arrow, 20 columns of numbers": ("feather", False, 10_000_000),
    "CSV, 20 columns of numbers": ("csv", False, 1_000_000),
}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path, Path, int]]:
    """What the table is, a saved model, the table and its number of rows."""
    pytest.importorskip("skops")
    ending, words, full = CASES[request.param]
    n_rows = rows(full)
    table = tmp_path / f"table.{ending}"
    write_rows(table, n_rows, words=words)
    yield request.param, fitted(tmp_path, words=words), table, n_rows
    table.unlink()


def test_assay(contest: Contest, case: tuple[str, Path, Path, int]) -> None:
    kind, model, table, n_rows = case
    output = table.with_name("out.parquet")

    def predict() -> dict[str, int]:
        command = [sys.executable, "-c", CHILD, str(model), str(table), str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def peak(told: dict[str, int]) -> int:
        assert told["rows"] == n_rows
        assert told["peak"] < GIBIBYTE
        return told["peak"]

    data = f"{n_rows:.0e} rows of {kind}"
    contest.run("assay predict", data, "assay", predict, lambda told: None, rounds=1, child_peak=peak)
