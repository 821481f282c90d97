"""The certificates of all models: how many hold, what they claim, and the numbers of each model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from assay.certificates import SYMBOLS, Certificate, Certificates
from assay.report.page.about import set_scripts
from assay.report.page.pieces import Cell, Heading, Row, anchor, section, table, tag
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.wording import capital, joined, shown

CERTIFICATES_NOTE = (
    "A certificate is a claim about a fit that was measured and could have failed. It holds, it fails, or "
    "it is vacuous: true, but no more than is known anyway. A claim that is a theorem needs what it assumes. "
    "A bound is a theorem that holds for any fit: worth reading, not counted."
)
VERDICTS = ("holds", "vacuous", "fails", "bound")
WORDS = {"fails": "some fail", "vacuous": "hold, some vacuous", "holds": "all hold", "bound": "bounds only"}
"""What is said of a model, by the worst verdict among its certificates."""

NO_ASSUMPTION = "none: every claim is measured on the fit itself"


def certificates_overview(comparison: Comparison) -> str:
    """The section: sentences on the models whose certificates all hold, the others as a table."""
    proven = [(rank, item) for rank, item in enumerate(comparison.candidates) if item.certificates]
    holding = [pair for pair in proven if _all_hold(pair[1])]
    plain = [pair for pair in holding if assumption_that_matters(pair[1].certificates) == NO_ASSUMPTION]
    alike = _alike(comparison, plain, holding) if len(plain) > 1 else ""
    others = [pair for pair in proven if not alike or pair not in holding]
    body = f"<p>{CERTIFICATES_NOTE}</p>{alike}{_overview(comparison, others) if others else ''}"
    return section("certificates", "Certificates", f"{body}{glossary(item for _, item in proven)}")


def _all_hold(candidate: Candidate) -> bool:
    """Whether all hold: such models need no line each."""
    return {item.verdict for item in candidate.certificates} <= {"holds", "bound"}


Ranked = Sequence[tuple[int, Candidate]]
"""Candidates with their places on the leaderboard."""


def _alike(comparison: Comparison, plain: Ranked, holding: Ranked) -> str:
    """A sentence on the models that rest on nothing, and one on those that assume something."""
    names = [_link(item, rank) for rank, item in plain]
    every = len(plain) == sum(bool(item.certificates) for item in comparison.candidates)
    all_of_them = "Both models" if len(plain) == 2 else f"All {len(plain)} models"
    subject = all_of_them if every else joined(names)
    listed = f": {joined(names)}" if every else ""
    text = (
        f'<span class="holds">{subject} hold what they claim</span>, {_number_of_certificates(plain)} each, '
        f"and assume nothing: every claim is measured on the fit itself{listed}."
    )
    resting: dict[str, list[tuple[int, Candidate]]] = {}
    for pair in holding:
        if pair not in plain:
            resting.setdefault(assumption_that_matters(pair[1].certificates), []).append(pair)
    for assumption, those in resting.items():
        who = joined([_link(item, rank) for rank, item in those])
        verb, each = ("holds", "") if len(those) == 1 else ("hold", " each")
        counts = _number_of_certificates(those)
        which = "which assumes" if counts == "1 certificate" else "of which some assume"
        text += f" {who} {verb} too, {counts}{each}, {which} that {escape(assumption)}."
    return f'<p class="alike">{text}</p>'


def _number_of_certificates(those: Ranked) -> str:
    counts = [len(item.certificates.decisive) for _, item in those]
    least, most = min(counts), max(counts)
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{number} {'certificate' if most == 1 else 'certificates'}"


def _link(candidate: Candidate, rank: int) -> str:
    return f'<a href="#{anchor(rank)}" class="name">{escape(candidate.name)}</a>'


def _overview(comparison: Comparison, others: list[tuple[int, Candidate]]) -> str:
    headings = [
        Heading("Model"),
        Heading("Verdict"),
        *(Heading(verdict.capitalize(), numeric=True, great_first=True) for verdict in VERDICTS),
        Heading("The assumption that matters most"),
    ]
    rows = [
        Row(_line(comparison, item, rank), item is comparison.recommended)
        for rank, item in sorted(others, key=lambda pair: pair[0])
    ]
    caption = "Certificates of the models: how many hold, are vacuous, fail or are bounds; what they assume."
    return table(caption, headings, rows, sortable=True)


def _line(comparison: Comparison, candidate: Candidate, rank: int) -> list[str | Cell]:
    counts = Counter(item.verdict for item in candidate.certificates)
    worst = next(verdict for verdict in WORDS if counts[verdict])
    # The quantities whose certificates fail or are vacuous stand below the verdict.
    odd = [
        f"{item.quantity} ({item.verdict})"
        for item in candidate.certificates
        if item.verdict in ("fails", "vacuous")
    ]
    below = f'<span class="chosen">{escape(", ".join(odd))}</span>' if odd else ""
    return [
        _link(candidate, rank) + tag(comparison, candidate),
        f'<span class="{worst}">{WORDS[worst]}</span>{below}',
        *(Cell(str(counts[name]), counts[name]) for name in VERDICTS),
        escape(assumption_that_matters(candidate.certificates)),
    ]


def assumption_that_matters(certificates: Certificates) -> str:
    """The assumption that most certificates rest on; those that fail count before those that hold.

    Examples
    --------
    >>> from assay.certificates import Certificate
    >>> gap = Certificate("It is close.", "gap", 0.0, "<=", 1.0, assumptions=("the kernel is positive",))
    >>> assumption_that_matters(Certificates([gap]))
    'the kernel is positive'
    >>> assumption_that_matters(Certificates([Certificate("It is close.", "gap", 0.0, "<=", 1.0)]))
    'none: every claim is measured on the fit itself'
    """
    resting = [item for item in certificates if item.assumptions]
    if not resting:
        return NO_ASSUMPTION
    counted = [item for item in resting if not item.holds] or resting
    (most, _), *_ = Counter(words for item in counted for words in item.assumptions).most_common(1)
    return most


def glossary(candidates: Iterable[Candidate]) -> str:
    """What each certificate claims and assumes, once for all models that have it."""
    explained: dict[tuple[str, str], Certificate] = {}
    for candidate in candidates:
        for item in candidate.certificates:
            explained.setdefault((item.quantity, item.claim), item)
    if not explained:
        return ""
    ordered = sorted(explained.values(), key=lambda item: item.quantity.lower())
    items = "".join(f"<li>{_explained(item)}</li>" for item in ordered)
    return (
        f'<details class="glossary"><summary>What each certificate claims</summary><ul>{items}</ul></details>'
    )


def _explained(item: Certificate) -> str:
    claim = item.claim if item.claim.endswith(".") else f"{item.claim}."
    assumed = f" Assumes: {escape('; '.join(item.assumptions))}." if item.assumptions else ""
    source = f' <span class="source">{escape(item.source)}</span>' if item.source else ""
    return f"<b>{escape(capital(item.quantity))}</b>: {set_scripts(escape(claim))}{assumed}{source}"


def certificates_of_model(candidate: Candidate) -> str:
    """The certificates of one model: the numbers that decide them; the claims stand in the glossary."""
    if not candidate.certificates:
        return '<p class="note">There is nothing to certify in a baseline.</p>'
    by_verdict: dict[str, list[str]] = {}
    for item in candidate.certificates:
        measured = f"{_number(item.value)} {SYMBOLS[item.relation]} {_number(item.bound)}"
        words = f'{escape(item.quantity)} <span class="measured">{measured}</span>'
        by_verdict.setdefault(item.verdict, []).append(words)
    items = "".join(
        f'<li><span class="{verdict}">{verdict}</span> {", ".join(words)}</li>'
        for verdict, words in by_verdict.items()
    )
    return f'<ul class="proofs" aria-label="Certificates">{items}</ul>'


def _number(value: float) -> str:
    """Three digits; very large and very small values by their power of ten, as bounds are."""
    if 1e-3 <= abs(value) < 1e6 or value == 0:
        return shown(float(value), 3)
    digits, _, power = f"{value:.3g}".partition("e")
    return f"{digits}e{int(power)}".replace("-", "−") if power else digits.replace("-", "−")
