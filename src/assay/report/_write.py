"""Writing a report and its model, both or neither."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from assay.report._comparison import Comparison
from assay.report._errors import ReportError
from assay.report._html import render

REPORT = "report.html"
MODEL = "model.assay"


class Written(NamedTuple):
    """Where the files are."""

    report: Path
    model: Path


def check_folder(folder: str | Path) -> Path:
    """Refuse a folder that cannot be written to, before any work is done; nothing is created."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ReportError(f"The output {folder} is a file; name a folder with --output.")
    nearest = next((place for place in (folder, *folder.absolute().parents) if place.exists()), Path("/"))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ReportError(f"The output folder {folder} cannot be written to; name another with --output.")
    for name in (REPORT, MODEL):
        if (folder / name).is_dir():
            raise ReportError(
                f"{folder / name} is a folder, in the way of a file; name another with --output."
            )
    return folder


def write(comparison: Comparison, folder: str | Path) -> Written:
    """Write the report and the best model into a folder, made if needed.

    The files are written under other names first and take their places at the end: an error on the way leaves
    what was there before untouched, and no part of the new files.
    """
    from assay.persistence import save

    folder = check_folder(folder)
    places = Written(folder / REPORT, folder / MODEL)
    page = render(comparison, model_path=str(places.model))
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".assay-", dir=folder) as scratch:
            report, model = Path(scratch) / REPORT, Path(scratch) / MODEL
            report.write_text(page, encoding="utf-8")
            save(comparison.best.model, model)
            os.replace(model, places.model)
            os.replace(report, places.report)
    except BaseException as error:
        for place in made:
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
        if isinstance(error, OSError):
            raise ReportError(
                f"The report cannot be written to {folder}: {error.strerror or error}."
            ) from error
        raise
    return places
