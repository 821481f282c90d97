"""Certificates of AdaBoost: every round is played again from what the stored learners say."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.losses import Exponential, Loss, chosen
from assay.trees.stagewise.committee import Committee
from assay.trees.stagewise.engine import State, projection
from assay.trees.stagewise.history import BoostingHistory, margin_history

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.3.1"
ROUNDING = 1e-8

THETA, DELTA = 0.1, 0.05
"""Margin and confidence of the bounds of a fit; fixed before any data is seen."""


class BoostedRows(NamedTuple):
    """The rows of a fit that weigh something, and the committee that was fitted to them."""

    X: Any
    labels: NDArray[np.int64]
    weight: Array
    committee: Committee
    loss: Loss

    @property
    def start(self) -> State:
        """Scores of 0."""
        return State(self.loss, np.ones(len(self.labels)), self.weight, np.zeros(len(self.labels)))


class Replay(NamedTuple):
    """The rounds again: what `BoostingHistory` holds, and more.

    `next_error` is the error of each learner under the weights that it leaves behind, `shares` the share of
    the margins below the threshold, `concentration` that of the heaviest rows at the end.
    """

    history: BoostingHistory
    next_error: Array
    shares: Array
    concentration: float
    n_mistakes: float


def concentration(share: Array, weight: Array) -> float:
    """Share of D on the heaviest tenth of the rows; a row of weight k counts as k."""
    each = share / weight
    order = np.argsort(-each, kind="stable")
    room = 0.1 * weight.sum() - np.concatenate([[0.0], np.cumsum(weight[order])[:-1]])
    return float(np.sum(each[order] * np.clip(room, 0.0, weight[order])))


def training_error(scores: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Share of the weight of rows whose class is not the largest score."""
    return float(weight[chosen(scores) != labels].sum() / weight.sum())


def replay(rows: BoostedRows, *, exact: bool, theta: float = THETA) -> Replay:
    """Play every round again from the answers and the steps of the members."""
    committee, state = rows.committee, rows.start
    last, size = state.log_risk(), 0.0
    columns: dict[str, list[float]] = {
        name: [] for name in ("error", "normaliser", "training_error", "agreement", "next", "shares")
    }
    said = committee.logs(rows.X) if committee.chances else committee.places(rows.X)
    for answers, scores, step in zip(said, committee.staged_scores(rows.X), committee.steps, strict=True):
        places = answers.argmax(axis=1) if committee.chances else answers
        is_wrong = places != rows.labels
        margins = committee.margins(scores, rows.labels)
        columns["error"].append(float(state.shares()[is_wrong].sum()))
        values = (margins - state.scores) / step if step != 0 else np.zeros_like(margins)
        columns["agreement"].append(projection(state.residuals, values, rows.weight))
        state = State(rows.loss, state.y, rows.weight, margins.copy())
        risk, size = state.log_risk(), size + abs(step)
        columns["normaliser"].append(float(np.exp(risk - last)))
        columns["next"].append(float(state.shares()[is_wrong].sum()))
        columns["training_error"].append(training_error(scores, rows.labels, rows.weight))
        columns["shares"].append(float(np.average(margins < theta * size, weights=rows.weight)))
        last = risk
    named = {name: np.array(values) for name, values in columns.items()}
    names = ("error", "normaliser", "training_error", "agreement")
    history = BoostingHistory(
        step=committee.steps,
        n_classes=committee.n_answers,
        exact=exact,
        **{name: named[name] for name in names},
    )
    wrong = named["training_error"][-1] * rows.weight.sum()
    heavy = concentration(state.shares(), rows.weight)
    return Replay(history, named["next"], named["shares"], heavy, float(wrong))


def fit_certificates(history: BoostingHistory, rows: BoostedRows) -> Certificates:
    """What is seen at once: the votes of the stored learners give the risk of the rounds."""
    scores = rows.committee.scores(rows.X)
    margins = rows.committee.margins(scores, rows.labels)
    state = State(rows.loss, rows.start.y, rows.weight, margins)
    return Certificates(_risk(history, rows.start, state, training_error(scores, rows.labels, rows.weight)))


def _risk(history: BoostingHistory, start: State, state: State, error: float) -> list[Certificate]:
    """The risk of the votes is the product of the rounds, and bounds the training error."""
    product = float(np.sum(np.log(np.maximum(history.normaliser, np.finfo(np.float64).tiny))))
    gap = abs(state.log_risk() - start.log_risk() - product) / max(abs(product), 1.0)
    most = float(np.max(np.where(history.step != 0, history.error - history.chance, -history.chance)))
    # φ(0) is what a mistake costs at least; a score per class may be wrong with a margin above 0.
    margins_wrong = float(np.average(state.scores <= 0, weights=state.weight))
    low = float(state.loss.value(np.ones(1), np.zeros(1))[0])
    claims = [
        at_most(
            "The votes of the stored learners have the risk that the rounds say: Π Z_t.",
            "relative deviation of the logarithm",
            gap,
            ROUNDING,
            "Sangnier §1.3.1, property 13",
        ),
        at_most(
            "No learner is worse than chance under its weights.",
            "largest ε − (C − 1)/C",
            most,
            1e-9,
            SOURCE,
        ),
        at_most(
            "The share of rows with a margin of at most 0 is at most the risk, Π Z_t for AdaBoost.",
            "training error" if history.n_classes == 2 else "share of margins up to 0",
            max(error, margins_wrong) if history.n_classes == 2 else margins_wrong,
            state.risk() / low,
            "Sangnier §1.3.1, theorem 14",
            trivial=1.0,
            tolerance=1e-12,
            informative=True,
        ),
    ]
    if history.exact and history.n_classes == 2:
        chain = [history.product[-1], history.squared_edges[-1], history.smallest_edge[-1]]
        claims.append(
            at_most(
                "Π Z_t ≤ exp(−2 Σ γ_t²).",
                "product of normalisers",
                chain[0],
                chain[1],
                "Sangnier §1.3.1, theorem 14",
                trivial=1.0,
                tolerance=1e-12,
                informative=True,
            )
        )
        claims.append(
            at_most(
                "The training error is at most exp(−2 T min γ_t²).",
                "training error",
                error,
                chain[2],
                "Sangnier §1.3.1, theorem 14",
                trivial=1.0,
                tolerance=1e-12,
                informative=True,
            )
        )
    return claims


def certify_rounds(
    history: BoostingHistory, stored: dict[str, tuple[Any, str]], rows: BoostedRows
) -> Certificates:
    """Everything again from the answers of the learners.

    Parameters
    ----------
    history : BoostingHistory
        As stored.
    stored : dict
        Attributes of the model, each with the name of what they are in the replay.
    rows : BoostedRows
    """
    again = replay(rows, exact=history.exact)
    state = State(
        rows.loss,
        rows.start.y,
        rows.weight,
        rows.committee.margins(rows.committee.scores(rows.X), rows.labels),
    )
    claims = _risk(history, rows.start, state, again.history.training_error[-1])
    fresh = {"error": again.history.error, "concentration": again.concentration}
    pairs = {name: (value, fresh[source]) for name, (value, source) in stored.items()}
    names = ("error", "step", "normaliser", "training_error", "agreement")
    pairs |= {f"history {name}": (getattr(history, name), getattr(again.history, name)) for name in names}
    claims.append(
        agreement(
            "Errors, normalisers and weights of every round are those of D_t(i) ∝ e^{−y_i f_{t−1}(x_i)}.",
            pairs,
            "Sangnier §1.3.1, property 13",
            rtol=ROUNDING,
        )
    )
    if history.exact:
        claims.append(
            at_most(
                "After its round a learner is worth nothing: its error under D_{t+1} is (C − 1)/C.",
                "largest deviation from (C − 1)/C",
                float(np.abs(again.next_error - history.chance).max()),
                1e-7,
                "Sangnier §1.3.1, exercise 1.7",
            )
        )
    if isinstance(rows.loss, Exponential):
        claims += _margins(history, again)
    return Certificates(claims)


def _margins(history: BoostingHistory, again: Replay) -> list[Certificate]:
    """Few margins are small: the sharp product and the lemma, at a threshold fixed beforehand."""
    if history.n_classes > 2:
        return []
    bounds = margin_history(history, THETA, again.shares)
    worst = int(np.argmax(bounds.share - bounds.product))
    claims = [
        at_most(
            f"The share of margins below {THETA} is at most e^(θ‖w‖₁) Π Z_t in every round.",
            "share of margins in the tightest round",
            bounds.share[worst],
            bounds.product[worst],
            "Sangnier §1.3.1, exercise 1.6",
            trivial=1.0,
            tolerance=1e-12,
            informative=True,
        )
    ]
    if np.isfinite(bounds.lemma[-1]):
        claims.append(
            at_most(
                f"The share of margins below {THETA} is at most ((1−4γ²)((1+2γ)/(1−2γ))^θ)^(T/2).",
                "share of small margins",
                bounds.share[-1],
                bounds.lemma[-1],
                "Sangnier §1.3.1, lemma 16",
                trivial=1.0,
                tolerance=1e-12,
                informative=True,
            )
        )
    return claims


def best_error_by_sorting(X: NDArray, labels: NDArray[np.int64], share: Array, n_classes: int) -> float:
    """The least weighted error of a stump, by sorting each column and adding up floats."""
    marks = share[:, np.newaxis] * (labels[:, np.newaxis] == np.arange(n_classes))
    totals = marks.sum(axis=0)
    right = float(totals.max())
    for column in X.T:
        known = ~np.isnan(column)
        order = np.argsort(column[known], kind="stable")
        values, sums = column[known][order], np.cumsum(marks[known][order], axis=0)
        ends = np.append(values[1:] != values[:-1], [not known.all()]) if len(values) else np.zeros(0, bool)
        for extra in (0.0, marks[~known].sum(axis=0)) if not known.all() else (0.0,):
            left = sums[ends] + extra
            if len(left):
                right = max(right, float((left.max(axis=1) + (totals - left).max(axis=1)).max()))
    return 1.0 - right


def best_error_by_counting(
    codes: NDArray[np.uint8], n_codes: NDArray, labels: NDArray[np.int64], share: Array, n_classes: int
) -> float:
    """The same of stumps that cut between codes, by counting those of each column."""
    totals = np.bincount(labels, share, n_classes)
    right = float(totals.max())
    for column, absent in zip(codes.T, n_codes, strict=True):
        places = column.astype(np.int64) * n_classes + labels
        marks = np.bincount(places, share, (int(absent) + 1) * n_classes).reshape(-1, n_classes)
        for extra in (np.zeros(n_classes), marks[absent]):
            left = np.cumsum(marks[:absent], axis=0) + extra
            if len(left):
                right = max(right, float((left.max(axis=1) + (totals - left).max(axis=1)).max()))
    return 1.0 - right


def certify_stumps(rows: BoostedRows, X: Any, n_codes: NDArray | None = None) -> Certificate:
    """No stump has a smaller error in any round, by a search that shares no code with the fit.

    `X` are the values of the rows, or their codes where `n_codes` tells how many each column has.
    """
    committee, state, worst = rows.committee, rows.start, 0.0
    dense: Any = X
    if n_codes is None:
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    for said, scores in zip(committee.places(rows.X), committee.staged_scores(rows.X), strict=True):
        share = state.shares()
        error = float(share[said != rows.labels].sum())
        if n_codes is None:
            best = best_error_by_sorting(dense, rows.labels, share, len(committee.classes))
        else:
            best = best_error_by_counting(dense, n_codes, rows.labels, share, len(committee.classes))
        worst = max(worst, error - best)
        state = State(rows.loss, state.y, rows.weight, committee.margins(scores, rows.labels).copy())
    return at_most(
        "Every stump is the best of its class under the weights of its round.",
        "largest excess of its error over that of the best",
        worst,
        1e-9,
        "Sangnier §1.3.1",
    )
