"""The perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, agreement, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import OneAgainstRest
from assay.models.convergence import warn
from assay.parameters import Domain
from assay.randomness import spawn
from assay.rows import Rows
from assay.solvers.in_memory import in_memory
from assay.solvers.perceptron import PlaneEvidence, perceptron, separation

SOURCE = "Novikoff (1962); Rudi & Şimşekli §2.1.1"

SMALL_BYTES = 2**26
"""Tables from elsewhere up to this size (64 MiB) are read once, since every pass walks them again."""


class Perceptron(OneAgainstRest):
    """Rosenblatt's perceptron: a plane moved by the rows on its wrong side until there are none.

    Minimises over (w, b), with labels t = ±1,

        Σ_i s_i max(0, −t_i (x_iᵀw + b)),

    to zero where a plane separates the classes: after each batch of rows the mean of t(x, 1) over those with
    tf ≤ 0 is added to (w, b). Where none does, the point with the fewest mistakes is kept, and said to be so.
    Several classes: one against the rest.

    Assumes: classes that a plane separates; where they are not, there is no guarantee.

    Certificates: no training mistake; and then at most (R/γ)² updates, where γ is the margin of the plane
    found and R the size of the largest (x, 1), a theorem for any separating plane.

    Parameters
    ----------
    batch_size : int, optional
        Rows whose mistakes are averaged for one update. 1 is Rosenblatt's rule, in which a weight only says
        that the row is there; without, all rows are one batch: the answer then does not depend on their
        order, a weight is a repetition, and rows may be anywhere. A number needs them in memory.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    average : bool, default=False
        Whether the answer is the average of all points visited. It need not separate what the last one does.
    shuffle : bool, default=False
        Whether each pass visits the rows in an order of its own.
    max_iter : int, default=1000
        Most passes over the rows, per class; fewer where it is proven on the way that no plane separates a
        class, and 64 passes have given no better one.
    history : bool, default=False
        Whether to keep the weight of mistakes of every pass in `history_`.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Orders of the rows with `shuffle=True`.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array of shape (n_classes,)
    n_updates_ : array of shape (1,) or (n_classes,)
        Mistaken batches, each of which moved the plane.
    mistake_bound_ : array of shape (1,) or (n_classes,)
        (R/γ)²; infinite where the plane does not separate.
    history_ : list of lists of float
        One per machine, with `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Passes (the slowest class), whether every class was separated, and the share of mistaken rows.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import Perceptron
    >>> X = np.array([[2.0, 1.0], [1.0, 2.0], [-1.0, -1.0], [-2.0, 0.5]])
    >>> model = Perceptron(batch_size=1).fit(X, [1, 1, 0, 0])
    >>> model.certificates_.holds
    True
    >>> bool(model.n_updates_[0] <= model.mistake_bound_[0])
    True

    References
    ----------
    Rosenblatt (1958); Novikoff (1962); Rudi & Şimşekli §2.1.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "batch_size": parameters.nothing | parameters.integer(at_least=1),
        "fit_intercept": parameters.boolean,
        "average": parameters.boolean,
        "shuffle": parameters.boolean,
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        *,
        batch_size: int | None = None,
        fit_intercept: bool = True,
        average: bool = False,
        shuffle: bool = False,
        max_iter: int = 1000,
        history: bool = False,
        random_state: Any = None,
    ) -> None:
        self.batch_size = batch_size
        self.fit_intercept = fit_intercept
        self.average = average
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.history = history
        self.random_state = random_state

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        small = data.shape[0] * data.shape[1] * data.dtype.itemsize <= SMALL_BYTES
        if self.batch_size is not None or small:
            data = in_memory(data, type(self).__name__, "use batch_size=None, which walks rows anywhere")
        positives = self._positives()
        names = ("fit_intercept", "batch_size", "shuffle", "average", "max_iter")
        settings: dict[str, Any] = {name: getattr(self, name) for name in names}
        runs = [
            partial(perceptron, data, positive, rng, **settings)
            for positive, rng in zip(positives, spawn(self.random_state, len(positives)), strict=True)
        ]
        fits = self._run(X, y, "perceptron", runs)
        coefs, intercepts, n_updates, n_iters, converged, hopeless, mistakes = zip(*fits, strict=True)
        self.__dict__.update(self._shaped(list(coefs), list(intercepts), data.dtype))
        self.n_updates_ = np.array(n_updates)
        self.n_iter_, self.converged_ = max(n_iters), all(converged)
        if self.history:
            self.history_ = list(mistakes)
        seen = self._separations(data)
        self.mistake_bound_ = self._bounds(seen)
        self.certificates_ = self._certificates(seen, data.total_weight)
        self.optimality_ = self.certificates_[0].value
        if not self.converged_:
            way_out = "the classes may not be separable. Increase max_iter, or use"
            if any(hopeless):
                way_out = "no plane separates the classes. More passes do not help: use"
            warn(
                f"Perceptron found no plane without mistakes in {self.n_iter_} passes: {way_out} LinearSVC, "
                "which needs no separation."
            )

    def _separations(self, data: Rows) -> list[PlaneEvidence]:
        points = np.column_stack([self.coef_, self.intercept_]).astype(np.float64)
        machines = zip(self._positives(), points, strict=True)
        return [separation(data, *machine) for machine in machines]

    def _bounds(self, seen: list[PlaneEvidence]) -> Array:
        """(R/γ)² of each machine."""
        sizes = np.sum(self.coef_.astype(np.float64) ** 2, axis=1) + self.intercept_.astype(np.float64) ** 2
        return np.array(
            [
                item.radius / item.margin * (size / item.margin) if item.margin > 0 else np.inf
                for item, size in zip(seen, sizes, strict=True)
            ]
        )

    def _certificates(self, seen: list[PlaneEvidence], weight: float) -> Certificates:
        bounds = self._bounds(seen)
        worst = int(np.argmax(self.n_updates_ / bounds if np.isfinite(bounds).all() else bounds))
        mistakes = max(item.mistakes for item in seen) / weight
        claim = "The plane separates the classes: no row is on its wrong side."
        separates = at_most(claim, "share of mistakes", mistakes, 0.0, source=SOURCE)
        few = at_most(
            "There were at most (R/γ)² updates.",
            "number of updates",
            self.n_updates_[worst],
            bounds[worst],
            source=SOURCE,
            assumptions=("a plane separates the classes with margin γ",),
            trivial=np.inf,
            informative=True,
        )
        claim = "The bounds on the numbers of updates are those of the rows."
        same = agreement(claim, {"mistake_bound_": (self.mistake_bound_, bounds)}, source=SOURCE)
        return Certificates([separates, few, same])

    def _measure(self, data: Rows) -> Certificates:
        return self._certificates(self._separations(data), data.total_weight)
