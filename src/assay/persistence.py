"""Saving and loading models: no pickle, nothing half-written, nothing built that is not known to be safe.

A model file is what skops writes, a zip of `schema.json` and arrays, with one more entry, `manifest.json`
(version of the format and of assay, class of the model, what was said about it). The comment of the zip, its
last bytes, holds the SHA-256 of all bytes before. `skops.io.load` opens the file as well.

The checksum protects against damage: a file that was cut short or changed is refused. It does not protect
against malice, as whoever rewrites a file can compute it again. What keeps a hostile file from running code
is that only known types are ever built: classes of assay that only hold values, the NumPy, SciPy and
scikit-learn types that skops trusts, NumPy's dtypes.
"""

from __future__ import annotations

import copy
import errno
import hashlib
import importlib
import inspect
import io
import json
import os
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import assay
from assay.certificates import Certificates

__all__ = ["ModelFileError", "about", "load", "save"]

FORMAT = 4
SCHEMA, MANIFEST = "schema.json", "manifest.json"
CHECKSUM = b"sha256 of the bytes before: "
EARLIER_CHECKSUM = b"assay seal, sha256 of what stands before: "
DIGITS = 64
MAX_TEXT = 2**30
"""Bytes that the compressed entries of a file, its texts, may unpack to."""

OTHER_TRUSTED = frozenset({"numpy.dtype"})


class ModelFileError(ValueError):
    """A model cannot be written to, or read from, a file."""


class Seed(np.random.SeedSequence):
    """A `SeedSequence` that can be written to a model file."""

    def __init__(
        self, entropy: Any = None, spawn_key: Any = (), pool_size: int = 4, n_children_spawned: int = 0
    ) -> None:
        counts = {"pool_size": pool_size, "n_children_spawned": n_children_spawned}
        super().__init__(entropy, spawn_key=spawn_key, **counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Seed, (self.entropy, tuple(self.spawn_key), self.pool_size, self.n_children_spawned)


def save(model: Any, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None) -> None:
    """Write a model, fitted or not, to a file.

    The file appears whole or not at all; one that was there before is replaced at the end.

    Parameters
    ----------
    model : estimator
        A model of assay, or a scikit-learn pipeline or meta-estimator around one.
    path : path
        Where to; the folder must exist. Customary ending: `.skops`.
    about : mapping, optional
        What to keep beside the model, as plain values that JSON can hold; see `about`.

    Raises
    ------
    ModelFileError
        If the model holds something that `load` would refuse, such as a function of your own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import Ridge
    >>> import assay
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "model.skops")
    ...     assay.save(Ridge(alpha=2.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), file)
    ...     assay.load(file).predict([[1.0]])
    array([1.])
    """
    skops_io = _skops()
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"Only estimators can be saved. Got a {type(model).__name__} instead.")
    target = Path(path)
    try:
        if not target.parent.is_dir():
            missing = f"The folder {str(target.parent)!r} does not exist"
            raise ModelFileError(f"{missing}; make it before saving there.")
        if target.is_dir():
            raise ModelFileError(f"{str(target)!r} is a folder; give the name of a file.")
    except OSError as error:  # links that lead in a circle, names too long
        raise ModelFileError(f"{str(target)!r} cannot be written to: {_sentence(error)}") from error
    try:
        payload = skops_io.dumps(_portable(model))
    except Exception as error:
        raise ModelFileError(f"The model cannot be saved: {_sentence(error)}") from error
    strangers = untrusted_types(skops_io, payload)
    if strangers:
        words = "which could not be loaded again; only estimators, arrays and plain values can be saved."
        raise ModelFileError(f"The model holds {_listed(strangers)}, {words}")
    manifest = {
        "format": FORMAT,
        "assay": assay.__version__,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "about": dict(about or {}),
    }
    entries = _entries(payload)
    # skops indents its schema, which doubles it.
    entries[SCHEMA] = json.dumps(json.loads(entries[SCHEMA]), separators=(",", ":")).encode()
    write_archive(target, {MANIFEST: json.dumps(manifest, indent=1).encode(), **entries})


def about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was saved beside a model: an empty dict when nothing was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.linear_model import Ridge
    >>> import assay
    >>> from assay.persistence import about
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "model.skops")
    ...     assay.save(Ridge(), file, about={"target": "price"})
    ...     about(file)
    {'target': 'price'}
    """
    manifest, _ = _read(Path(path))
    kept = manifest.get("about", {})
    return kept if isinstance(kept, dict) else {}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; no code of the file is ever run.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model : estimator
        As it was saved: parameters, fitted attributes, feature names, certificates.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of a newer format, or holds types that are not known to be safe.
    """
    skops_io = _skops()
    name = repr(str(path))
    manifest, payload = _read(Path(path))
    owner = current_home(str(manifest["class"]))
    if owner.startswith("assay.") and not is_own_class(owner):
        unknown = f"which assay {assay.__version__} does not know"
        raise ModelFileError(f"{name} holds a {owner}, {unknown}; it was saved by assay {manifest['assay']}.")
    try:
        payload = _with_current_homes(payload)
        strangers = untrusted_types(skops_io, payload)
        if not strangers:
            model = skops_io.loads(payload, trusted=skops_io.get_untrusted_types(data=payload))
    except Exception as error:
        raise ModelFileError(f"{name} cannot be read: {_sentence(error)}") from error
    if strangers:
        raise ModelFileError(f"{name} holds {_listed(strangers)}, which is not known to be safe to load.")
    held = f"{type(model).__module__}.{type(model).__qualname__}"
    if held != owner:
        raise ModelFileError(f"{name} was changed after it was saved: it holds a {held} and says {owner}.")
    for part in _own_estimators(model):
        _check_attributes(part, name, str(manifest["assay"]))
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ModuleNotFoundError:
        words = "Saving and loading models needs skops: pip install 'assay[cli]'."
        raise ModuleNotFoundError(words, name="skops") from None
    return skops.io


def write_archive(target: Path, entries: Mapping[str, bytes]) -> None:
    """Write beside the target, then take its place in one step; an error leaves what was there before."""
    content = _packed(entries)
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


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The manifest, known to be complete and of a format we read, and all bytes of the file, for skops."""
    name = repr(str(path))
    content = _content(path, name)
    refused = f"{name} is not a model file:"
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError(f"{refused} it was not written by assay.save.")
    # A zip ends in a record that announces the length of the comment after it.
    end = content.rfind(b"PK\x05\x06")
    if end < 0 or len(content) < end + 22 + int.from_bytes(content[end + 20 : end + 22], "little"):
        raise ModelFileError(f"{refused} it is truncated.")
    if not content[:-DIGITS].endswith((CHECKSUM, EARLIER_CHECKSUM)):
        raise ModelFileError(f"{refused} it was not written by assay.save, or packed anew since.")
    if content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ModelFileError(f"{name} was changed after it was saved: it does not match its checksum.")
    # From here on the file is as someone wrote it; who that was is not known.
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(item.file_size for item in archive.infolist()) > len(content) + MAX_TEXT:
                raise ModelFileError(f"{refused} its entries would unpack to more than a model file holds.")
            missing = "it holds no model." if SCHEMA not in archive.namelist() else ""
            manifest = json.loads(archive.read(MANIFEST))
    except ModelFileError:
        raise
    except Exception as error:  # zipfile, zlib and json each have their own
        raise ModelFileError(f"{name} is damaged: {_sentence(error)}") from error
    if not isinstance(manifest, dict) or not {"format", "assay", "class"} <= set(manifest):
        missing = "its manifest is incomplete."
    if missing:
        raise ModelFileError(f"{name} is damaged: {missing}")
    if not isinstance(manifest["format"], int) or manifest["format"] > FORMAT:
        raise ModelFileError(
            f"{name} has format {manifest['format']}, newer than the format {FORMAT} that assay "
            f"{assay.__version__} reads; it was saved by assay {manifest['assay']}: upgrade to that version."
        )
    return manifest, content


def _packed(entries: Mapping[str, bytes]) -> bytes:
    """A zip of the entries, arrays as they are and texts compressed, that ends in its checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            method = zipfile.ZIP_DEFLATED if name.endswith(".json") else zipfile.ZIP_STORED
            archive.writestr(name, content, compress_type=method)
        archive.comment = CHECKSUM + b"0" * DIGITS
    content = buffer.getvalue()[:-DIGITS]
    return content + _digest(content)


def _entries(payload: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _content(path: Path, name: str) -> bytes:
    try:
        if path.is_file():
            return path.read_bytes()
    except OSError as error:  # no permission, links that lead in a circle, a disk that fails
        if error.errno != errno.ENOENT:
            words = (error.strerror or str(error)).lower()
            raise ModelFileError(f"{name} cannot be read: {words}.") from error
    raise ModelFileError(f"There is no model file {name}.")


def untrusted_types(skops_io: Any, payload: bytes) -> list[str]:
    """Types of a payload that are neither trusted by skops nor our own; nothing is built to learn them."""
    names = skops_io.get_untrusted_types(data=payload)
    return [name for name in names if name not in OTHER_TRUSTED and not is_own_class(name)]


def is_own_class(name: str) -> bool:
    """Whether a name is a class of values that a module of assay defines, and not something it imports.

    Functions are not trusted: a payload could have them called with arguments of its choice. Nor is a class
    that does something when it is made, such as opening a file, whatever it is given.

    Examples
    --------
    >>> from assay.persistence import is_own_class
    >>> [is_own_class(f"assay.persistence.{name}") for name in ("Seed", "Path", "save")]
    [True, False, False]
    """
    module_name, _, class_name = name.rpartition(".")
    parts = module_name.split(".")
    if parts[0] != "assay" or len(parts) < 2 or any(part.startswith("__") for part in parts):
        return False
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    if not isinstance(kind, type) or kind.__module__ != module_name:
        return False
    return is_dataclass(kind) or issubclass(kind, (BaseEstimator, tuple, Certificates, Seed))


def current_home(name: str) -> str:
    """The public name of a class of assay that was saved under the file it lived in; of others, the name."""
    module, _, kind = name.rpartition(".")
    while module.startswith("assay."):
        if is_own_class(f"{module}.{kind}"):
            return f"{module}.{kind}"
        module = module.rpartition(".")[0]
    return name


def _with_current_homes(payload: bytes) -> bytes:
    """A payload in which every class of assay is named by its public home: files move, models stay."""
    moves: list[str] = []

    def moved(node: dict[str, Any]) -> dict[str, Any]:
        module, kind = node.get("__module__"), node.get("__class__")
        if isinstance(module, str) and isinstance(kind, str) and module.startswith("assay."):
            home = current_home(f"{module}.{kind}").removesuffix(f".{kind}")
            if home != module:
                node["__module__"] = home
                moves.append(home)
        return node

    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        schema = json.loads(archive.read(SCHEMA), object_hook=moved)
    return _packed({**_entries(payload), SCHEMA: json.dumps(schema).encode()}) if moves else payload


def _own_estimators(value: Any) -> Iterator[BaseEstimator]:
    """The estimators of assay in a model, itself among them."""
    if isinstance(value, BaseEstimator):
        if type(value).__module__.partition(".")[0] == "assay":
            yield value
        for item in list(vars(value).values()):
            yield from _own_estimators(item)
    elif type(value) in (list, tuple):
        for item in value:
            yield from _own_estimators(item)


def _check_attributes(model: BaseEstimator, name: str, saved_by: str) -> None:
    """Refuse parameters of another version; give those that came since the file was saved their default."""
    if saved_by == assay.__version__:
        return
    known = inspect.signature(type(model)).parameters
    public = {key for key in vars(model) if not key.startswith("_") and not key.endswith("_")}
    for key in sorted(public - set(known)):
        raise ModelFileError(
            f"{name} holds a {type(model).__name__} with the parameter {key!r}, which assay "
            f"{assay.__version__} does not know; it was saved by assay {saved_by}."
        )
    for key, parameter in known.items():
        if key not in vars(model) and parameter.default is not inspect.Parameter.empty:
            setattr(model, key, parameter.default)


def _portable(value: Any) -> Any:
    """The same value with every `SeedSequence` in it written as a `Seed`; nothing is changed in place."""
    if isinstance(value, np.random.SeedSequence):
        return Seed(value.entropy, tuple(value.spawn_key), value.pool_size, value.n_children_spawned)
    if type(value) in (list, tuple):
        return type(value)(map(_portable, value))
    if type(value) is dict:
        return {key: _portable(item) for key, item in value.items()}
    if isinstance(value, BaseEstimator):
        twin = copy.copy(value)
        vars(twin).update({key: _portable(item) for key, item in vars(value).items()})
        return twin
    return value


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _sentence(error: BaseException) -> str:
    """What an error says, on one line, with a full stop."""
    return " ".join(str(error).split()).rstrip(".") + "."
