"""A part of the bad inputs, and the machinery that survives what they do."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from assay.certificates import Certificates, at_most
from assay.cluster import OPTICS
from fuzz import cases, judge, runner, tables
from fuzz.cases import Case
from fuzz.known import KNOWN
from fuzz.worker import Alarm


def test_a_part_of_the_bad_inputs_is_met_by_answers_or_sentences():
    drawn = cases.part(n_tables=2, n_values=2, seed=0)
    verdicts = runner.run(drawn, warm=False)
    others = {case: verdict for case, verdict in verdicts.items() if verdict not in judge.GOOD}
    known = {case for case in drawn if case.kind in KNOWN.get(case.model, ())}
    assert {case: verdict for case, verdict in others.items() if case not in known} == {}
    assert not known - others.keys(), "no longer needed in tests/fuzz/known.py"


def test_what_is_known_to_fail_names_cases_that_there_are():
    for model, kinds in KNOWN.items():
        assert set(kinds) <= {case.kind for case in cases.cases_of(model)}


def test_every_estimator_meets_tables_weights_and_values():
    drawn = {case.model for case in cases.part(1, 1, seed=0)}
    assert drawn == {name for name in cases.models() if cases.is_default(name)}
    kinds = {case.kind for case in cases.cases_of("KMeans()")}
    assert {"X at 1e+155", "weights all 4.94066e-324", "a frame with dates", "n_init=10**9"} <= kinds


@pytest.fixture
def worker():
    worker = runner.Worker(runner._environment())
    yield worker
    worker.stop()


def test_a_worker_that_dies_is_named_and_started_again(worker):
    case = Case("Ridge()", "alpha='no such option'")
    assert worker.try_case(case, 60) == "sentence"
    os.kill(worker._process.pid, signal.SIGSEGV)
    assert worker.try_case(case, 60) == "killed the interpreter (SIGSEGV)"
    assert worker.try_case(case, 60) == "sentence"


def test_an_endless_case_is_interrupted_and_so_is_one_that_swallows_it():
    def swallowed(case):
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            return "answer"

    alarm = Alarm()
    assert alarm.verdict(None, lambda case: time.sleep(60), 0.05) == "interrupted"
    assert alarm.verdict(None, swallowed, 0.05) == "interrupted"
    assert alarm.verdict(None, lambda case: "answer", 60) == "answer"


def test_who_asks_for_much_is_answered_by_stopping_on_request():
    assert runner.judged(Case("KMeans()", "n_init=10**9"), "interrupted") == "answer"
    assert runner.judged(Case("KMeans()", "n_init=10**9"), "deaf") == "deaf"
    assert runner.judged(Case("KMeans()", "n_init=2"), "interrupted") == "interrupted"


def error_of(call):
    try:
        call()
    except Exception as error:
        return judge.verdict_of_error(error)


def test_a_sentence_is_raised_on_purpose():
    model = cases.models()["Ridge()"]
    assert error_of(lambda: model.set_params(alpha=-1).fit([[1.0], [2.0]], [1, 2])) == "sentence"
    assert error_of(lambda: model.set_params(alpha=1).fit([[np.nan], [2.0]], [1, 2])) == "sentence"
    assert error_of(lambda: np.ones(2) + np.ones(3)).startswith("ValueError: operands")
    assert error_of(lambda: np.linalg.inv(np.zeros((2, 2)))).startswith("LinAlgError")
    assert error_of(lambda: 1 / 0) == "ZeroDivisionError: division by zero"


def test_an_answer_has_no_nan_and_infinity_only_where_that_is_said():
    model = OPTICS().fit(tables.to_scale(np.random.default_rng(0).normal(size=(30, 2)), 1.0))
    assert np.isinf(model.reachability_).any()
    assert judge.verdict_of_fit(model) == "answer"
    model.core_reach_ = {0: [np.array([1.0, np.inf])]}
    assert judge.verdict_of_fit(model) == "infinity in core_reach_"
    model.core_reach_ = np.nan
    assert judge.verdict_of_fit(model) == "NaN in core_reach_"
    spoilt = Certificates([at_most("A claim.", "quantity", np.nan, 1.0)])
    assert judge.verdict_of_certificates(spoilt) == "NaN in the certificate 'A claim.'"
