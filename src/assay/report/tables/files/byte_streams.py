"""The bytes of a table: unpacked, their opening looked at before the rest, and no line without end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from assay.report.errors import ReportError

OPENING_BYTES = 2**20
"""A table has at least one end of line in so many bytes."""

MAX_LINE_BYTES = 2**26
"""No line of a table is longer."""

PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zip", ".zst")
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a damaged file raises."""


class Joined(io.RawIOBase):
    """Bytes that were read ahead, then the rest of the file."""

    def __init__(self, opening: bytes, rest: Any) -> None:
        super().__init__()
        self.opening = opening
        self._ahead, self._rest = memoryview(opening), rest

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and tell how many bytes there were."""
        view = memoryview(buffer)
        if self._ahead:
            size = min(len(view), len(self._ahead))
            view[:size], self._ahead = self._ahead[:size], self._ahead[size:]
            return size
        piece = self._rest.read(len(view))
        view[: len(piece)] = piece
        return len(piece)


class LineReader(Joined):
    """Bytes of lines: refuses one that does not end, before it fills the memory."""

    def __init__(self, opening: bytes, rest: Any, name: str) -> None:
        super().__init__(opening, rest)
        self._name, self._open = name, 0

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer and tell how many bytes there were."""
        size = super().readinto(buffer)
        piece = bytes(memoryview(buffer)[:size])
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self._open = self._open + size if last < 0 else size - last - 1
        if self._open > MAX_LINE_BYTES:
            raise ReportError(f"{self._name} has a line of more than {MAX_LINE_BYTES} bytes; it is no table.")
        return size


@contextmanager
def opened(place: Path | IO[bytes], name: str) -> Iterator[LineReader]:
    """Open a file or a stream, unpacked if it is packed, with its opening read.

    What it is packed with is told from its first bytes. A stream is read once, from front to back.
    """
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(open(place, "rb")) if isinstance(place, Path) else place
            first = fully_read(raw, 6)
            plain: Any = Joined(first, raw)
            for mark, unpacked in UNPACKED.items():
                if first.startswith(mark):
                    plain = stack.enter_context(unpacked(io.BufferedReader(Joined(first, raw)), name))
            opening = fully_read(plain, OPENING_BYTES)
        except BROKEN as error:
            raise ReportError(f"{name} cannot be read: {reason_of(error)}.") from error
        yield LineReader(opening, plain, name)


def fully_read(file: Any, size: int) -> bytes:
    """So many bytes, or all there are; a pipe gives them in pieces."""
    whole = bytearray()
    while len(whole) < size and (piece := file.read(size - len(whole))):
        whole += piece
    return bytes(whole)


def reason_of(error: BaseException) -> str:
    """What an error says, to stand after a colon."""
    return str(getattr(error, "strerror", None) or error).strip().rstrip(".").lower() or "it is damaged"


def on_disk(stream: Any) -> IO[bytes]:
    """A copy of a stream that can be read in any order; it is gone when it is closed."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    shutil.copyfileobj(stream, copy, OPENING_BYTES)
    copy.seek(0)
    return copy


@contextmanager
def _only_member(packed: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """The one file in a zip, whose directory stands at its end: a stream is kept on the disk first."""
    with on_disk(packed) as copy, zipfile.ZipFile(copy) as archive:
        # A Mac adds files of its own, which begin with a dot or lie in a folder of theirs.
        members = [
            item
            for item in archive.infolist()
            if not (
                item.is_dir() or item.filename.startswith("__MACOSX/") or Path(item.filename).name[0] == "."
            )
        ]
        if any(item.filename == "[Content_Types].xml" for item in members):
            raise ReportError(f"{name} is a workbook; save it to a file whose name ends in .xlsx.")
        if len(members) != 1:
            raise ReportError(f"{name} holds {len(members)} files; a packed table must hold one.")
        if members[0].flag_bits & 1:
            raise ReportError(f"{name} is locked with a password; unpack it first.")
        with archive.open(members[0]) as file:
            yield file


@contextmanager
def _zstandard(packed: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """A stream of Zstandard, which pyarrow unpacks."""
    try:
        import pyarrow as pa
    except ImportError as error:  # pragma: no cover
        raise ReportError(f"{name} is packed by Zstandard, which needs pip install 'assay[cli]'.") from error
    with pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd") as file:
        yield file


UNPACKED: dict[bytes, Callable[[Any, str], Any]] = {
    b"\x1f\x8b": lambda packed, name: gzip.GzipFile(fileobj=packed),
    b"BZh": lambda packed, name: bz2.BZ2File(packed),
    b"\xfd7zXZ\x00": lambda packed, name: lzma.LZMAFile(packed),  # noqa: SIM115
    b"PK\x03\x04": _only_member,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
"""How packed files are opened, by what they begin with."""
