"""Losses by name, and the sentences for parameters outside their domain."""

from __future__ import annotations

import pickle

import pytest

from assay.losses import (
    LOSS_NAMES,
    CumulativeResponse,
    EpsilonInsensitive,
    Huber,
    Logistic,
    Loss,
    MarginLoss,
    NegativeBinomial,
    Quantile,
    Squared,
    Tweedie,
    ZeroOne,
    loss,
)
from assay.parameters import ParameterError


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_every_name_gives_a_loss_compared_by_value(name):
    made = loss(name)
    assert isinstance(made, Loss)
    assert made == loss(name)
    assert loss(made) is made
    assert hash(made) == hash(loss(name))
    assert pickle.loads(pickle.dumps(made)) == made


def test_names_take_the_parameters_of_their_loss():
    assert loss("quantile", level=0.9) == Quantile(0.9)
    assert loss("logistic", base=2) == Logistic(base=2)
    assert isinstance(loss("hinge"), MarginLoss)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: loss("huge"),
            r"'name' parameter of loss must be one of 'squared', .*Got 'huge' instead\.",
        ),
        (lambda: loss("huber", level=1), r"must be among those of Huber \('delta'\)\. Got 'level' instead\."),
        (lambda: loss("hinge", level=1), r"must be among those of Hinge \(none\)\. Got 'level' instead\."),
        (lambda: loss(Squared(), halved=True), "or a Loss without further parameters"),
        (lambda: Squared(halved=1), "The 'halved' parameter of Squared must be True or False. Got 1"),
        (lambda: Huber(0.0), "The 'delta' parameter of Huber must be a finite number above 0. Got 0.0"),
        (lambda: Quantile(1.0), "The 'level' parameter of Quantile must be a number above 0 and below 1"),
        (lambda: Quantile(None), "'level' parameter of Quantile"),
        (lambda: EpsilonInsensitive(-0.1), "must be a finite number at least 0. Got -0.1 instead."),
        (lambda: Logistic(base=10), "The 'base' parameter of Logistic must be 'e' or 2. Got 10 instead."),
        (lambda: Logistic(base=[2]), "The 'base' parameter of Logistic"),
        (lambda: ZeroOne(ties="both"), "must be one of 'error', 'negative', 'positive'. Got 'both'"),
        (lambda: NegativeBinomial(float("nan")), "'dispersion' parameter of NegativeBinomial"),
        (lambda: Tweedie(0.5), "must be a finite number at most 0 or at least 1. Got 0.5 instead."),
        (lambda: Tweedie("1"), "'power' parameter of Tweedie"),
        (lambda: CumulativeResponse("uniform"), "or a frozen SciPy distribution. Got 'uniform' instead."),
        (lambda: CumulativeResponse(3), "'distribution' parameter of CumulativeResponse"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make, sentence):
    with pytest.raises(ParameterError, match=sentence):
        make()
