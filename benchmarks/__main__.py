"""Run the benchmarks and print the table of ratios: `python -m benchmarks [pytest options]`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HEADER = ("case", "library", "seconds", "÷ assay", "quality", "peak MiB")


def run(options: list[str]) -> list[dict[str, Any]]:
    """Run pytest-benchmark on the files of this folder and return what it measured."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "results.json"
        command = [
            sys.executable, "-m", "pytest", str(HERE), "--rootdir", str(HERE.parent),
            "-p", "no:cacheprovider",
            "-o", "python_files=bench_*.py", "-o", "filterwarnings=default", "-o", "timeout=0",
            "--benchmark-only", "--benchmark-quiet", f"--benchmark-json={output}", "-q", *options,
        ]  # fmt: skip
        subprocess.run(command, check=False, cwd=HERE.parent, stdout=sys.stderr)
        text = output.read_text() if output.exists() else ""
        return json.loads(text)["benchmarks"] if text else []


def table(measured: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """One line a contestant, cases together, the times of peers divided by ours."""
    lines: list[tuple[str, ...]] = []
    for case, group in groupby(
        sorted(measured, key=lambda item: item["group"]), key=lambda item: item["group"]
    ):
        contestants = list(group)
        ours = [item["stats"]["median"] for item in contestants if item["extra_info"]["library"] == "assay"]
        for item in sorted(contestants, key=lambda item: item["extra_info"]["library"] != "assay"):
            seconds, info = item["stats"]["median"], item["extra_info"]
            ratio = f"{seconds / ours[0]:.2f}" if ours else "–"
            lines.append(
                (
                    case,
                    info["library"],
                    f"{seconds:.3g}",
                    ratio,
                    f"{info['quality']:.12g}",
                    f"{info['peak_mebibytes']:.0f}",
                )
            )
    return lines


def markdown(lines: list[tuple[str, ...]]) -> str:
    """A Markdown table whose columns line up in a terminal too."""
    cells = [HEADER, *lines]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [HEADER, rule, *lines]
    )


def main() -> int:
    """Run, print, and fail when nothing was measured."""
    lines = table(run(sys.argv[1:]))
    sys.stdout.write(markdown(lines) + "\n")
    return 0 if lines else 1


if __name__ == "__main__":
    raise SystemExit(main())
