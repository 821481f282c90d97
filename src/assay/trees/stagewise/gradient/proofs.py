"""Certificates of gradient boosting: risks and line searches measured again from what the learners say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.losses import Loss, MarginLoss, Squared
from assay.trees.boosting.boost import best_constants
from assay.trees.stagewise.additive import Additive
from assay.trees.stagewise.engine import State, by_row, projection
from assay.trees.stagewise.steps import is_endless

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.3.3"
SMALL_STEP = 1e-3
"""Relative change of a step that must not lower the risk."""


def best_constant(loss: Loss, y: NDArray, weight: NDArray) -> Any:
    """f_0: a number, or one per class."""
    best = best_constants(loss, y, weight)
    return float(best[0]) if loss.n_scores == 1 else best


@dataclass(frozen=True, eq=False)
class GradientHistory:
    """The rounds of gradient boosting.

    Attributes
    ----------
    step : array of shape (n_rounds,)
        ν w_t.
    risk : array of shape (n_rounds + 1,)
        Mean loss, from the constant on.
    agreement : array of shape (n_rounds,)
        Squared cosine between the learner and the pseudo-residuals: 1 − ‖r − g‖²/‖r‖² at the best multiple.
    edge : array of shape (n_rounds,)
        γ_t = 1 − ‖r − g‖²/‖r‖² of the learner as it is (uncentred R²).
    """

    step: Array
    risk: Array
    agreement: Array
    edge: Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradientHistory) and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls, risk: float) -> GradientHistory:
        """No rounds yet."""
        return cls(np.empty(0), np.array([risk]), np.empty(0), np.empty(0))


class GradientRows(NamedTuple):
    """The rows of a fit that weigh something, and the sum that was fitted to them."""

    X: Any
    y: Array
    weight: Array
    additive: Additive
    loss: Loss
    shrinkage: float
    by_leaf: bool

    @property
    def searched(self) -> bool:
        """Whether steps are exact minima along learners: all but Newton's steps of leaves."""
        return not self.by_leaf or isinstance(self.loss, Squared)


class GradientReplay(NamedTuple):
    """The rounds again, and by how much a small change of a step would have lowered the risk, relatively."""

    history: GradientHistory
    excess: float


def edge_of(residuals: Array, values: Array, weight: Array) -> float:
    """1 − ‖r − g‖²/‖r‖²."""
    weight = by_row(weight, values)
    size = float(np.sum(weight * residuals**2))
    return 1.0 - float(np.sum(weight * (residuals - values) ** 2)) / size if size > 0 else 0.0


def replay_gradient(rows: GradientRows, shrinkage: float) -> GradientReplay:
    """Play every round again from what the stored learners say."""
    additive = rows.additive
    state = State(rows.loss, rows.y, rows.weight, additive.begin(rows.X))
    risks, agreements, edges, excess = [state.risk()], [], [], 0.0
    for members, step in zip(additive.members, additive.steps, strict=True):
        values = additive.say(members, rows.X)
        agreements.append(projection(state.residuals, values, rows.weight))
        edges.append(edge_of(state.slopes, values, rows.weight))
        whole = step / shrinkage
        at = [
            State(rows.loss, rows.y, rows.weight, state.scores + (1 + change) * whole * values).risk()
            for change in (-SMALL_STEP, 0.0, SMALL_STEP)
        ]
        # Where every row is moved the right way no step is the best one.
        endless = isinstance(rows.loss, MarginLoss) and bool(np.all(rows.y * whole * values >= 0))
        endless = endless or (values.ndim > 1 and is_endless(rows.loss, rows.y, whole * values))
        excess = max(excess, 0.0 if endless else (at[1] - min(at)) / (abs(risks[0]) or 1.0))
        state = State(rows.loss, rows.y, rows.weight, state.scores + step * values)
        risks.append(state.risk())
    history = GradientHistory(additive.steps, np.array(risks), np.array(agreements), np.array(edges))
    return GradientReplay(history, excess)


def gradient_certificates(history: GradientHistory, rows: GradientRows) -> Certificates:
    """What is seen at once: the stored learners have the risk of the trace, which never rises."""
    scores = rows.additive.scores(rows.X)
    risk = State(rows.loss, rows.y, rows.weight, scores).risk()
    return Certificates(_risk(history, risk))


def _risk(history: GradientHistory, risk: float) -> list[Certificate]:
    size = abs(history.risk[0]) or 1.0
    rise = float(np.diff(history.risk).max(initial=0.0)) / size
    return [
        at_most(
            "The sum of the stored learners has the risk that the rounds say.",
            "relative deviation of the risk",
            abs(risk - history.risk[-1]) / size,
            1e-9,
            SOURCE,
        ),
        at_most("No round raises the risk.", "largest relative rise", rise, 1e-10, SOURCE),
    ]


def certify_gradient(
    history: GradientHistory, stored: dict[str, tuple[object, str]], rows: GradientRows
) -> Certificates:
    """Everything again from the answers of the learners; `stored` are attributes and what they must be."""
    shrinkage = rows.shrinkage
    again = replay_gradient(rows, shrinkage)
    claims = _risk(history, again.history.risk[-1])
    fresh = {
        "start": best_constant(rows.loss, rows.y, rows.weight),
        "risk": again.history.risk[1:],
        "zero": 0.0,
        "step": again.history.step,
    }
    pairs = {name: (value, fresh[source]) for name, (value, source) in stored.items()}
    names = [field.name for field in fields(GradientHistory)]
    pairs |= {f"history {name}": (getattr(history, name), getattr(again.history, name)) for name in names}
    claims.append(
        agreement(
            "Risks, edges and steps of every round are those of the stored learners.",
            pairs,
            SOURCE,
            rtol=1e-7,
        )
    )
    if rows.searched:
        claims.append(_best_steps(again))
    if isinstance(rows.loss, Squared):
        claims.append(_linear_rate(history, again, shrinkage))
    return Certificates(claims)


def _best_steps(again: GradientReplay) -> Certificate:
    return at_most(
        "Every step is the best along its learner: a little more or less does not lower the risk.",
        "largest relative decrease",
        again.excess,
        1e-9,
        "Sangnier §1.3.3, algorithm 3",
    )


def _linear_rate(history: GradientHistory, again: GradientReplay, shrinkage: float) -> Certificate:
    risk, product = again.history.risk, rate_product(history, shrinkage)
    same = len(product) == len(risk)
    return at_most(
        "The risk falls at the linear rate of the edges: A(f_T) = A(f_0) Π(1 − γ_t), for ν = 1.",
        "relative deviation from the product",
        float(np.abs(risk - risk[0] * product).max()) / (risk[0] or 1.0) if same else np.inf,
        1e-7,
        "Sangnier §1.3.3, theorem 18",
    )


def rate_product(history: GradientHistory, shrinkage: float) -> Array:
    """Π(1 − (2ν − ν²) γ_t) from 1 on: what is left of a squared risk after exact steps shrunk by ν."""
    factor = 2.0 * shrinkage - shrinkage**2
    return np.concatenate([[1.0], np.cumprod(1.0 - factor * history.agreement)])
