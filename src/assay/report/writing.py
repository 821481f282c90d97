"""Writing a report, its model and its numbers: all of them or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from assay.report.errors import ReportError
from assay.report.page.document import render
from assay.report.reproduction import notebook, script
from assay.report.results import about_model, to_json
from assay.report.tables.files.byte_streams import reason_of
from assay.report.trials.comparison import Comparison

REPORT = "report.html"
MODEL = "model.skops"
RESULTS = "results.json"
SCRIPT = "reproduce.py"
NOTEBOOK = "notebook.ipynb"
FILES = (REPORT, MODEL, RESULTS, SCRIPT, NOTEBOOK)


class Written(NamedTuple):
    """Where the files are."""

    report: Path
    model: Path
    results: Path
    script: Path
    notebook: Path


def check_folder(folder: str | Path, *, force: bool = False) -> Path:
    """Refuse a folder that cannot be written to, before any work is done; nothing of it stays.

    Parameters
    ----------
    folder : path
    force : bool, default=False
        Whether files of an earlier report may be replaced.
    """
    folder = Path(folder)
    try:
        if folder.exists() and not folder.is_dir():
            raise ReportError(f"The output {folder} is a file; name a folder with --output.")
        nearest = next((place for place in (folder, *folder.absolute().parents) if place.exists()), Path("/"))
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise ReportError(f"The output folder {folder} cannot be written to; name another with --output.")
        _try_folder(folder)  # the superuser may write everywhere, and is refused all the same
    except ReportError:
        raise
    except (OSError, ValueError) as error:
        raise ReportError(
            f"The output folder {folder} cannot be written to ({reason_of(error)}); name another with "
            "--output."
        ) from error
    for name in FILES:
        if (folder / name).is_dir():
            raise ReportError(
                f"{folder / name} is a folder, in the way of a file; name another with --output."
            )
        if (folder / name).exists() and not force:
            raise ReportError(
                f"{folder / name} exists; name another folder with --output, or replace it with --force."
            )
    return folder


def _try_folder(folder: Path) -> None:
    """Write a file that is gone at once into a folder, made if needed and removed again."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    finally:
        for place in made:
            with suppress(OSError):
                place.rmdir()


def write(comparison: Comparison, folder: str | Path, *, force: bool = False) -> Written:
    """Write the report, the recommended model, the numbers and how to fit it again into a folder.

    The folder is made if needed. The files are written under other names first and take their places at
    the end: an error on the way leaves what was there before untouched, and no part of the new files.
    """
    from assay.persistence import save

    folder = check_folder(folder, force=force)
    places = Written(*(folder / name for name in FILES))
    page = render(comparison, model_path=str(places.model))
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".assay-", dir=folder, ignore_cleanup_errors=True) as scratch:
            drafts = Written(*(Path(scratch) / place.name for place in places))
            drafts.report.write_text(page, encoding="utf-8")
            drafts.results.write_text(to_json(comparison), encoding="utf-8")
            drafts.script.write_text(script(comparison), encoding="utf-8")
            drafts.notebook.write_text(notebook(comparison), encoding="utf-8")
            save(comparison.recommended.model, drafts.model, about=about_model(comparison))
            _take_places(drafts, places, Path(scratch))
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


def _take_places(drafts: Written, places: Written, scratch: Path) -> None:
    """Put every draft in its place, or leave every place as it was."""
    before = {place: scratch / f"before {place.name}" for place in places if place.exists()}
    for place, kept in before.items():
        shutil.copy2(place, kept)
    changed: list[Path] = []
    try:
        for draft, place in zip(drafts, places, strict=True):
            os.replace(draft, place)
            changed.append(place)
    except BaseException:
        for place in changed:
            if place in before:
                os.replace(before[place], place)
            else:
                place.unlink(missing_ok=True)
        raise
