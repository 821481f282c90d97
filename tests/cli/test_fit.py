"""`assay fit`: any estimator by name, with parameters as one types them."""

from __future__ import annotations

import os

import pytest

import assay
from assay.certificates import Certificate, Certificates
from assay.linear import Ridge


def test_a_method_is_fitted_with_its_parameters_and_saved(run, table):
    options = (
        "--target",
        "price",
        "--drop",
        "town",
        "-p",
        "alpha=0.25",
        "--parameter",
        "fit_intercept=false",
    )
    result = run("fit", "ridge", table, *options, "--output", "ridge.skops")
    assert (result.exit_code, result.stderr) == (0, "")
    model = assay.load("ridge.skops")
    assert isinstance(model[-1], Ridge)
    assert (model[-1].alpha, model[-1].fit_intercept) == (0.25, False)
    for item in model[-1].certificates_:
        assert item.quantity.split()[0] in result.stdout
    assert f"All {len(model[-1].certificates_)} certificates hold." in result.stdout
    assert result.stdout.splitlines()[-1] == "model   ridge.skops"
    predicted = run("predict", "ridge.skops", table)
    assert predicted.exit_code == 0
    assert predicted.stdout.count("\n") == 61


def test_a_clustering_needs_no_target(run):
    result = run("fit", "KMeans", "us_arrests", "-p", "n_clusters=3", "--seed", 7)
    assert (result.exit_code, result.stderr) == (0, "")
    model = assay.load("model.skops")[-1]
    assert (model.n_clusters, model.random_state) == (3, 7)


def test_certificates_as_json(run):
    result = run("fit", "Ridge", "diabetes", "--json")
    assert result.exit_code == 0
    assert Certificates.from_json(result.stdout) == assay.load("model.skops")[-1].certificates_


def test_fit_exits_with_1_if_a_certificate_fails(run, monkeypatch):
    fit = Ridge.fit

    def careless(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        self.certificates_ = Certificates([Certificate("It converged.", "gap", 2.0, "<=", 1.0)])
        return self

    monkeypatch.setattr(Ridge, "fit", careless)
    result = run("fit", "Ridge", "diabetes")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "1 of 1 certificates fail: gap." in result.stdout


BAD_FITS = {
    "unknown method": ("Rigde diabetes", "Did you mean Ridge?"),
    "no method": ("sum diabetes", "There is no method 'sum'"),
    "unknown parameter": (
        "Ridge diabetes -p alhpa=1",
        "Ridge has no parameter 'alhpa'; did you mean 'alpha'?",
    ),
    "outside its domain": ("Ridge diabetes -p alpha=-1", "The 'alpha' parameter of Ridge must be"),
    "of the wrong kind": ("Ridge diabetes -p alpha=much", "The 'alpha' parameter of Ridge must be"),
    "no value": ("Ridge diabetes -p alpha", "must be written name=value, such as -p alpha=0.1. Got 'alpha'"),
    "no name": ("Ridge diabetes -p =3", "must be written name=value"),
    "twice": ("Ridge diabetes -p alpha=1 -p alpha=2", "The parameter 'alpha' was given twice"),
    "a list that does not close": ("Ridge diabetes -p alpha=[1,2", "is not closed"),
    "unknown target": ("Ridge diabetes --target z", "diabetes has no column 'z'"),
    "another task": ("Ridge diabetes --task clustering", "Ridge is for regression, not for clustering"),
    "a feature map": (
        "PolynomialMap diabetes",
        "turns columns into features and answers no question by itself",
    ),
    "missing table": ("Ridge nowhere.csv", "There is no file nowhere.csv"),
    "too many clusters": ("KMeans us_arrests -p n_clusters=51", "must be at most"),
    "a folder for a file": ("Ridge diabetes --output .", "is a folder"),
    "no such folder": ("Ridge diabetes --output no/model.skops", "does not exist"),
    "no table": ("Ridge", "TABLE"),
}


@pytest.mark.parametrize(("arguments", "sentence"), BAD_FITS.values(), ids=BAD_FITS)
def test_a_fit_that_cannot_be_is_one_sentence_and_no_file(run, arguments, sentence):
    result = run("fit", *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("assay: ")
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert "unexpected" not in result.stderr
    assert os.listdir() == []


def test_a_file_that_is_there_is_replaced_only_when_told_so(run):
    assert run("fit", "Ridge", "diabetes").exit_code == 0
    with open("model.skops", "rb") as file:
        before = file.read()
    refused = run("fit", "Ridge", "diabetes", "-p", "alpha=2")
    assert refused.exit_code == 2
    assert "model.skops exists" in refused.stderr
    with open("model.skops", "rb") as file:
        assert file.read() == before
    assert run("fit", "Ridge", "diabetes", "-p", "alpha=2", "--force").exit_code == 0
    assert assay.load("model.skops")[-1].alpha == 2
