"""What the parameters of a law must be, each refusal one sentence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[Any]


def refuse(owner: str, name: str, must_be: str, got: object) -> NoReturn:
    """Raise the sentence that names the parameter, what it must be and what it got."""
    if isinstance(got, np.ndarray) and got.size > 4:
        got = f"an array of shape {got.shape}"
    elif isinstance(got, np.ndarray):
        got = got.tolist()
    raise ValueError(f"The {name!r} parameter of {owner} must be {must_be}. Got {got} instead.")


def number_at_least(owner: str, name: str, value: object, bound: float, *, strictly: bool = False) -> float:
    """Give a finite real number that is at least (or strictly above) `bound`."""
    if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        refuse(owner, name, "a finite number", repr(value))
    if float(value) < bound or (strictly and value == bound):
        refuse(owner, name, f"greater than {bound:g}" if strictly else f"at least {bound:g}", value)
    return float(value)


def integer_between(owner: str, name: str, value: object, low: int, high: int | None = None) -> int:
    """Give an integer in {low, …, high}, without upper bound when `high` is None."""
    must_be = f"an integer at least {low}" if high is None else f"an integer between {low} and {high}"
    if not isinstance(value, Integral) or isinstance(value, bool):
        refuse(owner, name, must_be, repr(value))
    integer = int(value)
    if integer < low or (high is not None and integer > high):
        refuse(owner, name, must_be, integer)
    return integer


def finite_array(owner: str, name: str, value: ArrayLike, n_dims: int) -> Array:
    """Give a read-only copy with finite entries, `n_dims` axes and at least one entry."""
    must_be = f"a non-empty array of finite numbers with {n_dims} {'axis' if n_dims == 1 else 'axes'}"
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(owner, name, must_be, repr(value))
    if array.ndim != n_dims or array.size == 0 or not np.all(np.isfinite(array)):
        refuse(owner, name, must_be, array)
    return read_only(array)


def of_shape(owner: str, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Give a read-only finite array of exactly this shape."""
    array = finite_array(owner, name, value, len(shape))
    if array.shape != shape:
        refuse(owner, name, f"of shape {shape}", f"shape {array.shape}")
    return array


def probabilities(owner: str, name: str, value: ArrayLike | None, size: int) -> Array:
    """Give positive weights that sum to 1; equal weights for None."""
    if value is None:
        return read_only(np.full(size, 1.0 / size))
    weights = of_shape(owner, name, value, (size,))
    if np.any(weights <= 0.0) or abs(weights.sum() - 1.0) > 1e-8:
        refuse(owner, name, "positive with sum 1", weights)
    return read_only(weights / weights.sum())


def covariance_stack(owner: str, name: str, value: ArrayLike, size: int, n_features: int) -> Array:
    """Give one positive definite matrix per class; a single matrix is shared by all."""
    array = np.asarray(value, dtype=np.float64)
    shared = array.ndim == 2
    shape = (n_features, n_features) if shared else (size, n_features, n_features)
    array = of_shape(owner, name, array, shape)
    stack = np.broadcast_to(array, (size, n_features, n_features)).copy()
    for matrix in stack[:1] if shared else stack:
        if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0):
            refuse(owner, name, "made of symmetric matrices", matrix)
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            refuse(owner, name, "made of positive definite matrices", matrix)
    return read_only(stack)


def rows_of(owner: str, X: ArrayLike, n_features: int) -> Array:
    """Give the points where a law is asked for its truth, one per row."""
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n_features:
        refuse(owner, "X", f"an array with 2 axes and {n_features} columns", f"shape {array.shape}")
    return array


def read_only(array: Array) -> Array:
    """Close an array to writing, so that a frozen law stays as it was built."""
    array.flags.writeable = False
    return array
