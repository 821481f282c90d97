"""The catalogue tells every estimator of the library, from its own documentation."""

from __future__ import annotations

import dataclasses
import inspect
import json

import pytest
from sklearn.base import BaseEstimator

from assay.registry import COURSES
from assay.report import ReportError, catalogue, entries, find_method, roster
from assay.report.methods import describe, sentences
from estimators import estimator_classes

each_method = pytest.mark.parametrize("method", catalogue(), ids=lambda method: method.name)


def test_every_estimator_is_in_the_catalogue():
    names = [method.name for method in catalogue()]
    only_compared = {"NystroemLogistic", "NystroemRidge"}
    assert set(names) == {kind.__name__ for kind in estimator_classes()} | only_compared
    assert len(names) == len(set(names))


@each_method
def test_every_method_tells_what_it_is_and_where_to_read_about_it(method):
    assert method.summary.endswith(".")
    assert method.objective.startswith(("Minimises", "Maximises", "Finds"))
    assert method.algorithm
    assert method.assumptions.endswith(".")
    assert method.certificates.endswith(".")
    assert method.references.endswith(".")
    assert method.courses
    assert all(course.startswith(COURSES) and course in method.references for course in method.courses)


@each_method
def test_every_parameter_is_told_with_its_default(method):
    signature = inspect.signature(method.kind).parameters
    assert [parameter.name for parameter in method.parameters] == list(signature)
    for parameter in method.parameters:
        assert parameter.default == repr(signature[parameter.name].default)
        assert parameter.summary, parameter.name
        assert "\n" not in parameter.summary


@each_method
def test_the_formula_is_in_the_objective_and_no_other_part(method):
    for line in method.formula.splitlines():
        assert line.strip() in method.objective
        assert line.strip() not in method.algorithm
    assert method.objective.partition("\n")[0] not in method.algorithm


def test_parts_of_a_documentation_are_told_apart():
    lasso = find_method("Lasso")
    assert lasso.formula.startswith("(1/2n) Σ_i s_i (y_i − x_iᵀw − b)²")
    assert lasso.algorithm.startswith("with n = Σ s, by coordinate descent")
    assert lasso.certificates.startswith("duality gap, KKT residual")
    assert "The courses write" not in lasso.certificates
    assert lasso.notes.startswith("The courses write")
    assert find_method("KMeans").courses == (
        "Sangnier §2.2",
        "Rudi & Şimşekli §7.1",
        "Wei §10",
        "Peyré, clustering",
        "Douc & Le Corff §8.7",
    )
    assert find_method("DBSCAN").formula == ""  # told in words
    assert find_method("SpectralBiclustering").task == "biclustering"


def test_a_documentation_of_one_paragraph_and_one_without_any_are_read_too():
    class Bare(BaseEstimator):
        """Nothing but this line."""

    class Short(BaseEstimator):
        """Say it.

        Finds the mean of x. Walks once.

        References
        ----------
        Weiszfeld (1937). Wei §1.3.
        """

    assert describe(Bare, "x").objective == ""
    found = describe(Short, "x")
    assert (found.objective, found.algorithm) == ("Finds the mean of x.", "Walks once.")
    assert found.courses == ("Wei §1.3",)


def test_a_full_stop_inside_a_sentence_does_not_end_it():
    assert sentences("See §1.3.4, i.e. The law. It holds.") == ["See §1.3.4, i.e. The law.", "It holds."]


def test_the_catalogue_can_be_written_for_machines():
    told = json.loads(json.dumps([dataclasses.asdict(method) for method in catalogue()]))
    ridge = next(item for item in told if item["name"] == "Ridge")
    assert ridge["parameters"][0][:2] == ["alpha", "1.0"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("KMEANS", "KMeans"),
        ("k-means", "KMeans"),
        ("kernel ridge", "KernelRidge"),
        ("linear_svc", "LinearSVC"),
    ],
)
def test_a_name_is_found_however_it_is_written(written, name):
    assert find_method(written).name == name


def test_a_slip_or_part_of_a_name_gets_a_hint():
    with pytest.raises(ReportError, match=r"There is no method 'Lasoo'; .* Did you mean Lasso"):
        find_method("Lasoo")
    with pytest.raises(ReportError, match=r"Did you mean .*LogisticRegression"):
        find_method("logistic")
    with pytest.raises(ReportError, match=r"assay methods lists them\.$"):
        find_method("xyzzy")


def test_the_roster_holds_what_declares_itself_and_nothing_inherited():
    names = {entry.name for entry in entries()}
    assert {"LinearRegression", "Ridge", "Lasso", "LogisticRegression", "KernelRidge"} <= names
    kinds = estimator_classes()
    declared = {kind.__name__ for kind in kinds if vars(kind).get("_suits") is not None}
    assert names == declared | {"NystroemRidge", "NystroemLogistic"}
    inherited = {kind.__name__ for kind in kinds if getattr(kind, "_suits", None) is not None} - names
    assert "MultivariateRegression" in inherited  # a LinearRegression, but it has not said so of itself


def test_a_method_asked_for_by_name_is_tried_whatever_the_size():
    asked, left_out = roster("regression", 10**6, 10, methods=("KernelRidge",))
    assert [entry.name for entry in asked] == ["KernelRidge"]
    assert left_out == []
    others, left_out = roster("regression", 10**6, 10)
    assert "KernelRidge" not in {entry.name for entry in others}
    assert left_out[0].startswith("KernelRidge was left out")
