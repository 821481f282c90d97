"""Saving and loading models: no pickle, nothing half-written, nothing read that is not known to be safe.

A model file is what skops writes, a zip of `schema.json` and arrays, with one more entry, `manifest.json`
(version of the format and of assay, class of the model, what was said about it), and a seal over every byte.
`skops.io.load` opens it as well. The seal finds damage; what keeps a hostile file from running code is that
only known types are ever built: classes of assay, the NumPy, SciPy and scikit-learn types that skops trusts,
NumPy's dtypes.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import assay
from assay.sealed_files import ModelFileError, read_sealed, unpack, write_sealed
from assay.trusted_types import is_own_class, untrusted_types

__all__ = ["ModelFileError", "about", "load", "save"]

FORMAT = 2
SCHEMA = "schema.json"
PAYLOAD = "model.skops"
"""The one entry of a file of format 1: a zip in the zip, with its digest in the manifest."""


class Seed(np.random.SeedSequence):
    """A `SeedSequence` that can be written to a model file."""

    def __init__(
        self,
        entropy: Any = None,
        spawn_key: tuple[int, ...] = (),
        pool_size: int = 4,
        n_children_spawned: int = 0,
    ) -> None:
        super().__init__(
            entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=n_children_spawned
        )

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
    _check_place(target)
    try:
        payload = skops_io.dumps(_portable(model))
    except Exception as error:
        raise ModelFileError(f"The model cannot be saved: {_sentence(error)}") from error
    strangers = untrusted_types(skops_io, payload)
    if strangers:
        raise ModelFileError(
            f"The model holds {_listed(strangers)}, which could not be loaded again; only estimators, arrays "
            "and plain values can be saved."
        )
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    # skops indents its schema, which doubles it.
    entries[SCHEMA] = json.dumps(json.loads(entries[SCHEMA]), separators=(",", ":")).encode()
    manifest = {
        "format": FORMAT,
        "assay": assay.__version__,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "about": dict(about or {}),
    }
    write_sealed(target, manifest, entries)


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
    found = manifest.get("about", {})
    return found if isinstance(found, dict) else {}


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
        If the file is missing, not a model file, damaged, of a newer format, or holds types that are not
        known to be safe.
    """
    skops_io = _skops()
    name = repr(str(path))
    manifest, payload = _read(Path(path))
    owner = str(manifest["class"])
    if owner.startswith("assay.") and not is_own_class(owner):
        raise ModelFileError(
            f"{name} holds a {owner}, which assay {assay.__version__} does not know; it was saved by assay "
            f"{manifest['assay']}."
        )
    try:
        strangers = untrusted_types(skops_io, payload)
    except Exception as error:
        raise ModelFileError(f"{name} cannot be read: {_sentence(error)}") from error
    if strangers:
        raise ModelFileError(f"{name} holds {_listed(strangers)}, which is not known to be safe to load.")
    try:
        model = skops_io.loads(payload, trusted=skops_io.get_untrusted_types(data=payload))
    except Exception as error:
        raise ModelFileError(f"{name} cannot be read: {_sentence(error)}") from error
    found = f"{type(model).__module__}.{type(model).__qualname__}"
    if found != owner:
        raise ModelFileError(f"{name} was changed after it was saved: it holds a {found} and says {owner}.")
    for part in _own_estimators(model):
        _check_attributes(part, name, str(manifest["assay"]))
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Saving and loading models needs skops: pip install 'assay[cli]'.", name="skops"
        ) from None
    return skops.io


def _check_place(target: Path) -> None:
    try:
        if not target.parent.is_dir():
            raise ModelFileError(
                f"The folder {str(target.parent)!r} does not exist; make it before saving there."
            )
        if target.is_dir():
            raise ModelFileError(f"{str(target)!r} is a folder; give the name of a file.")
    except OSError as error:  # links that lead in a circle, names too long
        raise ModelFileError(f"{str(target)!r} cannot be written to: {_sentence(error)}") from error


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The manifest, known to be complete and of a format we read, and what skops reads, in memory."""
    found, name = read_sealed(path), repr(str(path))
    manifest, entries = found.manifest, found.entries
    if not {"format", "assay", "class"} <= set(manifest):
        raise ModelFileError(f"{name} is damaged: its manifest is incomplete.")
    if not isinstance(manifest["format"], int) or manifest["format"] > FORMAT:
        raise ModelFileError(
            f"{name} has format {manifest['format']}, newer than the format {FORMAT} that assay "
            f"{assay.__version__} reads; it was saved by assay {manifest['assay']}: upgrade to that version."
        )
    if manifest["format"] == 1:
        entries = _entries_of_format_1(manifest, entries, name)
    elif not found.sealed:
        raise ModelFileError(f"{name} was changed after it was saved: it has lost its seal.")
    if SCHEMA not in entries:
        raise ModelFileError(f"{name} is damaged: it holds no model.")
    # skops gets an archive made here of what was read and checked, never the file.
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return manifest, buffer.getvalue()


def _entries_of_format_1(manifest: dict[str, Any], entries: dict[str, bytes], name: str) -> dict[str, bytes]:
    if PAYLOAD not in entries or "sha256" not in manifest:
        raise ModelFileError(f"{name} is damaged: its manifest is incomplete.")
    if hashlib.sha256(entries[PAYLOAD]).hexdigest() != manifest["sha256"]:
        raise ModelFileError(
            f"{name} was changed after it was saved: its contents do not match their digest."
        )
    return unpack(entries[PAYLOAD], name)[0]


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
    unknown = sorted(public - set(known))
    if unknown:
        raise ModelFileError(
            f"{name} holds a {type(model).__name__} with the parameter {unknown[0]!r}, which assay "
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
        changed = [_portable(item) for item in value]
        return value if all(map(_same, changed, value)) else type(value)(changed)
    if type(value) is dict:
        replaced = {key: _portable(item) for key, item in value.items()}
        return value if all(map(_same, replaced.values(), value.values())) else replaced
    if isinstance(value, BaseEstimator):
        attributes = {key: _portable(item) for key, item in vars(value).items()}
        if all(map(_same, attributes.values(), vars(value).values())):
            return value
        twin = copy.copy(value)
        vars(twin).update(attributes)
        return twin
    return value


def _same(first: Any, second: Any) -> bool:
    return first is second


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _sentence(error: BaseException) -> str:
    """What an error says, on one line, with a full stop."""
    return " ".join(str(error).split()).rstrip(".") + "."
