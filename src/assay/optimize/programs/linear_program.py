"""Linear programmes with their duals, and a certificate for each of the three answers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import optimize

from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.parameters import array, refusal, require, vector
from assay.solvers.least_squares.direct import Array

SOURCE = "Rudi & Şimşekli 3.1.3"
TOLERANCE = 1e-7
"""Largest violation granted to a certificate, relative to the size of the numbers it compares."""


class LinearProgram(NamedTuple):
    """Result of `linear_program`: a status, and the vectors that prove it.

    "optimal" comes with `point` and `multipliers`, feasible in the primal and in the dual and of equal value.
    "infeasible" comes with a `ray` λ of Farkas: Aᵀλ ≤ 0 and bᵀλ > 0, so no x ≥ 0 has Ax = b.
    "unbounded" comes with a feasible `point` and a `ray` d ≥ 0 along which the cost falls: Ad = 0, cᵀd < 0.
    """

    status: Literal["optimal", "infeasible", "unbounded"]
    point: Array | None
    multipliers: Array | None
    value: float
    dual_value: float
    ray: Array | None
    certificates: Certificates

    def certify(self, c: Any, A: Any, b: Any) -> Certificates:
        """Check the answer against the data of the programme, with matrix products only."""
        cost, matrix, target = _read(c, A, b)
        if self.status == "infeasible":
            return Certificates(_farkas(matrix, target, _given(self.ray)))
        point = _given(self.point)
        if self.status == "unbounded":
            proofs = _recession(cost, matrix, _given(self.ray))
        else:
            proofs = _optimal(cost, matrix, target, point, _given(self.multipliers))
        missing = _relative(matrix, point, target)
        worst = max(missing, max(0.0, -float(np.min(point))) / float(_size(point)))
        claim = "The point satisfies Ax = b and x ≥ 0."
        return Certificates([at_most(claim, "relative primal violation", worst, TOLERANCE, SOURCE), *proofs])


def linear_program(c: Any, A: Any, b: Any) -> LinearProgram:
    """Solve min cᵀx subject to Ax = b, x ≥ 0, and its dual max bᵀλ subject to Aᵀλ ≤ c.

    The numbers are brought to a common scale, SciPy's HiGHS finds the vertices, and every answer is proved
    from c, A and b alone: an optimum by a dual point of equal value, an empty feasible set by Farkas' lemma,
    an unbounded cost by a direction of recession.

    Parameters
    ----------
    c : array-like of shape (n,)
        Costs.
    A : array-like of shape (m, n)
        One equality per row.
    b : array-like of shape (m,)
        Right-hand sides.

    Returns
    -------
    LinearProgram

    Examples
    --------
    >>> from assay.optimize import linear_program
    >>> answer = linear_program([1.0, 2.0, 0.0], [[1.0, 1.0, -1.0]], [2.0])
    >>> answer.status, answer.point, answer.multipliers, answer.value
    ('optimal', array([2., 0., 0.]), array([1.]), 2.0)
    >>> answer.certificates.holds
    True
    >>> linear_program([1.0], [[1.0]], [-1.0]).status
    'infeasible'

    References
    ----------
    Rudi & Şimşekli §3.1.3.
    """
    cost, matrix, target = _read(c, A, b)
    scaled = _Scaled.of(cost, matrix, target)
    vertex: Any = optimize.linprog(scaled.cost, A_eq=scaled.matrix, b_eq=scaled.target, method="highs")
    if vertex.status == 0:
        point = np.maximum(vertex.x, 0.0) * scaled.length
        multipliers = vertex.eqlin.marginals * scaled.rows * scaled.price
        value, dual_value = float(cost @ point), float(target @ multipliers)
        answer = LinearProgram("optimal", point, multipliers, value, dual_value, None, Certificates())
    else:
        answer = _without_optimum(scaled)
    return answer._replace(certificates=answer.certify(cost, matrix, target))


class _Scaled(NamedTuple):
    """The programme with rows, costs and right-hand sides of largest entry one."""

    cost: Array
    matrix: Array
    target: Array
    rows: Array
    price: float
    length: float

    @classmethod
    def of(cls, cost: Array, matrix: Array, target: Array) -> _Scaled:
        rows = 1 / _size(matrix, axis=1)
        length = float(_size(target * rows))
        price = float(_size(cost))
        return cls(cost / price, matrix * rows[:, None], target * rows / length, rows, price, length)


def _without_optimum(scaled: _Scaled) -> LinearProgram:
    m, n = scaled.matrix.shape
    # Both programmes below have a feasible zero and a box, so HiGHS always finishes them.
    linprog: Any = optimize.linprog
    farkas = linprog(-scaled.target, A_ub=scaled.matrix.T, b_ub=np.zeros(n), bounds=[(-1, 1)] * m)
    if -farkas.fun > TOLERANCE:
        ray = farkas.x * scaled.rows
        return LinearProgram("infeasible", None, None, np.inf, np.inf, ray, Certificates())
    down = linprog(scaled.cost, A_eq=scaled.matrix, b_eq=np.zeros(m), bounds=[(0, 1)] * n)
    inside = linprog(np.zeros(n), A_eq=scaled.matrix, b_eq=scaled.target)
    if down.fun > -TOLERANCE or inside.status != 0:
        raise refusal("linear_program", "A", "conditioned well enough to be decided", scaled.matrix)
    point = np.maximum(inside.x, 0.0) * scaled.length
    return LinearProgram("unbounded", point, None, -np.inf, -np.inf, np.maximum(down.x, 0.0), Certificates())


def _relative(matrix: Array, point: Array, target: Array | float) -> float:
    """The largest |Ax − b|, relative to the numbers compared."""
    size = np.abs(matrix) @ np.abs(point) + np.abs(target)
    return float(np.max(np.abs(matrix @ point - target) / np.where(size > 0, size, 1.0), initial=0.0))


def _optimal(cost: Array, matrix: Array, target: Array, x: Array, multipliers: Array) -> list[Certificate]:
    slack = cost - matrix.T @ multipliers
    size = float(_size(np.abs(cost) + np.abs(matrix.T) @ np.abs(multipliers)))
    gap = abs(float(cost @ x) - float(target @ multipliers))
    worth = float(np.abs(cost) @ np.abs(x) + np.abs(target) @ np.abs(multipliers)) or 1.0
    equal = "The primal and the dual value are equal, so both are optimal."
    both = ("both points are feasible",)
    violation, tight = max(0.0, -float(np.min(slack))) / size, float(np.max(np.abs(x * slack))) / worth
    dual, tied = "The multipliers satisfy Aᵀλ ≤ c.", "A positive coordinate has a tight dual constraint."
    return [
        at_most(dual, "relative dual violation", violation, TOLERANCE, SOURCE),
        at_most(equal, "relative duality gap", gap / worth, TOLERANCE, SOURCE, assumptions=both),
        at_most(tied, "largest relative x (c − Aᵀλ)", tight, TOLERANCE, "Rudi & Şimşekli 3.1.4"),
    ]


def _farkas(matrix: Array, target: Array, ray: Array) -> list[Certificate]:
    reach = float(np.max(matrix.T @ ray)) / float(_size(np.abs(matrix.T) @ np.abs(ray)))
    share = float(target @ ray) / (float(np.abs(target) @ np.abs(ray)) or 1.0)
    never, yet = "No x ≥ 0 makes λᵀAx positive.", "Yet λᵀb is positive, so Ax = b has no solution x ≥ 0."
    other = ("the other inequality of Farkas' lemma",)
    return [
        at_most(never, "largest relative (Aᵀλ)ⱼ", reach, TOLERANCE, SOURCE, assumptions=other),
        at_least(yet, "relative λᵀb", share, 10 * TOLERANCE, SOURCE, assumptions=other),
    ]


def _recession(cost: Array, matrix: Array, ray: Array) -> list[Certificate]:
    away = max(_relative(matrix, ray, 0.0), max(0.0, -float(np.min(ray))) / float(_size(ray)))
    fall = float(cost @ ray) / (float(np.abs(cost) @ np.abs(ray)) or 1.0)
    stays = "Moving along the direction stays feasible."
    falls = "The cost falls along the direction, without end."
    return [
        at_most(stays, "relative violation of Ad = 0, d ≥ 0", away, TOLERANCE, SOURCE),
        at_most(falls, "relative cᵀd", fall, -10 * TOLERANCE, SOURCE),
    ]


def _size(values: Array, axis: int | None = None) -> Any:
    """Largest entry in size, one where all are zero."""
    size = np.max(np.abs(values), axis=axis, initial=0.0)
    return np.where(size > 0, size, 1.0)


def _given(values: Array | None) -> Array:
    if values is None:
        raise refusal("LinearProgram.certify", "self", "an answer with the vectors of its status", values)
    return values


def _read(c: Any, A: Any, b: Any) -> tuple[Array, Array, Array]:
    require("linear_program", vector(), c=c)
    cost = np.asarray(c, dtype=float)
    n = len(cost)
    if not array("", lambda values: values.ndim == 2 and values.shape[1] == n).contains(A):
        raise refusal("linear_program", "A", f"a matrix of finite numbers with {n} columns, as c asks", A)
    matrix = np.asarray(A, dtype=float)
    require("linear_program", vector(len(matrix)), b=b)
    return cost, matrix, np.asarray(b, dtype=float)
