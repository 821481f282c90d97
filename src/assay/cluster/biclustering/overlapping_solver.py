"""Overlapping clusters of variables: pure variables from row maxima, factor covariance, loadings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinvh
from scipy.optimize import linprog

from assay.certificates import Certificates, at_least, at_most

SOURCE = "Wei §10.3.3; Bing, Bunea, Ning & Wegkamp (2020)"


def check_identifiability(loadings: Any, *, tol: float = 1e-10) -> Certificates:
    """Certificates that X = A Z + E determines A, up to signed permutation of the factors.

    Parameters
    ----------
    loadings : array of shape (n_variables, n_factors)
        A.
    tol : float, default=1e-10
        How far a loading may be from ±1 or 0 in a pure row.

    Returns
    -------
    certificates : Certificates
        Row sums Σ_a |A_ja| of at most 1, and two or more pure variables (one entry ±1, the others 0) for
        every factor. Both together are sufficient.

    Examples
    --------
    >>> from assay.cluster import check_identifiability
    >>> check_identifiability([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, -0.5]]).holds
    True
    >>> check_identifiability([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.5, -0.5]]).holds
    False
    """
    matrix = np.asarray(loadings, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(
            "The 'loadings' parameter of check_identifiability must be a finite matrix with a row for each "
            f"variable and a column for each factor. Got shape {matrix.shape} instead."
        )
    sizes = np.abs(matrix)
    largest = sizes.max(axis=1)
    pure = (np.abs(largest - 1.0) <= tol) & (sizes.sum(axis=1) - largest <= tol)
    counts = np.bincount(sizes[pure].argmax(axis=1), minlength=matrix.shape[1]) if pure.any() else np.zeros(1)
    assumptions = ("the covariance of the factors is positive definite", "errors are uncorrelated")
    claim = "No variable loads by more than 1 in all."
    details: Any = {"assumptions": assumptions, "tolerance": max(tol, 1e-12)}
    most = at_most(claim, "largest sum of absolute loadings", sizes.sum(axis=1).max(), 1.0, SOURCE, **details)
    claim = "Every factor has at least two pure variables."
    quantity, fewest = "fewest pure variables of a factor", counts.min()
    return Certificates([most, at_least(claim, quantity, fewest, 2.0, SOURCE, assumptions=assumptions)])


class PureSets(NamedTuple):
    """The pure variables of each cluster, with the sign of their loading."""

    members: list[NDArray]
    signs: list[NDArray]


class Loadings(NamedTuple):
    """Result of `overlapping_loadings`."""

    pure: PureSets
    factor_covariance: NDArray
    loadings: NDArray


def pure_sets(covariance: NDArray, delta: float) -> PureSets:
    """Groups of variables that depend on one factor alone (algorithm 1 of LOVE).

    The variables whose covariance with i is within 2δ of the largest in row i make a set; i is pure when i
    reaches, within 2δ, the largest of the rows of all of them. Sets that meet are intersected. Where nothing
    is left, the pair of the largest covariance makes the one set.
    """
    sizes = np.abs(covariance)
    np.fill_diagonal(sizes, -np.inf)
    maxima = sizes.max(axis=1)
    near_maximum = sizes >= maxima[:, np.newaxis] - 2.0 * delta
    pure = ~((maxima - sizes > 2.0 * delta) & near_maximum).any(axis=1)
    np.fill_diagonal(near_maximum, True)
    groups, n_groups = np.zeros_like(near_maximum), 0
    for variable in np.argsort(-maxima, kind="stable"):
        if pure[variable]:
            n_groups = _merge(groups, n_groups, near_maximum[variable])
    marked = (np.flatnonzero(group) for group in groups[:n_groups])
    reached = [reaching(sizes, maxima, group, delta) for group in marked]
    members = sorted((group for group in reached if len(group) > 1), key=lambda group: int(group[0]))
    if not members:  # sets that met had too little in common
        members = [np.sort(np.unravel_index(int(np.argmax(sizes)), sizes.shape))]
    signs = [np.where(covariance[group[0], group] < 0.0, -1.0, 1.0) for group in members]
    for sign in signs:
        sign[0] = 1.0
    return PureSets(members, signs)


def _merge(groups: NDArray, n_groups: int, new: NDArray) -> int:
    """Intersect a set with the first group it meets, or add it; a group keeps at least two members.

    Sets are marks of their members. Returns the number of groups.
    """
    common = np.count_nonzero(groups[:n_groups, new], axis=1)
    if not common.any():
        groups[n_groups] = new
        return n_groups + 1
    first = int((common > 0).argmax())
    if common[first] > 1:
        groups[first] &= new
    return n_groups


def reaching(sizes: NDArray, maxima: NDArray, group: NDArray, delta: float) -> NDArray:
    """The members whose row maximum is reached, within 2δ, inside the group."""
    while group.size > 1:
        inside = sizes[np.ix_(group, group)].max(axis=1)
        kept = maxima[group] - inside <= 2.0 * delta
        if kept.all():
            break
        group = group[kept]
    return group


def pure_loadings(pure: PureSets, n_variables: int) -> NDArray:
    """Loadings ±1 of the pure variables; rows of the others are 0."""
    loadings = np.zeros((n_variables, len(pure.members)))
    for factor, (group, signs) in enumerate(zip(pure.members, pure.signs, strict=True)):
        loadings[group, factor] = signs
    return loadings


def factor_covariance(covariance: NDArray, pure: PureSets) -> NDArray:
    """Cov(Z): means of signed covariances of pure variables, those of a variable with itself left out."""
    signed = pure_loadings(pure, len(covariance))
    counts = np.array([len(group) for group in pure.members], dtype=np.float64)
    off_diagonal = covariance - np.diag(np.diag(covariance))
    sums = signed.T @ covariance @ signed
    result = sums / np.outer(counts, counts)
    np.fill_diagonal(result, np.diag(signed.T @ off_diagonal @ signed) / (counts * (counts - 1.0)))
    return result


def overlapping_loadings(covariance: NDArray, delta: float, method: str) -> Loadings:
    """Pure sets, Cov(Z), and the loadings of all variables.

    With θ_j the mean signed covariance of variable j with the pure variables of each factor, θ_j = C a_j. The
    row a_j is the soft or hard threshold of C⁻¹θ_j at 2δ‖C⁻¹‖_∞, or the vector of least ‖a‖₁ with
    ‖θ_j − C a‖_∞ ≤ 2δ ("dantzig"); then it is projected onto ‖a‖₁ ≤ 1.
    """
    pure = pure_sets(covariance, delta)
    factors = factor_covariance(covariance, pure)
    loadings = pure_loadings(pure, len(covariance))
    counts = np.array([len(group) for group in pure.members], dtype=np.float64)
    means = covariance @ loadings / counts
    others = np.setdiff1d(np.arange(len(covariance)), np.concatenate(pure.members))
    inverse = pinvh(factors)
    level = 2.0 * delta * float(np.abs(inverse).sum(axis=1).max())
    for variable in others:
        if method == "dantzig":
            row = dantzig(factors, means[variable], 2.0 * delta)
        else:
            row = inverse @ means[variable]
            size = np.abs(row)
            row = np.sign(row) * (
                np.maximum(size - level, 0.0) if method == "soft" else size * (size > level)
            )
        loadings[variable] = onto_unit_ball(row)
    return Loadings(pure, factors, loadings)


def dantzig(matrix: NDArray, target: NDArray, level: float) -> NDArray:
    """The vector of least ‖a‖₁ with ‖target − C a‖_∞ ≤ level; least squares if there is none."""
    size = len(target)
    # The solver's tolerances are absolute: work in units of the matrix.
    unit = float(np.abs(matrix).max()) or 1.0
    matrix, target, level = matrix / unit, target / unit, level / unit
    both = np.hstack([matrix, -matrix])
    A, b = np.vstack([both, -both]), np.concatenate([target + level, level - target])
    program = linprog(np.ones(2 * size), A_ub=A, b_ub=b, bounds=(0.0, None), method="highs")
    if program.x is None:
        return np.asarray(np.linalg.lstsq(matrix, target, rcond=None)[0])
    return np.asarray(program.x[:size] - program.x[size:])


def onto_unit_ball(row: NDArray) -> NDArray:
    """The nearest point with ‖a‖₁ ≤ 1."""
    sizes = np.abs(row)
    if sizes.sum() <= 1.0:
        return row
    falling = np.sort(sizes)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(row) + 1)
    level = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.sign(row) * np.maximum(sizes - level, 0.0))


def choose_delta(X: NDArray, n_splits: int, random: np.random.Generator) -> tuple[NDArray, NDArray, float]:
    """Candidates δ, the error of each on each split, and the one that is chosen.

    Candidates are multiples of s √(log p / n), s the mean variance. The error is the mean squared difference
    of Cov(X) on one half of the rows and A Cov(Z) Aᵀ from the other, off the diagonal; rows of A are hard
    thresholded, whatever the fit does afterwards. The largest δ is chosen whose error exceeds the least one
    by no more than the standard error of the difference over the splits.
    """
    n_rows, n_variables = X.shape
    variance = float(X.var(axis=0).mean())
    unit = variance * np.sqrt(np.log(max(n_variables, 2)) / n_rows)
    candidates = unit * np.geomspace(0.1, 4.0, 16)
    errors = np.empty((len(candidates), n_splits))
    off_diagonal = ~np.eye(n_variables, dtype=bool)
    for split in range(n_splits):
        order = random.permutation(n_rows)
        half = max(n_rows // 2, 1)
        first, second = _covariance(X[order[:half]]), _covariance(X[order[half:]])
        for place, delta in enumerate(candidates):
            # Half the rows: sampling errors, and with them δ, are √2 times as large.
            fit = overlapping_loadings(first, np.sqrt(2.0) * delta, "hard")
            fitted = fit.loadings @ fit.factor_covariance @ fit.loadings.T
            errors[place, split] = float(((second - fitted)[off_diagonal] ** 2).mean()) / variance**2
    excess = errors - errors[np.argmin(errors.mean(axis=1))]
    noise = excess.std(axis=1) / np.sqrt(n_splits)
    chosen = np.flatnonzero(excess.mean(axis=1) <= noise + 1e-9 * errors.mean())[-1]
    return candidates, errors, float(candidates[chosen])


def _covariance(X: NDArray) -> NDArray:
    centred = X - X.mean(axis=0)
    return np.asarray(centred.T @ centred / len(X))
