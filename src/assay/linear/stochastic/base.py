"""What the two stochastic estimators share: machines fitted by batches, and their certificates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import majorant_claim
from assay.linear.predictor import LinearPredictor
from assay.linear.stochastic.ground import (
    HeldOut,
    Patience,
    SgdGround,
    choose_rows,
    divide,
    ground_of,
    packed,
    unpacked,
)
from assay.losses import Loss, MarginLoss
from assay.models.convergence import warn
from assay.models.path import HasPenaltyPath
from assay.randomness import spawn
from assay.rows import MemoryRows, Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.machine import Report
from assay.solvers.stochastic.gap import RiskEvidence, RiskGap, cancelled, gather_risk, risk_gap
from assay.solvers.stochastic.sgd import (
    Rule,
    Sgd,
    SgdPlan,
    SgdSetting,
    SgdState,
    base_step,
    has_corners,
    make_rule,
    near_rows,
    sgd,
)

SOURCE = "Rudi & Şimşekli §1.3.3, §3.2.3; Douc & Le Corff §5.4"


class SgdModel(HasPenaltyPath, LinearPredictor):
    """A linear model fitted by batches of rows."""

    dual_coef_: NDArray | None
    _positives: Callable[[], list[Any]]
    _run: Callable[..., list[Any]]
    _per_machine: Callable[[Sequence[Any]], Any]
    _shaped: Callable[[list[Array], list[float], Any], dict[str, Any]]

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        learning_rate: str = "auto",
        eta0: float = 1.0,
        batch_size: int = 256,
        average: bool = True,
        tol: float = 0.01,
        max_iter: int = 2048,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.batch_size = batch_size
        self.average = average
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.history = history
        self.random_state = random_state

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _machines(self) -> list[MachineLoss[Loss]]:
        """The loss of each machine."""
        loss = self._loss()
        return [MachineLoss(loss, positive=positive) for positive in self._positives()]

    def _spread(self, data: Rows) -> float:
        """Unit of the scores."""
        return 1.0

    def _level(self, data: Rows) -> float:
        """Intercept at the start."""
        return 0.0

    def _strengths(self) -> tuple[float, float]:
        """λ₁ and λ₂."""
        share = {"l1": 1.0, "l2": 0.0, "elasticnet": float(self.l1_ratio), None: 0.0}[self.penalty]
        alpha = 0.0 if self.penalty is None else float(self.alpha)
        return alpha * share, alpha * (1 - share)

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        """Fit every machine, measure the certificates, and warn where a machine did not reach `tol`."""
        data = near_rows(data, type(self).__name__)
        machines = self._machines()
        *children, splitter = spawn(self.random_state, len(machines) + 1)
        self.__dict__.pop("held_out_", None)
        training, held = data, None
        if self.early_stopping:
            training, held = self._hold_out(data, splitter)
        ground = self._ground(training, machines[0].loss)
        runs = [
            partial(self._descend, training, ground, held, machine, rng)
            for machine, rng in zip(machines, children, strict=True)
        ]
        fits = self._run(X, y, "sgd", runs, data.dtype)
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self._set_machines(fits, ground, data, self.n_iter_)
        self.converged_ = all(fit.converged for fit in fits)
        if self.history:
            self.history_ = self._per_machine([fit.gaps for fit in fits])
        self._measure(data, keep=True)
        if not self.converged_:
            state = f"relative duality gap {self.dual_gap_:.2g}, above tol"
            if self.early_stopping:
                state = "a held-out loss that still falls"
            way_out = "Increase max_iter or tol"
            if self.n_iter_ < self.max_iter:
                way_out = "More passes make no progress: increase tol"
            warn(
                f"{type(self).__name__} stopped after {self.n_iter_} passes with {state}. {way_out}, change "
                "eta0 or the learning_rate, or set average=True."
            )

    def _hold_out(self, data: Rows, rng: np.random.Generator) -> tuple[MemoryRows, HeldOut]:
        if not isinstance(data, MemoryRows):
            raise self._refuse("early_stopping", "False for a table too large for memory")
        by_class = self._positives()[0] is not None
        self.held_out_ = choose_rows(data, float(self.validation_fraction), rng, by_class=by_class)
        training, held = divide(data, self.held_out_)
        if not (held.weight.any() and np.any(training.weight)):
            raise self._refuse("validation_fraction", "such that both parts have rows that weigh something")
        return training, held

    def _ground(self, data: Rows, loss: Loss, known: SgdGround | None = None) -> SgdGround:
        """Coordinates and step for the rows; the coordinates of earlier rows where there were some."""
        level = self._level(data) if known is None else known.level
        return ground_of(data, loss, self._spread(data), level, self.batch_size, self.fit_intercept, known)

    def _setting(self, ground: SgdGround, loss: Loss, *, noisy: bool = True) -> SgdSetting:
        """Coordinates, penalty and steps of a machine."""
        frame = ground.frame(self.fit_intercept)
        d, (l1, l2) = len(frame.scale), self._strengths()
        strengths = np.zeros((2, d + self.fit_intercept))
        strengths[:, :d] = l1 / frame.scale, l2 / frame.scale**2
        rule = self._rule(ground, loss, float(strengths[1, :d].min(initial=np.inf)), noisy=noisy)
        return SgdSetting(frame, strengths, rule)

    def _rule(self, ground: SgdGround, loss: Loss, decay: float, *, noisy: bool) -> Rule:
        steps = ground.step, ground.spread, decay, float(self.eta0)
        return make_rule(self.learning_rate, loss, *steps, noisy=noisy)

    def _plan(self, data: Rows, ground: SgdGround, loss: Loss, max_iter: int) -> SgdPlan:
        keep = has_corners(loss, ground.spread) and data.local
        return SgdPlan(self.batch_size, self.average, max_iter, keep)

    def _descend(
        self,
        data: Rows,
        ground: SgdGround,
        held: HeldOut | None,
        machine: MachineLoss[Loss],
        rng: np.random.Generator,
        report: Report,
    ) -> Sgd:
        """Fit one machine; with rows held out, their loss and not the gap says when to stop."""
        noisy, loss = data.shape[0] > self.batch_size, machine.loss
        setting = self._setting(ground, loss, noisy=noisy)
        frame, patience = setting.frame, Patience(float(self.tol), self.n_iter_no_change)

        def done(point: Array, slopes: Array | None) -> tuple[float, bool]:
            if held is not None:
                return 0.0, False
            _, gap = self._judged(data, machine, *frame.outside(point), slopes, ground.level)
            return gap.relative, gap.relative <= self.tol

        def retune(point: Array) -> Rule:
            step = base_step(data, frame, machine, ground.spread, self.batch_size, point)
            return self._rule(ground._replace(step=step), loss, setting.rule.decay, noisy=noisy)

        def told(point: Array) -> bool:
            coef, intercept = frame.outside(point)
            if held is not None and patience.exhausted(held.mean_loss(machine, coef, intercept), point):
                return True
            return report(coef, intercept)

        fit = sgd(
            data,
            machine,
            setting,
            self._plan(data, ground, loss, self.max_iter),
            SgdState.start(setting.strengths.shape[1], ground.level),
            rng=rng,
            done=done,
            report=told if held is not None or getattr(self, "_skl_callbacks", None) else None,
            retune=retune if self.learning_rate == "auto" and not noisy else None,
        )
        if held is None or not patience.losses:
            return fit
        ended = patience.waited >= self.n_iter_no_change
        return fit._replace(point=patience.point, gaps=patience.losses, converged=ended)

    def _continue(self, data: Rows) -> None:
        """One more pass, over rows that may be new, from where the last one ended."""
        if self.early_stopping:
            raise self._refuse("early_stopping", "False for partial_fit")
        self.__dict__.pop("held_out_", None)
        machines = self._machines()
        data = near_rows(data, type(self).__name__)
        known, states, passes = unpacked(self._descent) if hasattr(self, "_descent") else (None, [], 0)
        loss = machines[0].loss
        ground = self._ground(data, loss, known)
        setting = self._setting(ground, loss)
        size = setting.strengths.shape[1]
        if known is None:
            states = [SgdState.start(size, ground.level) for _ in machines]
        elif len(states[0].point) != size:
            raise self._refuse("fit_intercept", "as in the earlier calls of partial_fit")
        plan, fits = self._plan(data, ground, loss, 1), []
        children = spawn(self.random_state, len(machines))
        for machine, state, child in zip(machines, states, children, strict=True):
            # Orders differ from call to call.
            seed = np.random.SeedSequence(int(child.integers(2**63)), spawn_key=(passes,))
            rest: Any = {"rng": np.random.default_rng(seed), "done": lambda *_: (np.inf, False)}
            fits.append(sgd(data, machine, setting, plan, state, scaled=False, **rest))
        self._set_machines(fits, ground, data, passes + 1)
        self.n_iter_ = passes + 1
        self._measure(data, keep=True)
        self.converged_ = self.certificates_[0].holds

    def _set_machines(self, fits: list[Sgd], ground: SgdGround, data: Rows, passes: int) -> None:
        """Set the coefficients, the dual point and what `partial_fit` goes on from."""
        frame = ground.frame(self.fit_intercept)
        coefs, intercepts = zip(*(frame.outside(fit.point) for fit in fits), strict=True)
        self.__dict__.update(self._shaped(list(coefs), list(intercepts), data.dtype))
        slopes = [fit.slopes for fit in fits]
        self.dual_coef_ = None if any(item is None for item in slopes) else np.array(slopes, dtype=data.dtype)
        self._descent = packed(ground, fits, passes)

    def _judged(
        self,
        data: Rows,
        machine: MachineLoss[Loss],
        coef: Array,
        intercept: float,
        dual: NDArray | None,
        level: float,
    ) -> tuple[RiskEvidence, RiskGap]:
        """Evidence and gap at a point, by one walk; without penalty by three."""
        l1, l2 = self._strengths()
        place, free = (data, machine, coef, intercept, dual), self.fit_intercept
        evidence, conjugate = gather_risk(*place, level=level), None
        if l1 == l2 == 0:
            conjugate = cancelled(*place, fit_intercept=free, tol=min(float(self.tol), 1.0))
        return evidence, risk_gap(evidence, coef, l1, l2, fit_intercept=free, conjugate=conjugate)

    def _proven_numbers(self) -> tuple[str, ...]:
        # With rows held out, the loss on these is certified instead of the gap.
        return ("dual_gap_",) if getattr(self, "held_out_", None) is None else ()

    def _measure(self, data: Rows, *, keep: bool = False) -> Certificates:
        """Certificates from the attributes and the rows, by one walk per machine."""
        held, chosen = None, getattr(self, "held_out_", None)
        if chosen is not None:
            data = near_rows(data, type(self).__name__)
            if not isinstance(data, MemoryRows) or data.shape[0] <= chosen[-1]:
                raise ValueError(f"certify needs the rows of the fit, {chosen[-1] + 1} at least.")
            data, held = divide(data, chosen)
        coefs = np.atleast_2d(self.coef_).astype(np.float64)
        duals: Any = [None] * len(coefs)
        if self.dual_coef_ is not None and self.dual_coef_.shape[1] == data.shape[0] and data.local:
            duals = self.dual_coef_
        intercepts = np.atleast_1d(self.intercept_).astype(np.float64).tolist()
        points = list(zip(self._machines(), coefs, intercepts, strict=True))
        level = self._descent["level"]
        judged = [self._judged(data, *point, dual, level) for point, dual in zip(points, duals, strict=True)]
        evidences, gaps = [item[0] for item in judged], [item[1] for item in judged]
        claim, name = "The objective is this close to its minimum.", "relative duality gap"
        value, bound = max(gap.relative for gap in gaps), self.tol * (1 + 1e-3)
        if held is not None:
            claim = "On rows held out the mean loss is at most that of the constant that is best for them."
            name, value = "held-out loss", sum(held.mean_loss(*point) for point in points)
            bound = sum(held.constant_loss(machine) for machine, *_ in points)
        claims = [at_most(claim, name, value, bound, source=SOURCE), *self._ended()]
        loss = points[0][0].loss
        if isinstance(loss, MarginLoss):
            claim = "The training error is at most the mean of φ(tf)/φ(0), which majorises it."
            total, at_zero = evidences[0].weight, float(loss.margin_value(np.zeros(1))[0])
            wrong, risk = sum(item.wrong for item in evidences), sum(item.loss for item in evidences)
            claims.append(majorant_claim(wrong / total, risk / (at_zero * total), claim))
        certificates = Certificates(claims)
        if keep:
            self.certificates_ = certificates
            self.dual_gap_ = max(gap.relative for gap in gaps)
            self.optimality_ = max(gap.gradient for gap in gaps)
        return certificates

    def _ended(self) -> list[Certificate]:
        """The coefficients are those that the descent ended with, as it is kept (not in older files)."""
        if "answers" not in self._descent:
            return []
        frame = SgdGround(*(self._descent[name] for name in SgdGround._fields)).frame(self.fit_intercept)
        coefs, intercepts = zip(*map(frame.outside, self._descent["answers"]), strict=True)
        fresh = self._shaped(list(coefs), list(intercepts), self.coef_.dtype)
        pairs = {name: (getattr(self, name), value) for name, value in fresh.items()}
        return [agreement("The coefficients are those that the descent ended with.", pairs, source=SOURCE)]
