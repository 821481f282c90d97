"""What a method computes, assumes and guarantees: its documentation as HTML, formulas set as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from itertools import pairwise

from assay.report.methods import Method, catalogue
from assay.report.page.pieces import scrolling
from assay.report.tables.checks.associations import short
from assay.report.trials.candidate import Candidate, final_step
from assay.report.trials.clusters.comparison import ClusteringComparison
from assay.report.trials.comparison import Comparison
from assay.report.wording import capital, joined
from assay.suitability import Suitability

TARGETS = {"counts": "the target counts something", "positive": "the target is above zero"}
SIZES = {
    "max_rows": "rows",
    "max_features": "columns of numbers",
    "max_numbers": "numbers in all",
    "max_side": "rows or columns, whichever are fewer",
    "max_pairs": "rows times rows times columns",
    "max_class_numbers": "numbers times classes, where these are more than two",
    "max_class_rows": "rows times classes, where these are more than two",
}
# Names of parameters, between ticks or not.
CODE = re.compile(r"`([^`]+)`|\b([a-z][a-z0-9]*(?:_[a-z0-9]{3,})+)")
# Where a column of a formula begins: after several blanks, or at the beginning of a line.
COLUMN = re.compile(r"^\s*\S|\s\s\S")
WORD = re.compile(r"(?<!\S)\S")
SUBSCRIPT = re.compile(
    r"(?P<base>(?<![A-Za-z0-9_<])[^\W\d_][\u0300-\u036f]?|[‖′]|\b(?:min|max|argmin|argmax|mean))_"
    r"(?P<script>\{[^{}]*\}|\*|[·A-Za-zα-ω0-9]{1,2}′?·?(?![a-z0-9])|row\b|col\b)"
)
SUPERSCRIPT = re.compile(
    r"(?P<base>[\w)>‖|])\^(?P<script>\{[^{}]*\}|\((?:[^()]|\([^()]*\))*\)|⊥|[−]?[\w½](?!\w))"
)


def about(candidate: Candidate, *, whole: bool) -> str:
    """What a model computes and takes for granted, as HTML; the `whole` of it also how, proofs and sources.

    Empty where there is nothing to tell, as of a baseline.
    """
    kind = type(final_step(candidate.model)).__name__
    method = next((item for item in catalogue() if item.name == kind), None)
    if method is None or candidate.is_baseline:
        return ""
    facts = [
        ("Assumes", _marked(capital(method.assumptions))),
        *([("Certifies", _marked(capital(method.certificates)))] if whole else []),
        *([("Size", escape(_limits(getattr(method.kind, "_suits", None))))] if whole else []),
        *([("Read more", escape(method.references))] if whole else []),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in facts if words)
    return f'<div class="about">{_objective(method, whole=whole)}<dl class="facts">{listed}</dl></div>'


def prose(text: str) -> str:
    """Words of the documentation as HTML: paragraphs, names of parameters set as code.

    Examples
    --------
    >>> prose("The best of `n_init` for x < 0.")
    '<p>The best of <code>n_init</code> for x &lt; 0.</p>'
    >>> prose("the sum of x_i^2")
    '<p>the sum of x<sub>i</sub><sup>2</sup></p>'
    """
    return "".join(f"<p>{_marked(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph)


def _objective(method: Method, *, whole: bool) -> str:
    """The sentence that leads to the formula, the formula, and the one that goes on after it."""
    after = prose(method.algorithm) if whole else ""
    if not method.formula:
        return (prose(method.objective) if whole else "") + after
    lead = prose(method.objective.partition("\n\n")[0])
    formula = scrolling(f"Objective of {method.name}", typeset(method.formula))
    return f'{lead}<div class="formula">{formula}</div>{after}'


def typeset(formula: str) -> str:
    """A formula of the documentation as HTML: its own signs, scripts lowered and raised, columns kept.

    What begins below another part of the formula, or after several blanks, begins a column of a grid.

    Examples
    --------
    >>> typeset("x_i²")
    '<div role="math" aria-label="x_i²"><span style="grid-area: 1 / 1 / 2 / 2">x<sub>i</sub>²</span></div>'
    """
    lines = formula.replace("'", "′").splitlines()
    starts = sorted({part.end() - 1 for line in lines for part in COLUMN.finditer(line)})
    cells = []
    for row, line in enumerate(lines, start=1):
        # A column of another line cuts this one too where a word of it begins there.
        own = [place for place in starts if WORD.match(line, place)]
        for start, end in pairwise([*own, len(line)]):
            last = starts.index(end) if end < len(line) else len(starts)
            area = f"{row} / {starts.index(start) + 1} / {row + 1} / {last + 1}"
            cells.append(f'<span style="grid-area: {area}">{_marked(line[start:end])}</span>')
    return f'<div role="math" aria-label="{escape(" ".join(formula.split()))}">{"".join(cells)}</div>'


def _limits(suits: Suitability | None) -> str:
    """For which tables the method is tried, and its place among models that are equally good."""
    if suits is None:
        return "It is tried where it is asked for by name."
    limits = [
        f"{limit:,} {SIZES[name]}{', times the classes' * (suits.per_class and name == 'max_numbers')}"
        for name, limit in suits.limits.items()
    ]
    size = f"tables of up to {joined(limits)}" if limits else "tables of any size"
    targets: list[str] = []
    other: Suitability | None = suits
    while other is not None and other.target is not None:
        targets.append(TARGETS[other.target])
        other = other.otherwise
    where = f", where {' or '.join(targets)}" if targets and other is None else ""
    return f"It is tried on {size}{where}. Complexity {suits.complexity}."


def _marked(text: str) -> str:
    """One paragraph: names set as code, scripts of formulas in the text lowered and raised."""
    text, done, place = escape(" ".join(text.split()), quote=False), "", 0
    for mark in CODE.finditer(text):
        done += f"{set_scripts(text[place : mark.start()])}<code>{mark[1] or mark[2]}</code>"
        place = mark.end()
    return done + set_scripts(text[place:])


def set_scripts(text: str) -> str:
    """Words as HTML with the scripts of formulas lowered and raised."""

    def set_as(kind: str, mark: re.Match[str]) -> str:
        script = mark["script"][1:-1] if mark["script"][0] in "{(" else mark["script"]
        return f"{mark['base']}<{kind}>{script}</{kind}>"

    lowered = text
    while (again := SUBSCRIPT.sub(partial(set_as, "sub"), lowered)) != lowered:  # a script may have its own
        lowered = again
    return SUPERSCRIPT.sub(partial(set_as, "sup"), lowered)


IN_ORDER = (
    "Cross-validation: the rows are put in the order of {by} and cut into stretches of time; each of "
    "{folds}, the same for every method, is predicted by a model fitted on the rows before it, without the "
    "last ones (a hundredth of the rows, at least one time). The first stretch is learnt from alone. "
    "Penalties and rounds are chosen in the same way inside the rows learnt from."
)
BY_GROUPS = (
    "Cross-validation: the groups that {by} names are shuffled (seed {seed}) and cut into {folds} folds, "
    "{times}, the same for every method. Each fold is predicted by a model fitted on the others, which has "
    "seen no row of its groups; {by} itself is not learnt from. Penalties and rounds are chosen on folds of "
    "whole groups, too."
)
GOWER = (
    "Rows are compared by Gower's distance, a sum over the columns: numbers differ by their difference over "
    "the mean difference of two rows, words by one or nothing, which counts half as much on average. What is "
    "missing counts as the middle."
)
STANDARDISED = (
    "Every column is centred and scaled to standard deviation 1, so that units do not matter; a missing "
    "number counts as the median."
)
EIGENGAP_ALONE = "The eigengap looks at the graph of 10 neighbours of each row, of up to 1000 rows."


DEFINED = {
    "F1": "F1 is 2 · precision · recall / (precision + recall) of each class, averaged over the classes.",
    "ROC AUC": "ROC AUC is the chance that a row of a class has a greater probability of it than one of the "
    "others, averaged over the classes.",
    "pinball": "The pinball loss at q costs q per unit predicted too low, 1 − q per unit too high.",
    "share of": "The score is the share of all costs that lie in the rows whose class is named wrong.",
    "mean error by": "The score is the mean absolute error, each row weighted by its cost.",
}
"""Scores that a user may ask for, by how their names begin."""


def own_words(comparison: Comparison, usual: Sequence[str]) -> Iterator[str]:
    """The sentences on how the numbers came about, with those in place that hold for this table."""
    data = comparison.data
    by = repr(short(str(data.time or data.group))).replace("{", "{{").replace("}", "}}")
    for sentence in usual:
        if sentence.startswith("Cross-validation: the rows are shuffled"):
            other = IN_ORDER if data.times is not None else BY_GROUPS if data.groups is not None else sentence
            yield other.replace("{by}", by)
        elif sentence.startswith("Every fold has its share of each class.") and (
            data.times is not None or data.groups is not None
        ):
            yield sentence.removeprefix("Every fold has its share of each class. ")
        elif isinstance(comparison, ClusteringComparison) and sentence.startswith("Every column is centred"):
            yield GOWER if comparison.is_mixed else STANDARDISED
        elif isinstance(comparison, ClusteringComparison) and sentence.startswith("The gap statistic"):
            yield EIGENGAP_ALONE if comparison.is_mixed else sentence
        else:
            yield sentence
    yield from (words for name, words in DEFINED.items() if comparison.score_name.startswith(name))
