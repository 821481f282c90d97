"""Fitting one estimator, by its name, to a table, and saving it."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from assay import parameters
from assay.certificates import Certificates
from assay.models.conformal import class_scores
from assay.report.answers import own_intervals_fail
from assay.report.errors import ReportError, words_of
from assay.report.methods import find_method
from assay.report.results import about_fit
from assay.report.tables.choosing import choose_data
from assay.report.tables.data import TASKS, Data, Task
from assay.report.tables.encoding.code_encoder import CodeEncoder, places_of_categories
from assay.report.tables.encoding.encoder import ClusterEncoder, PlainEncoder, TableEncoder
from assay.report.tables.files.options import Reading
from assay.report.tables.files.reading import read_table
from assay.report.trials.candidate import certificates_of
from assay.report.trials.engine import FAILURES
from assay.report.trials.scoring.guarantees import (
    hand_scores,
    kept_for_classes,
    residual_quantiles,
    stretch_quantiles,
)
from assay.report.trials.scoring.resampling import COVERAGE, for_all_classes
from assay.report.trials.trial import noted


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
    reading: Reading | None = None,
) -> FittedTable:
    """Fit one estimator of the library to a table and save it with all that is needed to use it.

    The columns become standardised numbers as in a comparison. The file holds the model, what its columns
    are, the fingerprint of the table, the versions, the certificates, and what intervals or class sets need:
    how far models fitted without a fold, or without a tenth of a large table, were off on it.

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
    reading : Reading, optional
        What is to be known of the file and the values of its columns.

    Returns
    -------
    fitted : FittedTable

    Examples
    --------
    >>> import tempfile
    >>> from assay.report import fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted = fit_table("ridge", "diabetes", parameters={"alpha": "0.1"}, output=f"{folder}/ridge")
    >>> fitted.model[-1], fitted.certificates.holds
    (Ridge(alpha=0.1), True)
    """
    # What can be refused is refused before the table is read; nothing is written before the fit is whole.
    from assay.persistence import save

    place = check_file(output, force=force)
    kind, asked = find_estimator(method, task)
    settings = parse_parameters(kind, _with_seed(kind, parameters or {}, seed))
    table = read_table(source, without=drop, reading=reading)
    data = choose_data(table, target=target, task=asked, drop=drop)
    pipeline, notes = fit(kind(**settings), data)
    certificates = certificates_of(pipeline)
    about = about_fit(data, data.task, kind.__name__, certificates) | kept_for_intervals(pipeline, data, seed)
    with _writing(place):
        save(pipeline, place, about=about)
    return FittedTable(pipeline, certificates, place, data.task, (*data.notes, *notes))


def _with_seed(kind: type, given: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Parameters of an estimator, with a seed where it draws and has none."""
    draws = "random_state" in inspect.signature(kind).parameters
    return ({"random_state": seed} if draws else {}) | dict(given)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """A sentence for a file that cannot be written."""
    try:
        yield
    except OSError as error:
        raise ReportError(f"The model cannot be written to {place}: {error.strerror or error}.") from error


LARGE_TABLE = 20_000
"""Beyond so many rows a tenth of them tells how far predictions are off, in place of five folds."""


def kept_for_intervals(pipeline: Pipeline, data: Data, seed: int) -> dict[str, Any]:
    """What intervals and class sets are made of: quantiles of how strange rows were that a fit had not seen.

    Nothing for a clustering, for boosting that keeps rows aside for it, or where a fold cannot be fitted.
    """
    model, y = pipeline[-1], data.y
    if y is None or not hasattr(model, "predict"):
        return {}
    classes = data.labels if is_classifier(model) else None
    if classes is None and getattr(model, "calibration", None) is not None:
        return {}
    with suppress(*FAILURES), noted():
        rows, said, shares, bounds = _out_of_fold(pipeline, data.X, y, classes, seed)
        if classes is None:
            residuals = y[rows] - said
            hand_scores(model, [np.abs(residuals)])
            kept = {"residual_quantiles": residual_quantiles(residuals)}
            if bounds is not None:
                kept["stretch_quantiles"] = stretch_quantiles(y[rows], said, bounds)
            return kept
        if shares is not None:
            hand_scores(model, [class_scores(shares, np.searchsorted(classes, y[rows]))])
        return kept_for_classes(y[rows], [(said, shares)], classes)
    return {}


def _out_of_fold(
    pipeline: Pipeline, X: pd.DataFrame, y: NDArray, classes: NDArray | None, seed: int
) -> tuple[NDArray, NDArray, NDArray | None, NDArray | None]:
    """Rows that models had not seen, what these said of them, and chances and intervals if any."""
    kind, n_folds = (KFold if classes is None else StratifiedKFold), min(5, y.size)
    if y.size > LARGE_TABLE:
        n_folds = 10
    if classes is not None:
        n_folds = min(n_folds, int(np.unique(y, return_counts=True)[1].min()))
    parts = kind(n_folds, shuffle=True, random_state=seed).split(X, y)
    rows, said, shares, ends = list[NDArray](), list[NDArray](), list[NDArray](), list[NDArray]()
    for train, test in islice(parts, 1 if y.size > LARGE_TABLE else None):
        fitted = clone(pipeline).fit(X.iloc[train], y[train])
        rows.append(test)
        said.append(fitted.predict(X.iloc[test]))
        if classes is not None and hasattr(fitted, "predict_proba"):
            shares.append(for_all_classes(fitted.predict_proba(X.iloc[test]), fitted.classes_, classes))
        if classes is None and own_intervals_fail(fitted, COVERAGE) == "":
            features = fitted[:-1].transform(X.iloc[test])
            ends.append(np.asarray(fitted[-1].predict_interval(features, coverage=COVERAGE)))
    bounds = np.concatenate(ends) if len(ends) == len(rows) else None
    bounds = None if bounds is None or not np.isfinite(bounds).all() else bounds
    chances = np.concatenate(shares) if shares else None
    return np.concatenate(rows), np.concatenate(said), chances, bounds


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


def find_estimator(method: str, task: str) -> tuple[type, Task]:
    """The class of a method and what it does; a sentence for one that answers no question, or another one."""
    entry = find_method(method)
    if entry.task == "transformation" and entry.family != "cluster":
        raise ReportError(
            f"{entry.name} turns columns into features and answers no question by itself; "
            "use it in a scikit-learn Pipeline before a model."
        )
    does: Task = next((known for known in TASKS if known == entry.task), "clustering")
    if task not in ("auto", does):
        raise ReportError(f"{entry.name} is for {does}, not for {task}; leave out --task.")
    return entry.kind, does


def fit(model: Any, data: Data) -> tuple[Pipeline, tuple[str, ...]]:
    """Encode the columns and fit; the warnings of the fit come back as notes."""
    # Counts and similarities stay as they are; without a target there are distances to keep in proportion.
    plain = get_tags(model).input_tags.positive_only
    encoder = PlainEncoder if plain else ClusterEncoder if data.y is None else TableEncoder
    suits = vars(type(model)).get("_suits")
    if suits is not None and suits.encoding == "codes":
        encoder = CodeEncoder
        if model.categorical_features == "from_dtype":
            model = clone(model).set_params(categorical_features=places_of_categories(data.columns))
    pipeline = Pipeline([("table", encoder(data.columns)), ("model", model)])
    with noted() as notes:
        try:
            pipeline.fit(data.X, data.y)
        except ReportError:
            raise
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ReportError(
                f"{type(model).__name__} cannot be fitted to {data.name}: {words_of(error)}."
            ) from error
        except MemoryError as error:
            raise ReportError(
                f"{type(model).__name__} needs more memory than there is for the {len(data.X):,} rows of "
                f"{data.name}; take fewer rows, or a method that does not look at all pairs of them."
            ) from error
    return pipeline, tuple(notes)


WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}
OPENING, CLOSING = "[(", "])"


def parse_value(text: str) -> Any:
    """A number, true, false, none, a word, or a list of such, from text.

    Quotes make a word of anything. Lists stand in brackets and may hold lists.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> from assay.report import parse_value
    >>> [parse_value(text) for text in ("3", "1e-3", "true", "none", "rbf", "'3'")]
    [3, 0.001, True, None, 'rbf', '3']
    >>> parse_value("[1, 0.5, [rbf, none]]")
    [1, 0.5, ['rbf', None]]
    """
    word = text.strip()
    if word[:1] in ("'", '"'):
        with suppress(SyntaxError, ValueError):
            if isinstance(value := ast.literal_eval(word), str):
                return value
        raise ReportError(f"The quotes of {word} do not close; write a word as 'word'.")
    if word[:1] and word[0] in OPENING:
        if len(word) < 2 or word[-1] != CLOSING[OPENING.index(word[0])]:
            raise ReportError(f"The list {word!r} is not closed; write it as [1, 2, 3].")
        return [parse_value(item) for item in _items(word[1:-1], word)]
    if word.lower() in WORDS:
        return WORDS[word.lower()]
    for number in (int, float):
        with suppress(ValueError):
            return number(word)
    return word


def parse_parameters(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values for the parameters of an estimator, each known to be one and inside its domain.

    Texts are parsed; other values are taken as they are. A text that is itself an option of the parameter
    ("none" where there is a method of that name) stays a text.

    Examples
    --------
    >>> from assay.linear import Ridge
    >>> parse_parameters(Ridge, {"alpha": "0.5", "fit_intercept": "false"})
    {'alpha': 0.5, 'fit_intercept': False}
    """
    known = list(inspect.signature(kind).parameters)
    domains: Mapping[str, parameters.Domain] = getattr(kind, "_domains", {})
    values = {}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.5)
            way = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
            way = way or f"it has {', '.join(map(repr, known)) or 'none'}."
            raise ReportError(f"{kind.__name__} has no parameter {name!r}; {way}")
        values[name] = _chosen(value, domains.get(name))
        if name in domains:
            try:
                parameters.check(kind.__name__, {name: values[name]}, {name: domains[name]})
            except parameters.ParameterError as error:
                raise ReportError(str(error)) from error
    return values


def _chosen(value: Any, domain: parameters.Domain | None) -> Any:
    if not isinstance(value, str):
        return value
    parsed = parse_value(value)
    if domain is not None and not domain.contains(parsed):
        if domain.contains(value):
            return value
        if isinstance(parsed, list) and domain.contains(tuple(parsed)):
            return tuple(parsed)
    return parsed


def _items(inside: str, whole: str) -> list[str]:
    """The parts between the commas that stand in no bracket and no quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, mark in enumerate(inside):
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "'\"":
            quote = mark
        elif mark in OPENING:
            depth += 1
        elif mark in CLOSING:
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(inside[start:place])
            start = place + 1
    if depth or quote:
        raise ReportError(f"The list {whole!r} is not closed; write it as [1, 2, 3].")
    parts.append(inside[start:])
    if not parts[-1].strip():
        parts.pop()
    if any(not part.strip() for part in parts):
        raise ReportError(f"The list {whole!r} has nothing between two commas; write it as [1, 2, 3].")
    return parts
