"""Saving and loading models: no pickle, nothing half-written, nothing read that is not known to be safe.

A model file is a zip of two entries: `manifest.json` (version of the format and of assay, class of the model,
SHA-256 of the payload) and `model.skops`, the payload written by skops. The digest finds damage; what keeps a
hostile file from running code is that only known types are ever built: classes of assay, the NumPy, SciPy and
scikit-learn types that skops trusts, NumPy's dtypes.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import os
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import assay

__all__ = ["ModelFileError", "about", "load", "save"]

FORMAT = 1
MANIFEST, PAYLOAD = "manifest.json", "model.skops"
OTHER_TRUSTED = frozenset({"numpy.dtype"})


class ModelFileError(ValueError):
    """A model cannot be written to, or read from, a file."""


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
        Where to; the folder must exist. Customary ending: `.assay`.
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
    ...     file = Path(folder, "model.assay")
    ...     assay.save(Ridge(alpha=2.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]), file)
    ...     assay.load(file).predict([[1.0]])
    array([1.])
    """
    skops_io = _skops()
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"Only estimators can be saved. Got a {type(model).__name__} instead.")
    target = Path(path)
    if not target.parent.is_dir():
        raise ModelFileError(
            f"The folder {str(target.parent)!r} does not exist; make it before saving there."
        )
    if target.is_dir():
        raise ModelFileError(f"{str(target)!r} is a folder; give the name of a file.")
    try:
        payload = skops_io.dumps(_portable(model))
    except Exception as error:
        raise ModelFileError(f"The model cannot be saved: {_sentence(error)}") from error
    strangers = _untrusted(skops_io, payload)
    if strangers:
        raise ModelFileError(
            f"The model holds {_listed(strangers)}, which could not be loaded again; only estimators, arrays "
            "and plain values can be saved."
        )
    manifest = {
        "format": FORMAT,
        "assay": assay.__version__,
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "sha256": hashlib.sha256(payload).hexdigest(),
        "about": dict(about or {}),
    }
    _write_whole(target, manifest, payload)


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
    ...     file = Path(folder, "model.assay")
    ...     assay.save(Ridge(), file, about={"target": "price"})
    ...     about(file)
    {'target': 'price'}
    """
    manifest, _ = _read(Path(path), repr(str(path)))
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
    manifest, payload = _read(Path(path), name)
    if hashlib.sha256(payload).hexdigest() != manifest["sha256"]:
        raise ModelFileError(
            f"{name} was changed after it was saved: its contents do not match their digest."
        )
    owner = str(manifest["class"])
    if owner.startswith("assay.") and not _is_own_class(owner):
        raise ModelFileError(
            f"{name} holds a {owner}, which assay {assay.__version__} does not know; it was saved by assay "
            f"{manifest['assay']}."
        )
    try:
        strangers = _untrusted(skops_io, payload)
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
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Saving and loading models needs skops: pip install 'assay[cli]'.", name="skops"
        ) from None
    return skops.io


def _write_whole(target: Path, manifest: dict[str, Any], payload: bytes) -> None:
    """Write beside the target, then take its place in one step."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(draft, "xb") as file:
            # Compressed: the payload is a zip itself, and its end mark must not pass for ours in a torn file.
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
                archive.writestr(PAYLOAD, payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _read(path: Path, name: str) -> tuple[dict[str, Any], bytes]:
    """The manifest, known to be complete and of a format we read, and the payload."""
    if not path.is_file():
        raise ModelFileError(f"There is no model file {name}.")
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            begins_well = file.read(4) == b"PK\x03\x04"
        reason = "it is truncated" if begins_well else "it was not written by assay.save"
        raise ModelFileError(f"{name} is not a model file: {reason}.")
    try:
        with zipfile.ZipFile(path) as archive:
            if not {MANIFEST, PAYLOAD} <= set(archive.namelist()):
                raise ModelFileError(f"{name} is not a model file: it was not written by assay.save.")
            manifest = json.loads(archive.read(MANIFEST))
            payload = archive.read(PAYLOAD)
    except ModelFileError:
        raise
    except Exception as error:  # zipfile, zlib and json each have their own
        raise ModelFileError(f"{name} is damaged: {_sentence(error)}") from error
    if not isinstance(manifest, dict) or not {"format", "assay", "class", "sha256"} <= set(manifest):
        raise ModelFileError(f"{name} is damaged: its manifest is incomplete.")
    if not isinstance(manifest["format"], int) or manifest["format"] > FORMAT:
        raise ModelFileError(
            f"{name} has format {manifest['format']}, newer than the format {FORMAT} that assay "
            f"{assay.__version__} reads; it was saved by assay {manifest['assay']}: upgrade to that version."
        )
    return manifest, payload


def _untrusted(skops_io: Any, payload: bytes) -> list[str]:
    """Types of a payload that are neither trusted by skops nor our own; nothing is built to find out."""
    found = skops_io.get_untrusted_types(data=payload)
    return [name for name in found if name not in OTHER_TRUSTED and not _is_own_class(name)]


def _is_own_class(name: str) -> bool:
    """Whether a name is a class that a module of assay defines, and not something it merely imports.

    Functions are not trusted: a payload could have them called with arguments of its choice.
    """
    module_name, _, class_name = name.rpartition(".")
    parts = module_name.split(".")
    if parts[0] != "assay" or len(parts) < 2 or any(part.startswith("__") for part in parts):
        return False
    try:
        found = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type) and found.__module__ == module_name


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
