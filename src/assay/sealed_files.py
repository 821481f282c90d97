"""Sealed files: named entries and a manifest in one zip, written whole, read only when not a byte changed.

The file is an ordinary zip whose comment, its last bytes, holds the SHA-256 of all bytes before: the seal. It
tells damage, not authors: who rewrites a file can seal it again. What is read is therefore bounded as well.
Names are plain, no entry stands twice, arrays are stored as they are and only texts are compressed, up to a
limit: a small file cannot unpack to a large one.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ModelFileError", "Sealed", "read_sealed", "unpack", "write_sealed"]

MANIFEST = "manifest.json"
SEAL = b"assay seal, sha256 of what stands before: "
DIGITS = 64
PLAIN_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")
MAX_TEXT = 2**28
"""Bytes that a compressed entry may unpack to."""

MAX_ARRAYS = 2**32
"""Bytes that the compressed arrays of a model, those of sparse matrices, may unpack to."""

CHUNK = 2**20
TOO_LARGE = "{name} is not a model file: its entries would unpack to more than a model file holds."


class ModelFileError(ValueError):
    """A model cannot be written to, or read from, a file."""


class Sealed(NamedTuple):
    """What a file holds, and whether it was sealed (files of the first format were not)."""

    manifest: dict[str, Any]
    entries: dict[str, bytes]
    sealed: bool


def write_sealed(target: Path, manifest: Mapping[str, Any], entries: Mapping[str, bytes]) -> None:
    """Write beside the target, then take its place in one step; an error leaves what was there before."""
    content = _packed(manifest, entries)
    draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_sealed(path: Path) -> Sealed:
    """Read a file that `write_sealed` wrote; anything else is told in a sentence.

    Raises
    ------
    ModelFileError
        If the file is missing, foreign, cut short or changed, or would unpack to more than it may.
    """
    name = repr(str(path))
    content = _content(path, name)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        cut = content.startswith(b"PK\x03\x04")
        reason = "it is truncated" if cut else "it was not written by assay.save"
        raise ModelFileError(f"{name} is not a model file: {reason}.")
    entries, comment = unpack(content, name)
    if MANIFEST not in entries:
        raise ModelFileError(f"{name} is not a model file: it was not written by assay.save.")
    try:
        manifest = json.loads(entries.pop(MANIFEST))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name} is damaged: its manifest is no JSON.") from error
    if not isinstance(manifest, dict):
        raise ModelFileError(f"{name} is damaged: its manifest is incomplete.")
    if 0 < len(comment) < len(SEAL) + DIGITS and SEAL.startswith(comment[: len(SEAL)]):
        raise ModelFileError(f"{name} is not a model file: it is truncated.")
    sealed = comment.startswith(SEAL)
    if sealed and content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ModelFileError(
            f"{name} was changed after it was saved: its contents do not match their digest."
        )
    return Sealed(manifest, entries, sealed)


def unpack(content: bytes, name: str) -> tuple[dict[str, bytes], bytes]:
    """The entries of a zip and its comment, within the bounds of a model file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive, len(content), name)
            entries = {item.filename: _unpacked(archive, item, name) for item in archive.infolist()}
            comment = archive.comment
    except ModelFileError:
        raise
    except Exception as error:  # zipfile and zlib each have their own
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFileError(f"{name} is damaged: {reason}.") from error
    _check_matrices(entries, name)
    return entries, comment


def _packed(manifest: Mapping[str, Any], entries: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {MANIFEST: json.dumps(manifest, indent=1).encode(), **entries}.items():
            is_text = name.endswith(".json")
            if is_text and len(content) > MAX_TEXT:
                raise ModelFileError(
                    f"The model cannot be saved: its {name} has {len(content)} bytes, more than {MAX_TEXT}."
                )
            method = zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
            archive.writestr(name, content, compress_type=method)
        archive.comment = SEAL + b"0" * DIGITS
    content = buffer.getvalue()[:-DIGITS]
    return content + _digest(content)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _content(path: Path, name: str) -> bytes:
    try:
        if not path.is_file():
            raise ModelFileError(f"There is no model file {name}.")
        return path.read_bytes()
    except OSError as error:  # no permission, links that lead in a circle, a disk that fails
        if error.errno == errno.ENOENT:
            raise ModelFileError(f"There is no model file {name}.") from error
        raise ModelFileError(f"{name} cannot be read: {(error.strerror or str(error)).lower()}.") from error


def _check_directory(archive: zipfile.ZipFile, size: int, name: str) -> None:
    """Refuse names that are paths, names that stand twice, and entries larger than the file can hold."""
    items = archive.infolist()
    strange = [item.filename for item in items if not PLAIN_NAME.fullmatch(item.filename)]
    if strange:
        raise ModelFileError(
            f"{name} is not a model file: it holds an entry {strange[0]!r}, which is no plain name."
        )
    if len({item.filename for item in items}) < len(items):
        raise ModelFileError(f"{name} was changed after it was saved: an entry stands in it twice.")
    stored = sum(item.file_size for item in items if item.compress_type == zipfile.ZIP_STORED)
    packed = [item for item in items if item.compress_type != zipfile.ZIP_STORED]
    large = [item.filename for item in packed if item.file_size > MAX_TEXT]
    if stored > size or large or sum(item.compress_size for item in items) > size:
        raise ModelFileError(TOO_LARGE.format(name=name))


def _unpacked(archive: zipfile.ZipFile, item: zipfile.ZipInfo, name: str) -> bytes:
    """The bytes of an entry, read in pieces: no more than it declares, whatever it packs."""
    pieces, size = [], 0
    with archive.open(item) as file:
        while piece := file.read(CHUNK):
            pieces.append(piece)
            size += len(piece)
    if size != item.file_size:
        raise ModelFileError(f"{name} is damaged: the entry {item.filename} is not as long as it says.")
    return b"".join(pieces)


def _check_matrices(entries: Mapping[str, bytes], name: str) -> None:
    """Refuse compressed arrays (those of sparse matrices) that would unpack to more than a model holds."""
    total = 0
    for content in entries.values():
        if content.startswith(b"PK"):
            try:
                with zipfile.ZipFile(io.BytesIO(content)) as inner:
                    total += sum(item.file_size for item in inner.infolist())
            except zipfile.BadZipFile as error:
                raise ModelFileError(f"{name} is damaged: one of its arrays cannot be read.") from error
    if total > MAX_ARRAYS:
        raise ModelFileError(TOO_LARGE.format(name=name))
