"""The compiled loops of stochastic gradient descent against NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay import losses
from assay.loops import compiled
from assay.losses.row_form import row_terms
from assay.optimize import adadelta, adagrad, adam, plain, rmsprop
from assay.parameters import ParameterError
from assay.rows import MemoryRows
from assay.solvers.in_memory import loop_rows
from assay.solvers.piecewise.frame import Frame, MachineLoss
from assay.solvers.stochastic import loops
from assay.solvers.stochastic.sgd import (
    LEARNING_RATES,
    Rule,
    SgdPlan,
    SgdSetting,
    SgdState,
    has_corners,
    make_rule,
    sgd,
)

LOSSES = [
    losses.Squared(),
    losses.Huber(0.4),
    losses.EpsilonInsensitive(0.3),
    losses.SquaredEpsilonInsensitive(0.3),
    losses.Absolute(),
    losses.Quantile(0.2),
    losses.Logistic(),
    losses.Hinge(),
    losses.SquaredHinge(),
]
SHIFT, SCALE = np.array([0.5, -1.0, 0.0]), np.array([2.0, 0.5, 1.0])


@pytest.fixture
def table(rng):
    X = rng.standard_normal((23, 3))
    return X, np.sign(rng.standard_normal(23)), rng.integers(0, 3, 23).astype(float)


def run(X, y, factor, order, *, loss, rule=loops.FALLING, eta=0.2, power=0.5, decay=0.0, batch_size=5,
        l1=0.0, l2=0.0, free=True, keep=False, start=None):  # fmt: skip
    """One pass of the loop; the point, the sum of points, the slopes and their masses."""
    size = 3 + free
    state = SgdState.start(size)
    state.point[:] = 0.0 if start is None else start
    table = np.zeros((len(y), 4 if keep else 2))
    table[:, 0], table[:, 1] = y, factor
    rows = [(SHIFT, 0.0), (SCALE, 1.0), (np.full(3, l1), 0.0), (np.full(3, l2), 0.0)]
    frame = np.array([np.append(values, [last] * free) for values, last in rows])
    steps = np.array([rule, eta, power, decay])
    updates = loops.batch_pass(
        loop_rows(X), table, order, batch_size, loss.row_form, frame, free, steps, state.vectors, 0
    )
    sums = table[:, 2:].T if keep else np.zeros((2, 0))
    return *state.vectors[:2], *sums, updates


def batches(order, batch_size):
    n_batches = -(-len(order) // batch_size)
    return [order[k * len(order) // n_batches : (k + 1) * len(order) // n_batches] for k in range(n_batches)]


def design(X, free=True):
    columns = (X - SHIFT) / SCALE
    return np.column_stack([columns, np.ones(len(X))]) if free else columns


@compiled
def slope_of(form, y, score):
    return row_terms(form, y, score)[1]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slopes_are_those_of_the_losses(loss, rng):
    y = np.where(rng.random(200) < 0.5, -1.0, 1.0)
    score = np.append(3 * rng.standard_normal(197), [1.0, -1.0, 700.0])
    found = [slope_of(loss.row_form, *pair) for pair in zip(y, score, strict=True)]
    assert_allclose(found, loss.gradient(y, score), rtol=1e-13, atol=1e-300)


@pytest.mark.spec("rudi/M1.6")
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
def test_a_pass_of_proximal_steps_is_its_twin(table, rng, loss, free, kind):
    X, y, factor = table
    X = X.astype(np.float32) if kind == "float32" else X
    order = rng.permutation(len(y))
    given = sparse.csr_array(X) if kind == "sparse" else X
    point, total, slopes, masses, updates = run(
        given, y, factor, order, loss=loss, l1=0.02, l2=0.1, free=free, keep=True
    )
    A, theta, sums = design(X.astype(float), free), np.zeros(3 + free), np.zeros(3 + free)
    mean, mass = np.zeros(len(y)), np.zeros(len(y))
    shrunk = np.append(np.full(3, 1.0), [0.0] * free)
    for t, batch in enumerate(batches(order, 5), start=1):
        step = 0.2 / t**0.5
        slope = loss.gradient(y[batch], A[batch] @ theta)
        seen = factor[batch] > 0
        mean[batch] += step * slope * seen
        mass[batch] += step * seen
        theta = theta - step * A[batch].T @ (factor[batch] * slope) / len(batch)
        theta = np.sign(theta) * np.maximum(np.abs(theta) - step * 0.02 * shrunk, 0)
        theta = theta / (1 + step * 0.1 * shrunk)
        sums += theta
    assert updates == 5
    assert_allclose(point, theta, atol=1e-12)
    assert_allclose(total, sums, atol=1e-12)
    assert_allclose(slopes, mean, atol=1e-12)
    assert_allclose(masses, mass, atol=1e-12)


@pytest.mark.parametrize(
    ("rule", "method"),
    [
        pytest.param(
            loops.ADAGRAD,
            adagrad(lambda t: 0.2 / t**0.5, loops.EPS),
            marks=pytest.mark.spec("douc/M5.6"),
        ),
        pytest.param(
            loops.RMSPROP,
            rmsprop(lambda t: 0.2 / t**0.5, loops.RHO_RMSPROP, loops.EPS),
            marks=pytest.mark.spec("douc/M5.8"),
        ),
        pytest.param(
            loops.ADAM,
            adam(lambda t: 0.2 / t**0.5, eps=loops.EPS),
            marks=pytest.mark.spec("douc/M5.9"),
        ),
        (loops.FALLING, plain(lambda t: 0.2 / t**0.5)),
        (loops.OPTIMAL, plain(lambda t: 0.2 / (1 + 0.2 * 0.3 * t))),
    ],
)
def test_a_pass_of_each_rule_is_the_state_machine_of_the_toolbox(table, rng, rule, method):
    X, y, factor = table
    order, loss = rng.permutation(len(y)), losses.Logistic()
    adaptive = rule >= loops.ADAGRAD
    l1, l2 = (0.02, 0.1) if adaptive else (0.0, 0.0)
    start = rng.standard_normal(4)
    point, *_ = run(X, y, factor, order, loss=loss, rule=rule, decay=0.3, l1=l1, l2=l2, start=start)
    A, theta, state = design(X), start, method.init(start)
    for batch in batches(order, 5):
        gradient = A[batch].T @ (factor[batch] * loss.gradient(y[batch], A[batch] @ theta)) / len(batch)
        gradient[:3] += l2 * theta[:3] + l1 * np.sign(theta[:3])
        move, state = method.update(gradient, state)
        theta = theta + move
    assert_allclose(point, theta, atol=1e-12)


@pytest.mark.spec("douc/M5.7")
def test_a_pass_of_adadelta_with_unit_step_is_the_state_machine_of_the_toolbox(table, rng):
    X, y, factor = table
    order, method = rng.permutation(len(y)), adadelta(loops.RHO_ADADELTA, loops.EPS_ADADELTA)
    point, *_ = run(X, y, factor, order, loss=losses.Squared(), rule=loops.ADADELTA, eta=1.0, power=0.0)
    A, theta = design(X), np.zeros(4)
    state = method.init(theta)
    for batch in batches(order, 5):
        move, state = method.update(
            A[batch].T @ (factor[batch] * (A[batch] @ theta - y[batch])) / len(batch), state
        )
        theta = theta + move
    assert_allclose(point, theta, atol=1e-12)


def test_batches_have_nearly_equal_sizes(table):
    X, y, _ = table
    # 23 rows by 22: two batches of 11 and 12 rows, not one of 22 and a single row as noisy as it is alone.
    *_, updates = run(X, y, np.ones(23), np.arange(23), loss=losses.Squared(), batch_size=22)
    assert updates == 2


def test_a_repeated_order_is_so_many_passes_over_one_batch(table):
    X, y, factor = table
    once = np.arange(23)
    several, *_ = run(X, y, factor, np.tile(once, 4), loss=losses.Logistic(), power=0.0, batch_size=23)
    point = np.zeros(4)
    for _ in range(4):
        point, *_ = run(X, y, factor, once, loss=losses.Logistic(), power=0.0, batch_size=23, start=point)
    assert_allclose(several, point, atol=1e-13)


@pytest.mark.parametrize("rate", LEARNING_RATES)
def test_eta0_is_a_factor_of_every_step(rate):
    one, three = (make_rule(rate, losses.Logistic(), 0.5, 1.0, 0.1, eta0) for eta0 in (1.0, 3.0))
    assert three.eta == 3 * one.eta
    assert three._replace(eta=one.eta) == one


def test_a_loss_has_corners_on_the_scale_of_the_target():
    assert has_corners(losses.Hinge(), 1.0)
    assert not has_corners(losses.Logistic(), 1.0)
    assert has_corners(losses.Huber(0.1), 10.0)
    assert not has_corners(losses.Huber(20.0), 10.0)


def test_a_loss_without_compiled_terms_is_refused_in_one_sentence(table):
    X, y, _ = table
    setting = SgdSetting(Frame(SHIFT, SCALE, True), np.zeros((2, 4)), Rule(loops.FALLING, 0.1))
    for loss in (losses.Savage(), losses.Probit()):
        with pytest.raises(
            ParameterError, match=r"^The 'loss' parameter of sgd must be a convex loss with a"
        ):
            sgd(
                MemoryRows(X, y),
                MachineLoss(loss),
                setting,
                SgdPlan(5, True, 1, False),
                SgdState.start(4),
                rng=np.random.default_rng(0),
                done=lambda point, slopes: (0.0, True),
            )
