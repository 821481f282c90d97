"""Labelled rows as vectors z with margins zᵀw: one per row with two labels, K − 1 with K labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from assay.parameters import array, boolean, refusal
from assay.rows import alone, ordered_map

BLOCK = 8192
"""Rows standardised at a time: no copy of the size of the data."""

FEW = 2**20
"""Numbers in the vectors that absorb a small error of the weights: 8 MiB."""


@dataclass(frozen=True, slots=True, eq=False)
class SignedRows:
    """The vectors z = (e_y − e_k) ⊗ (x, 1), never formed: one for each row and each label k ≠ y of others.

    The first label has the score zero, so w has one column of d + 1 coefficients for each further label. The
    features are standardised, which changes no answer with an intercept, and only the scale without one.
    """

    owner: str
    X: Any
    codes: NDArray
    others: NDArray
    labels: NDArray
    center: NDArray
    scale: NDArray
    intercept: bool
    kept: NDArray | None
    n_rows: int

    @property
    def n_columns(self) -> int:
        """Columns of w: the labels but the first."""
        return len(self.labels) - 1

    @property
    def width(self) -> int:
        """Coefficients in a column of w."""
        return int(self.X.shape[1]) + self.intercept

    @property
    def size(self) -> int:
        """Coefficients in w."""
        return self.width * self.n_columns

    @property
    def n_margins(self) -> int:
        """Number of vectors z."""
        return self.others.size

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """Shape in which a user sees one number per margin."""
        return (self.n_rows,) if self.n_columns == 1 else (self.n_rows, len(self.labels))

    def margins(self, w: NDArray) -> NDArray:
        """All zᵀw."""
        columns = w.reshape(self.n_columns, self.width)
        scores = np.zeros((self.X.shape[0], len(self.labels)))
        direct = columns[:, : self.X.shape[1]] / self.scale
        scores[:, 1:] = self.X @ direct.T - direct @ self.center
        if self.intercept:
            scores[:, 1:] += columns[:, -1]
        own = np.take_along_axis(scores, self.codes[:, None], axis=1)
        return (own - np.take_along_axis(scores, self.others, axis=1)).ravel()

    def adjoint(self, weights: NDArray) -> NDArray:
        """Σ λ z."""
        shares = self._shares(weights)
        total = np.asarray(self.X.T @ shares).T - shares.sum(axis=0)[:, None] * self.center
        total = total / self.scale
        if self.intercept:
            total = np.column_stack([total, shares.sum(axis=0)])
        return total.ravel()

    def gram(self, weights: NDArray) -> NDArray:
        """Σ λ zzᵀ."""
        K, width = self.n_columns, self.width
        spread = weights.reshape(self.others.shape)

        def of_block(begin: int) -> NDArray:
            part = slice(begin, begin + BLOCK)
            block, mixing = self._standard(self.X[part]), self._mixing(spread[part], part)
            total = np.empty((K, width, K, width))
            for a in range(K):
                for b in range(a + 1):
                    total[a, :, b, :] = (block * mixing[a, b][:, None]).T @ block
                    total[b, :, a, :] = total[a, :, b, :].T
            return total

        total = sum(ordered_map(of_block, range(0, self.X.shape[0], BLOCK)), start=np.zeros(4 * (1,)))
        return np.asarray(total).reshape(self.size, self.size)

    def correction(self, weights: NDArray) -> NDArray:
        """A v with Σ λ(1 − zᵀv) z = 0: the step that makes the weights balance exactly."""
        return self._solve(self.gram(weights), self.adjoint(weights), 1e-11)

    def correction_of_few(self, weights: NDArray) -> tuple[NDArray, NDArray] | None:
        """Some margins and the relative corrections of their weights that make all of them balance.

        Weights that balance already but for a small error need no more than a few rows to absorb it, and no
        walk over the squares of all. None when these rows do not span the error.
        """
        used = np.flatnonzero(weights)
        few = used[:: max(1, len(used) // max(20 * self.size, FEW // self.size))]
        vectors, missing = self.vectors(few), self.adjoint(weights)
        values, basis = alone(_spectrum, vectors, weights[few])
        kept = values > 1e-11 * max(float(values[-1]), 1e-300)
        inside = basis[:, kept].T @ missing
        outside = float(np.linalg.norm(missing - basis[:, kept] @ inside))
        if outside > 1e-12 * float(weights.sum()):
            return None
        return few, vectors @ (basis[:, kept] @ (inside / values[kept]))

    def coefficients(self, margins: NDArray) -> NDArray:
        """A w with the given margins, by least squares."""
        return self._solve(self.gram(np.ones(self.n_margins)), self.adjoint(margins), 1e-13)

    @staticmethod
    def _solve(gram: NDArray, right: NDArray, smallest: float) -> NDArray:
        """Least-norm solution, eigenvalues below a share of the largest taken for zero."""
        values, basis = linalg.eigh(gram)
        kept = values > smallest * max(float(values[-1]), 1e-300)
        return basis[:, kept] @ ((basis[:, kept].T @ right) / values[kept])

    def vectors(self, chosen: NDArray) -> NDArray:
        """The vectors z of some margins, one per row."""
        rows, place = np.divmod(chosen, self.others.shape[1])
        block = self._standard(self.X[rows])
        own, other = self.codes[rows], self.others[rows, place]
        vectors = np.zeros((len(chosen), self.n_columns, self.width))
        each = np.arange(len(chosen))
        vectors[each[own > 0], own[own > 0] - 1] += block[own > 0]
        vectors[each[other > 0], other[other > 0] - 1] -= block[other > 0]
        return vectors.reshape(len(chosen), self.size)

    def original(self, w: NDArray) -> tuple[NDArray, float | NDArray]:
        """Direction and intercept for the features as they came."""
        columns = w.reshape(self.n_columns, self.width)
        direct = columns[:, : self.X.shape[1]] / self.scale
        offset = -direct @ self.center + (columns[:, -1] if self.intercept else 0.0)
        if self.n_columns == 1:
            return direct[0], float(offset[0])
        return np.vstack([np.zeros(direct.shape[1]), direct]), np.append(0.0, offset)

    def standardised(self, direction: Any, intercept: Any) -> NDArray:
        """The w of a direction and intercept for the features as they came."""
        direct, offset = np.atleast_2d(np.asarray(direction, dtype=float)), np.atleast_1d(intercept)
        if len(direct) == len(self.labels) and self.n_columns > 1:
            direct, offset = direct[1:] - direct[0], np.broadcast_to(offset, len(direct))
            offset = offset[1:] - offset[0]
        columns = direct * self.scale
        if self.intercept:
            columns = np.column_stack([columns, offset + direct @ self.center])
        return columns.ravel()

    def read_start(self, start: Any) -> NDArray:
        """The w of a fit (coef, intercept) in scikit-learn's shapes."""
        d, K = self.X.shape[1], len(self.labels)
        try:
            coef = np.asarray(start[0], dtype=float).reshape(-1, d)
            intercept = np.asarray(start[1], dtype=float).ravel()
            fits = len(coef) in (K - 1, K if K > 2 else 1) and intercept.size in (1, len(coef))
        except (TypeError, ValueError, IndexError):
            fits = False
        if not fits or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise refusal(self.owner, "start", f"a pair (coef, intercept) for {d} features", start)
        return self.standardised(coef, np.broadcast_to(intercept, len(coef)))

    def expanded(self, weights: NDArray) -> NDArray:
        """One number per margin in the shape a user sees, zero for rows left out and for the own label."""
        full = np.zeros((self.n_rows, len(self.labels)))
        rows = np.arange(self.n_rows) if self.kept is None else self.kept
        full[rows[:, None], self.others] = weights.reshape(self.others.shape)
        return full.sum(axis=1) if self.n_columns == 1 else full

    def compressed(self, weights: Any) -> NDArray:
        """Back from the shape a user sees to one number per margin."""
        seen = np.asarray(weights, dtype=float)
        seen = seen if self.kept is None else seen[self.kept]
        return seen.copy() if self.n_columns == 1 else np.take_along_axis(seen, self.others, axis=1).ravel()

    def _standard(self, block: Any) -> NDArray:
        dense = block if isinstance(block, np.ndarray) else block.toarray()
        dense = (np.asarray(dense, dtype=float) - self.center) / self.scale
        return np.column_stack([dense, np.ones(len(dense))]) if self.intercept else dense

    def _shares(self, weights: NDArray) -> NDArray:
        """What each row gives to each column of w: λ to its own label, −λ to the others."""
        spread = weights.reshape(self.others.shape)
        shares = np.zeros((len(self.codes), len(self.labels)))
        np.put_along_axis(shares, self.others, -spread, axis=1)
        np.put_along_axis(shares, self.codes[:, None], spread.sum(axis=1, keepdims=True), axis=1)
        return shares[:, 1:]

    def _mixing(self, spread: NDArray, part: slice) -> NDArray:
        """Σ_k λ (e_y − e_k)(e_y − e_k)ᵀ of each row of a block, without the first label."""
        K = len(self.labels)
        if K == 2:
            return spread[:, 0][None, None, :]
        n = len(spread)
        each, own = np.arange(n), self.codes[part]
        total = np.zeros((K, K, n))
        for place in range(K - 1):
            other, weight = self.others[part][:, place], spread[:, place]
            total[own, own, each] += weight
            total[other, other, each] += weight
            total[own, other, each] -= weight
            total[other, own, each] -= weight
        return total[1:, 1:]


def _spectrum(vectors: NDArray, weights: NDArray) -> tuple[NDArray, NDArray]:
    """Eigenvalues and eigenvectors of Σ λ zzᵀ."""
    values, basis = linalg.eigh((vectors * weights[:, None]).T @ vectors)
    return values, basis


def signed_rows(owner: str, X: Any, y: Any, fit_intercept: bool, sample_weight: Any) -> SignedRows:
    """Read features, labels and weights; rows of weight zero are left out."""
    if not boolean.contains(fit_intercept):
        raise refusal(owner, "fit_intercept", boolean.words, fit_intercept)
    rows = _features(owner, X)
    n = int(rows.shape[0])
    target = np.asarray(y)
    if target.shape != (n,) or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        raise refusal(owner, "y", f"one label for each of the {n} rows, without NaN", y)
    kept = None
    if sample_weight is not None:
        usable = array("", lambda values: values.shape == (n,) and bool(np.all(values >= 0)))
        if not usable.contains(sample_weight):
            raise refusal(owner, "sample_weight", f"{n} finite numbers at least 0", sample_weight)
        positive = np.asarray(sample_weight, dtype=float) > 0
        if not positive.all():
            kept = np.flatnonzero(positive)
            rows, target = rows[kept], target[kept]
    labels, codes = np.unique(target, return_inverse=True)
    if len(labels) < 2:
        raise refusal(owner, "y", "labels of at least two kinds in rows of positive weight", labels.tolist())
    return _standardise(owner, rows, codes, labels, bool(fit_intercept), kept, n)


def _standardise(
    owner: str, rows: Any, codes: NDArray, labels: NDArray, intercept: bool, kept: NDArray | None, n: int
) -> SignedRows:
    every = np.arange(len(labels))
    others = np.array([np.delete(every, own) for own in every])[codes]
    d = rows.shape[1]
    if not isinstance(rows, np.ndarray):
        center = np.zeros(d)
        scale = np.asarray(abs(rows).max(axis=0).toarray(), dtype=float).ravel()
    else:
        low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
        center = rows.mean(axis=0, dtype=float) if intercept else np.zeros(d)
        center = np.where(high > low, center, low) if intercept else center
        scale = np.maximum(high - center, center - low)
    scale = np.where(scale > 0, scale, 1.0)
    return SignedRows(owner, rows, codes, others, labels, center, scale, intercept, kept, n)


def _features(owner: str, X: Any) -> Any:
    rows: Any = X
    if sparse.issparse(X):
        rows = sparse.csr_array(rows)
        finite = rows.dtype.kind in "biuf" and np.isfinite(rows.data).all()
    else:
        try:
            rows = np.asarray(X)
            rows = rows if rows.dtype.kind == "f" else rows.astype(float)
            finite = bool(np.isfinite(rows.sum())) or bool(np.isfinite(rows).all())
        except (TypeError, ValueError):
            raise refusal(owner, "X", "a matrix of finite numbers", X) from None
    if rows.ndim != 2 or 0 in rows.shape or not finite:
        raise refusal(owner, "X", "a matrix of finite numbers with at least one row and column", X)
    return rows
