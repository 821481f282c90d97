"""The catalogue tells every estimator of the library, from its own documentation."""

from __future__ import annotations

import pytest

from assay.report import ReportError, catalogue, entries, find_method, roster
from estimators import estimator_classes


def test_every_estimator_is_in_the_catalogue():
    names = [method.name for method in catalogue()]
    assert set(names) == {kind.__name__ for kind in estimator_classes()}
    assert len(names) == len(set(names))


def test_every_method_tells_what_it_is_and_where_to_read_about_it():
    for method in catalogue():
        assert method.summary.endswith("."), method.name
        assert method.references, method.name
        if method.task != "transformation":
            assert method.objective, method.name
            assert method.certificates, method.name


def test_a_name_is_found_however_it_is_written_and_a_slip_gets_a_hint():
    assert find_method("KMEANS").name == "KMeans"
    with pytest.raises(ReportError, match=r"There is no method 'Lasoo'; .* Did you mean Lasso"):
        find_method("Lasoo")
    with pytest.raises(ReportError, match=r"assay methods lists them\.$"):
        find_method("xyzzy")


def test_the_roster_holds_what_declares_itself_and_nothing_inherited():
    names = {entry.name for entry in entries()}
    assert {"LinearRegression", "Ridge", "Lasso", "LogisticRegression", "KernelRidge"} <= names
    assert "ElasticNet" not in names
    assert "MultivariateRegression" not in names  # a LinearRegression, but it has not said so of itself


def test_a_method_asked_for_by_name_is_tried_whatever_the_size():
    asked, left_out = roster("regression", 10**6, 10, methods=("KernelRidge",))
    assert [entry.name for entry in asked] == ["KernelRidge"]
    assert left_out == []
    others, left_out = roster("regression", 10**6, 10)
    assert "KernelRidge" not in {entry.name for entry in others}
    assert left_out[0].startswith("KernelRidge was left out")
