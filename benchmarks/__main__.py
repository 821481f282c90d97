"""Run the benchmarks: `python -m benchmarks [--against SRC] [pytest options]`.

Without `--against`, Assay and the peers that are installed run every case that the options select. The table
is printed, and the cases measured replace those of `docs/benchmarks.json`, from which `docs/benchmarks.md`,
the picture and a sentence of the README are written. With `--against`, Assay from this tree and Assay from
another source tree take turns, and nothing is written.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.against import compare_trees
from benchmarks.conftest import SCALE
from benchmarks.contest import Measurement
from benchmarks.page import against_peers, aligned, page, where_slower, with_sentence, without_peers
from benchmarks.picture import picture
from benchmarks.results import Results, gather, load, merge, read_measurements, save, this_run

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS, PAGE, PICTURE = (ROOT / "docs" / f"benchmarks.{ending}" for ending in ("json", "md", "svg"))
README = ROOT / "README.md"


def pytest_command(options: list[str]) -> list[str]:
    """The command that runs the files of this folder.

    Without the options of the tests: looking for examples imports every module, and with `method_costs` its
    one thread.
    """
    return [
        sys.executable, "-m", "pytest", str(HERE), "--rootdir", str(ROOT), "-q", "-p", "no:cacheprovider",
        "-o", "addopts=", "-o", "python_files=bench_*.py", "-o", "filterwarnings=default", "-o", "timeout=0",
        *options,
    ]  # fmt: skip


def run(options: list[str]) -> tuple[int, list[Measurement]]:
    """Run the cases and return the code of pytest and what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measurements.jsonl"
        command = pytest_command([*options, "--measurements", str(file)])
        code = subprocess.run(command, check=False, cwd=ROOT, stdout=sys.stderr).returncode
        return code, list(read_measurements(file))


def write(results: Results) -> None:
    """Write the page, the picture and the sentence of the README from the results."""
    PAGE.write_text(page(results), encoding="utf-8")
    PICTURE.write_text(picture(results.cases), encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    README.write_text(with_sentence(readme, where_slower(results.cases)), encoding="utf-8")


def main() -> int:
    """Run, print and write; fail when something failed or nothing was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Other options go to pytest, such as -k medoids."
    )
    parser.add_argument("--against", type=Path, metavar="SRC", help="another source tree, to take turns with")
    parser.add_argument(
        "--page", action="store_true", help="only write the page again, from the results kept"
    )
    parser.add_argument("--turns", type=int, default=3, help="turns that each tree gets, 3 unless said")
    known, options = parser.parse_known_args()
    if known.page:
        write(load(RESULTS))
        return 0
    if known.against is not None:
        if not (known.against / "assay" / "__init__.py").exists():
            parser.error(f"--against must be a folder that holds the package assay. Got {known.against}.")
        command = pytest_command(options)
        return compare_trees(known.against.resolve(), ROOT / "src", command, known.turns)
    code, measured = run(options)
    cases = gather(measured, this_run())
    sys.stdout.write(aligned(against_peers(cases)) + "\n" + aligned(without_peers(cases)))
    if SCALE == 1:
        merged = merge(load(RESULTS), cases)
        save(merged.results, RESULTS)
        write(merged.results)
        for reason in merged.left:
            sys.stderr.write(f"Kept as it was: {reason}\n")
    return code if cases else 1


if __name__ == "__main__":
    raise SystemExit(main())
