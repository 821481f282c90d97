"""Domains of parameters and the one sentence."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from assay import parameters as p
from assay.kernel_machines import KernelRidge
from assay.linear import LinearSVC, LinearSVR, LogisticRegression, QuantileRegressor, Ridge


@pytest.mark.parametrize(
    ("domain", "inside", "outside"),
    [
        (p.integer(at_least=1), [1, np.int32(5)], [0, 1.0, True, "1", None]),
        (p.real(at_least=0), [0, 0.5, np.float32(1)], [-1, np.nan, np.inf, "0", False]),
        (p.real(above=0, at_most=1), [0.1, 1], [0, 1.01]),
        (p.one_of("a", "b"), ["a", "b"], ["c", 1, None]),
        (p.boolean, [True, np.bool_(False)], [1, "True", None]),
        (p.nothing | p.integer(at_least=0), [None, 0], [-1, "x"]),
        (p.array("numbers"), [[1, 2], np.ones(2)], [["a"], [np.nan], "12", 3]),
        (p.random_state, [None, 3, np.random.default_rng(0)], [-3, "x", 1.5]),
        (p.function, [len], [3]),
        (p.real(at_least=0), [10**300, np.int8(3)], [10**400, -(10**400), Fraction(10**400), Fraction(1, 3)]),
        (p.integer(at_least=1), [2**63 - 1, np.uint64(5)], [2**63, 10**400]),
        (p.array("numbers"), [], [[10**400], [[1.0], [1.0, 2.0]]]),
        (p.nothing | p.real(above=0) | p.array("numbers"), [2], [10**400, Decimal(2), 1j]),
    ],
)
def test_domains_contain_what_they_say(domain, inside, outside):
    assert all(domain.contains(value) for value in inside)
    assert not any(domain.contains(value) for value in outside)


def test_the_sentence_names_owner_parameter_domain_and_value():
    with pytest.raises(
        p.ParameterError, match=r"^The 'k' parameter of KMeans must be an int at least 1\. Got 0 instead\.$"
    ):
        p.check("KMeans", {"k": 0}, {"k": p.integer(at_least=1)})


def test_named_options_are_known():
    assert (p.one_of("a", "b") | p.nothing | p.one_of("c")).options == ("a", "b", "c")


def test_long_values_are_shortened():
    assert len(str(p.refusal("X", "y", "short", "z" * 500))) < 200


@pytest.mark.parametrize("value", [np.zeros((9, 9)), "two\nlines", 10**5000], ids=["array", "text", "int"])
def test_the_sentence_is_one_line_whatever_the_value(value):
    sentence = str(p.refusal("X", "y", "short", value))
    assert "\n" not in sentence
    assert sentence.endswith(" instead.")


TOO_LARGE_OR_SMALL = [
    (KernelRidge, {"penalty_strength": 1e308}),
    (LinearSVC, {"C": 5e-324}),
    (LinearSVC, {"penalty_strength": 1e308}),
    (LinearSVC, {"intercept_scaling": 1e200}),
    (LinearSVC, {"intercept_scaling": 1e-200}),
    (LinearSVR, {"penalty_strength": 1e308}),
    (LinearSVR, {"intercept_scaling": 1e200}),
    (LinearSVR, {"intercept_scaling": 1e-200}),
    (LogisticRegression, {"penalty_strength": 1e308}),
    (QuantileRegressor, {"alpha": 1e308}),
    (Ridge, {"penalty_strength": 1e308}),
    (Ridge, {"penalty_strength": [1e308]}),
]


@pytest.mark.parametrize(("model", "options"), TOO_LARGE_OR_SMALL, ids=str)
def test_sizes_whose_squares_inverses_or_multiples_are_no_numbers_are_refused(model, options):
    X, y = np.arange(12.0).reshape(6, 2) % 5, np.tile([0, 1], 3)
    sentence = (
        rf"^The '{next(iter(options))}' parameter of {model.__name__} must be .*1e-150 to 1e\+150 in size"
    )
    with pytest.raises(p.ParameterError, match=sentence):
        model(**options).fit(X, y)
