"""A trace laid beside a bound: arrays, functions, damaged traces, missing knowledge."""

from __future__ import annotations

import numpy as np
import pytest

from assay.optimize import Bound, Trace, gradient_descent, quadratic
from assay.parameters import ParameterError

F = quadratic(np.diag([1.0, 4.0]), [0.0, 0.0], 2.0)
FOUND = gradient_descent(F, [1.0, 1.0], tol=1e-6, keep_points=True)


def test_a_bound_may_be_an_array_a_function_or_a_theorem():
    trace, n = FOUND.trace, len(FOUND.trace.values)
    gaps = trace.measured("gap", minimum=F.minimum)
    assert trace.against(gaps, minimum=F.minimum).holds
    assert trace.against(lambda t: 3.0 * 0.9**t, minimum=F.minimum).holds
    assert trace.against(lambda t: 3.0, minimum=F.minimum).holds
    theorem = Bound("It falls.", "gradient norm", lambda t: 5 * 0.8**t, ("smooth",), "here")
    certificate = trace.against(theorem)
    assert certificate.holds
    assert (certificate.claim, certificate.assumptions, certificate.source) == (
        "It falls.",
        ("smooth",),
        "here",
    )
    assert certificate.quantity == "largest gradient norm − bound"
    assert trace.against(np.full(n, 10.0), quantity="value", claim="Below ten.").claim == "Below ten."


@pytest.mark.parametrize("measure", ["excess", "ratio"])
def test_a_bound_that_is_passed_once_is_broken(measure):
    trace = FOUND.trace
    gaps = trace.measured("gap", minimum=F.minimum)
    tight = gaps.copy()
    tight[3] *= 0.99
    broken = trace.against(tight, minimum=F.minimum, measure=measure)
    assert not broken.holds
    assert broken.value == pytest.approx(0.01 * gaps[3] if measure == "excess" else 1 / 0.99)
    nan = trace._replace(values=np.where(np.arange(len(gaps)) == 2, np.nan, trace.values))
    assert not nan.against(gaps, minimum=F.minimum, measure=measure).holds


def test_a_theorem_promises_nothing_before_its_first_iteration():
    late = Bound("Later.", "gap", lambda t: np.where(t < 2, -1.0, 10.0), first=2)
    assert FOUND.trace.against(late, minimum=F.minimum).holds
    early = Bound("Now.", "gap", lambda t: np.where(t < 2, -1.0, 10.0))
    assert not FOUND.trace.against(early, minimum=F.minimum).holds


def test_running_means_count_from_one():
    means = FOUND.trace.averaged(F)
    assert means.first == 1
    assert means.points[1] == pytest.approx(FOUND.trace.points[:2].mean(axis=0))
    assert means.values[0] == FOUND.trace.values[0]
    assert means.against(lambda n: 3.0 / n, minimum=F.minimum).holds


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: FOUND.trace.measured("speed"), "quantity"),
        (lambda: FOUND.trace.measured("gap"), "minimum"),
        (lambda: FOUND.trace.measured("squared distance"), "minimiser"),
        (lambda: gradient_descent(F, [1.0, 1.0]).trace.averaged(F), "keep_points"),
        (lambda: FOUND.trace.against(np.ones(2), quantity="value"), "bound"),
        (lambda: FOUND.trace.against(lambda t: 1.0, quantity="value", measure="slope"), "measure"),
        (lambda: Bound("", "gap", lambda t: t).iterations(0.1), "bound"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(make, name):
    with pytest.raises(
        ParameterError, match=rf"(?s)^The '{name}' parameter of [\w.]+ must be .* Got .* instead\.$"
    ):
        make()


def test_an_empty_run_has_a_trace_of_one_point():
    found = gradient_descent(F, [0.0, 0.0])
    assert found.n_iter == 0
    assert found.converged
    assert isinstance(found.trace, Trace)
    assert len(found.trace.values) == 1
