"""The trace of a method, laid beside the bound of a theorem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from assay.certificates import Certificate, Details, at_most
from assay.optimize.descent.objective import Smooth
from assay.parameters import one_of, refusal
from assay.solvers.least_squares.direct import Array

Quantity: TypeAlias = Literal["value", "gap", "squared distance", "gradient norm"]
Curve: TypeAlias = "Callable[[Array], Array]"

QUANTITIES = ("value", "gap", "squared distance", "gradient norm")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a theorem promises after n iterations, and under which assumptions.

    Calling it with an iteration number, or an array of them, gives the promised value of `quantity`: the
    objective ("value"), f(xₙ) − f* ("gap"), ‖xₙ − x*‖² ("squared distance") or ‖∇f(xₙ)‖. The promise
    starts at iteration `first`.
    """

    claim: str
    quantity: Quantity
    curve: Curve
    assumptions: tuple[str, ...] = ()
    source: str = ""
    first: int = 0
    budget: Callable[[float], int] | None = None

    def __call__(self, iteration: int | Array) -> Array:
        """The promised value after so many iterations."""
        return np.asarray(self.curve(np.asarray(iteration, dtype=float)), dtype=float)

    def iterations(self, epsilon: float) -> int:
        """How many iterations are enough for the promised value to be at most `epsilon`."""
        if not 0 < epsilon < np.inf:
            raise refusal("iterations", "epsilon", "a finite number above 0", epsilon)
        if self.budget is None:
            raise refusal("iterations", "bound", "one that goes to zero with the iterations", self.claim)
        return max(self.first, self.budget(epsilon))


class Trace(NamedTuple):
    """What a method saw: one value and gradient norm for each point, one step size between two of them.

    `first` is the iteration number of the first entry: 0 for the points of a method, 1 for running means.
    """

    values: Array
    gradient_norms: Array
    step_sizes: Array
    points: Array | None = None
    first: int = 0

    def measured(
        self, quantity: Quantity, *, minimum: float | None = None, minimiser: Array | None = None
    ) -> Array:
        """The trace of one quantity; a gap needs the minimum, a distance the minimiser and the points."""
        if quantity not in QUANTITIES:
            raise refusal("Trace", "quantity", one_of(*QUANTITIES).words, quantity)
        if quantity == "value":
            return self.values
        if quantity == "gradient norm":
            return self.gradient_norms
        if quantity == "gap":
            if minimum is None:
                raise refusal("Trace", "minimum", "given to measure a gap", minimum)
            return self.values - minimum
        if minimiser is None:
            raise refusal("Trace", "minimiser", "given to measure a distance", minimiser)
        difference = self._kept() - minimiser
        return np.asarray(np.einsum("ij,ij->i", difference, difference))

    def against(
        self,
        bound: Bound | Array | Curve,
        *,
        quantity: Quantity | None = None,
        minimum: float | None = None,
        minimiser: Array | None = None,
        measure: Literal["excess", "ratio"] = "excess",
        claim: str = "The trace stays below the bound.",
    ) -> Certificate:
        """Compare the trace with a bound at every iteration, and certify the worst of them.

        Parameters
        ----------
        bound : Bound, ndarray or callable
            A theorem; or its value for each entry of the trace; or a function of the iteration number.
        quantity : str, optional
            What the bound is about; a `Bound` knows it, the others are about the gap by default.
        minimum, minimiser : float and ndarray, optional
            f* for a gap, x* for a distance.
        measure : {"excess", "ratio"}, default="excess"
            Report the largest (measured − bound), which must be ≤ 0, or the largest measured / bound,
            which must be ≤ 1. Both leave room for the rounding of the trace.
        claim : str
            The sentence of the certificate when the bound is not a `Bound`.
        """
        theorem = bound if isinstance(bound, Bound) else None
        chosen: Quantity = quantity or (theorem.quantity if theorem is not None else "gap")
        seen = self.measured(chosen, minimum=minimum, minimiser=minimiser)
        numbers = self.first + np.arange(len(seen), dtype=np.float64)
        promised: Array = np.asarray(bound(numbers) if callable(bound) else bound, dtype=np.float64)
        if callable(bound):
            promised = np.broadcast_to(promised, seen.shape)
        if promised.shape != seen.shape:
            raise refusal("Trace.against", "bound", f"one number for each of {len(seen)} entries", bound)
        kept = numbers >= (theorem.first if theorem is not None else self.first)
        full, seen, promised = seen, seen[kept], promised[kept]
        room = self._rounding(chosen, full, minimum, minimiser)
        promised = promised + 1e-12 * np.abs(promised)  # the formula of a bound is rounded too
        if measure == "ratio":
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                ratio = np.where(seen <= promised + room, np.minimum(seen / promised, 1), seen / promised)
            worst, limit, name = float(np.max(ratio, initial=0.0)), 1.0, f"largest {chosen} / bound"
            room = 0.0
        elif measure == "excess":
            with np.errstate(invalid="ignore"):
                worst = float(np.max(seen - promised, initial=-np.inf))
            limit, name = 0.0, f"largest {chosen} − bound"
        else:
            raise refusal("Trace.against", "measure", one_of("excess", "ratio").words, measure)
        if theorem is None:
            return at_most(claim, name, worst, limit, tolerance=room)
        details = Details(assumptions=theorem.assumptions, tolerance=room)
        return at_most(theorem.claim, name, worst, limit, theorem.source, **details)

    def averaged(self, objective: Smooth) -> Trace:
        """The trace of the running means of the points; entry n − 1 is the mean of the first n."""
        points = self._kept()
        means = np.cumsum(points, axis=0) / np.arange(1, len(points) + 1)[:, None]
        values = np.array([objective.value(mean) for mean in means])
        norms = np.array([np.linalg.norm(objective.gradient(mean)) for mean in means])
        return Trace(values, norms, self.step_sizes, means, first=1)

    def rate(self, minimum: float) -> float:
        """Fitted linear rate: the factor by which the gap shrinks at each iteration, by least squares."""
        gap = self.values - minimum
        clear = gap > 1e3 * np.finfo(float).eps * max(1.0, abs(minimum))
        if clear.sum() < 2:
            return 0.0
        return float(np.exp(np.polyfit(np.flatnonzero(clear), np.log(gap[clear]), 1)[0]))

    def _kept(self) -> Array:
        if self.points is None:
            raise refusal("Trace", "keep_points", "True in the call that made it", False)
        return self.points

    def _rounding(
        self, quantity: Quantity, seen: Array, minimum: float | None, minimiser: Array | None
    ) -> float:
        """Error of a computed quantity once the method has reached the last digits."""
        unit = 1e3 * float(np.finfo(float).eps)
        if quantity in ("value", "gap"):
            ends = np.abs([self.values[0], self.values[-1], minimum or 0.0])
            return unit * float(np.max(ends, where=np.isfinite(ends), initial=0.0))
        if quantity == "squared distance":  # a point is known to κ roundings, and its distance is squared
            return 1e-20 * max(float(seen[0]), 0.0 if minimiser is None else float(np.sum(minimiser**2)))
        return 1e-10 * float(seen[0])


def in_expectation(
    bound: Bound, samples: Array, iteration: int, *, standard_errors: float = 3.0
) -> Certificate:
    """Compare the mean over independent runs with a bound on an expectation.

    `samples` holds the bound's quantity at the end of each run. The mean is allowed to exceed the bound by
    so many of its standard errors: a claim about an expectation is only ever seen through a mean.
    """
    runs = np.asarray(samples, dtype=float)
    if runs.ndim != 1 or len(runs) < 2:
        raise refusal("in_expectation", "samples", "a vector of at least two runs", samples)
    room = standard_errors * float(runs.std(ddof=1)) / len(runs) ** 0.5
    name = f"mean {bound.quantity} over {len(runs)} runs"
    details = Details(assumptions=bound.assumptions, tolerance=room)
    return at_most(bound.claim, name, runs.mean(), bound(iteration), bound.source, **details)
