"""Whether a hyperplane separates labelled rows: the existence of a maximum-likelihood fit, with its proof."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from assay.certificates import Certificates, at_least, at_most
from assay.losses import Logistic
from assay.parameters import array, integer, refusal
from assay.solvers.signed_rows import SignedRows, signed_rows

Status = Literal["separable", "quasi-separable", "overlapping"]
SOURCE = "Sangnier 1.2.2; Albert and Anderson (1984)"
LOSS = Logistic()
ON_THE_PLANE = 1e-9
"""A standardised row is on a hyperplane when its margin is below this share of the largest one."""

SMALLEST_WEIGHT = 1e-9
"""Floor of the weights offered as a proof of overlap; any positive weights that balance prove it."""

LARGEST_CORRECTION = 1e-3
"""Share of itself by which a weight may have to change for all of them to balance."""


class Separability(NamedTuple):
    """Result of `separability`.

    With the labels in order, of which the second is positive when there are two: `direction` and `intercept`
    give no row a negative margin and some rows a positive one (all of them when "separable"); one row of
    `direction` per label when there are more than two. `weights`, one per row (per row and label when there
    are more than two), are positive on the rows that no such direction can put strictly on their side, and
    balance there: Σ λᵢ yᵢ (xᵢ, 1) = 0.
    """

    status: Status
    direction: NDArray | None
    intercept: float | NDArray
    weights: NDArray | None
    n_strict: int
    n_iter: int
    certificates: Certificates
    fit_intercept: bool = True

    def certify(self, X: Any, y: Any, *, sample_weight: Any = None) -> Certificates:
        """Check the direction and the weights against the data: two products with the rows."""
        rows = signed_rows("separability", X, y, self.fit_intercept, sample_weight)
        weights = None if self.weights is None else rows.compressed(self.weights)
        coef = None if self.direction is None else rows.standardised(self.direction, self.intercept)
        return _certificates(rows, self.status, coef, weights)


def separability(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    start: Any = None,
    weights: Any = None,
    max_iter: int = 6,
) -> Separability:
    """Whether a hyperplane separates the labels, so that an unpenalised logistic fit does not exist.

    "separable": some (w, b) has yᵢ(w·xᵢ + b) > 0 for every row. "quasi-separable": ≥ 0 for every row, > 0 for
    some. In both the likelihood rises for ever along (w, b). "overlapping": neither, and the fit exists. With
    K > 2 labels a margin is the difference between the scores of a row's own label and of another one.

    Positive weights with Σ λᵢ yᵢ (xᵢ, 1) = 0 prove overlap. Those of a logistic fit, λ = σ(−margin), balance
    up to its gradient g, and exactly after the correction λᵢ(1 − zᵢᵀv), (Σ λᵢ zᵢzᵢᵀ)v = g, z = y(x, 1). Steps
    along v are damped Newton steps of that fit: one walk each, until a correction is smaller than one or a
    direction separates; where the weights are those of a converged fit, a few rows absorb the correction and
    no walk is needed. What is left undecided goes to a linear programme with the violated rows only.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Labels of at least two kinds.
    fit_intercept : bool, default=True
        Whether the hyperplane may leave the origin.
    sample_weight : array of shape (n,), optional
        Rows of weight zero are left out; the other weights do not matter.
    start : (coef, intercept), optional
        A logistic fit, in scikit-learn's shapes; a good one decides overlap in one walk.
    weights : array of shape (n,) or (n, K), optional
        Weights that may balance, in place of `start`.
    max_iter : int, default=6
        Most Newton steps before the linear programme.

    Examples
    --------
    >>> from assay.solvers import separability
    >>> separability([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).status
    'separable'
    >>> separability([[0.0], [1.0], [1.0], [3.0]], [0, 0, 1, 1]).status
    'quasi-separable'
    >>> answer = separability([[0.0], [2.0], [1.0], [3.0]], [0, 0, 1, 1])
    >>> answer.status, answer.certificates.holds
    ('overlapping', True)

    References
    ----------
    Sangnier §1.2.2, remark 1.2.6; Rudi & Şimşekli §2.1; Albert & Anderson (1984); Konis (2007).
    """
    if not integer(at_least=0).contains(max_iter):
        raise refusal("separability", "max_iter", "an int at least 0", max_iter)
    rows = signed_rows("separability", X, y, fit_intercept, sample_weight)
    first = _first_weights(rows, start, weights)
    coef, left, n_iter, balance = np.zeros(rows.size), np.ones(rows.n_margins, dtype=bool), 0, None
    for _ in range(rows.size + 1):  # each direction takes one dimension from the rows that are left
        direction, balance, spent = _decide(rows, left, first, max_iter)
        n_iter, first = n_iter + spent, None
        if direction is None:
            break
        coef = _lexicographic(rows, coef, direction, left)
        margins = rows.margins(coef)
        left = left & (margins <= ON_THE_PLANE * float(margins.max()))
        if not left.any():
            break
    return _answer(rows, coef, left, balance, n_iter, fit_intercept)


_Decision = tuple[NDArray | None, NDArray | None, int]
"""A direction that gives no row of a part a negative margin, or weights that balance on it; iterations."""


def _decide(rows: SignedRows, part: NDArray, first: NDArray | None, max_iter: int) -> _Decision:
    """Newton steps of a logistic fit, and the linear programme when they do not tell."""
    margins = np.zeros(rows.n_margins)
    if first is not None:
        offered = _floored(first, part)
        small = rows.correction_of_few(offered)
        if small is not None and small[1].max() < 0.99:
            offered[small[0]] *= 1 - small[1]
            return None, offered, 1
    for iteration in range(1, max_iter + 1):
        weights = -LOSS.margin_derivative(margins) if first is None or iteration > 1 else first
        weights = _floored(weights, part)
        step = rows.correction(weights)
        change = rows.margins(step)
        if change[part].max() < 0.99:
            return None, weights * (1 - change), iteration
        largest = float(change[part].max())
        if largest > 0 and float(change[part].min()) >= -1e-3 * ON_THE_PLANE * largest:
            return step, None, iteration
        size = _line_search(margins[part], change[part])
        margins = margins + size * change
        if margins[part].min() > ON_THE_PLANE * np.abs(margins[part]).max():
            return rows.coefficients(margins), None, iteration
    return _by_program(rows, part, margins, max_iter)


def _floored(weights: NDArray, part: NDArray) -> NDArray:
    return np.where(part, np.maximum(weights, SMALLEST_WEIGHT * float(weights[part].max())), 0.0)


def _line_search(margins: NDArray, change: NDArray) -> float:
    """A step t that nearly minimises Σ log(1 + e^{−m − tc}): a root of its slope by bisection."""

    def slope(t: float) -> float:
        return float(LOSS.margin_derivative(margins + t * change) @ change)

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e6:
        low, high = high, 4 * high
    for _ in range(5):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high if low == 0.0 else low


def _by_program(rows: SignedRows, part: NDArray, margins: NDArray, n_iter: int) -> _Decision:
    """Konis' programme max Σ zᵢᵀw subject to zᵢᵀw ≥ 0, |w| ≤ 1, with the rows that a solution violates.

    Its value is zero exactly when the part overlaps; the multipliers μ then give the weights 1 + μ.
    """
    among = np.flatnonzero(part)
    slope = rows.adjoint(part.astype(float))
    price = float(np.abs(slope).max()) or 1.0
    batch = max(2000, 20 * rows.size)
    active = among if len(among) <= 2 * batch else among[np.argpartition(margins[among], batch)[:batch]]
    while True:
        program: Any = optimize.linprog(
            -slope / price, -rows.vectors(active), np.zeros(len(active)), bounds=[(-1, 1)] * rows.size
        )
        direction = program.x
        reached = rows.margins(direction)
        largest = float(reached[part].max())
        if largest <= 1e-7:
            weights = part.astype(float)
            weights[active] -= price * program.ineqlin.marginals
            return None, weights * (1 - rows.margins(rows.correction(weights))), n_iter
        violated = among[reached[among] < -1e-7 * largest]
        violated = violated[~np.isin(violated, active)]
        if len(violated) == 0:
            return _cleaned(rows, direction, part, largest), None, n_iter
        worst = np.argsort(reached[violated])[:batch]
        active = np.concatenate([active, violated[worst]])


def _cleaned(rows: SignedRows, direction: NDArray, part: NDArray, largest: float) -> NDArray:
    """The direction made orthogonal to the rows that the programme leaves almost on the plane."""
    near = np.flatnonzero(part & (np.abs(rows.margins(direction)) <= 1e-6 * largest))
    if len(near) == 0 or len(near) > 50_000:
        return direction
    values, basis = np.linalg.svd(rows.vectors(near), full_matrices=False)[1:]
    basis = basis[values > 1e-7 * max(float(values[0]), 1e-300)]
    return direction - basis.T @ (basis @ direction)


def _lexicographic(rows: SignedRows, coef: NDArray, direction: NDArray, left: NDArray) -> NDArray:
    """M·coef + direction, with M so large that the rows decided before stay strictly on their side."""
    if not coef.any():
        return direction
    before, after = rows.margins(coef), rows.margins(direction)
    decided = ~left
    need = float(np.max(np.maximum(-after[decided], 0) / before[decided], initial=0.0))
    return (1 + 2 * need) * coef + direction


def _answer(
    rows: SignedRows, coef: NDArray, left: NDArray, balance: NDArray | None, n_iter: int, fit_intercept: bool
) -> Separability:
    n_strict = int(np.sum(~left))
    status: Status = "overlapping" if n_strict == 0 else "quasi-separable" if left.any() else "separable"
    weights = balance if left.any() else None
    if weights is not None:
        weights = weights / weights[left].mean()
    coef = coef / (float(np.abs(rows.margins(coef)).max()) or 1.0)
    proofs = _certificates(rows, status, coef if n_strict else None, weights)
    direction, intercept = rows.original(coef) if n_strict else (None, 0.0)
    shown = None if weights is None else rows.expanded(weights)
    return Separability(status, direction, intercept, shown, n_strict, n_iter, proofs, fit_intercept)


def _certificates(
    rows: SignedRows, status: Status, coef: NDArray | None, weights: NDArray | None
) -> Certificates:
    proofs = []
    if status != "overlapping":
        margins = rows.margins(np.zeros(rows.size) if coef is None else coef)
        largest = float(np.abs(margins).max())
        least = float(margins.min()) / largest if largest > 0 else -np.inf
        claim, bound = "No row is on the wrong side.", -ON_THE_PLANE
        if status == "separable":
            claim, bound = "Every row is strictly on its side.", ON_THE_PLANE
        proofs.append(at_least(claim, "smallest margin over the largest", least, bound, source=SOURCE))
    if status != "separable":
        weights = np.zeros(rows.n_margins) if weights is None else weights
        # A direction that separates is zero on the rows of positive weight, whatever the others.
        everyone = status == "overlapping"
        used = np.ones(rows.n_margins, dtype=bool) if everyone else weights != 0
        least, tiny = float(weights[used].min()) if used.any() else 0.0, float(np.finfo(float).tiny)
        claim = f"The weights of {'every row' if everyone else 'the rows on the plane'} are positive."
        proofs.append(at_least(claim, "smallest weight", least, tiny, source=SOURCE))
        largest = _largest_correction(rows, np.where(used, np.maximum(weights, 0), 0.0), used)
        claim = "The weights balance after a correction smaller than themselves, so no direction separates."
        name, positive = "largest relative correction", ("the weights are positive",)
        proofs.append(at_most(claim, name, largest, LARGEST_CORRECTION, source=SOURCE, assumptions=positive))
    return Certificates(proofs)


def _largest_correction(rows: SignedRows, weights: NDArray, used: NDArray) -> float:
    if not weights.any():
        return np.inf
    few = rows.correction_of_few(weights)
    if few is not None and float(np.abs(few[1]).max()) <= LARGEST_CORRECTION:
        return float(np.abs(few[1]).max())
    return float(np.abs(rows.margins(rows.correction(weights))[used]).max())


def _first_weights(rows: SignedRows, start: Any, weights: Any) -> NDArray | None:
    if weights is not None:
        shape = rows.weight_shape
        usable = array("", lambda values: values.shape == shape and bool(np.all(values >= 0)))
        if not usable.contains(weights):
            raise refusal("separability", "weights", f"numbers at least 0 of shape {shape}", weights)
        return rows.compressed(np.asarray(weights, dtype=float))
    if start is None:
        return None
    return -LOSS.margin_derivative(rows.margins(rows.read_start(start)))
