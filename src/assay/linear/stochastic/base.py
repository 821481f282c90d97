"""What the two stochastic estimators share: machines fitted by batches, and their certificates."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from assay.certificates import Certificates
from assay.linear.least_squares.engine import Array
from assay.linear.predictor import LinearPredictor
from assay.linear.stochastic.ground import (
    Ground,
    HeldOut,
    Patience,
    better_than_a_constant,
    choose_rows,
    divide,
    nearness,
    new_ground,
    packed,
    same_ground,
    surrogate_bound,
    unpacked,
)
from assay.losses import Loss, MarginLoss
from assay.models.path import HasPenaltyPath
from assay.randomness import spawn
from assay.rows import MemoryRows, Rows
from assay.solvers.piecewise.frame import Frame
from assay.solvers.stochastic.gap import RiskEvidence, RiskGap, gather_risk, risk_gap
from assay.solvers.stochastic.sgd import Descent, Penalty, Sgd, near_rows, sgd
from assay.solvers.stochastic.steps import Rule, base_step, has_corners, make_rule


class SgdModel(HasPenaltyPath, LinearPredictor):
    """A linear model fitted by batches of rows."""

    penalty: str | None
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    learning_rate: str
    eta0: float
    batch_size: int
    average: bool
    tol: float
    max_iter: int
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    history: bool
    random_state: Any
    dual_coef_: NDArray | None

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _positives(self) -> list[Any]:
        """Class numbers whose label is +1, one a machine; None where the target is a number."""
        return [None]

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

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        """Fit every machine, measure the certificates, and warn where a machine did not reach `tol`."""
        data = near_rows(data, type(self).__name__)
        positives = self._positives()
        *children, splitter = spawn(self.random_state, len(positives) + 1)
        self.__dict__.pop("held_out_", None)
        held = None
        training = data
        if self.early_stopping:
            training, held = self._hold_out(data, splitter)
        ground = self._ground(training)
        watch = self._watch_fit(X, y, n_runs=len(positives), max_iter=self.max_iter)

        def tell(coef: Array, intercept: float) -> bool:
            return watch.iteration(lambda: self._shaped([coef], [intercept], data))

        report = tell if getattr(self, "_skl_callbacks", None) else None
        fits = []
        for positive, rng in zip(positives, children, strict=True):
            with watch.run("sgd"):
                fits.append(self._descend(training, ground, positive, rng, report, held))
        watch.finish()
        self._set_machines(fits, ground, data, max(found.n_iter for found in fits))
        self.n_iter_ = max(found.n_iter for found in fits)
        self.converged_ = all(found.converged for found in fits)
        if self.history:
            self.history_ = [found.gaps for found in fits] if positives[0] is not None else fits[0].gaps
        self._measure(data, keep=True)
        self._warn_unless_converged()

    def _hold_out(self, data: Rows, rng: np.random.Generator) -> tuple[MemoryRows, HeldOut]:
        if not isinstance(data, MemoryRows):
            raise self._refuse("early_stopping", "False for a table too large for memory")
        by_class = self._positives()[0] is not None
        self.held_out_ = choose_rows(data, float(self.validation_fraction), rng, by_class=by_class)
        training, held = divide(data, self.held_out_)
        if not (held.weight.any() and np.any(training.weight)):
            raise self._refuse("validation_fraction", "such that both parts have rows that weigh something")
        return training, held

    def _ground(self, data: Rows, known: Ground | None = None) -> Ground:
        """Coordinates and step for the rows; the coordinates of earlier rows where there were some."""
        loss, spread, with_b = self._loss(), self._spread(data), self.fit_intercept
        if known is None:
            return new_ground(data, loss, spread, self._level(data), self.batch_size, intercept=with_b)
        return same_ground(known, data, loss, spread, self.batch_size, intercept=with_b)

    def _setting(self, ground: Ground, *, noisy: bool = True) -> tuple[Frame, Penalty, Rule]:
        """Coordinates, penalty and steps of a machine."""
        frame = ground.frame(intercept=self.fit_intercept)
        l1, l2 = self._strengths()
        extra = [0.0] if self.fit_intercept else []
        penalty = Penalty(np.append(l1 / frame.scale, extra), np.append(l2 / frame.scale**2, extra))
        decay = float((l2 / frame.scale**2).min(initial=np.inf))
        rule = make_rule(
            self.learning_rate,
            self._loss(),
            ground.step,
            ground.spread,
            decay,
            float(self.eta0),
            noisy=noisy,
        )
        return frame, penalty, rule

    def _descend(
        self,
        data: Rows,
        ground: Ground,
        positive: int | None,
        rng: np.random.Generator,
        report: Callable[[Array, float], bool] | None,
        held: HeldOut | None,
    ) -> Sgd:
        """Fit one machine."""
        noisy = data.shape[0] > self.batch_size
        frame, penalty, rule = self._setting(ground, noisy=noisy)
        loss = self._loss()
        patience = Patience(float(self.tol), self.n_iter_no_change)

        def done(point: Array, slopes: Array | None) -> tuple[float, bool]:
            if held is not None:
                return 0.0, False
            coef, intercept = frame.outside(point)
            evidence = gather_risk(data, loss, coef, intercept, positive, slopes, level=ground.level)
            value, bound = self._promise(self._gap(evidence, coef))
            return value, value <= bound

        def retune(point: Array) -> Rule:
            step = base_step(data, frame, loss, ground.spread, self.batch_size, point, positive)
            return self._setting(ground._replace(step=step), noisy=noisy)[2]

        def told(point: Array) -> bool:
            coef, intercept = frame.outside(point)
            enough = held is not None and patience.tired(
                held.mean_loss(loss, coef, intercept, positive), point
            )
            return enough or (report is not None and report(coef, intercept))

        found = sgd(
            data,
            loss,
            frame,
            penalty,
            rule,
            positive=positive,
            batch_size=self.batch_size,
            average=self.average,
            max_iter=self.max_iter,
            rng=rng,
            done=done,
            report=None if report is None and held is None else told,
            retune=retune if self.learning_rate == "auto" and not noisy else None,
            descent=Descent.start(len(penalty.l1), ground.level),
            keep_slopes=has_corners(loss, ground.spread) and data.local,
        )
        if held is None or not patience.losses:
            return found
        ended = patience.waited >= self.n_iter_no_change
        return found._replace(point=patience.point, gaps=patience.losses, converged=ended)

    def _continue(self, data: Rows) -> None:
        """One more pass, over rows that may be new, from where the last one ended."""
        if self.early_stopping:
            raise self._refuse("early_stopping", "False for partial_fit")
        self.__dict__.pop("held_out_", None)
        positives = self._positives()
        data = near_rows(data, type(self).__name__)
        known = unpacked(self._descent) if hasattr(self, "_descent") else None
        ground = self._ground(data, None if known is None else known.ground)
        frame, penalty, rule = self._setting(ground)
        passes = 0 if known is None else known.passes
        if known is not None and len(known.machines[0].point) != len(penalty.l1):
            raise self._refuse("fit_intercept", "as in the earlier calls of partial_fit")
        start = [Descent.start(len(penalty.l1), ground.level) for _ in positives]
        machines = start if known is None else known.rested()
        fits = [
            sgd(
                data,
                self._loss(),
                frame,
                penalty,
                rule,
                positive=positive,
                batch_size=self.batch_size,
                average=self.average,
                max_iter=1,
                rng=rng,
                done=lambda point, slopes: (np.inf, False),
                descent=machine,
                keep_slopes=has_corners(self._loss(), ground.spread) and data.local,
                scaled=False,
            )
            for positive, rng, machine in zip(
                positives, self._orders(len(positives), passes), machines, strict=True
            )
        ]
        self._set_machines(fits, ground, data, passes + 1)
        self.n_iter_ = passes + 1
        self._measure(data, keep=True)
        self.converged_ = self.certificates_[0].holds

    def _orders(self, n_machines: int, passes: int) -> list[np.random.Generator]:
        """Generators that differ from call to call of `partial_fit`."""
        return [
            np.random.default_rng(np.random.SeedSequence(int(child.integers(2**63)), spawn_key=(passes,)))
            for child in spawn(self.random_state, n_machines)
        ]

    def _set_machines(self, fits: list[Sgd], ground: Ground, data: Rows, passes: int) -> None:
        """Set the coefficients, the dual point and what `partial_fit` goes on from."""
        frame = ground.frame(intercept=self.fit_intercept)
        outside = [frame.outside(found.point) for found in fits]
        shaped = self._shaped([coef for coef, _ in outside], [level for _, level in outside], data)
        self.coef_, self.intercept_ = shaped["coef_"], shaped["intercept_"]
        slopes = [found.slopes for found in fits]
        self.dual_coef_ = None if any(item is None for item in slopes) else np.array(slopes, dtype=data.dtype)
        self._descent = packed(ground, fits, passes)

    def _shaped(self, coefs: list[Array], intercepts: list[float], data: Rows) -> dict[str, Any]:
        """`coef_` and `intercept_` from those of the machines."""
        if self._positives()[0] is None:
            return {"coef_": coefs[0].astype(data.dtype), "intercept_": data.dtype.type(intercepts[0])}
        return {
            "coef_": np.array(coefs, dtype=data.dtype),
            "intercept_": np.array(intercepts, dtype=data.dtype),
        }

    def _gap(self, evidence: RiskEvidence, coef: Array) -> RiskGap:
        return risk_gap(evidence, coef, *self._strengths(), fit_intercept=self.fit_intercept)

    def _promise(self, gap: RiskGap) -> tuple[float, float]:
        """What `tol` is about: the relative gap or, without a dual point at hand, the gradient."""
        return (gap.relative, self.tol) if self._strengths()[1] > 0 else (gap.gradient, self.tol**0.5)

    def _measure(self, data: Rows, *, keep: bool) -> Certificates:
        """Certificates from the attributes and the rows, by one walk a machine."""
        loss, held, positives = self._loss(), None, self._positives()
        chosen = getattr(self, "held_out_", None)
        if chosen is not None:
            data = near_rows(data, type(self).__name__)
            if not isinstance(data, MemoryRows) or data.shape[0] <= chosen[-1]:
                raise ValueError(f"certify needs the rows of the fit, {chosen[-1] + 1} at least.")
            data, held = divide(data, chosen)
        coefs = np.atleast_2d(self.coef_).astype(np.float64)
        intercepts = np.atleast_1d(self.intercept_).astype(np.float64)
        duals: Any = [None] * len(coefs)
        if self.dual_coef_ is not None and self.dual_coef_.shape[1] == data.shape[0] and data.local:
            duals = self.dual_coef_
        evidences = [
            gather_risk(data, loss, coef, float(b), positive, dual, level=self._descent["level"])
            for coef, b, positive, dual in zip(coefs, intercepts, positives, duals, strict=True)
        ]
        gaps = [self._gap(evidence, coef) for evidence, coef in zip(evidences, coefs, strict=True)]
        values = [self._promise(gap) for gap in gaps]
        found = [nearness(max(value for value, _ in values), values[0][1], dual=self._strengths()[1] > 0)]
        if held is not None:
            terms = zip(coefs, intercepts, positives, strict=True)
            value = sum(held.mean_loss(loss, coef, float(level), item) for coef, level, item in terms)
            constant = sum(held.constant_loss(loss, positive) for positive in positives)
            found = [better_than_a_constant(value, constant)]
        if isinstance(loss, MarginLoss):
            found.append(surrogate_bound(evidences, loss))
        certificates = Certificates(found)
        if keep:
            self.certificates_ = certificates
            self.dual_gap_ = max(gap.relative for gap in gaps)
            self.optimality_ = max(gap.gradient for gap in gaps)
        return certificates

    def _warn_unless_converged(self) -> None:
        if not self.converged_:
            first = self.certificates_[0]
            state = f"{first.quantity} {first.value:.2g}, above tol"
            if self.early_stopping:
                state = "a held-out loss that still falls"
            warnings.warn(
                f"{type(self).__name__} stopped after {self.n_iter_} passes with {state}. Increase max_iter "
                "or tol, change eta0 or the learning_rate, or set average=True.",
                ConvergenceWarning,
                stacklevel=4,
            )
