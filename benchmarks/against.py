"""Two source trees side by side: every case of ours in turns, on the same data, each in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.contest import OURS, Measurement
from benchmarks.page import aligned, table
from benchmarks.results import read_measurements

LIMIT = 1.05
"""A case whose ratio of medians is above this is slower."""

HEADER = (
    "case",
    "data",
    "other s",
    "this s",
    "this ÷ other",
    "turn by turn",
    "quality, other",
    "quality, this",
)


class Pair(NamedTuple):
    """One case measured in both trees."""

    other: Measurement
    this: Measurement

    @property
    def ratio(self) -> float:
        """Median time of this tree over that of the other."""
        return median(self.this.seconds) / median(self.other.seconds)

    def cells(self) -> tuple[str, ...]:
        """The line of the table."""
        turns = sorted(a / b for a, b in zip(self.this.seconds, self.other.seconds, strict=True))
        return (
            self.this.case,
            self.this.data,
            f"{median(self.other.seconds):.3g}",
            f"{median(self.this.seconds):.3g}",
            f"{self.ratio:.3f}",
            f"{turns[0]:.2f} to {turns[-1]:.2f}",
            *("—" if one.quality is None else f"{one.quality:.12g}" for one in self),
        )


def compare_trees(other: Path, this: Path, command: list[str], n_turns: int) -> int:
    """Run the command with the package from both trees and print the ratios, the worst first.

    Returns
    -------
    code : int
        1 if a case is slower by more than 5 %, or was measured in one tree only, or none was measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        measured = run_in_turns((other, this), command, n_turns, Path(folder))
    pairs = [Pair(measured[0][key], measured[1][key]) for key in measured[0].keys() & measured[1].keys()]
    pairs.sort(key=lambda pair: pair.ratio, reverse=True)
    sys.stdout.write(aligned(table(HEADER, [pair.cells() for pair in pairs])))
    slower = sum(pair.ratio > LIMIT for pair in pairs)
    sys.stdout.write(f"\n{slower} of {len(pairs)} cases are more than 5 % slower in this tree.\n")
    alone = measured[0].keys() ^ measured[1].keys()
    for case, data in sorted(alone):
        where = "the other" if (case, data) in measured[0] else "this"
        sys.stdout.write(f"Measured in {where} tree only: {case}, {data}\n")
    return 1 if slower or alone or not pairs else 0


def run_in_turns(
    trees: tuple[Path, Path], command: list[str], n_turns: int, folder: Path
) -> list[dict[tuple[str, str], Measurement]]:
    """Measurements of both trees by case and data.

    Two processes pass one token back and forth through two pipes, and only the one that holds it computes.
    """
    pipes = [os.pipe(), os.pipe()]
    os.write(pipes[0][1], b".")  # the first process begins
    children, files = [], []
    for place, tree in enumerate(trees):
        waiting, giving = pipes[place][0], pipes[1 - place][1]
        file, log = folder / f"{place}.jsonl", folder / f"{place}.log"
        files.append((file, log))
        options = [
            "--only", OURS, "--turns", str(n_turns), "--pipes", f"{waiting},{giving}",
            "--tree", str(tree), "--measurements", str(file), "--capture", "no",
        ]  # fmt: skip
        path = os.pathsep.join([str(tree), *filter(None, [os.environ.get("PYTHONPATH")])])
        with log.open("w") as output:
            child = subprocess.Popen(
                [*command, *options],
                pass_fds=(waiting, giving),
                stdout=output,
                env={**os.environ, "PYTHONPATH": path},
            )
        children.append(child)
    # While this process holds an end of a pipe, a child would not learn that the other has ended.
    for pipe in (*pipes[0], *pipes[1]):
        os.close(pipe)
    codes = [child.wait() for child in children]
    for code, tree, (_, log) in zip(codes, trees, files, strict=True):
        if code != 0:
            sys.stderr.write(f"pytest ended with {code} for {tree}:\n{log.read_text()}\n")
    return [{(m.case, m.data): m for m in read_measurements(file)} for file, _ in files]
