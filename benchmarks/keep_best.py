"""The command `assay`, which here keeps the best model of the leaderboard beside the recommended one.

`python -m benchmarks.keep_best compare TABLE ...` does what `assay compare` does, and writes `best.skops`:
the model of the greatest score out of fold, the ensemble on the last line among them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay import report
from assay.cli import main
from assay.persistence import save
from assay.report.results import about_fit

BEST = "best.skops"


def keeping_best(write: Any) -> Any:
    """`assay.report.write`, which then saves the best candidate as well."""

    def wrapped(comparison: Any, folder: Any, **options: Any) -> Any:
        written = write(comparison, folder, **options)
        models = [candidate for candidate in comparison.candidates if not candidate.is_baseline]
        best = max(models, key=lambda candidate: candidate.score)
        about = about_fit(comparison.data, comparison.task, best.name, best.certificates)
        save(best.model, Path(folder) / BEST, about=about)
        return written

    return wrapped


if __name__ == "__main__":
    report.write = keeping_best(report.write)
    main()
