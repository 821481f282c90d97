"""The report: one HTML page that needs nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files

from assay.report.page.about import own_words
from assay.report.page.data import data_section
from assay.report.page.explanations import explanations
from assay.report.page.groups import HOW_CLUSTERING
from assay.report.page.models import leaderboard, models
from assay.report.page.pieces import anchor, breakable, headed, kept_together, section
from assay.report.page.proofs import certificates_overview
from assay.report.reproduction import reading_options, source_of
from assay.report.results import fingerprint, versions
from assay.report.trials.cautions import is_rounding
from assay.report.trials.comparison import Comparison
from assay.report.wording import shown

CONTENTS = {
    "verdict": "Verdict",
    "leaderboard": "Leaderboard",
    "explained": "What it has learnt",
    "certificates": "Certificates",
    "models": "Models",
    "data": "The data",
    "method": "How it was measured",
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
    >>> data = choose_data(read_table("iris"))
    >>> page = render(compare(data, repeats=1, methods=["LogisticRegression"]))
    >>> page.startswith("<!DOCTYPE html>"), "LogisticRegression predicts species: accuracy" in page
    (True, True)
    """
    inside = files("assay.report.page")
    style = inside.joinpath("style.css").read_text(encoding="utf-8")
    script = inside.joinpath("script.js").read_text(encoding="utf-8")
    before = (_verdict, leaderboard, explanations, certificates_overview, models, data_section, method)
    sections = [part(comparison) for part in before]
    last = f'<div class="beside">{usage(comparison, model_path)}{reproduction(comparison)}</div>'
    body = "\n".join([alarms(comparison), *sections, last])
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
    inner = "".join(
        f'<li><a href="#{anchor(rank)}">{breakable(candidate.name)}</a></li>'
        for rank, candidate in enumerate(comparison.candidates)
    )
    lines = "".join(
        f'<li><a href="#{place}">{name}</a>{f"<ol>{inner}</ol>" if place == "models" else ""}</li>'
        for place, name in CONTENTS.items()
        if f'id="{place}"' in body
    )
    return f'<nav class="contents" aria-label="Contents"><p class="brand">Assay</p><ol>{lines}</ol></nav>'


def _verdict(comparison: Comparison) -> str:
    """The answer in a sentence, what one must know beside it, and the figures that say most."""
    data = comparison.data
    first, *others = comparison.remarks or ("",)
    remarks = f'<p class="lead">{kept_together(first)}</p>' if first else ""
    if others:
        remarks += f'<ul class="remarks">{_items(others)}</ul>'
    best, (rows, columns) = comparison.recommended, data.X.shape
    figures = {comparison.score_name: comparison.shown_score(best)}
    if comparison.task == "regression":
        error = best.measures["RMSE"]
        figures["error (RMSE)"] = "rounding" if is_rounding(error, data) else shown(error, 3)
    elif comparison.task == "classification":
        figures["balanced accuracy"] = f"{best.measures['balanced accuracy']:.3f}"
    else:
        figures[comparison.score_name] = f"{best.score:.2f}"
        figures["variance explained"] = f"{best.measures['explained']:.0%}"
    figures["rows × columns"] = f"{rows:,} × {columns:,}"
    figures["certificates"] = best.verdict
    return (
        f'<header id="verdict"><p class="kicker">{comparison.task} · {escape(data.name)}</p>'
        f'<h1>{headed(comparison.headline)}</h1>{remarks}<dl class="cards">{_facts(figures)}</dl></header>'
    )


def alarms(comparison: Comparison) -> str:
    """What puts the whole comparison in doubt, such as a column that gives the target away."""
    if not comparison.alarms:
        return ""
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in comparison.alarms)
    return f'<aside class="alarm" id="alarm" aria-label="Warning">{told}</aside>'


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{kept_together(sentence)}</li>" for sentence in sentences)


def _facts(facts: Mapping[str, str]) -> str:
    return "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(words)}</dd></div>" for a, words in facts.items())


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
    "The model recommended is the simplest one that loses to the best by no more than one standard error, of "
    "their difference and of the best model itself, and by no more than half of what that gains on the "
    "baseline. It clearly beats the baseline if any model does (Holm corrects for their number), by its gain "
    "or by an R² above 0, which no constant has; no simpler model scores more. The models shown and saved "
    "are fitted once more on all rows.",
)
HOW_REGRESSION = (
    *HOW_FOLDS,
    "R² is 1 − (squared error) / (squared error of the fold's mean), averaged over the splits; a fold of one "
    "value counts 0.",
    "Coverage is the share of unseen rows that the 90% prediction intervals held. A method without "
    "intervals of its own gets them from its residuals on other folds; boosting keeps these residuals, "
    "and its own intervals are made of them. Other intervals of a method's own are stretched, or drawn in, "
    "until they hold 90% of the rows of the other folds.",
    *HOW_NOISE,
)
HOW_CLASSIFICATION = (
    *HOW_FOLDS,
    "Every fold has its share of each class. Accuracy is the share of rows whose class is named right; "
    "balanced accuracy averages that share over the classes.",
    "Log-loss, Brier score and calibration error judge the probabilities out of fold; 0 is perfect.",
    *HOW_NOISE,
)
HOW = {"regression": HOW_REGRESSION, "classification": HOW_CLASSIFICATION, "clustering": HOW_CLUSTERING}


def method(comparison: Comparison) -> str:
    """How the numbers came about."""
    repeats = comparison.repeats or 1
    times = "once" if repeats == 1 else f"{repeats} times over"
    facts = {"seed": comparison.seed, "folds": comparison.folds, "times": times}
    told = own_words(comparison, HOW[comparison.task])
    items = _items(sentence.format(**facts) for sentence in told)
    return section("method", "How it was measured", f'<ul class="how">{items}</ul>')


def usage(comparison: Comparison, model_path: str) -> str:
    """How to predict with the saved model, in a terminal and in Python."""
    columns = comparison.data.feature_names
    listed = ", ".join(repr(name) for name in columns[:4]) + (", ..." if len(columns) > 4 else "")
    verb = "clusters" if comparison.task == "clustering" else "predictions"
    path = shlex.quote(model_path)
    terminal = f"assay predict {path} new-rows.csv\nassay certify {path}\n"
    code = (
        "import assay\n\n"
        f"model = assay.load({model_path!r})\n"
        f"{verb} = model.predict(table)   # a frame with the columns {listed}\n"
    )
    return section(
        "usage",
        "Use the model",
        f"<p>{escape(comparison.recommended.name)} is saved in <code>{escape(model_path)}</code>, the coding "
        "and scaling of the columns included.</p>"
        f"<p>New rows, and the certificates, in a terminal:</p>{_listing(terminal)}"
        f"<p>The same model in Python:</p>{_listing(code)}",
    )


def reproduction(comparison: Comparison) -> str:
    """The command, the seed, the table and the versions behind the numbers."""
    data = comparison.data.whole or comparison.data
    facts = {
        "Seed": str(comparison.seed),
        "Table": f"{data.name}, {data.X.shape[0]:,} rows, {data.X.shape[1]:,} columns learnt from",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "Time": f"{comparison.seconds:.1f} s in all",
    }
    return section(
        "reproduce",
        "Reproduce it",
        f"<p>The same command on the same table gives the same numbers, times apart:</p>"
        f'{_listing(command(comparison))}<dl class="record">{_facts(facts)}<div><dt>SHA-256 of the table</dt>'
        f'<dd class="hash">{fingerprint(data)}</dd></div></dl>',
    )


def command(comparison: Comparison) -> str:
    """The command that makes the comparison again, every choice written out."""
    data = comparison.data
    words = ["assay", "compare", source_of(data), "--task", comparison.task]
    if data.target is not None:
        words += ["--target", data.target]
    words += reading_options(data)
    if comparison.folds is not None:
        words += ["--folds", str(comparison.folds), "--repeats", str(comparison.repeats or 1)]
    names = sorted({candidate.name for candidate in comparison.candidates if not candidate.is_baseline})
    words += ["--metric", comparison.metric] if comparison.metric is not None else []
    words += ["--methods", ",".join(names), "--seed", str(comparison.seed)]
    return shlex.join(words) + "\n"


def _listing(text: str) -> str:
    # A long list of names may break after a comma, and is copied as one word all the same; an option or a
    # name of a file does not break at its hyphen.
    whole = HYPHENED.sub(r'<span class="figure">\g<0></span>', escape(text))
    return f"<pre>{whole.replace(',', ',<wbr>')}</pre>"


HYPHENED = re.compile(r"(?<![^\s,])[^\s,]{0,30}-[^\s,]{1,30}(?![^\s,])")
"""A short word with a hyphen in it."""
