"""`assay certify`: certificates as they were saved, or measured afresh on the table of the fit."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import assay
from assay.certificates import Certificate, Certificates
from assay.cli import terminal
from assay.cluster import KMeans
from assay.datasets import us_arrests
from terminals import in_shell


def test_certify_prints_the_certificates(run, saved):
    result = run("certify", saved)
    assert result.exit_code == 0
    certificates = assay.load(saved).certificates_
    for item in certificates:
        assert item.quantity.split()[0] in result.stdout
    assert "holds" in result.stdout
    assert f"All {len(certificates)} certificates hold." in result.stdout


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_narrow_terminal_cuts_no_claim_short(run, saved, monkeypatch, width):
    monkeypatch.setattr(terminal, "WIDTH_OF_FILES", width)
    told = run("certify", saved).stdout
    assert max(len(line.rstrip()) for line in told.splitlines()) <= width
    assert "…" not in told
    words = " ".join(told.split())
    for item in assay.load(saved).certificates_:
        assert f"{item.value:.3g}" in words
        if width < 72:
            assert f"{item.verdict}: {item.quantity}" in words
            assert item.claim in words


def test_certify_as_json_can_be_read_back(run, saved):
    result = run("certify", saved, "--json")
    assert result.exit_code == 0
    assert Certificates.from_json(result.stdout).holds
    assert json.loads(result.stdout)[0]["claim"] == assay.load(saved).certificates_[0].claim


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_certify_exits_with_1_if_a_certificate_fails(run, tmp_path, options):
    model = KMeans(2, n_init=2, random_state=0).fit(us_arrests().X)
    model.certificates_ = Certificates([Certificate("It converged.", "gap [bold]", 2.0, "<=", 1.0)])
    assay.save(model, tmp_path / "bad.skops")
    result = run("certify", "bad.skops", *options)
    assert result.exit_code == 1
    assert "gap [bold]" in result.stdout
    assert result.stderr == ""
    assert options or "1 of 1 certificates fail: gap [bold]." in result.stdout


def test_certify_refuses_what_is_no_model_with_certificates(run, tmp_path):
    assay.save(StandardScaler().fit([[0.0], [1.0]]), tmp_path / "scaler.skops")
    (tmp_path / "noise.skops").write_bytes(b"noise")
    for name, sentence in (
        ("scaler.skops", "carries no certificates"),
        ("noise.skops", "noise.skops"),
        ("nowhere.skops", "There is no file nowhere.skops"),
    ):
        result = run("certify", name)
        assert result.exit_code == 2
        assert result.stderr.startswith("assay: ")
        assert result.stderr.count("\n") == 1
        assert sentence in result.stderr


def test_a_real_run_of_certify_prints_json(saved):
    told = in_shell("certify", str(saved), "--json")
    assert (told.returncode, told.stderr) == (0, "")
    assert Certificates.from_json(told.stdout).holds


def test_with_the_table_of_the_fit_every_certificate_is_measured_afresh(run, table):
    assert run("fit", "Ridge", table, "--target", "price").exit_code == 0
    path = "model.skops"
    fresh = run("certify", path, table, "--json")
    assert fresh.exit_code == 0, fresh.output
    assert Certificates.from_json(fresh.stdout).holds
    # A coefficient changed by hand: what was saved still says that all is well, the table does not.
    about, model = assay.persistence.about(path), assay.load(path)
    model[-1].coef_ = model[-1].coef_ + 0.1
    assay.save(model, path, about=about)
    assert run("certify", path).exit_code == 0
    damaged = run("certify", path, table)
    assert damaged.exit_code == 1
    assert "certificates fail" in damaged.stdout
    assert damaged.stderr == ""


def test_certificates_are_not_measured_on_another_table(run, table):
    assert run("fit", "Ridge", table, "--target", "price").exit_code == 0
    pd.read_csv(table).iloc[::-1].to_csv("other.csv", index=False)
    result = run("certify", "model.skops", "other.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not the table that the model was fitted on" in result.stderr
