"""Measuring the certificates of a saved model afresh, on the table that it was fitted on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.report.errors import ReportError
from assay.report.results import fingerprint_of
from assay.report.tables.data import TASKS, open_target
from assay.report.tables.encoder import TableEncoder
from assay.report.tables.reading import RawTable, read_table


class SavedModel(NamedTuple):
    """A saved model, and what was kept beside it."""

    model: Pipeline
    about: dict[str, Any]


def certify_table(path: str | Path, source: str | Path) -> Certificates:
    """Measure every certificate of a saved model on its table, expensive ones included.

    Nothing that the fit measured is taken over: the table is encoded again and the fitted attributes are
    held against it. The table must be that of the fit, row by row; its file and its format may be others.

    Parameters
    ----------
    path : path
        A model that `assay compare` or `assay fit` saved.
    source : path
        As in `read_table`.

    Returns
    -------
    certificates : Certificates

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from assay.report import certify_table, fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = fit_table("Ridge", "diabetes", output=Path(folder, "ridge.skops")).path
    ...     certify_table(place, "diabetes").holds
    True
    """
    fitted = open_fitted(path)
    encoder, final = fitted.model[0], fitted.model[-1]
    if not hasattr(final, "certify"):
        raise ReportError(f"{type(final).__name__} carries no certificates; there is nothing to measure.")
    table = read_table(source)
    X, y = _rows_of_the_fit(table, encoder, fitted.about)
    if fingerprint_of(X, y, encoder.columns) != fitted.about["fingerprint"]:
        raise ReportError(
            f"{table.name} is not the table that the model was fitted on "
            f"({fitted.about.get('table', 'another')}, {fitted.about.get('n_rows', 'other')} rows): "
            "certificates are about the rows of the fit; name that table."
        )
    features = encoder.transform(X)
    try:
        return final.certify(features) if y is None else final.certify(features, y)
    except NotImplementedError as error:
        raise ReportError(
            f"{type(final).__name__} measures its certificates at the fit only; leave out the table."
        ) from error
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ReportError(
            f"The certificates of {type(final).__name__} cannot be measured: {reason}."
        ) from error


def open_fitted(path: str | Path) -> SavedModel:
    """A model with what `compare` and `fit` keep beside it; a sentence for one that another way saved."""
    from assay.persistence import about, load

    model, kept = load(path), about(path)
    known = isinstance(model, Pipeline) and isinstance(model[0], TableEncoder)
    if not known or not isinstance(kept.get("fingerprint"), str) or kept.get("task") not in TASKS:
        raise ReportError(
            f"{path} was not saved by assay compare or assay fit and does not tell its table: load it with "
            "assay.load and call its certify."
        )
    return SavedModel(model, kept)


def _rows_of_the_fit(
    table: RawTable, encoder: TableEncoder, about: dict[str, Any]
) -> tuple[pd.DataFrame, NDArray | None]:
    """The columns of the fit and the target, without the rows that have none."""
    encoder.require_columns(table.frame)
    used = table.frame[[column.name for column in encoder.columns if column.learnable]]
    target = about.get("target")
    if target is None:
        return used, None
    if target not in table.frame.columns:
        raise ReportError(
            f"{table.name} lacks the target {target!r}; certificates compare the model with it: "
            "name the table of the fit."
        )
    opened = open_target(table, target, about["task"])
    return used.loc[opened.kept].reset_index(drop=True), opened.y
