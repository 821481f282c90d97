"""Files: both or neither, and what was there before stays when the new run fails."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil

import numpy as np
import pytest

import assay
from assay import persistence
from assay.report import ReportError, certificates_of, check_folder, write, writing
from assay.report.results import fingerprint


@pytest.fixture
def _short_page(monkeypatch):
    monkeypatch.setattr(writing, "render", lambda comparison, model_path: f"<p>{model_path}</p>")


def test_report_and_model_are_written(tmp_path, clustering):
    written = write(clustering, tmp_path / "deep" / "out")
    assert sorted(os.listdir(tmp_path / "deep" / "out")) == sorted(writing.FILES)
    assert str(written.model) in written.report.read_text(encoding="utf-8")
    model = assay.load(written.model)
    np.testing.assert_array_equal(model.predict(clustering.data.X), clustering.best.predictions)
    assert certificates_of(model) == clustering.best.certificates


@pytest.mark.usefixtures("_short_page")
def test_the_saved_regression_predicts_the_same(tmp_path, regression):
    model = assay.load(write(regression, tmp_path).model)
    X = regression.data.X
    np.testing.assert_allclose(model.predict(X), regression.recommended.model.predict(X))
    assert certificates_of(model).holds


@pytest.mark.usefixtures("_short_page")
def test_a_failed_save_leaves_nothing(tmp_path, clustering, monkeypatch):
    def fail(model, path, **options):
        path.write_bytes(b"half a mod")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence, "save", fail)
    with pytest.raises(ReportError, match=r"cannot be written to .*No space left on device"):
        write(clustering, tmp_path / "deep" / "out")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("_short_page")
def test_a_failed_run_keeps_the_previous_report(tmp_path, clustering, monkeypatch):
    (tmp_path / "report.html").write_text("old report")
    (tmp_path / writing.MODEL).write_text("old model")

    def fail(model, path, **options):
        raise RuntimeError("broken")

    monkeypatch.setattr(persistence, "save", fail)
    with pytest.raises(ReportError, match=r"report\.html exists; .* replace it with --force"):
        write(clustering, tmp_path)
    with pytest.raises(RuntimeError, match="broken"):
        write(clustering, tmp_path, force=True)
    assert (tmp_path / "report.html").read_text() == "old report"
    assert (tmp_path / writing.MODEL).read_text() == "old model"
    assert len(os.listdir(tmp_path)) == 2


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="is a file; name a folder with --output"):
        check_folder(tmp_path / "file")
    with pytest.raises(ReportError, match="cannot be written to"):
        check_folder(tmp_path / "file" / "below")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ReportError, match="is a folder, in the way"):
        check_folder(tmp_path)


def test_checking_a_folder_makes_nothing(tmp_path):
    check_folder(tmp_path / "new")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("_short_page")
def test_results_are_numbers_for_machines(tmp_path, classification, regression):
    for comparison in (classification, regression):
        found = json.loads(write(comparison, tmp_path, force=True).results.read_text(encoding="utf-8"))
        assert found["recommended"] == comparison.recommended.name
        assert found["headline"] == comparison.headline
        for item, candidate in zip(found["candidates"], comparison.candidates, strict=True):
            assert item["name"] == candidate.name
            assert item["score"] == pytest.approx(candidate.score)
            assert len(item["certificates"]) == len(candidate.certificates)
            assert item["against_best"]["difference"] == pytest.approx(
                candidate.score - comparison.best.score
            )
        assert [column["name"] for column in found["table"]["columns"]] == comparison.data.feature_names


def test_the_fingerprint_follows_the_values(regression):
    data = regression.data
    changed = data.X.copy()
    changed.iloc[3, 2] += 1e-9
    assert fingerprint(data) == fingerprint(dataclasses.replace(data, X=data.X.copy()))
    assert fingerprint(data) != fingerprint(dataclasses.replace(data, X=changed))
    assert fingerprint(data) != fingerprint(dataclasses.replace(data, y=data.y[::-1].copy()))


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("_short_page")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_files_take_their_places_together_or_not_at_all(tmp_path, clustering, monkeypatch, number):
    names = (writing.REPORT, writing.RESULTS)
    for name in names:
        (tmp_path / name).write_text(f"old {name}")
    replace, calls = os.replace, []

    def fail_once(source, target):
        calls.append(target)
        # The model file takes its place among the drafts first.
        if len(calls) == number + 1:
            full()
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(ReportError, match=r"The report cannot be written to .*: No space left on device"):
        write(clustering, tmp_path, force=True)
    assert sorted(os.listdir(tmp_path)) == sorted(names)
    for name in names:
        assert (tmp_path / name).read_text() == f"old {name}"


@pytest.mark.usefixtures("_short_page")
def test_a_disk_that_is_full_while_the_page_is_written_leaves_nothing(tmp_path, clustering, monkeypatch):
    monkeypatch.setattr(type(tmp_path), "write_text", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write(clustering, tmp_path / "deep" / "out")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_to_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(ReportError, match="cannot be written to; name another with --output"):
        check_folder(tmp_path / "out")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("_short_page")
def test_links_that_lead_in_a_circle_are_one_sentence(tmp_path, clustering):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ReportError, match="cannot be written to"):
        write(clustering, tmp_path / "a" / "out")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.usefixtures("_short_page")
def test_a_folder_that_vanishes_meanwhile_is_one_sentence(tmp_path, clustering, monkeypatch):
    def vanish(model, path, **options):
        shutil.rmtree(tmp_path / "out")

    monkeypatch.setattr(persistence, "save", vanish)
    with pytest.raises(ReportError, match="cannot be written to"):
        write(clustering, tmp_path / "out")
    assert os.listdir(tmp_path) == []
