"""`assay compare` beside other tools, on the same tables: `python -m benchmarks.compare_tools [TABLE ...]`.

Each tool learns from three quarters of the rows of a table in a process of its own, on one thread, and is
judged on the quarter that it has not seen, for several ways of cutting the table. The results go to
`docs/compare.json`, from which `docs/compare.md` is written (`--page` writes it again and measures nothing).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare_page import PATIENCE, SECONDS, Measured, page
from benchmarks.compare_tables import ORIGINS, Table, halves
from benchmarks.results import this_run

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = (ROOT / "docs" / f"compare.{ending}" for ending in ("json", "md"))
TOOLS = {"assay": "assay", "FLAML": "flaml", "mljar": "mljar-supervised", "LightGBM": "lightgbm"}
"""Tools, and the distributions they come in."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def with_assay(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """The command, as one types it: compare with the report and its pictures, then predict."""
    import pandas as pd

    train.to_csv(folder / "train.csv", index=False)
    test.drop(columns=table.target).to_csv(folder / "test.csv", index=False)
    words = [sys.executable, "-m", "assay.cli"]
    options = ["--target", table.target, "--task", table.task, "--output", str(folder / "report")]
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*words, "compare", str(folder / "train.csv"), *options, "--quiet"], **run)  # type: ignore[call-overload]
    model, out = folder / "report" / "model.skops", folder / "predictions.csv"
    subprocess.run([*words, "predict", str(model), str(folder / "test.csv"), "--output", str(out)], **run)  # type: ignore[call-overload]
    return pd.read_csv(out)["prediction"].to_numpy()


def with_flaml(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """FLAML's AutoML with its defaults for so many seconds."""
    from flaml import AutoML

    model = AutoML()
    X, y = _apart(train, table)
    model.fit(X, y, task=table.task, time_budget=SECONDS, n_jobs=1, seed=0, verbose=0, log_file_name="")
    return model.predict(_apart(test, table)[0])


def with_mljar(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """mljar's AutoML in its default mode, for so many seconds, without its explanations."""
    from supervised.automl import AutoML

    kinds = {"regression": "regression", "classification": "auto"}
    model = AutoML(
        results_path=str(folder / "mljar"), total_time_limit=SECONDS, explain_level=0, n_jobs=1,
        random_state=0, verbose=0, ml_task=kinds[table.task],
    )  # fmt: skip
    X, y = _apart(train, table)
    model.fit(X, y)
    return model.predict(_apart(test, table)[0])


def with_lightgbm(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """LightGBM with its defaults; words are categories."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if table.task == "regression" else lightgbm.LGBMClassifier
    X, y = _apart(train, table)
    words = [name for name in X.columns if X[name].dtype.kind not in "iufb"]
    asked = _apart(test, table)[0]
    for name in words:
        X[name] = X[name].astype("category")
        asked[name] = asked[name].astype(X[name].dtype)
    names = [f"column{place}" for place in range(X.shape[1])]
    model = kind(n_jobs=1, verbose=-1).fit(X.set_axis(names, axis=1), y)
    return model.predict(asked.set_axis(names, axis=1))


RUNS = {"assay": with_assay, "FLAML": with_flaml, "mljar": with_mljar, "LightGBM": with_lightgbm}


def _apart(frame: Any, table: Table) -> tuple[Any, Any]:
    return frame.drop(columns=table.target).copy(), frame[table.target].to_numpy()


def judge(table: Table, tool: str, seed: int) -> float:
    """Score of a tool on the rows that it has not seen: R² or accuracy."""
    from sklearn.metrics import accuracy_score, r2_score

    train, test = halves(table, seed)
    with tempfile.TemporaryDirectory(prefix="assay-tools-") as folder:
        said = np.asarray(RUNS[tool](train, test, table, Path(folder))).ravel()
    observed = test[table.target].to_numpy()
    if table.task == "regression":
        return float(r2_score(observed, said.astype(float)))
    return float(accuracy_score(observed.astype(str), said.astype(str)))


def measure(name: str, tool: str, seeds: range) -> Measured | None:
    """Run a tool on a table, cut in several ways, each time in a process of its own."""
    table = ORIGINS[name].read()
    if table is None:
        return None
    shape = (len(table.frame), table.frame.shape[1] - 1)
    scores, seconds, failure = [], [], ""
    for seed in seeds:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "benchmarks.compare_tools", "--one", name, tool, str(seed)]
        try:
            done = subprocess.run(
                words, check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
                env={**os.environ, **ONE_THREAD},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            failure = f"no answer within {PATIENCE // 60} minutes"
            break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            failure = (done.stderr.strip().splitlines() or ["no message"])[-1]
            break
        scores.append(json.loads(done.stdout.strip().splitlines()[-1]))
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Measured(name, ORIGINS[name].package, table.task, shape, tool, scores, seconds, failure)


def installed(tool: str) -> bool:
    """Whether a tool can run here."""
    try:
        metadata.version(TOOLS[tool])
    except metadata.PackageNotFoundError:
        return tool == "assay"
    return True


def main() -> int:
    """Measure, keep and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare_tools")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"all of {', '.join(ORIGINS)} by default")
    parser.add_argument("--splits", type=int, default=3, help="ways of cutting each table, 3 unless said")
    parser.add_argument("--tools", default=",".join(TOOLS), help="tools to measure, separated by commas")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--one", nargs=3, metavar=("TABLE", "TOOL", "SEED"), help=argparse.SUPPRESS)
    known = parser.parse_args()
    if known.one:
        name, tool, seed = known.one
        table = ORIGINS[name].read()
        assert table is not None
        sys.stdout.write(f"{json.dumps(judge(table, tool, int(seed)))}\n")
        return 0
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"measured": []}
    kept = {(item["table"], item["tool"]): Measured(**item) for item in stored["measured"]}
    if not known.page:
        unknown = set(known.tables) - set(ORIGINS) | set(known.tools.split(",")) - set(TOOLS)
        if unknown:
            parser.error(f"there is no {min(unknown)}")
        stored["run"] = asdict(this_run())
        stored["run"]["versions"] |= {name: _version(TOOLS[name]) for name in TOOLS if name != "assay"}
        for name in known.tables or ORIGINS:
            for tool in known.tools.split(","):
                found = measure(name, tool, range(known.splits)) if installed(tool) else None
                if found is not None:
                    kept[name, tool] = found
                    sys.stderr.write(f"{name:22}{tool:10}{found.scores} {found.seconds} {found.failure}\n")
        stored["measured"] = [asdict(kept[key]) for key in sorted(kept)]
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(list(kept.values()), stored.get("run", {})), encoding="utf-8")
    return 0


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    raise SystemExit(main())
