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

from benchmarks.compare_page import BEST, PATIENCE, SECONDS, Measured, page
from benchmarks.compare_tables import ORIGINS, Table, halves
from benchmarks.results import this_run

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = (ROOT / "docs" / f"compare.{ending}" for ending in ("json", "md"))
TOOLS = {
    "assay": "assay",
    "FLAML": "flaml",
    "mljar": "mljar-supervised",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "random forest": "scikit-learn",
}
"""Tools, and the distributions they come in."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def with_assay(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """The command, as one types it: compare with the report and its pictures, then predict.

    The best model of the leaderboard, which is kept beside the recommended one, is asked as well.
    """
    import pandas as pd

    train.to_csv(folder / "train.csv", index=False)
    test.drop(columns=table.target).to_csv(folder / "test.csv", index=False)
    words = [sys.executable, "-m", "benchmarks.keep_best"]
    options = ["--target", table.target, "--task", table.task, "--output", str(folder / "report")]
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([*words, "compare", str(folder / "train.csv"), *options, "--quiet"], **run)  # type: ignore[call-overload]
    said = {}
    for tool, name in (("assay", "model.skops"), (BEST, "best.skops")):
        model, out = folder / "report" / name, folder / f"{name}.csv"
        asked = [*words, "predict", str(model), str(folder / "test.csv"), "--output", str(out)]
        subprocess.run(asked, **run)  # type: ignore[call-overload]
        said[tool] = pd.read_csv(out)["prediction"].to_numpy()
    results = json.loads((folder / "report" / "results.json").read_text(encoding="utf-8"))
    models = [item for item in results["candidates"] if item["name"] != "Baseline"]
    best = max(models, key=lambda item: item["score"])["name"]
    sys.stderr.write(f"{table.name}: recommended {results['recommended']}, best {best}\n")
    return said


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
    X, y, asked = with_categories(train, test, table)
    return kind(n_jobs=1, verbose=-1).fit(X, y).predict(asked)


def with_xgboost(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """XGBoost with its defaults; words are categories."""
    import xgboost

    X, y, asked = with_categories(train, test, table)
    if table.task == "regression":
        return xgboost.XGBRegressor(n_jobs=1, enable_categorical=True).fit(X, y).predict(asked)
    labels, places = np.unique(y.astype(str), return_inverse=True)
    model = xgboost.XGBClassifier(n_jobs=1, enable_categorical=True).fit(X, places)
    return labels[model.predict(asked)]


def with_forest(train: Any, test: Any, table: Table, folder: Path) -> Any:
    """scikit-learn's random forest with its defaults; words are the places of their levels."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestRegressor if table.task == "regression" else RandomForestClassifier
    X, y, asked = with_categories(train, test, table)
    for frame in (X, asked):
        for name in frame.columns[frame.dtypes == "category"]:
            frame[name] = frame[name].cat.codes.astype("float64").replace(-1.0, np.nan)
    return kind(n_jobs=1, random_state=0).fit(X, y).predict(asked)


def with_categories(train: Any, test: Any, table: Table) -> tuple[Any, Any, Any]:
    """Features under plain names with words as categories, target, and features to be asked about."""
    X, y = _apart(train, table)
    asked = _apart(test, table)[0]
    for name in [name for name in X.columns if X[name].dtype.kind not in "iufb"]:
        X[name] = X[name].astype("category")
        asked[name] = asked[name].astype(X[name].dtype)
    names = [f"column{place}" for place in range(X.shape[1])]
    return X.set_axis(names, axis=1), y, asked.set_axis(names, axis=1)


RUNS = {
    "assay": with_assay,
    "FLAML": with_flaml,
    "mljar": with_mljar,
    "LightGBM": with_lightgbm,
    "XGBoost": with_xgboost,
    "random forest": with_forest,
}


def _apart(frame: Any, table: Table) -> tuple[Any, Any]:
    return frame.drop(columns=table.target).copy(), frame[table.target].to_numpy()


def judge(table: Table, tool: str, seed: int) -> dict[str, float]:
    """Score of a tool on the rows that it has not seen: R² or accuracy; Assay has two answers."""
    train, test = halves(table, seed)
    with tempfile.TemporaryDirectory(prefix="assay-tools-") as folder:
        said = RUNS[tool](train, test, table, Path(folder))
    each = said if isinstance(said, dict) else {tool: said}
    return {name: score(test[table.target], one, table.task) for name, one in each.items()}


def score(observed: Any, said: Any, task: str) -> float:
    """R² or accuracy."""
    from sklearn.metrics import accuracy_score, r2_score

    said = np.asarray(said).ravel()
    if task == "regression":
        return float(r2_score(observed.to_numpy(), said.astype(float)))
    return float(accuracy_score(observed.to_numpy().astype(str), said.astype(str)))


def measure(name: str, tool: str, seeds: range) -> list[Measured]:
    """Run a tool on a table, cut in several ways, each time in a process of its own."""
    table = ORIGINS[name].read()
    if table is None:
        return []
    shape = (len(table.frame), table.frame.shape[1] - 1)
    scores: dict[str, list[float]] = {one: [] for one in ([tool, BEST] if tool == "assay" else [tool])}
    seconds, failure = [], ""
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
        sys.stderr.write("".join(line for line in done.stderr.splitlines(True) if "recommended" in line))
        for one, reached in json.loads(done.stdout.strip().splitlines()[-1]).items():
            scores[one].append(reached)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    known = (name, ORIGINS[name].package, table.task, shape)
    return [Measured(*known, one, each, seconds, failure) for one, each in scores.items()]


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
        stored["run"]["versions"] |= {name: version(TOOLS[name]) for name in TOOLS if name != "assay"}
        for name in known.tables or ORIGINS:
            for tool in known.tools.split(","):
                for item in measure(name, tool, range(known.splits)) if installed(tool) else []:
                    kept[name, item.tool] = item
                    sys.stderr.write(f"{name:22}{item.tool:14}{item.scores} {item.seconds} {item.failure}\n")
            stored["measured"] = [asdict(kept[key]) for key in sorted(kept)]
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(list(kept.values()), stored.get("run", {})), encoding="utf-8")
    return 0


def version(distribution: str) -> str:
    """Version of an installed distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    raise SystemExit(main())
