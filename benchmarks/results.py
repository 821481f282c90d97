"""The measured results that are kept: one entry per case and data, replaced when it is measured again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.contest import OURS, Measurement

DISTRIBUTIONS = (
    "assay", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "statsmodels", "faiss-cpu",
    "celer", "fastcluster", "dbscan", "hdbscan", "kmedoids", "KDEpy", "lightgbm", "xgboost", "shap", "pandas",
    "pyarrow",
)  # fmt: skip
DOES_LESS = {"pyarrow, reading only", "scikit-learn, defaults"}
"""Contestants that do not reach the quality of the case: a yardstick in the table, no peer in the picture."""


@dataclass(frozen=True)
class Run:
    """When, where and with what something was measured."""

    date: str
    machine: str
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """Median time of one library, that time over ours, the quality reached and the memory added."""

    seconds: float
    ratio: float
    quality: float | None
    peak_mebibytes: float


@dataclass(frozen=True)
class Case:
    """What was computed, on what data, by whom."""

    case: str
    data: str
    run: Run
    contestants: dict[str, Contestant]

    @property
    def ours(self) -> Contestant:
        """What Assay needed."""
        return self.contestants[OURS]

    @property
    def others(self) -> list[str]:
        """The other contestants, the fastest first."""
        return sorted(set(self.contestants) - {OURS}, key=lambda name: (self.contestants[name].ratio, name))

    @property
    def fastest_peer(self) -> str | None:
        """The fastest library that does the same work, if there is one."""
        return next((name for name in self.others if name not in DOES_LESS), None)

    @property
    def least_ratio(self) -> float:
        """Time of the fastest peer over ours: above 1 Assay is faster."""
        return self.contestants[self.fastest_peer or OURS].ratio


class Results(NamedTuple):
    """What is kept: the cases, and sentences about what was measured outside of them."""

    cases: list[Case]
    notes: list[str]


class Merged(NamedTuple):
    """The results after a run, and which measured cases were not taken over, and why."""

    results: Results
    left: list[str]


def this_run() -> Run:
    """Today, this machine and the versions of whatever is installed of the libraries measured."""
    versions = {"Python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    machine = f"{os.cpu_count()} cores, {_processor()}"
    return Run(f"{datetime.now(UTC):%Y-%m-%d}", machine, versions)


def gather(measured: Iterable[Measurement], run: Run) -> list[Case]:
    """Cases of the measurements that Assay took part in, in alphabetical order."""
    cases = []
    for (_, case, data), group in groupby(sorted(measured, key=_place), key=_place):
        by_library = {measurement.library: measurement for measurement in group}
        if OURS in by_library:
            base = median(by_library[OURS].seconds)
            cases.append(
                Case(case, data, run, {name: _contestant(one, base) for name, one in by_library.items()})
            )
    return cases


def merge(stored: Results, measured: list[Case]) -> Merged:
    """Replace the cases that were measured again.

    Times are compared within a run only, so a case is replaced as a whole; if a library that is in the stored
    case was not measured this time, the stored case stays.
    """
    cases = {(case.case, case.data): case for case in stored.cases}
    left = []
    for case in measured:
        key = (case.case, case.data)
        missing = set(cases[key].contestants if key in cases else ()) - set(case.contestants)
        if missing:
            left.append(f"{case.case}, {case.data}: {', '.join(sorted(missing))} not measured")
        else:
            cases[key] = case
    return Merged(Results(sorted(cases.values(), key=_place), stored.notes), left)


def load(path: Path) -> Results:
    """Results of a file; none if there is no file."""
    if not path.exists():
        return Results([], [])
    stored = json.loads(path.read_text(encoding="utf-8"))
    runs = [Run(**run) for run in stored["runs"]]
    cases = [
        Case(
            entry["case"],
            entry["data"],
            runs[entry["run"]],
            {name: Contestant(**values) for name, values in entry["contestants"].items()},
        )
        for entry in stored["cases"]
    ]
    return Results(cases, stored["notes"])


def save(results: Results, path: Path) -> None:
    """Write results, each run that cases come from once."""
    runs = runs_of(results.cases)
    cases = [{**asdict(case), "run": runs.index(case.run)} for case in results.cases]
    document = {"runs": [asdict(run) for run in runs], "notes": results.notes, "cases": cases}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def runs_of(cases: list[Case]) -> list[Run]:
    """The runs that the cases come from, the earliest first: a new run leaves the numbers of the others."""
    known: list[Run] = []
    for case in cases:
        if case.run not in known:
            known.append(case.run)
    return sorted(known, key=lambda run: run.date)


def read_measurements(path: Path) -> Iterator[Measurement]:
    """Measurements as the contests wrote them, a line of JSON each."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Measurement(**json.loads(line))


def _contestant(measured: Measurement, base: float) -> Contestant:
    seconds = median(measured.seconds)
    quality = None if measured.quality is None else float(f"{measured.quality:.12g}")
    ratio = round(seconds / base, 3)
    return Contestant(float(f"{seconds:.3g}"), ratio, quality, round(measured.peak_mebibytes))


def _place(item: Any) -> tuple[str, str, str]:
    return item.case.lower(), item.case, item.data


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
