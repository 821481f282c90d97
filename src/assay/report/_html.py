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
from assay.report._pictures import Picture, overview, pictures

MAX_SUMMARY_COLUMNS = 60
MAX_MEMBERS = 120
MAX_GROUP_COLUMNS = 9

HOW_REGRESSION = (
    "Cross-validation: the rows are shuffled (seed {seed}) and cut into {folds} folds, the same for every "
    "method. Each fold is predicted by a model fitted on the others.",
    "Whatever a method chooses, it chooses on the training rows of each fold alone: the scale of the "
    "columns, the penalty, the width of the kernel. No row helps to predict itself.",
    "R² is 1 − (squared error) / (squared error of the fold's mean), averaged over the folds; ± is the "
    "standard error of that average. Folds share training rows, so read it as a guide, not as a confidence "
    "interval.",
    "The models shown and saved are fitted once more on all rows.",
)
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
    best, data = comparison.best, comparison.data
    if comparison.task == "regression":
        figures = [
            (comparison.score_name, plus_minus(best.score, best.standard_error)),
            ("error (RMSE)", shown(best.measures["RMSE"], 3)),
        ]
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
    regression = comparison.task == "regression"
    names = ["Method", comparison.score_name, "Certificates"]
    names += ["RMSE", "MAE"] if regression else ["Explained", "Inertia"]
    names += ["Fit time", "Parameters"]
    lines = []
    for rank, candidate in enumerate(comparison.candidates):
        if regression:
            measures = [shown(candidate.measures["RMSE"]), shown(candidate.measures["MAE"])]
        else:
            measures = [f"{candidate.measures['explained']:.1%}", shown(candidate.measures["inertia"])]
        cells = [
            f'<a href="#{_anchor(rank)}">{escape(candidate.name)}</a>'
            + (' <span class="tag">best</span>' if candidate is comparison.best else ""),
            escape(plus_minus(candidate.score, candidate.standard_error)),
            _badge(candidate),
            *measures,
            _duration(candidate.fit_seconds),
            escape(_parameters(candidate)),
        ]
        lines.append((candidate is comparison.best, cells))
    skipped = "".join(f'<p class="note">{escape(sentence)}</p>' for sentence in comparison.skipped)
    return (
        f'<section id="leaderboard"><h2>Leaderboard</h2>{_figure(overview(comparison), wide=True)}'
        f"{_table(names, lines, numeric=(1, 3, 4, 5))}{skipped}</section>"
    )


def _candidate(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    figures = "".join(_figure(picture) for picture in pictures(comparison, candidate, f"m{rank}"))
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in candidate.notes)
    tag = ' <span class="tag">best</span>' if candidate is comparison.best else ""
    parameters = _parameters(candidate)
    chosen = f' <span class="chosen">{escape(parameters)}</span>' if parameters else ""
    groups = _groups(comparison, candidate) if candidate is comparison.best else ""
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
        columns.append([str(cluster), str(int(inside.sum())), *map(shown, data.X.loc[inside].mean())])
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
    return f"<h3>Means of the clusters, in the units of the table</h3>{table}{members}"


def _members(row_names: Sequence[str], labels: Any) -> str:
    if len(row_names) > MAX_MEMBERS:
        return ""
    named = np.asarray(row_names, dtype=object)
    return "".join(
        f'<p class="note"><b>Cluster {cluster}:</b> {escape(", ".join(named[labels == cluster]))}</p>'
        for cluster in np.unique(labels)
    )


def _data(comparison: Comparison) -> str:
    data = comparison.data
    columns: list[tuple[str, Any]] = [(str(name), data.X[name].to_numpy()) for name in data.X.columns]
    if data.y is not None:
        columns.insert(0, (f"{data.target} (target)", data.y))
    lines = [
        (False, [escape(name), _sparkline(values), *_summary(values)])
        for name, values in columns[:MAX_SUMMARY_COLUMNS]
    ]
    notes = [data.description, f"Source: {data.source}" if data.source else "", *data.notes]
    if data.dropped:
        notes.append(f"Left out by request: {', '.join(data.dropped)}.")
    if len(columns) > MAX_SUMMARY_COLUMNS:
        notes.append(f"The first {MAX_SUMMARY_COLUMNS} of {len(columns)} columns are shown.")
    words = "".join(f"<p>{escape(note)}</p>" for note in notes if note)
    names = ["Column", "Distribution", "Least", "Median", "Mean", "Greatest", "Std. dev."]
    return (
        f'<section id="data"><h2>The data</h2><p>{data.X.shape[0]} rows, {data.X.shape[1]} columns to learn '
        "from.</p>"
        f"{words}{_table(names, lines, numeric=(2, 3, 4, 5, 6))}</section>"
    )


def _method(comparison: Comparison) -> str:
    how = HOW_REGRESSION if comparison.task == "regression" else HOW_CLUSTERING
    versions = [f"assay {assay.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")]
    facts = {"seed": comparison.seed, "folds": comparison.folds}
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
    verb = "predictions" if comparison.task == "regression" else "clusters"
    code = (
        "import assay\n\n"
        f"model = assay.load({model_path!r})\n"
        f"{verb} = model.predict(table)   # a frame with the columns {listed}\n"
    )
    return (
        f'<section id="usage"><h2>Use the model</h2><p>{escape(comparison.best.name)} is saved in '
        f"<code>{escape(model_path)}</code>, the scaling of the columns included.</p>"
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


def _summary(values: Any) -> list[str]:
    """Least, median, mean, greatest and standard deviation; what is zero but for rounding shows as 0."""
    rounding = 1e-12 * np.abs(values).max()
    found = (values.min(), np.median(values), values.mean(), values.max(), values.std())
    return [shown(0.0 if abs(value) < rounding else value) for value in found]


def _sparkline(values: Any, n_bins: int = 16) -> str:
    counts, _ = np.histogram(values, bins=n_bins)
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
