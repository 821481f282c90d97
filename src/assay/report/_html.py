"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

import assay
from assay.certificates import SYMBOLS, Certificate
from assay.report._comparison import Candidate, Comparison, plus_minus, shown
from assay.report._data import Data
from assay.report._encoder import DAYS_OF_YEAR, days_of, finite
from assay.report._pictures import Picture, overview, pictures
from assay.report._schema import Column, without_missing

MAX_SUMMARY_COLUMNS = 60
MAX_MEMBERS = 120
MAX_GROUP_COLUMNS = 9

HOW_FOLDS = (
    "Cross-validation: the rows are shuffled (seed {seed}) and cut into {folds} folds, {times}, the same for "
    "every method. Each fold is predicted by a model fitted on the others.",
    "Whatever a method learns or chooses, it does on the training rows of each fold alone: the values that "
    "stand for missing ones, the levels of categories, the scale of the columns, the penalty, the width of a "
    "kernel. No row helps to predict itself.",
)
HOW_NOISE = (
    "± is the standard error of the mean, with the correction of Nadeau and Bengio for training rows that "
    "the folds share; differences are tested split by split with the same correction.",
    "The model recommended is the simplest one that loses to the best by no more than one standard error of "
    "their difference. The models shown and saved are fitted once more on all rows.",
)
HOW_REGRESSION = (
    *HOW_FOLDS,
    "R² is 1 − (squared error) / (squared error of the fold's mean), averaged over the splits.",
    *HOW_NOISE,
)
HOW_CLASSIFICATION = (
    *HOW_FOLDS,
    "Every fold has its share of each class. Accuracy is the share of rows whose class is named right; "
    "balanced accuracy averages that share over the classes.",
    *HOW_NOISE,
)
HOW = {"regression": HOW_REGRESSION, "classification": HOW_CLASSIFICATION}
HOW_CLUSTERING = (
    "Every column is centred and scaled to standard deviation 1, so that units do not matter.",
    "k-means is run for each number of clusters; the best of its restarts is kept (seed {seed}).",
    "The silhouette of a row compares its mean distance to its own cluster (a) with that to the next one "
    "(b): (b − a) / max(a, b). It is averaged over the rows, or over 2000 of them drawn at random when "
    "there are more.",
)
CERTIFICATES_NOTE = (
    "A certificate is a claim about a fit that was measured and could have failed; a vacuous one is true but "
    "says no more than is known anyway."
)


def render(comparison: Comparison, *, model_path: str = "model.assay") -> str:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    comparison : Comparison
        What `compare` found.
    model_path : str, default="model.assay"
        Where the best model is saved, for the lines that load it.

    Returns
    -------
    page : str
        HTML without any outside request: styles and pictures are inside.
    """
    style = files("assay.report").joinpath("style.css").read_text(encoding="utf-8")
    sections = [
        _header(comparison),
        _leaderboard(comparison),
        *(_candidate(comparison, candidate, rank) for rank, candidate in enumerate(comparison.candidates)),
        _data(comparison),
        _method(comparison),
        _usage(comparison, model_path),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(comparison.headline)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def _header(comparison: Comparison) -> str:
    best, data = comparison.recommended, comparison.data
    score = (comparison.score_name, plus_minus(best.score, best.standard_error))
    if comparison.task == "regression":
        figures = [score, ("error (RMSE)", shown(best.measures["RMSE"], 3))]
    elif comparison.task == "classification":
        figures = [score, ("balanced accuracy", f"{best.measures['balanced accuracy']:.3f}")]
    else:
        figures = [
            (comparison.score_name, f"{best.score:.2f}"),
            ("variance explained", f"{best.measures['explained']:.0%}"),
        ]
    figures += [
        ("table", f"{data.X.shape[0]:,} × {data.X.shape[1]}".replace(",", " ")),
        ("certificates", best.verdict),
    ]
    cards = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures)
    remarks = " ".join(escape(remark) for remark in comparison.remarks)
    return (
        f'<header><p class="brand">Assay <span>{comparison.task} · {escape(data.name)}</span></p>'
        f'<h1>{escape(comparison.headline)}</h1><p class="lead">{remarks}</p>'
        f'<dl class="cards">{cards}</dl></header>'
    )


def _leaderboard(comparison: Comparison) -> str:
    measures = MEASURES[comparison.task]
    paired = comparison.task != "clustering"
    names = ["Method", comparison.score_name, *(["Against the best"] if paired else []), "Certificates"]
    numeric = tuple(range(1, 2 + paired)) + tuple(range(len(names), len(names) + len(measures) + 1))
    names += [name[0].upper() + name[1:] for name in measures] + ["Fit time", "Parameters"]
    lines = []
    for rank, candidate in enumerate(comparison.candidates):
        cells = [
            f'<a href="#{_anchor(rank)}">{escape(candidate.name)}</a>{_tag(comparison, candidate)}',
            escape(plus_minus(candidate.score, candidate.standard_error)),
            *([escape(_loss(comparison, candidate))] if paired else []),
            _badge(candidate),
            *(_measure(candidate, name) for name in measures),
            _duration(candidate.fit_seconds),
            escape(_parameters(candidate)),
        ]
        lines.append((candidate is comparison.recommended, cells))
    skipped = "".join(f'<p class="note">{escape(sentence)}</p>' for sentence in comparison.skipped)
    return (
        f'<section id="leaderboard"><h2>Leaderboard</h2>{_figure(overview(comparison), wide=True)}'
        f"{_table(names, lines, numeric=numeric)}{skipped}</section>"
    )


MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC", "log-loss"),
    "clustering": ("explained", "inertia"),
}
"""Measures beside the score, in the order of the columns."""


def _measure(candidate: Candidate, name: str) -> str:
    if name not in candidate.measures:
        return "—"
    value = candidate.measures[name]
    return f"{value:.1%}" if name == "explained" else shown(value)


def _loss(comparison: Comparison, candidate: Candidate) -> str:
    """What a candidate loses against the best, and how surely."""
    if candidate is comparison.best:
        return "best"
    loss = comparison.against_best(candidate)
    chance = "p < 0.001" if loss.p_value < 0.001 else f"p = {loss.p_value:.3f}"
    return f"{-loss.mean:+z.3f} ({chance})".replace("-", "−")


def _tag(comparison: Comparison, candidate: Candidate) -> str:
    if candidate is comparison.recommended:
        return ' <span class="tag">recommended</span>'
    return ""


def _candidate(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    figures = "".join(_figure(picture) for picture in pictures(comparison, candidate, f"m{rank}"))
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in candidate.notes)
    tag = _tag(comparison, candidate)
    parameters = _parameters(candidate)
    chosen = f' <span class="chosen">{escape(parameters)}</span>' if parameters else ""
    groups = _groups(comparison, candidate) if candidate is comparison.recommended else ""
    return (
        f'<section class="model" id="{_anchor(rank)}"><h2>{escape(candidate.name)}{tag}</h2>'
        f"<p>{escape(candidate.summary)}{chosen}</p>"
        f'<div class="figures">{figures}</div>{groups}{_certificates(candidate)}{notes}</section>'
    )


def _certificates(candidate: Candidate) -> str:
    if not candidate.certificates:
        return '<p class="note">There is nothing to certify in a baseline.</p>'
    return (
        f"<h3>Certificates {_badge(candidate)}</h3>"
        '<div class="scroll"><table class="certificates"><thead><tr><th>Verdict</th><th>Quantity</th>'
        "<th>Value</th><th>Bound</th><th>Claim</th><th>Assumptions</th><th>Source</th></tr></thead><tbody>"
        + "".join(_certificate(item) for item in candidate.certificates)
        + "</tbody></table></div>"
    )


def _certificate(item: Certificate) -> str:
    assumptions = "; ".join(item.assumptions) or "none"
    return (
        f'<tr><td data-label="Verdict"><span class="{item.verdict}">{item.verdict}</span></td>'
        f'<td data-label="Quantity">{escape(item.quantity)}</td>'
        f'<td data-label="Value" class="number">{item.value:.3g}</td>'
        f'<td data-label="Bound" class="number">{SYMBOLS[item.relation]} {item.bound:.3g}</td>'
        f'<td data-label="Claim">{escape(item.claim)}</td>'
        f'<td data-label="Assumptions">{escape(assumptions)}</td>'
        f'<td data-label="Source">{escape(item.source)}</td></tr>'
    )


def _groups(comparison: Comparison, candidate: Candidate) -> str:
    """Size, mean of each column and members of every cluster, in the units of the table."""
    if comparison.task != "clustering":
        return ""
    data, labels = comparison.data, candidate.predictions
    names = ["Cluster", "Rows", *data.feature_names]
    columns = []
    for cluster in np.unique(labels):
        inside = labels == cluster
        columns.append([str(cluster), str(int(inside.sum())), *_typical(data, inside)])
    if len(names) > MAX_GROUP_COLUMNS:  # many columns read better downwards
        lines = [
            (False, [escape(name), *cells])
            for name, *cells in zip(names[1:], *(column[1:] for column in columns), strict=True)
        ]
        head = ["", *(f"Cluster {column[0]}" for column in columns)]
        table = _table(head, lines, numeric=tuple(range(1, len(head))))
    else:
        table = _table(names, [(False, column) for column in columns], numeric=tuple(range(1, len(names))))
    members = _members(data.row_names, labels) if data.row_names is not None else ""
    return f"<h3>Typical values of the clusters, in the units of the table</h3>{table}{members}"


def _members(row_names: Sequence[str], labels: Any) -> str:
    if len(row_names) > MAX_MEMBERS:
        return ""
    named = np.asarray(row_names, dtype=object)
    return "".join(
        f'<p class="note"><b>Cluster {cluster}:</b> {escape(", ".join(named[labels == cluster]))}</p>'
        for cluster in np.unique(labels)
    )


def _typical(data: Data, inside: Any) -> list[str]:
    """Mean of every numeric column and commonest value of the others, over some rows."""
    kinds = {column.name: column.kind for column in data.columns}
    return [
        shown(float(data.X.loc[inside, name].mean()))
        if kinds[str(name)] == "numeric"
        else escape(str(data.X.loc[inside, name].mode().iloc[0]))
        for name in data.X.columns
    ]


def _data(comparison: Comparison) -> str:
    data = comparison.data
    lines = []
    if data.y is not None:
        values = data.y if comparison.task == "regression" else _named(data)
        lines.append((True, [f"{escape(str(data.target))} (target)", *_describe(values, 0)]))
    used = [column for column in data.columns if column.learnable]
    lines += [
        (False, [escape(column.name), *_describe(_values(data, column), column.n_missing, column.kind)])
        for column in used[:MAX_SUMMARY_COLUMNS]
    ]
    notes = [data.description, f"Source: {data.source}" if data.source else "", *data.notes]
    if len(used) > MAX_SUMMARY_COLUMNS:
        notes.append(f"The first {MAX_SUMMARY_COLUMNS} of {len(used)} columns are shown.")
    words = "".join(f"<p>{escape(note)}</p>" for note in notes if note)
    names = ["Column", "Kind", "Missing", "Distribution", "Values"]
    return (
        f'<section id="data"><h2>The data</h2><p>{data.X.shape[0]} rows, {data.X.shape[1]} columns to learn '
        "from.</p>"
        f"{words}{_table(names, lines, numeric=(2,))}</section>"
    )


def _named(data: Data) -> Any:
    assert data.y is not None
    assert data.classes is not None
    return np.array(data.classes, dtype=object)[np.searchsorted(data.labels, data.y)]


def _values(data: Data, column: Column) -> Any:
    values = data.X[column.name]
    if column.kind == "numeric":
        return finite(values)
    if column.kind == "date":
        return days_of(values) / DAYS_OF_YEAR + 1970
    return without_missing(values).astype(str).to_numpy(dtype=object)


def _describe(values: Any, n_missing: int, kind: str | None = None) -> list[str]:
    """Kind, missing values, distribution and the values that say most."""
    missing = str(n_missing) if n_missing else "—"
    if np.asarray(values).dtype.kind == "f":
        there = values[~np.isnan(values)]
        low, middle, high = (shown(float(value)) for value in np.percentile(there, [0, 50, 100]))
        return [kind or "numeric", missing, _sparkline(there), f"{low} … {middle} … {high}"]
    levels, counts = np.unique(np.asarray(values, dtype=str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    common = ", ".join(f"{escape(levels[i])} ({counts[i]})" for i in order[:4])
    more = f" and {len(levels) - 4} more" if len(levels) > 4 else ""
    return [kind or "classes", missing, _bars(counts[order][:16]), common + more]


def _method(comparison: Comparison) -> str:
    how = HOW.get(comparison.task, HOW_CLUSTERING)
    versions = [f"assay {assay.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")]
    repeats = comparison.repeats or 1
    times = "once" if repeats == 1 else f"{repeats} times over"
    facts = {"seed": comparison.seed, "folds": comparison.folds, "times": times}
    items = "".join(f"<li>{escape(sentence.format(**facts))}</li>" for sentence in how)
    return (
        f'<section id="method"><h2>How it was measured</h2><ul>{items}</ul>'
        f'<p class="note">{escape(", ".join(versions))}; {comparison.seconds:.1f} s in all. '
        f"{CERTIFICATES_NOTE}</p>"
        "</section>"
    )


def _usage(comparison: Comparison, model_path: str) -> str:
    columns = comparison.data.feature_names
    listed = ", ".join(repr(name) for name in columns[:4]) + (", ..." if len(columns) > 4 else "")
    verb = "clusters" if comparison.task == "clustering" else "predictions"
    code = (
        "import assay\n\n"
        f"model = assay.load({model_path!r})\n"
        f"{verb} = model.predict(table)   # a frame with the columns {listed}\n"
    )
    return (
        f'<section id="usage"><h2>Use the model</h2><p>{escape(comparison.recommended.name)} is saved in '
        f"<code>{escape(model_path)}</code>, the coding and scaling of the columns included.</p>"
        f"<pre>{escape(code)}</pre>"
        f"<p>Its certificates, in a terminal:</p><pre>assay certify {escape(model_path)}</pre></section>"
    )


def _table(names: Sequence[str], lines: Iterable[tuple[bool, list[str]]], *, numeric: tuple[int, ...]) -> str:
    """A table of cells that are HTML already; a line marked true stands out."""
    kind = [' class="number"' if index in numeric else "" for index in range(len(names))]
    head = "".join(f"<th{mark}>{escape(name)}</th>" for name, mark in zip(names, kind, strict=True))
    body = "".join(
        f"<tr{' class=best' if marked else ''}>"
        + "".join(f"<td{mark}>{cell}</td>" for cell, mark in zip(cells, kind, strict=True))
        + "</tr>"
        for marked, cells in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(picture: Picture, *, wide: bool = False) -> str:
    mark = ' class="wide"' if wide else ""
    return f"<figure{mark}>{picture.svg}<figcaption>{escape(picture.caption)}</figcaption></figure>"


def _badge(candidate: Candidate) -> str:
    if not candidate.certificates:
        return "—"
    return f'<span class="{"holds" if candidate.certificates.holds else "fails"}">{candidate.verdict}</span>'


def _parameters(candidate: Candidate) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in candidate.parameters.items())


def _sparkline(values: Any, n_bins: int = 16) -> str:
    counts, _ = np.histogram(values, bins=n_bins)
    return _bars(counts, n_bins)


def _bars(counts: Any, n_bins: int = 16) -> str:
    heights = 20.0 * counts / counts.max()
    bars = "".join(
        f'<rect x="{4 * index}" y="{20 - height:.1f}" width="3.4" height="{height:.1f}"/>'
        for index, height in enumerate(heights)
        if height > 0
    )
    return f'<svg class="spark" viewBox="0 0 {4 * n_bins} 20" aria-hidden="true">{bars}</svg>'


def _duration(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _anchor(rank: int) -> str:
    return f"model-{rank + 1}"
