"""Trees with their defaults beside other libraries: `python -m benchmarks.quality_trees [TABLE ...]`.

Every library learns with its default settings from four fifths of the rows of a table and is judged on the
fifth that it has not seen, five times over, on the same folds for all and on one thread. The results go to
`docs/quality_trees.json`, from which `docs/quality_trees.md` is written (`--page` writes it again and
measures nothing).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare_tables import ORIGINS, Origin, Table, bundled, of_r, surveyed
from benchmarks.compare_tools import version
from benchmarks.quality_page import CONTESTS, LEAST_CHANCE, N_FOLDS, OURS, Measured, page
from benchmarks.results import this_run

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = (ROOT / "docs" / f"quality_trees.{ending}" for ending in ("json", "md"))

TABLES: dict[str, Origin] = {
    **{name: origin for name, origin in ORIGINS.items() if name != "anes96"},
    "iris": bundled("iris", "species", "classification"),
    "modechoice": surveyed("modechoice", "choice", "classification"),
    "quakes": of_r("datasets", "quakes", "mag", "regression"),
    "Servo": of_r("mlbench", "Servo", "Class", "regression"),
    "Vowel": of_r("mlbench", "Vowel", "Class", "classification"),
    "Ionosphere": of_r("mlbench", "Ionosphere", "Class", "classification"),
    "HouseVotes84": of_r("mlbench", "HouseVotes84", "Class", "classification"),
    "Soybean": of_r("mlbench", "Soybean", "Class", "classification"),
    "Satellite": of_r("mlbench", "Satellite", "classes", "classification"),
    "income": of_r("kernlab", "income", "INCOME", "classification"),
}
"""The tables that `assay compare` is measured on, and more of the same packages."""

RANGER = """
library(ranger)
arguments <- commandArgs(TRUE)
table <- read.csv(arguments[1], stringsAsFactors = TRUE, na.strings = "")
classes <- arguments[3] == "classification"
for (fold in unique(table$fold_)) {
  inside <- table$fold_ != fold
  seen <- table[inside, names(table) != "fold_"]
  if (classes) seen$target_ <- factor(seen$target_)
  model <- ranger(dependent.variable.name = "target_", data = seen, probability = classes,
                  num.threads = 1, seed = fold + 1)
  said <- predict(model, table[!inside, ], num.threads = 1)$predictions
  write.csv(said, file.path(arguments[2], paste0(fold, ".csv")), row.names = FALSE)
}
"""


def prepared(table: Table, most_rows: int) -> tuple[Any, Any]:
    """Columns with words as categories under plain names, and the target: numbers, or places of classes."""
    import pandas as pd

    frame = table.frame
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=0).reset_index(drop=True)
    X = frame.drop(columns=table.target)
    X = X.set_axis([f"column{place}" for place in range(X.shape[1])], axis=1)
    for name in X.columns:
        X[name] = X[name].astype("float64" if X[name].dtype.kind in "iufb" else "category")
    y = frame[table.target]
    if table.task == "regression":
        return X, y.to_numpy(dtype=np.float64)
    common = y.map(y.value_counts()) >= N_FOLDS  # a class is in every fold
    return X[common].reset_index(drop=True), pd.factorize(y[common], sort=True)[0]


def folds(y: Any, task: str) -> list[tuple[Any, Any]]:
    """Rows to learn from and rows to be judged on, classes in their shares."""
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if task == "regression" else StratifiedKFold
    return list(kind(N_FOLDS, shuffle=True, random_state=0).split(y[:, np.newaxis], y))


def loss(y: Any, said: Any, task: str, least: float) -> float:
    """Root mean squared error, or mean log-loss of probabilities that are at least `least`."""
    if task == "regression":
        return float(np.sqrt(np.mean((y - said) ** 2)))
    chances = np.maximum(said, least)
    chances /= chances.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(chances[np.arange(len(y)), y])))


def models(contest: str, library: str, task: str, seed: int) -> Any:
    """A model with its defaults, on one thread."""
    classes = task == "classification"
    if library == "LightGBM":
        import lightgbm

        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        return kind(n_jobs=1, verbose=-1, random_state=seed)
    if library == "XGBoost":
        import xgboost

        kind = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        return kind(n_jobs=1, enable_categorical=True, random_state=seed)
    import sklearn.ensemble

    from assay import trees

    room = trees if library == OURS else sklearn.ensemble
    name = {"boosting": "HistGradientBoosting", "forest": "RandomForest", "extra": "ExtraTrees"}[contest]
    kind = getattr(room, name + ("Classifier" if classes else "Regressor"))
    if library == "scikit-learn" and contest == "boosting":
        return kind(random_state=seed, categorical_features="from_dtype")
    return kind(random_state=seed) if contest == "boosting" else kind(random_state=seed, n_jobs=1)


def as_codes(X: Any) -> Any:
    """Places of levels for a library that has no categories; NaN where missing."""
    X = X.copy()
    for name in X.columns[X.dtypes == "category"]:
        X[name] = X[name].cat.codes.astype("float64").replace(-1.0, np.nan)
    return X


def without_gaps(X: Any) -> Any:
    """Medians in the place of missing numbers, a level of their own for missing words."""
    X = X.copy()
    for name in X.columns:
        if X[name].dtype == "category":
            X[name] = X[name].astype("object").where(X[name].notna(), "missing")
        else:
            X[name] = X[name].fillna(X[name].median())
    return X


def losses_of(contest: str, library: str, X: Any, y: Any, task: str) -> list[float]:
    """The loss of a library on each fold."""
    least = LEAST_CHANCE if contest != "boosting" else 1e-15
    if library == "ranger":
        return [loss(y[test], said, task, least) for test, said in of_ranger(X, y, task)]
    if library == "scikit-learn" and contest != "boosting":
        X = as_codes(X)
    each = []
    for seed, (train, test) in enumerate(folds(y, task)):
        model = models(contest, library, task, seed).fit(X.iloc[train], y[train])
        asked = X.iloc[test]
        said = model.predict(asked) if task == "regression" else model.predict_proba(asked)
        each.append(loss(y[test], np.array(said, dtype=np.float64), task, least))
    return each


def of_ranger(X: Any, y: Any, task: str) -> list[tuple[Any, Any]]:
    """What R's ranger says with its defaults, fold by fold."""
    import pandas as pd

    parts = folds(y, task)
    frame = without_gaps(X)
    frame["target_"], frame["fold_"] = y, 0
    for number, (_, test) in enumerate(parts):
        frame.loc[frame.index[test], "fold_"] = number
    with tempfile.TemporaryDirectory(prefix="assay-ranger-") as folder:
        path = Path(folder)
        frame.to_csv(path / "table.csv", index=False)
        (path / "ranger.R").write_text(RANGER)
        words = ["Rscript", str(path / "ranger.R"), str(path / "table.csv"), folder, task]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(next(line for line in done.stderr.splitlines() if line.startswith("Error")))
        said = [pd.read_csv(path / f"{number}.csv").to_numpy() for number in range(N_FOLDS)]
    flat = task == "regression"
    return [(test, one.ravel() if flat else one) for (_, test), one in zip(parts, said, strict=True)]


def measure(name: str, contest: str, library: str) -> Measured | None:
    """A library on a table; None where the table or the library is not there."""
    table = TABLES[name].read()
    if table is None:
        return None
    X, y = prepared(table, CONTESTS[contest].most_rows)
    shape = (len(X), X.shape[1])
    known = {"table": name, "package": TABLES[name].package, "task": table.task, "shape": shape}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each = losses_of(contest, library, X, y, table.task)
    except ImportError:
        if library == OURS:
            raise
        return None
    except ValueError as error:
        return Measured(**known, contest=contest, library=library, losses=[], failure=str(error)[:200])  # type: ignore[arg-type]
    return Measured(**known, contest=contest, library=library, losses=each)  # type: ignore[arg-type]


def main() -> int:
    """Measure, keep and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality_trees")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"all of {', '.join(TABLES)} by default")
    parser.add_argument("--contests", default=",".join(CONTESTS), help="boosting, forest, extra")
    parser.add_argument("--libraries", default="", help="libraries to measure, all unless said")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    known = parser.parse_args()
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"measured": []}
    measured = [Measured(**item) for item in stored["measured"]]
    kept = {(item.table, item.contest, item.library): item for item in measured}
    if not known.page:
        unknown = set(known.tables) - set(TABLES) | set(known.contests.split(",")) - set(CONTESTS)
        if unknown:
            parser.error(f"there is no {min(unknown)}")
        stored["run"] = asdict(this_run())
        peers = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}
        stored["run"]["versions"] |= {name: version(distribution) for name, distribution in peers.items()}
        for name in known.tables or TABLES:
            for contest in known.contests.split(","):
                for library in CONTESTS[contest].libraries:
                    wanted = not known.libraries or library in known.libraries.split(",")
                    result = measure(name, contest, library) if wanted else None
                    if result is not None:
                        kept[name, contest, library] = result
                        mean = np.mean(result.losses) if result.losses else np.nan
                        sys.stderr.write(f"{name:22}{contest:10}{library:14}{mean:10.4f} {result.failure}\n")
            stored["measured"] = [asdict(kept[key]) for key in sorted(kept)]
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(list(kept.values()), stored.get("run", {})), encoding="utf-8")
    return 0


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ASSAY_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    raise SystemExit(main())
