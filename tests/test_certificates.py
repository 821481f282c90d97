"""Certificates: they compare, they can fail, they travel."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from assay.certificates import Certificate, CertificateError, Certificates, agreement


def certificate(value=0.5, relation="<=", bound=1.0, **fields):
    return Certificate("The claim.", "quantity", value, relation, bound, **fields)


@pytest.mark.parametrize(
    ("value", "relation", "bound", "tolerance", "holds"),
    [
        (0.5, "<=", 1.0, 0.0, True),
        (1.0, "<=", 1.0, 0.0, True),
        (1.1, "<=", 1.0, 0.0, False),
        (1.1, "<=", 1.0, 0.2, True),
        (1.1, ">=", 1.0, 0.0, True),
        (0.9, ">=", 1.0, 0.0, False),
        (1.0, "==", 1.0, 0.0, True),
        (1.0 + 1e-9, "==", 1.0, 1e-8, True),
        (1.1, "==", 1.0, 1e-8, False),
        (float("nan"), "<=", 1.0, 0.0, False),
        (float("nan"), ">=", 1.0, 0.0, False),
        (float("inf"), "<=", float("inf"), 0.0, True),
        (float("inf"), "<=", 1.0, 0.0, False),
    ],
)
def test_holds_compares_value_and_bound(value, relation, bound, tolerance, holds):
    assert certificate(value, relation, bound, tolerance=tolerance).holds is holds


def test_slack_is_the_room_left():
    assert certificate(0.25).slack == 0.75
    assert certificate(1.5, ">=").slack == 0.5
    assert certificate(2.0).slack == -1.0


def test_a_bound_no_better_than_the_trivial_one_is_vacuous():
    assert certificate(bound=2.0, trivial=1.0).vacuous
    assert not certificate(bound=0.8, trivial=1.0).vacuous
    assert certificate(2.0, ">=", 0.0, trivial=0.0).vacuous
    assert certificate(bound=2.0, trivial=1.0).verdict == "vacuous"
    assert not certificate().vacuous


def test_require_names_what_failed():
    good, bad = certificate(), Certificate("The gap is small.", "duality gap", 3.0, "<=", 1.0)
    assert Certificates([good]).require().holds
    with pytest.raises(CertificateError, match=r"duality gap = 3 ≤ 1 .*The gap is small"):
        Certificates([good, bad]).require()
    assert list(Certificates([good, bad]).failed) == [bad]


def test_a_sequence_of_certificates_reads_like_one():
    proof = Certificates([certificate(), certificate(0.1)])
    assert len(proof) == 2
    assert proof[1].value == 0.1
    assert isinstance(proof[:1], Certificates)
    assert proof.named("quantity") is proof[0]
    with pytest.raises(KeyError, match="No certificate measures 'gap'"):
        proof.named("gap")
    assert Certificates().holds
    assert repr(Certificates()) == "Certificates([])"


def test_table_html_json_and_frame_tell_the_same():
    pytest.importorskip("pandas")
    proof = Certificates([certificate(assumptions=("a < b",), source="Course §1"), certificate(2.0)])
    table = str(proof).splitlines()
    assert table[0].split() == ["verdict", "quantity", "value", "bound", "claim"]
    assert [line.split()[0] for line in table[1:]] == ["holds", "fails"]
    html = proof._repr_html_()
    assert "a &lt; b" in html
    assert html.count("<tr>") == 3
    rows = json.loads(proof.to_json())
    assert [row["holds"] for row in rows] == [True, False]
    assert list(proof.to_frame()["holds"]) == [True, False]


def test_certificates_travel_through_json_and_pickle():
    proof = Certificates([certificate(float("inf"), assumptions=("iid rows",)), certificate(1e-300)])
    assert Certificates.from_json(proof.to_json()) == proof
    vacuous = Certificates([certificate(0.5, bound=2.0, trivial=1.0)])
    assert [item.verdict for item in Certificates.from_json(vacuous.to_json())] == ["vacuous"]
    assert pickle.loads(pickle.dumps(proof)) == proof
    assert hash(pickle.loads(pickle.dumps(proof))) == hash(proof)


def test_a_certificate_cannot_be_changed():
    with pytest.raises(AttributeError):
        certificate().value = 0.0


def test_a_theorem_that_holds_for_any_fit_is_shown_and_not_counted():
    proof = Certificates([certificate(), certificate(informative=True)])
    assert [item.verdict for item in proof] == ["holds", "bound"]
    assert len(proof.decisive) == 1
    assert ">holds<" in proof.to_html(collapsible=True)  # and not "all hold": there is only one
    assert Certificates.from_json(proof.to_json()) == proof
    assert certificate(2.0, informative=True).verdict == "fails"


def test_a_certificate_from_before_a_field_was_added_takes_its_default():
    old = Certificate.__new__(Certificate)
    old.__setstate__(certificate().__getstate__()[:-1])
    assert old == certificate()


@pytest.mark.parametrize(
    ("stored", "fresh", "holds"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-9], True),
        ([1.0, 2.0], [1.0, 2.02], False),
        ([1e308, -1e308], [1e308, -1e308], True),
        ([1e308, -1e308], [1e308, 1e308], False),
        ([0.0], [0.0], True),
        ([1e-3], [0.0], False),
        ([np.nan], [1.0], False),
        ([1.0], [np.nan], False),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([np.inf, 1.0], [-np.inf, 1.0], False),
        ([np.inf], [1.0], False),
        ([1.0], [1.0, 1.0], False),
        (None, None, True),
        (None, [1.0], False),
        ([], [], True),
    ],
)
def test_agreement_compares_stored_numbers_with_those_recomputed(stored, fresh, holds):
    assert agreement("They agree.", {"name": (stored, fresh)}).holds == holds
    assert agreement("They agree.", {"one": (1.0, 1.0), "name": (stored, fresh)}).holds == holds
