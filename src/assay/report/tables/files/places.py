"""Where a table is and what it is: a file by its ending, a folder, standard input, or nothing at all."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.report.errors import ReportError
from assay.report.tables.files.byte_streams import PACKED_ENDINGS, on_disk, opened
from assay.report.wording import listed, nearest

JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
PLAIN_ENDINGS = (".csv", ".tsv", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
ARROW_ENDINGS = (".feather", ".arrow", ".ipc")
EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
TEXT_ENDINGS = (*PLAIN_ENDINGS, *JSON_ENDINGS, *PACKED_ENDINGS)
KINDS = {"Parquet": PARQUET_ENDINGS, "Arrow": ARROW_ENDINGS, "Excel": EXCEL_ENDINGS, "text": TEXT_ENDINGS}
"""Kinds of files by their endings; text is CSV or lines of JSON."""

STANDARD_INPUT = "-"
OBJECT_OPENING = re.compile(rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*"[^"\n]*"\s*:')
JSON_OPENING = re.compile(rb"(\xef\xbb\xbf)?\s*(\{|\[\s*[\{\]])")


@contextmanager
def located(source: str | Path) -> Iterator[tuple[Any, str, str | None]]:
    """Where the bytes of a table are, its name and its kind: lines of text, else a path or an open file."""
    with ExitStack() as stack:
        place: Any = Path(source)
        kind: str | None
        if str(source) == STANDARD_INPUT:
            name = "standard input"
            place = stack.enter_context(opened(sys.stdin.buffer, name))
            marks = {b"PAR1": "Parquet", b"ARROW1": "Arrow"}
            kind = next((kind for mark, kind in marks.items() if place.opening.startswith(mark)), "text")
            if kind != "text":  # to be read in any order, which a stream cannot
                place = stack.enter_context(on_disk(place))
        else:
            name, kind = place.name or place.resolve().name, kind_of(place)
            if kind == "text":
                place = stack.enter_context(opened(place, name))
        if kind == "text":
            kind = "JSON" if _is_json(name, place.opening) else "CSV"
        yield place, name, kind


def _is_json(name: str, opening: bytes) -> bool:
    """Whether text is JSON: its ending says so, or says nothing and it begins as objects do."""
    bare = re.sub("(" + "|".join(map(re.escape, PACKED_ENDINGS)) + ")$", "", name.lower())
    if bare.endswith(PLAIN_ENDINGS):
        return OBJECT_OPENING.match(opening) is not None  # no header begins so
    return bare.endswith(JSON_ENDINGS) or JSON_OPENING.match(opening) is not None


def kind_of(path: Path) -> str | None:
    """Whether a path is "text", "Parquet", "Arrow", "Excel" or a "folder" of Parquet; None for nothing."""
    if path.is_dir():
        return "folder" if parquet_files(path) else None
    if not path.is_file():
        return None
    ending = path.name.lower()
    for kind, endings in KINDS.items():
        if ending.endswith(endings):
            return kind
    known = ", ".join((*PLAIN_ENDINGS, *JSON_ENDINGS, *EXCEL_ENDINGS, *PARQUET_ENDINGS, *ARROW_ENDINGS))
    raise ReportError(
        f"The ending of {path.name} does not tell what it is; it must be one of {known} "
        f"(text also packed: {', '.join(PACKED_ENDINGS)})."
    )


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files in a folder and the folders in it, by name."""
    paths = (path for ending in PARQUET_ENDINGS for path in folder.rglob(f"*{ending}"))
    # What begins with a dot or an underscore is a draft or a log, as Spark leaves them.
    return sorted(path for path in paths if path.is_file() and path.name[0] not in "._")


def require_one_kind(folder: Path) -> None:
    """Refuse a folder that holds tables of several kinds: which of them is meant only the user knows."""
    others = [
        path
        for path in sorted(folder.rglob("*"))
        if path.name[0] not in "._" and path.is_file() and not path.name.lower().endswith(PARQUET_ENDINGS)
        if path.name.lower().endswith(
            (*PLAIN_ENDINGS, *JSON_ENDINGS, *EXCEL_ENDINGS, *ARROW_ENDINGS, *PACKED_ENDINGS)
        )
    ]
    if others:
        raise ReportError(
            f"{folder} holds Parquet files and others ({listed([path.name for path in others], 3)}); give "
            "one file, or a folder of Parquet files alone."
        )


def not_there(name: str, path: Path, embedded: list[str]) -> ReportError:
    """The sentence for a table that is neither a file nor embedded, with the nearest that are."""
    if path.is_dir():
        tables = [item.name for item in sorted(path.iterdir()) if item.name.lower().endswith(TEXT_ENDINGS)]
        example = f", such as {path / tables[0]}" if tables else ""
        return ReportError(
            f"{name} is a folder without Parquet files; give one CSV, JSON, Excel, Parquet or Arrow "
            f"file{example}."
        )
    near = []
    with suppress(OSError):
        beside = [item.name for item in path.parent.iterdir()]
        near = [str(path.parent / item) for item in nearest(path.name, beside)]
    near += [item for item in nearest(name, embedded) if item not in near]
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    known = ", ".join(embedded)
    return ReportError(
        f"There is no file {name}, and no embedded table of that name (there are {known}).{hint}"
    )


def not_whole(name: str, kind: str) -> ReportError:
    """The error for a file that is not what its ending says."""
    if kind == "folder":
        return ReportError(f"The Parquet files of {name} cannot be read together (cut short, or unlike).")
    article = "an" if kind == "Arrow" else "a whole"
    return ReportError(f"{name} is not {article} {kind} file (cut short, or another format).")
