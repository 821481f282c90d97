"""The page of results, and the sentence of the README that says where Assay is slower."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill

from benchmarks.results import Case, Results, Run, runs_of

HEAD = """\
# Benchmarks

`make bench` runs every case with Assay and with each peer that is installed, then writes this page, the
picture in the README and `benchmarks.json`, from which both are made. `make bench ARGS="-k medoids"`
measures, and replaces, only the cases that it names.

The ratio is the median time of the peer over ours in the same run: above 1 Assay is faster. Read the
ratios, not the seconds: machines differ. A faster answer that is worse does not count, so the quality
that both reached is beside it: the mean squared residual, the inertia, the penalised mean loss
(logistic, Poisson), the worst relative duality gap (lasso), the objective (machines, quantiles,
medoids, convex clustering), the sum of heights (linkages), the NormCut (spectral) or the sum of
distances (neighbours), unless the case says otherwise. Memory is the peak that a fit adds, in MiB, or
that of the whole process for the commands. All use every core, and numbers are float64 unless the case
says otherwise.

`python -m benchmarks --against SRC` compares with another source tree of Assay instead of the peers:
both take turns in processes of their own on the same data, the ratios of medians are printed with the
worst first, and nothing is written.

*pyarrow, reading only* reads the files and computes nothing; *scikit-learn, defaults* stops at a worse
objective. They are yardsticks and are not in the picture.
"""

PEERS = ("case", "data", "seconds", "peer", "ratio", "quality", "quality, peer", "MiB", "MiB, peer", "run")
ALONE = ("case", "data", "seconds", "quality", "MiB", "run")
BEGIN, END = "<!-- slower: written by make bench -->", "<!-- /slower -->"


def page(results: Results) -> str:
    """The whole page in Markdown."""
    cases = results.cases
    runs = runs_of(cases)
    lines = [
        (str(number), run.date, run.machine, _versions(run.versions))
        for number, run in enumerate(runs, start=1)
    ]
    parts = [
        HEAD,
        table(("run", "date", "machine", "versions"), lines),
        "## Against peers\n",
        against_peers(cases),
        "## Without a peer\n",
        without_peers(cases),
        *notes_section(results.notes),
    ]
    return "\n".join(parts)


def against_peers(cases: list[Case]) -> str:
    """One line per case and peer, the fastest peer first."""
    runs = runs_of(cases)
    lines = []
    for case in cases:
        for name in case.others:
            peer = case.contestants[name]
            lines.append(
                (
                    case.case,
                    case.data,
                    _seconds(case.ours.seconds),
                    name,
                    f"{peer.ratio:.2f}",
                    _quality(case.ours.quality),
                    _quality(peer.quality),
                    _mebibytes(case),
                    f"{peer.peak_mebibytes:.0f}",
                    _run(case, runs),
                )
            )
    return table(PEERS, lines)


def without_peers(cases: list[Case]) -> str:
    """One line per case that no other library ran."""
    runs = runs_of(cases)
    lines = [
        (
            case.case,
            case.data,
            _seconds(case.ours.seconds),
            _quality(case.ours.quality),
            _mebibytes(case),
            _run(case, runs),
        )
        for case in cases
        if not case.others
    ]
    return table(ALONE, lines)


def notes_section(notes: list[str]) -> list[str]:
    """What else was measured, a line each."""
    return ["## What else was measured\n", *(f"- {note}" for note in notes), ""] if notes else []


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; cells are not padded, so that a line changes only when its case does."""
    rule = ("---",) * len(header)
    return "".join("| " + " | ".join(row) + " |\n" for row in (header, rule, *lines))


def aligned(text: str) -> str:
    """A Markdown table whose columns line up in a terminal."""
    rows = [line[2:-2].split(" | ") for line in text.splitlines()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    filled = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in filled)


def where_slower(cases: list[Case]) -> str:
    """The sentence that says in how many cases the fastest peer is faster, and in which."""
    met = [case for case in cases if case.fastest_peer is not None]
    slower = sorted((case for case in met if case.least_ratio < 1), key=lambda case: case.least_ratio)
    if not slower:
        return f"In none of {len(met)} cases is the fastest peer faster."
    named = "; ".join(
        f"{case.case} ({case.data}) runs at {case.least_ratio:.2f} of the speed of {case.fastest_peer}"
        for case in slower
    )
    return f"The fastest peer is faster in {len(slower)} of {len(met)} cases: {named}."


def with_sentence(readme: str, sentence: str) -> str:
    """The README with the sentence between its two marks."""
    marked = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not marked.search(readme):
        raise ValueError(f"The README must have the marks {BEGIN} and {END}. Got none.")
    wrapped = fill(sentence, 120, break_on_hyphens=False)
    return marked.sub(lambda match: f"{BEGIN}\n{wrapped}\n{END}", readme)


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "not recorded"


def _run(case: Case, runs: list[Run]) -> str:
    return str(runs.index(case.run) + 1)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g}"


def _quality(quality: float | None) -> str:
    return "—" if quality is None else f"{quality:.12g}"


def _mebibytes(case: Case) -> str:
    return f"{case.ours.peak_mebibytes:.0f}"
