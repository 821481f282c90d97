"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from assay.report.page.appendix import appendix
from assay.report.page.data import data_section
from assay.report.page.leaderboard import leaderboard
from assay.report.page.method import method, reproduction, usage
from assay.report.page.models import certificates_overview, models
from assay.report.page.pieces import anchor
from assay.report.trials.comparison import Comparison
from assay.report.trials.wording import plus_minus, shown

CONTENTS = {
    "verdict": "Verdict",
    "leaderboard": "Leaderboard",
    "certificates": "Certificates",
    "models": "Models",
    "data": "The data",
    "method": "How it was measured",
    "appendix": "The methods",
    "usage": "Use the model",
    "reproduce": "Reproduce it",
}
"""Sections of the page and their names in the contents."""


def render(comparison: Comparison, *, model_path: str = "model.skops") -> str:
    """Write a comparison as one self-contained HTML page.

    Parameters
    ----------
    comparison : Comparison
        What `compare` found.
    model_path : str, default="model.skops"
        Where the best model is saved, for the lines that load it.

    Returns
    -------
    page : str
        HTML without any outside request: styles, the script and pictures are inside.

    Examples
    --------
    >>> from assay.report import choose_data, compare, read_table, render
    >>> task, data = choose_data(read_table("iris"))
    >>> page = render(compare(data, task, repeats=1, methods=["LogisticRegression"]))
    >>> page.startswith("<!DOCTYPE html>"), "LogisticRegression predicts species best" in page
    (True, True)
    """
    inside = files("assay.report.page")
    style = inside.joinpath("style.css").read_text(encoding="utf-8")
    script = inside.joinpath("script.js").read_text(encoding="utf-8")
    sections = [
        _verdict(comparison),
        leaderboard(comparison),
        certificates_overview(comparison),
        models(comparison),
        data_section(comparison),
        method(comparison),
        appendix(comparison),
        usage(comparison, model_path),
        reproduction(comparison),
    ]
    body = "\n".join(sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(comparison.headline)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#content">Skip to the verdict</a>\n{_contents(comparison, body)}\n'
        f'<main id="content" tabindex="-1">\n{body}\n</main>\n'
        '<p id="said" class="aloud" role="status"></p>\n'
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _contents(comparison: Comparison, body: str) -> str:
    """Links to the sections that are on the page, and to the models."""
    lines = []
    for place, name in CONTENTS.items():
        if f'id="{place}"' not in body:
            continue
        inner = _models_list(comparison) if place == "models" else ""
        lines.append(f'<li><a href="#{place}">{name}</a>{inner}</li>')
    return (
        '<nav class="contents" aria-label="Contents"><p class="brand">Assay</p>'
        f"<ol>{''.join(lines)}</ol></nav>"
    )


def _models_list(comparison: Comparison) -> str:
    lines = "".join(
        f'<li><a href="#{anchor(rank)}">{escape(candidate.name)}</a></li>'
        for rank, candidate in enumerate(comparison.candidates)
    )
    return f"<ol>{lines}</ol>"


def _verdict(comparison: Comparison) -> str:
    """The answer in a sentence, what one must know beside it, and the figures that say most."""
    data = comparison.data
    cards = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in _key_figures(comparison)
    )
    first, *others = comparison.remarks or ("",)
    remarks = f'<p class="lead">{escape(first)}</p>' if first else ""
    if others:
        items = "".join(f"<li>{escape(remark)}</li>" for remark in others)
        remarks += f'<ul class="remarks">{items}</ul>'
    return (
        f'<header id="verdict"><p class="kicker">{comparison.task} · {escape(data.name)}</p>'
        f'<h1>{escape(comparison.headline)}</h1>{remarks}<dl class="cards">{cards}</dl></header>'
    )


def _key_figures(comparison: Comparison) -> list[tuple[str, str]]:
    best, data = comparison.recommended, comparison.data
    score = plus_minus(best.score, best.standard_error)
    if comparison.task == "regression":
        figures = [(comparison.score_name, score), ("error (RMSE)", shown(best.measures["RMSE"], 3))]
    elif comparison.task == "classification":
        balanced = best.measures["balanced accuracy"]
        figures = [(comparison.score_name, score), ("balanced accuracy", f"{balanced:.3f}")]
    else:
        figures = [
            (comparison.score_name, f"{best.score:.2f}"),
            ("variance explained", f"{best.measures['explained']:.0%}"),
        ]
    rows, columns = data.X.shape
    return [
        *figures,
        ("rows × columns", f"{rows:,} × {columns}".replace(",", " ")),
        ("certificates", best.verdict),
    ]
