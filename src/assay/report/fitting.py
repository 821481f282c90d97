"""Fitting one estimator, by its name, to a table, and saving it."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from assay.certificates import Certificates
from assay.report.errors import ReportError
from assay.report.methods import find_method
from assay.report.parameter_values import parse_parameters
from assay.report.results import about_fit
from assay.report.tables.data import Data, Task, choose_data
from assay.report.tables.encoder import ClusterEncoder, PlainEncoder, TableEncoder
from assay.report.tables.reading import read_table
from assay.report.trials.comparison import certificates_of


class FittedTable(NamedTuple):
    """What `fit_table` made: the model, what it proves, where it is, and what was decided on the way."""

    model: Pipeline
    certificates: Certificates
    path: Path
    task: Task
    notes: tuple[str, ...]


def fit_table(
    method: str,
    source: str | Path,
    *,
    target: str | None = None,
    task: str = "auto",
    parameters: Mapping[str, Any] | None = None,
    drop: Sequence[str] = (),
    output: str | Path,
    force: bool = False,
    seed: int = 0,
) -> FittedTable:
    """Fit one estimator of the library to a table and save it with all that is needed to use it.

    The columns become standardised numbers as in a comparison, learnt from the rows of the table. The file
    holds the model, what its columns are, the fingerprint of the table, the versions and the certificates.

    Parameters
    ----------
    method : str
        Name of a regressor, a classifier or a clustering, in capitals or not.
    source : path
        As in `read_table`.
    target : str, optional
        Column to predict; the one that an embedded table declares by default.
    task : {"auto", "regression", "classification", "clustering"}
        If given, it must be what the method does.
    parameters : mapping of str to value
        Parameters of the estimator, as values or as texts.
    drop : sequence of str
        Columns to leave out.
    output : path
        The model file; it appears whole or not at all.
    force : bool, default=False
        Whether a file of that name may be replaced.
    seed : int, default=0
        Seed of an estimator that draws; a `random_state` among the parameters goes before it.

    Returns
    -------
    fitted : FittedTable

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from assay.report import fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "ridge.skops")
    ...     fitted = fit_table("ridge", "diabetes", parameters={"alpha": "0.1"}, output=place)
    >>> fitted.model[-1], fitted.certificates.holds
    (Ridge(alpha=0.1), True)
    """
    place = check_file(output, force=force)
    kind = estimator(method)
    asked = task_of(kind, task)
    model = make(kind, parameters or {}, seed)
    chosen, data = choose_data(read_table(source, without=drop), target=target, task=asked, drop=drop)
    pipeline, notes = fit(model, data)
    certificates = certificates_of(pipeline)
    save_fit(pipeline, place, about_fit(data, chosen, kind.__name__, certificates))
    return FittedTable(pipeline, certificates, place, chosen, (*data.notes, *notes))


def check_file(output: str | Path, *, force: bool = False) -> Path:
    """Refuse a model file that cannot be written, before any work is done."""
    place = Path(output)
    try:
        if place.is_dir():
            raise ReportError(f"The output {place} is a folder; name a file with --output.")
        folder = place.absolute().parent
        if not folder.is_dir():
            raise ReportError(f"The folder {place.parent} does not exist; name another with --output.")
        if not os.access(folder, os.W_OK):
            raise ReportError(f"The folder {place.parent} cannot be written to; name another with --output.")
        if os.path.lexists(place) and not force:
            raise ReportError(f"{place} exists; name another file with --output, or replace it with --force.")
    except OSError as error:  # a name too long, links that lead in a circle
        raise ReportError(
            f"The model cannot be written to {place}: {error.strerror or error}; name another with --output."
        ) from error
    return place


def estimator(method: str) -> type:
    """The class of a method that answers a question about a table; a sentence for one that does not."""
    entry = find_method(method)
    if entry.task == "transformation" and entry.family != "cluster":
        raise ReportError(
            f"{entry.name} turns columns into features and answers no question by itself; "
            "use it in a scikit-learn Pipeline before a model."
        )
    return entry.kind


def task_of(kind: type, task: str = "auto") -> Task:
    """What an estimator does; refuses a wish that is something else."""
    made = kind()
    does: Task = "clustering"
    if is_classifier(made):
        does = "classification"
    elif is_regressor(made):
        does = "regression"
    if task not in ("auto", does):
        raise ReportError(f"{kind.__name__} is for {does}, not for {task}; leave out --task.")
    return does


def make(kind: type, given: Mapping[str, Any], seed: int) -> Any:
    """The estimator with the parameters given, and the seed if it draws."""
    settings = parse_parameters(kind, given)
    if "random_state" in inspect.signature(kind).parameters:
        settings.setdefault("random_state", seed)
    return kind(**settings)


def fit(model: Any, data: Data) -> tuple[Pipeline, tuple[str, ...]]:
    """Encode the columns and fit; the warnings of the fit come back as notes."""
    pipeline = Pipeline([("table", _encoder_for(model, data)), ("model", model)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pipeline.fit(data.X, data.y)
        except ReportError:
            raise
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ReportError(f"{type(model).__name__} cannot be fitted to {data.name}: {reason}.") from error
        except MemoryError as error:
            raise ReportError(
                f"{type(model).__name__} needs more memory than there is for the {len(data.X)} rows of "
                f"{data.name}; take fewer rows, or a method that does not look at all pairs of them."
            ) from error
    return pipeline, tuple(dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught))


def _encoder_for(model: Any, data: Data) -> TableEncoder:
    if get_tags(model).input_tags.positive_only:  # counts or similarities
        return PlainEncoder(data.columns)
    # Without a target there are distances to keep in proportion.
    return ClusterEncoder(data.columns) if data.y is None else TableEncoder(data.columns)


def save_fit(model: Any, place: Path, about: Mapping[str, Any]) -> None:
    """Save a model; what the disk refuses is said in a sentence."""
    from assay.persistence import save

    try:
        save(model, place, about=about)
    except OSError as error:
        raise ReportError(f"The model cannot be written to {place}: {error.strerror or error}.") from error
