"""The convex functions from which others are built."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import special

from assay.losses import Logistic
from assay.optimize.convexity.atoms import Expression
from assay.parameters import array, integer, real, refusal, require, vector
from assay.solvers.least_squares.direct import Array


def linear_form(a: Any, b: float = 0.0) -> Expression:
    """⟨a, x⟩ + b."""
    require("linear_form", vector(), a=a)
    slope = np.asarray(a, dtype=float)
    trend: Any = "increasing" if np.all(slope >= 0) else "decreasing" if np.all(slope <= 0) else "neither"
    return Expression(len(slope), lambda x: float(slope @ x) + b, lambda x: slope, "affine", trend, 0.0, 0.0)


def square() -> Expression:
    """x²."""
    return Expression(1, lambda x: float(x[0] ** 2), lambda x: 2 * x, "convex", "neither", 2.0, 2.0)


def exponential() -> Expression:
    """eˣ."""
    return Expression(1, lambda x: float(np.exp(x[0])), np.exp, "convex", "increasing", None, 0.0)


def negative_log() -> Expression:
    """−log x on x > 0, ∞ elsewhere."""

    def value(x: Array) -> float:
        return float(-np.log(x[0])) if x[0] > 0 else np.inf

    return Expression(1, value, lambda x: -1 / x, "convex", "decreasing", None, 0.0)


def logistic_atom() -> Expression:
    """log(1 + e^{−x}), with L = ¼."""
    loss, label = Logistic(), np.ones(1)
    slope, constants = partial(loss.gradient, label), (loss.smoothness, loss.strong_convexity)
    return Expression(1, lambda x: float(loss.value(label, x)[0]), slope, "convex", "decreasing", *constants)


def absolute_power(p: float = 1.0) -> Expression:
    """|x|^p, convex for p ≥ 1."""
    if not real(at_least=1).contains(p):
        raise refusal("absolute_power", "p", "a finite number at least 1, for the power to be convex", p)

    def slope(x: Array) -> Array:
        return p * np.sign(x) * np.abs(x) ** (p - 1)

    constant = 2.0 if p == 2 else None
    modulus = 2.0 if p == 2 else 0.0
    return Expression(1, lambda x: float(np.abs(x[0]) ** p), slope, "convex", "neither", constant, modulus)


def negative_power(p: float) -> Expression:
    """−x^p on x > 0 for 0 ≤ p ≤ 1, ∞ elsewhere."""
    if not real(at_least=0, at_most=1).contains(p):
        raise refusal("negative_power", "p", "a number from 0 to 1, for −x^p to be convex", p)

    def value(x: Array) -> float:
        return float(-(x[0] ** p)) if x[0] > 0 else np.inf

    return Expression(1, value, lambda x: -p * x ** (p - 1), "convex", "decreasing", None, 0.0)


def quadratic_form(Q: Any) -> Expression:
    """xᵀQx: convex for Q positive semi-definite, concave for −Q so, unknown otherwise."""
    if not array("", lambda values: values.ndim == 2 and values.shape[0] == values.shape[1]).contains(Q):
        raise refusal("quadratic_form", "Q", "a square matrix of finite numbers", Q)
    matrix = np.asarray(Q, dtype=float)
    matrix = (matrix + matrix.T) / 2
    spectrum = np.linalg.eigvalsh(matrix)
    largest = float(np.abs(spectrum).max())
    room = 1e-12 * largest
    if spectrum[0] >= -room:
        curvature: Any = "affine" if largest == 0 else "convex"
    else:
        curvature = "concave" if spectrum[-1] <= room else "unknown"
    modulus = 2 * max(float(spectrum[0]), 0.0) if curvature in ("convex", "affine") else None

    def value(x: Array) -> float:
        return float(x @ matrix @ x)

    return Expression(len(matrix), value, (2 * matrix).dot, curvature, "neither", 2 * largest, modulus)


def norm_atom(dimension: int, p: float = 2.0) -> Expression:
    """‖x‖_p for p ≥ 1, p = ∞ included."""
    require("norm_atom", integer(at_least=1), dimension=dimension)
    if p != np.inf and not real(at_least=1).contains(p):
        raise refusal("norm_atom", "p", "a number at least 1, or infinity", p)

    def slope(x: Array) -> Array:
        length = float(np.linalg.norm(x, p))
        if length == 0:
            return np.zeros_like(x)
        if p == np.inf:
            at = int(np.argmax(np.abs(x)))
            return np.where(np.arange(len(x)) == at, np.sign(x), 0.0)
        return np.sign(x) * (np.abs(x) / length) ** (p - 1)

    return Expression(dimension, lambda x: float(np.linalg.norm(x, p)), slope, "convex", "neither", None, 0.0)


def largest_entry(dimension: int) -> Expression:
    """maxᵢ xᵢ."""
    require("largest_entry", integer(at_least=1), dimension=dimension)

    def slope(x: Array) -> Array:
        return np.where(np.arange(len(x)) == int(np.argmax(x)), 1.0, 0.0)

    return Expression(dimension, lambda x: float(np.max(x)), slope, "convex", "increasing", None, 0.0)


def log_sum_exp(dimension: int) -> Expression:
    """Log Σ e^{xᵢ}, with L = ½ (of one variable, the identity)."""
    require("log_sum_exp", integer(at_least=1), dimension=dimension)
    curvature: Any = "affine" if dimension == 1 else "convex"
    smoothness = 0.0 if dimension == 1 else 0.5
    return Expression(dimension, special.logsumexp, special.softmax, curvature, "increasing", smoothness, 0.0)
