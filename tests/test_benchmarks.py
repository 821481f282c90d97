"""What the benchmarks keep and write: nothing is measured here."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from benchmarks import compare_page, quality_page
from benchmarks.against import Pair
from benchmarks.compare_page import Measured
from benchmarks.contest import Contest, Measurement, Turns
from benchmarks.page import page, where_slower, with_sentence
from benchmarks.picture import picture
from benchmarks.results import Results, Run, gather, load, merge, runs_of, save

ROOT = Path(__file__).resolve().parent.parent
EARLIER, LATER = Run("2026-01-01", "one core"), Run("2026-02-02", "two cores", {"numpy": "2.4"})


def measured(case, **seconds):
    return [Measurement(case, "iris", library, [time], 0.5, 3.0) for library, time in seconds.items()]


@pytest.fixture
def stored():
    return Results(gather(measured("a", assay=2.0, sklearnex=3.0) + measured("b", assay=1.0), EARLIER), ["n"])


def test_the_page_the_picture_and_the_readme_say_what_the_results_say():
    results = load(ROOT / "docs" / "benchmarks.json")
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page(results)
    assert (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8") == picture(results.cases)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == with_sentence(readme, where_slower(results.cases))


def test_the_page_of_tools_says_what_was_measured():
    stored = json.loads((ROOT / "docs" / "compare.json").read_text(encoding="utf-8"))
    measured = [Measured(**item) for item in stored["measured"]]
    written = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    assert written == compare_page.page(measured, stored["run"])
    assert {item.tool for item in measured} >= {"assay", "FLAML", "mljar", "LightGBM"}


def test_the_page_of_trees_says_what_was_measured():
    stored = json.loads((ROOT / "docs" / "quality_trees.json").read_text(encoding="utf-8"))
    measured = [quality_page.Measured(**item) for item in stored["measured"]]
    written = (ROOT / "docs" / "quality_trees.md").read_text(encoding="utf-8")
    assert written == quality_page.page(measured, stored["run"])
    boosting = {item.table for item in measured if item.contest == "boosting"}
    assert len(boosting) >= 12


def test_the_standing_of_trees_counts_what_is_worse_by_more_than_its_error():
    def one(table, library, losses):
        return quality_page.Measured(table, "R", "regression", (100, 5), "extra", library, losses)

    losses = {"a": [2.2, 2.1, 2.3, 2.2, 2.2], "b": [1.9, 2.2, 1.9, 2.1, 2.0], "c": [1.0] * 5}
    measured = [one(name, "Assay", each) for name, each in losses.items()]
    measured += [one(name, "scikit-learn", [2.0] * 5) for name in losses]
    text = quality_page.standing(measured, ["Assay", "scikit-learn"])
    assert "better by more than a standard error on 1, level on 1, **worse on 1**: a (+10.0%)" in text
    assert "13.0% below theirs" in text


def test_tools_are_compared_on_the_cuts_that_all_have_answered():
    def one(tool, scores):
        return Measured("a", "R", "regression", (100, 5), tool, scores, [1.0] * len(scores))

    singles = [one(tool, [0.5, 0.9]) for tool in compare_page.SINGLE]
    measured = [one("assay", [0.5]), one(compare_page.BEST, [0.49]), *singles]
    assert "as good on 1; **worse on 0**" in compare_page.standing(measured, ["assay", "LightGBM"])
    assert "random forest on 1 of 1 tables.\n" in compare_page.against_defaults(measured)
    behind = [one("assay", [0.5]), one(compare_page.BEST, [0.4]), *singles]
    assert "0 of 1 tables; behind on a (−0.100)" in compare_page.against_defaults(behind)


def test_the_best_of_the_leaderboard_is_level_within_the_error_over_all_its_cuts():
    def one(tool, scores):
        return Measured("a", "R", "regression", (100, 5), tool, scores, [1.0] * len(scores))

    fits = [one("LightGBM", [0.5, 0.6, 0.7]), one("XGBoost", [0.4] * 3), one("random forest", [0.3] * 3)]
    flaml = one("FLAML", [0.9])  # measured on fewer cuts, which are not those of this table
    (near,) = compare_page.beside_defaults([one(compare_page.BEST, [0.4, 0.6, 0.75]), *fits, flaml])
    assert (near.rival, len(near.gains), near.is_level) == ("LightGBM", 3, True)
    assert near.shown_gain == "−0.017 ± 0.044"
    (far,) = compare_page.beside_defaults([one(compare_page.BEST, [0.4, 0.5, 0.58]), *fits, flaml])
    assert not far.is_level
    assert compare_page.beside_defaults([one(compare_page.BEST, [0.4]), *fits[:2]]) == []


def test_the_standing_among_tools_counts_what_is_worse_too():
    def one(table, tool, score):
        return Measured(table, "R", "regression", (100, 5), tool, [score], [10.0 if tool == "assay" else 2.0])

    scores = {"a": (0.5, 0.6), "b": (0.70, 0.705), "c": (0.9, 0.4)}
    measured = [
        one(name, tool, score)
        for name, pair in scores.items()
        for tool, score in zip(("assay", "LightGBM"), pair, strict=True)
    ]
    (line,) = compare_page.standing(measured, ["assay", "LightGBM"]).strip().splitlines()
    assert "better on 1: c (+0.50)" in line
    assert "as good on 1" in line
    assert "**worse on 1**: a (−0.10)" in line
    assert "5 times the processor time" in line


def test_a_partial_run_replaces_its_cases_alone(stored):
    again = gather(measured("a", assay=1.0, sklearnex=4.0), LATER)
    (first, second), notes = merge(stored, again).results
    assert (first.contestants["sklearnex"].ratio, first.run) == (4.0, LATER)
    assert (second, notes) == (stored.cases[1], ["n"])


def test_a_case_that_lost_a_peer_stays_as_it_was(stored):
    merged = merge(stored, gather(measured("a", assay=1.0, celer=4.0), LATER))
    assert merged.results == stored
    assert merged.left == ["a, iris: sklearnex not measured"]


def test_a_case_without_assay_is_not_kept():
    assert gather(measured("a", sklearnex=1.0), LATER) == []


def test_results_are_read_as_they_were_written(stored, tmp_path):
    results = merge(stored, gather(measured("c", assay=1.0), LATER)).results
    save(results, tmp_path / "results.json")
    assert load(tmp_path / "results.json") == results
    assert runs_of(results.cases) == [EARLIER, LATER]


def test_slower_cases_are_named_the_worst_first_and_yardsticks_are_no_peers():
    cases = gather(
        [
            *measured("a", assay=2.0, celer=1.8),
            *measured("b", assay=2.0, celer=1.0, SciPy=3.0),
            *measured("c", assay=1.0, SciPy=1.5, **{"pyarrow, reading only": 0.5}),
        ],
        LATER,
    )
    assert where_slower(cases) == (
        "The fastest peer is faster in 2 of 3 cases: b (iris) runs at 0.50 of the speed of celer; "
        "a (iris) runs at 0.90 of the speed of celer."
    )
    assert where_slower(cases[2:]) == "In none of 1 cases is the fastest peer faster."
    assert picture(cases).count("<circle") == 3
    assert page(Results(cases, [])).count("reading only |") == 1


def test_two_processes_take_turns_and_share_out_the_rounds():
    pipes = [os.pipe(), os.pipe()]
    os.write(pipes[0][1], b".")
    runs, kept = [], []

    def contest(place):
        turns = Turns(3, (pipes[place][0], pipes[1 - place][1]))
        turns.wait()
        Contest(kept.append, None, turns).run(
            "a",
            "iris",
            "assay",
            lambda: runs.append(place),
            lambda none: None,
            rounds=6,
            child_peak=lambda none: 0,
        )
        turns.hand_over()
        os.close(pipes[1 - place][1])  # as the end of a process does

    threads = [threading.Thread(target=contest, args=(place,)) for place in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert runs == [0, 0, 1, 1] * 3
    assert [len(one["seconds"]) for one in kept] == [3, 3]
    for reading, _ in pipes:
        os.close(reading)


def test_only_one_library_runs_when_asked():
    with pytest.raises(pytest.skip.Exception):
        Contest(lambda measurement: None, "assay", Turns()).run("a", "iris", "celer", lambda: 1, float)


def test_the_ratio_of_two_trees_is_of_medians():
    other, this = (Measurement("a", "iris", "assay", times, 1.0, 0.0) for times in ([1, 9, 2], [4, 3, 90]))
    assert Pair(other, this).ratio == 2.0
    assert Pair(other, this).cells()[4:6] == ("2.000", "0.33 to 45.00")
