"""One estimator fitted by its name: parameters from words, a sentence for what is wrong, a file."""

from __future__ import annotations

import errno
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import assay
from assay import persistence
from assay.cluster import KMeans
from assay.linear import Lasso, LogisticRegression, Ridge
from assay.report import ReportError, certify_table, fit_table, parse_value, predict_table
from assay.report.fitting import parse_parameters


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table with numbers, words, gaps and a name for each row."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "customer": [f"c{row:03d}" for row in range(120)],
            "age": rng.normal(40, 10, 120).round(1),
            "town": rng.choice(["Lyon", "Nice", "Paris"], 120),
        }
    )
    frame["spend"] = 2 * frame["age"] + 9.0 * (frame["town"] == "Nice") + rng.normal(size=120)
    frame["rich"] = np.where(frame["spend"] > 85, "yes", "no")
    frame.loc[::17, "age"] = np.nan
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-2", -2),
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("inf", np.inf),
        ("True", True),
        ("false", False),
        ("None", None),
        (" rbf ", "rbf"),
        ("'3'", "3"),
        ('"true"', "true"),
        ("[]", []),
        ("[1, 2,]", [1, 2]),
        ("(0.5, none, 'a, b')", [0.5, None, "a, b"]),
        ("[[1, 2], [3, four]]", [[1, 2], [3, "four"]]),
    ],
)
def test_words_become_values(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1, 2", r"The list '\[1, 2' is not closed; write it as \[1, 2, 3\]\."),
        ("[1, [2]", "is not closed"),
        ("['a, b]", "is not closed"),
        ("[1,,2]", "has nothing between two commas"),
        ("'abc", "The quotes of 'abc do not close"),
    ],
)
def test_lists_and_quotes_must_close(text, sentence):
    with pytest.raises(ReportError, match=sentence):
        parse_value(text)


def test_parameters_are_checked_by_name_and_domain():
    assert parse_parameters(KMeans, {"n_clusters": "4", "init": "random"}) == {
        "n_clusters": 4,
        "init": "random",
    }
    assert parse_parameters(Ridge, {"alpha": 2}) == {"alpha": 2}
    with pytest.raises(ReportError, match="Ridge has no parameter 'alpa'; did you mean 'alpha'"):
        parse_parameters(Ridge, {"alpa": "1"})
    with pytest.raises(ReportError, match="Ridge has no parameter 'zzz'; it has 'alpha', "):
        parse_parameters(Ridge, {"zzz": "1"})
    with pytest.raises(ReportError, match=r"'alpha' parameter of Ridge must be .*\. Got -1 instead"):
        parse_parameters(Ridge, {"alpha": "-1"})
    with pytest.raises(
        ReportError, match=r"'solver' parameter of Ridge must be one of .*\. Got 'magic' instead"
    ):
        parse_parameters(Ridge, {"solver": "magic"})


def test_a_word_that_is_an_option_stays_a_word():
    """Where "none" is the name of a method, it is not None."""

    class Choosing(Ridge):
        _domains = {"solver": assay.parameters.one_of("none", "3")}

    assert parse_parameters(Choosing, {"solver": "none"}) == {"solver": "none"}
    assert parse_parameters(Choosing, {"solver": "3"}) == {"solver": "3"}


def test_a_regression_is_fitted_saved_and_predicts(tmp_path, shop):
    place = tmp_path / "lasso.skops"
    fitted = fit_table(
        "lasso", shop, target="spend", parameters={"alpha": "0.01"}, drop=("rich",), output=place
    )
    assert fitted.task == "regression"
    assert fitted.path == place
    assert isinstance(fitted.model[-1], Lasso)
    assert fitted.model[-1].alpha == 0.01
    assert fitted.certificates == fitted.model[-1].certificates_
    assert fitted.certificates.holds
    assert "Column 'customer' is left out: it names the rows: nearly every value differs." in fitted.notes
    predict_table(assay.load(place), shop, tmp_path / "out.csv")
    assert_allclose(
        pd.read_csv(tmp_path / "out.csv")["prediction"], fitted.model.predict(pd.read_csv(shop)), rtol=1e-12
    )


def test_a_classification_and_a_clustering_are_fitted(tmp_path, shop):
    fitted = fit_table("LogisticRegression", shop, target="rich", drop=("spend",), output=tmp_path / "a")
    assert fitted.task == "classification"
    assert isinstance(fitted.model[-1], LogisticRegression)
    assert list(fitted.model[-1].classes_) == ["no", "yes"]
    fitted = fit_table("kmeans", shop, parameters={"n_clusters": "3"}, output=tmp_path / "b")
    assert fitted.task == "clustering"
    assert set(fitted.model[-1].labels_) == {0, 1, 2}


def test_the_embedded_classes_are_the_target_of_a_classifier_and_hidden_from_clusters(tmp_path):
    assert fit_table("LogisticRegression", "iris", output=tmp_path / "a").task == "classification"
    clusters = fit_table("KMeans", "iris", parameters={"n_clusters": 3}, output=tmp_path / "b")
    assert clusters.model[0].feature_names_out_ == [
        column for column in clusters.model[0].feature_names_out_ if column != "species"
    ]
    assert len(clusters.model[0].feature_names_out_) == 4


def test_biclusters_are_fitted_and_refuse_to_predict(tmp_path):
    fitted = fit_table("BlockBiclustering", "us_arrests", output=tmp_path / "m")
    assert fitted.task == "clustering"
    assert len(fitted.model[-1].row_labels_) == 50
    with pytest.raises(ReportError, match="BlockBiclustering groups the rows of the table of its fit"):
        predict_table(assay.load(tmp_path / "m"), "us_arrests", tmp_path / "out.csv")
    assert os.listdir(tmp_path) == ["m"]


def test_the_file_tells_its_table_its_columns_its_proof_and_its_makers(tmp_path, shop):
    fitted = fit_table("Ridge", shop, target="spend", output=tmp_path / "m")
    about = persistence.about(tmp_path / "m")
    assert (about["task"], about["target"], about["method"]) == ("regression", "spend", "Ridge")
    assert (about["table"], about["n_rows"]) == ("shop.csv", 120)
    kinds = {column["name"]: column["kind"] for column in about["columns"]}
    assert kinds == {"customer": "identifier", "age": "numeric", "town": "categorical", "rich": "boolean"}
    assert [item["claim"] for item in about["certificates"]] == [item.claim for item in fitted.certificates]
    assert about["versions"]["assay"] == assay.__version__
    assert len(about["fingerprint"]) == 64


def test_the_seed_decides_where_the_method_draws(tmp_path):
    options = {"parameters": {"n_clusters": "4", "n_init": "1"}}
    one = fit_table("KMeans", "iris", **options, seed=1, output=tmp_path / "a")
    again = fit_table("KMeans", "iris", **options, seed=1, output=tmp_path / "b")
    assert one.model[-1].random_state == 1
    np.testing.assert_array_equal(one.model[-1].cluster_centers_, again.model[-1].cluster_centers_)
    given = {**options["parameters"], "random_state": "5"}
    assert fit_table("KMeans", "iris", parameters=given, output=tmp_path / "c").model[-1].random_state == 5


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("Rigde", {}, r"There is no method 'Rigde'.*Ridge"),
        ("PolynomialMap", {}, "PolynomialMap turns columns into features and answers no question by itself"),
        ("Ridge", {"task": "clustering"}, "Ridge is for regression, not for clustering; leave out --task"),
        ("KMeans", {"target": "spend"}, "Clustering has no target"),
        ("Ridge", {}, "Regression needs a target; name its column with --target"),
        ("Ridge", {"target": "town"}, "The target 'town' must hold numbers for a regression; it holds"),
        ("Ridge", {"target": "spent"}, "has no column 'spent'"),
        ("Ridge", {"target": "spend", "drop": ("no",)}, "has no column 'no'"),
        ("Ridge", {"target": "spend", "parameters": {"alpha": "much"}}, r"Got 'much' instead"),
        ("KMeans", {"parameters": {"n_clusters": "500"}}, r"KMeans cannot be fitted to shop\.csv: .*500"),
    ],
)
def test_what_cannot_be_fitted_is_one_sentence_and_no_file(tmp_path, shop, method, options, sentence):
    with pytest.raises(ReportError, match=sentence) as caught:
        fit_table(method, shop, **options, output=tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_places_that_will_not_do_are_refused_before_any_work(tmp_path):
    (tmp_path / "there").write_text("before")
    for output, sentence in (
        (tmp_path, "is a folder; name a file with --output"),
        (tmp_path / "nowhere" / "m", "does not exist; name another with --output"),
        (tmp_path / "there", "exists; name another file with --output, or replace it with --force"),
        (tmp_path / ("x" * 300), "File name too long"),
    ):
        with pytest.raises(ReportError, match=sentence):
            fit_table("Ridge", "no such table", output=output)
    assert (tmp_path / "there").read_text() == "before"
    fit_table("Ridge", "diabetes", output=tmp_path / "there", force=True)
    assert assay.load(tmp_path / "there")[-1].coef_.shape == (10,)


def test_a_full_disk_is_one_sentence_and_leaves_the_file_of_before(tmp_path, monkeypatch):
    (tmp_path / "m").write_text("before")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(persistence.os, "fsync", full)
    with pytest.raises(ReportError, match=r"The model cannot be written to .*: No space left on device"):
        fit_table("Ridge", "diabetes", output=tmp_path / "m", force=True)
    assert (tmp_path / "m").read_text() == "before"
    assert os.listdir(tmp_path) == ["m"]


def test_warnings_of_the_fit_are_notes(tmp_path, shop):
    fitted = fit_table(
        "QuantileRegressor", shop, target="spend", parameters={"max_iter": "1"}, output=tmp_path / "m"
    )
    assert any("Increase max_iter" in note for note in fitted.notes)


def test_tables_of_counts_are_taken_as_they_are_by_methods_that_need_them_so(tmp_path):
    rng = np.random.default_rng(2)
    rates = np.kron([[9.0, 1.0], [1.0, 9.0]], np.ones((15, 3)))
    counts = rng.poisson(rates).astype(float)
    names = [f"word {number}" for number in range(6)]
    pd.DataFrame(counts, columns=names).to_csv(tmp_path / "t.csv", index=False)
    fitted = fit_table(
        "SpectralCoclustering", tmp_path / "t.csv", parameters={"n_clusters": "2"}, output=tmp_path / "m"
    )
    np.testing.assert_array_equal(fitted.model[0].transform(pd.DataFrame(counts, columns=names)), counts)
    rows = fitted.model[-1].row_labels_
    assert len(set(rows[:15])) == len(set(rows[15:])) == 1
    assert rows[0] != rows[-1]
    assert certify_table(tmp_path / "m", tmp_path / "t.csv").holds


@pytest.mark.parametrize("method", ["Ridge", "KMeans"])
def test_a_saved_model_names_the_package_of_its_encoder_and_no_file(tmp_path, shop, method):
    target = "spend" if method == "Ridge" else None
    fit_table(method, shop, target=target, output=tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        schema = archive.read("schema.json").decode()
    assert set(re.findall(r'"__module__":"(assay\.report[^"]*)"', schema)) == {"assay.report.tables"}
