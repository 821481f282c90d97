"""The first use of a fresh installation."""

from __future__ import annotations

import subprocess
from contextlib import nullcontext

import pytest

from assay.cli import compare
from assay.cli.compare import compiling_ahead, is_fresh


class Process:
    """Stands for another process, and remembers how it was begun and ended."""

    def __init__(self, words, **options) -> None:
        self.words, self.options, self.ended = words, options, []

    def kill(self) -> None:
        self.ended.append("killed")

    def wait(self) -> None:
        self.ended.append("waited for")


@pytest.fixture
def processes(monkeypatch):
    begun = []

    def begin(words, **options):
        begun.append(Process(words, **options))
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(compare.os, "sched_getaffinity", lambda process: {0, 1})
    return begun


def test_an_installation_is_fresh_until_a_loop_has_been_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert is_fresh()
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "loop.nbi").touch()
    assert not is_fresh()


def test_another_process_compiles_ahead_and_ends_with_the_work(tmp_path, monkeypatch, processes):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with pytest.raises(KeyError), compiling_ahead("clustering"):
        (process,) = processes
        assert process.words[1:6] == ["-m", "assay.cli", "compare", "--demo", "clustering"]
        assert not process.ended
        raise KeyError
    assert process.ended == ["killed", "waited for"]


def test_a_used_installation_and_a_single_core_compile_alone(tmp_path, monkeypatch, processes):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compare.os, "sched_getaffinity", lambda process: {0})
    with compiling_ahead("clustering"):
        pass
    monkeypatch.setattr(compare.os, "sched_getaffinity", lambda process: {0, 1})
    (tmp_path / "loop.nbi").touch()
    with compiling_ahead("clustering"):
        pass
    assert processes == []


def test_only_all_demonstrations_together_compile_ahead(run, monkeypatch):
    ahead = []
    monkeypatch.setattr(compare, "run_compare", lambda *_: None)
    monkeypatch.setattr("assay.cli.compare.compiling_ahead", lambda task: ahead.append(task) or nullcontext())
    assert run("compare", "--demo", "clustering", "--output", "one").exit_code == 0
    assert ahead == []
    assert run("compare", "--output", "all").exit_code == 0
    assert ahead == ["clustering"]
