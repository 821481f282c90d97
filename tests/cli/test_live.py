"""The live display in a real terminal: what is seen on the way, what is left at the end, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal

from assay import loops, report
from assay.cli import live
from assay.cli.board import Line
from terminals import COLOR, Terminal

SHORT_PAGE = """
import sys
import types
page = types.ModuleType("assay.report.page.document")  # the real one takes a second to import
page.render = lambda comparison, model_path: comparison.headline
sys.modules[page.__name__] = page
from assay import report
"""

WAITS_AT_RIDGE = """
import time
from pathlib import Path
def waiting(data, *, progress, real=report.compare, **options):
    def tell(event):
        progress(event)
        while (event.method, event.state) == ("Ridge", "running") and not Path({signal!r}).exists():
            time.sleep(0.01)
    return real(data, progress=tell, **options)
report.compare = waiting
"""

NEVER = "no such file"
DURATION = r"\d+(\.\d)? (s|min)( \d+ s)?"

WRITES_FOR_EVER = """
def write(*rest, **options):
    import sys
    sys.stderr.write("writing\\n")
    while True:
        time.sleep(0.01)
report.write = write
"""

TITLE = "sales.csv: regression of price, 60 rows × 4 columns"
OPTIONS = ("--target", "price", "--methods", "Lasso,LinearRegression,Ridge", "--repeats", "1", "--folds", "2")


def test_a_live_table_on_the_way_and_a_clean_screen_at_the_end(table, tmp_path, tmp_path_factory, files):
    go_on = tmp_path_factory.mktemp("signals") / "go on"
    before = SHORT_PAGE + WAITS_AT_RIDGE.format(signal=str(go_on))
    with Terminal("compare", "sales.csv", *OPTIONS, folder=tmp_path, width=120, before=before) as terminal:
        terminal.read_until("▸ Ridge")
        terminal.read_until("9/12 fits ·")
        live = terminal.screen
        go_on.touch()
        assert terminal.finish() == 0
    assert not live.cursor_is_shown
    assert live.text.startswith(f"{TITLE}\n")
    assert re.search(rf"^✓ LinearRegression +3/3  R² \d\.\d+ ± \d\.\d+ +{DURATION}$", live.text, re.M)
    end = terminal.screen
    assert_the_screen_is_clean(end)
    assert end.text.startswith(f"{TITLE}\n")
    assert re.search(r"^ *★ \w+ +\d\.\d+ ± \d\.\d+", end.text, re.M)
    named = ["report", "model", "results", "script", "notebook"]
    assert [line.split()[0] for line in end.text.splitlines()[-5:]] == named
    assert terminal.widest <= 120
    assert COLOR.search(terminal.output)
    assert sorted(os.listdir(tmp_path / "assay-report")) == files


def test_a_method_that_waits_for_the_compiler_says_so(monkeypatch):
    lines = [Line(report.Event("Forest", "running", 0, 6), began=0.0)]
    assert [text for text, _ in live._row(lines[0], 6, 16, 5.0, plain=False)][3].strip() == "running"
    monkeypatch.setattr(loops, "is_compiling", lambda: True)
    assert [text for text, _ in live._row(lines[0], 6, 16, 5.0, plain=False)][3].strip() == "compiling loops"
    assert [text for text, _ in live._row(lines[0], 6, 16, 0.5, plain=False)][3].strip() == "running"


def assert_the_screen_is_clean(screen):
    assert screen.cursor_is_shown
    for mark in ("▸", "✓", "━", "fits ·", "reading", "writing"):
        assert mark not in screen.text, "the live table is gone"
    assert "Traceback" not in screen.text


def test_ctrl_c_ends_with_the_methods_that_are_finished_and_echoes_nothing(table, tmp_path, files):
    before = SHORT_PAGE + WAITS_AT_RIDGE.format(signal=NEVER)
    arguments = ("compare", "sales.csv", *OPTIONS)
    with Terminal(*arguments, folder=tmp_path, width=60, before=before, NO_COLOR="1") as terminal:
        terminal.read_until("▸ Ridge")
        terminal.press_ctrl_c()
        assert terminal.finish() == 130
    end = terminal.screen
    # Two letters more on a full line would push the live table down by a line that is then not erased.
    assert "^C" not in terminal.output
    assert end.text.count(TITLE) == 1
    assert_the_screen_is_clean(end)
    assert end.text.splitlines()[-1] == (
        "assay: interrupted; the report in assay-report holds the 2 methods that were finished."
    )
    words = " ".join(end.text.split())
    assert "LinearRegression 0." in words
    assert "Ridge 0." not in words
    assert "Ridge left out" in words
    assert max(map(len, end.text.splitlines()[:-1])) <= 60
    assert not COLOR.search(terminal.output)
    assert sorted(os.listdir(tmp_path / "assay-report")) == files


def test_in_a_dumb_terminal_lines_are_plain_and_a_second_ctrl_c_stops_at_once(table, tmp_path):
    before = SHORT_PAGE + WAITS_AT_RIDGE.format(signal=NEVER) + WRITES_FOR_EVER
    arguments = ("compare", "sales.csv", *OPTIONS)
    with Terminal(*arguments, folder=tmp_path, width=80, before=before, TERM="dumb") as terminal:
        terminal.read_until("[3/4] LinearRegression")
        terminal.interrupt()
        terminal.read_until("writing")
        terminal.interrupt()
        assert terminal.finish() == 130
    assert "\x1b" not in terminal.output
    shown = [line for line in terminal.screen.text.splitlines() if line != live.AT_FIRST_USE]
    title, *lines, writing, end = shown
    assert title == TITLE
    assert [line[:5] for line in lines] == ["[1/4]", "[2/4]", "[3/4]"]
    assert re.fullmatch(rf"\[3/4\] LinearRegression  R² \d\.\d+ ± \d\.\d+ +{DURATION}", lines[2])
    assert (writing, end) == ("writing", "assay: interrupted.")
    assert os.listdir(tmp_path) == ["sales.csv"]


def test_ctrl_c_before_any_method_is_finished_leaves_nothing(run, table, monkeypatch):
    real = report.compare

    def compare(data, *, progress, **options):
        def tell(event):
            progress(event)
            if event.state == "running":
                signal.raise_signal(signal.SIGINT)

        return real(data, progress=tell, **options)

    monkeypatch.setattr(report, "compare", compare)
    before = signal.getsignal(signal.SIGINT)
    result = run("compare", table, "--target", "price", "--methods", "Ridge")
    assert (result.exit_code, result.stderr) == (130, "assay: interrupted.\n")
    assert os.listdir() == ["sales.csv"]
    assert signal.getsignal(signal.SIGINT) is before
