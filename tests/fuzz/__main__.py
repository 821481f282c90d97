"""Try bad inputs on every estimator and count what became of them."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict

from fuzz.cases import Case, all_cases, is_extreme
from fuzz.judge import GOOD
from fuzz.known import KNOWN
from fuzz.runner import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], help="models whose representation begins like this")
    parser.add_argument("--kind", nargs="+", default=[], help="kinds that contain one of these")
    parser.add_argument("--extremes", action="store_true", help="only tables that may spoil an index")
    parser.add_argument("--share", type=float, default=1.0, help="part of the cases, drawn with a fixed seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--log", type=argparse.FileType("w"), help="write each verdict and its seconds here")
    options = parser.parse_args()
    cases = [case for case in all_cases() if wanted(case, options.only, options.kind)]
    if options.extremes:
        cases = [case for case in cases if is_extreme(case)]
    if options.share < 1:
        cases = random.Random(0).sample(cases, int(options.share * len(cases)))
    say(f"{len(cases)} inputs for {len({case.model for case in cases})} estimators and variants")
    began = time.monotonic()

    def write(case: Case, verdict: str, seconds: float) -> None:
        options.log.write(f"{seconds:.3f}\t{case.model}\t{case.kind}\t{verdict}\n")
        options.log.flush()

    verdicts = run(cases, n_workers=options.workers, report=write if options.log else None)
    return summary(verdicts, time.monotonic() - began)


def wanted(case: Case, models: list[str], kinds: list[str]) -> bool:
    of_model = not models or case.model.startswith(tuple(models))
    return of_model and (not kinds or any(kind in case.kind for kind in kinds))


def summary(verdicts: dict[Case, str], seconds: float) -> int:
    """List the others by estimator and verdict, then the one line; 0 if there are none."""
    others = {case: verdict for case, verdict in verdicts.items() if verdict not in GOOD}
    known = {case for case in verdicts if case.kind in KNOWN.get(case.model, ())}
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for case, verdict in others.items():
        if case not in known:
            groups[case.model, verdict].append(case.kind)
    for (model, verdict), kinds in sorted(groups.items()):
        say(f"{model}: {verdict}: {'; '.join(kinds)}")
    healed = sorted(known - others.keys())
    for case in healed:
        say(f"no longer needed in tests/fuzz/known.py: {case.model}: {case.kind}")
    if known:
        say(f"{len(known)} are known to fail")
    count = len(verdicts)
    say(f"{seconds:.0f} s")
    say(f"{count} inputs: {count - len(others)} answers or sentences, {len(others)} others")
    return 1 if others or healed else 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
