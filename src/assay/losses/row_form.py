"""Losses inside compiled loops: one function of scalars per loss, chosen when a loop is compiled.

A loss hands compiled loops its *row form*: a NamedTuple of its parameters, whose class says which loss it is.
A loop takes the form as an argument and calls `row_terms(form, target, score)`. Numba compiles the loop once
per class of form with the formula copied into it, so that a shared loop is as fast as one written for the
loss, and keeps the result on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from assay.loops import EXP_MAX, EXP_MIN, choices, compiled, exp, inlined, log

Form = TypeVar("Form", bound=tuple[Any, ...])

_TERMS: dict[type, Any] = {}


def terms_of(form: type[Form]) -> Callable[[Callable[..., Any]], Any]:
    """Register the terms of a loss: a function of (form, target, score) that gives value, slope, curvature.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from assay.losses.row_form import fill_row_terms, terms_of
    >>> import numpy as np
    >>> class Quartic(NamedTuple):
    ...     scale: float
    >>> @terms_of(Quartic)
    ... def quartic_terms(form, y, score):
    ...     gap = score - y
    ...     return form.scale * gap**4, 4 * form.scale * gap**3, 12 * form.scale * gap**2
    >>> losses, slope, curvature = np.array([2.0]), np.empty(1), np.empty(1)
    >>> fill_row_terms(Quartic(0.5), np.zeros(1), losses, slope, curvature)
    >>> losses, slope, curvature
    (array([8.]), array([16.]), array([24.]))
    """

    def register(terms: Callable[..., Any]) -> Any:
        _TERMS[form] = terms
        return inlined(terms)

    return register


def row_terms(form: Any, y: float, score: float) -> tuple[float, float, float]:
    """Value, slope and curvature of the loss of one row; for compiled loops only."""
    raise NotImplementedError("row_terms is called inside compiled loops.")


@overload(row_terms, jit_options=choices())
def _chosen_terms(form, y, score):  # type: ignore[no-untyped-def]
    return _TERMS[form.instance_class]


def row_terms_of_arrays(form: Any, y: Any, prediction: Any) -> tuple[NDArray, NDArray, NDArray]:
    """Value, slope and curvature of arrays that broadcast together, in their common precision."""
    dtype = np.result_type(y, prediction, np.float32)
    target, scores = np.asarray(y, dtype), np.asarray(prediction, dtype)
    shape = np.broadcast_shapes(target.shape, scores.shape)
    flat = np.broadcast_to(scores, shape).flatten()
    # A broadcast view is copied even where it is contiguous: of one row, NumPy would warn of writing to it.
    labels = target.ravel() if target.shape == shape else np.broadcast_to(target, shape).flatten()
    slope, curvature = np.empty_like(flat), np.empty_like(flat)
    fill_row_terms(form, labels, flat, slope, curvature)
    return flat.reshape(shape)[()], slope.reshape(shape)[()], curvature.reshape(shape)[()]


@compiled
def fill_row_terms(form, y, scores, slope, curvature):  # type: ignore[no-untyped-def]
    """Terms of each row; `scores` is overwritten by the losses."""
    for i in range(scores.shape[0]):
        value, first, second = row_terms(form, y[i], scores[i])
        scores[i] = value
        slope[i] = first
        curvature[i] = second


# Elementary functions for the terms of rows.


@inlined
def wide_exp(x):  # type: ignore[no-untyped-def]
    """e^x, 0 and inf beyond the smallest and the largest float."""
    return (exp(x) if x >= EXP_MIN else 0.0) if x <= EXP_MAX else np.inf


@inlined
def decay(x):  # type: ignore[no-untyped-def]
    """e^{−|x|}, 0 beyond the smallest float, and log(1 + e^{−|x|}) to a relative error of 1e-12."""
    size = abs(x)
    small = exp(-size) if size <= -EXP_MIN else 0.0
    return small, (log(1.0 + small) if small > 1e-4 else small * (1.0 - small * (0.5 - small * (1.0 / 3.0))))
