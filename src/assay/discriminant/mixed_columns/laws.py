"""Laws of Gaussian and yes-no columns, how they are estimated, and their log-odds as in the exam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from assay.discriminant.gaussian.laws import OwnGaussian
from assay.discriminant.gaussian.moments import ClassMoments, class_moments
from assay.discriminant.generative import ClassLaws, Family, counted, joint
from assay.discriminant.naive_bayes.columns import BernoulliFamily, BernoulliLaws, Totals, require_marks
from assay.rows import Block, MappedRows, Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier, examination of 2022, exercise 1"
LEAST_ALPHA = 1e-10
"""Rows by which a frequency of exactly 0 or 1 is kept inside, so that no row is impossible."""


@dataclass(frozen=True, eq=False)
class MixedLaws(ClassLaws):
    """Gaussian columns with a covariance of each class, and independent yes-no columns."""

    gaussian: OwnGaussian
    binary: BernoulliLaws
    columns: tuple[NDArray[np.intp], NDArray[np.intp]]
    covariances: Array
    log_odds: ClassVar[Literal["affine", "quadratic", "other"]] = "quadratic"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return len(self.covariances)

    def log_density(self, X: NDArray) -> NDArray:
        """Sum of both parts."""
        # In double precision: inverse deviations of tiny columns are beyond the range of single precision.
        first, second = (X[:, columns].astype(np.float64) for columns in self.columns)
        return np.asarray(self.gaussian.log_density(first) + self.binary.log_density(second), dtype=X.dtype)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """Both parts, independently."""
        X = np.empty((len(codes), sum(map(len, self.columns))))
        X[:, self.columns[0]] = self.gaussian.draw(codes, rng)
        X[:, self.columns[1]] = self.binary.draw(codes, rng)
        return X


def mixed_laws(means: Array, covariances: Array, probabilities: Array, columns: Any) -> MixedLaws:
    """The laws with these numbers; each covariance is factored in units of its own deviations."""
    whitenings, roots, determinants = [], [], []
    for place, covariance in enumerate(covariances):
        units = np.sqrt(np.diagonal(covariance))
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                root = np.linalg.cholesky(covariance / np.outer(units, units))
        except np.linalg.LinAlgError:
            raise SingularClassError(place) from None
        inverse = solve_triangular(root, np.eye(len(units)), lower=True) if len(units) else root
        whitenings.append(inverse.T / units[:, None])
        roots.append(root * units[:, None])
        determinants.append(2 * (np.log(np.diagonal(root)).sum() + np.log(units).sum()))
    gaussian = OwnGaussian(means, whitenings, roots, np.array(determinants))
    return MixedLaws(gaussian, BernoulliLaws(np.log(probabilities)), columns, covariances)


class SingularClassError(ValueError):
    """The covariance of a class has no inverse: its place is the only argument."""


class MixedStatistics(NamedTuple):
    """Moments of the Gaussian columns and counts of the yes-no columns."""

    moments: ClassMoments
    totals: Totals


class MixedFamily(Family):
    """Moments of some columns, counts of the others."""

    def __init__(
        self, columns: Any, shared: bool, alpha: float, var_smoothing: float, labels: NDArray
    ) -> None:
        self.columns, self.shared, self.var_smoothing = columns, shared, var_smoothing
        self.labels = labels
        self.frequencies = BernoulliFamily(max(alpha, LEAST_ALPHA))

    def gather(self, data: Rows, n_classes: int) -> MixedStatistics:
        """One walk: the means of the yes-no columns are their frequencies of ones."""
        continuous, binary = self.columns
        every = class_moments(MappedRows(data, checked_block, binary), n_classes, apart=True)
        counts = np.repeat(every.weight[:, None], len(binary), axis=1)
        # A mean within rounding of 0 or 1 is that of a column without, or with nothing but, ones.
        shares = np.clip(every.means[:, binary], 0.0, 1.0)
        part = np.ix_(np.arange(n_classes), continuous, continuous)
        moments = ClassMoments(
            every.weight, every.means[:, continuous], every.scatters[part], every.constant[continuous]
        )
        return MixedStatistics(moments, Totals(counts, counts * shares))

    def covariances(self, moments: ClassMoments) -> Array:
        """Of each class with divisor w_k, or of all with divisor n; a share of the total variances added."""
        total = np.diagonal(moments.within + moments.between) / moments.total_weight
        ridge = np.diag(self.var_smoothing * np.where(total > 0, total, 1.0))
        pooled = moments.within / moments.total_weight
        weight = np.where(moments.weight > 0, moments.weight, 1.0)[:, None, None]
        alone = np.where((moments.weight > 0)[:, None, None], moments.scatters / weight, pooled)
        return np.asarray((np.broadcast_to(pooled, alone.shape) if self.shared else alone) + ridge)

    def estimate(self, statistics: MixedStatistics) -> MixedLaws:
        """Laws of maximum likelihood; a singular covariance is refused."""
        chances = np.exp(self.frequencies.estimate(statistics.totals, None).log_ones)
        covariances = self.covariances(statistics.moments)
        try:
            return mixed_laws(statistics.moments.means, covariances, chances, self.columns)
        except SingularClassError as where:
            label = self.labels[where.args[0] : where.args[0] + 1].tolist()[0]
            weight = statistics.moments.weight[where.args[0]]
            raise ValueError(
                f"The covariance of the Gaussian columns of class {label!r} is singular ({counted(weight)}, "
                f"{len(self.columns[0])} columns): set 'var_smoothing' to 1e-9 or more, or "
                "covariance='shared'."
            ) from None


def checked_block(block: Block, binary: NDArray[np.intp]) -> Block:
    """The block, refused where a yes-no column holds something else."""
    require_marks(block.dense[:, binary])
    return block


def zeros_and_ones(block: Block) -> NDArray[np.bool_]:
    """Columns of one block that hold 0 and 1 alone, among the rows that count."""
    X = block.dense if block.weight is None else block.dense[block.weight > 0]
    return np.asarray(((X == 0) | (X == 1)).all(axis=0))


class MixedForm(NamedTuple):
    """Log-odds of two classes as in the exam: ½uᵀQu + αᵀu + βᵀv + b.

    Attributes
    ----------
    Q : array of shape (n_gaussian, n_gaussian)
        Σ₋⁻¹ − Σ₊⁻¹.
    alpha : array of shape (n_gaussian,)
        Σ₊⁻¹μ₊ − Σ₋⁻¹μ₋.
    beta : array of shape (n_binary,)
        log[p(1 − q)/(q(1 − p))].
    b : float
    """

    Q: Array
    alpha: Array
    beta: Array
    b: float

    def value(self, U: Any, V: Any) -> Array:
        """The log-odds of rows, Gaussian and yes-no columns apart."""
        rows, marks = np.asarray(U, dtype=float), np.asarray(V, dtype=float)
        bent = 0.5 * np.einsum("ij,ij->i", rows @ self.Q, rows)
        return np.asarray(bent + rows @ self.alpha + marks @ self.beta + self.b)


def form_block(
    block: Block, laws: MixedLaws, log_priors: Array, forms: list[MixedForm], origin: Array
) -> float:
    """Largest deviation of the forms about a point from the log-odds, beside the largest of their terms."""
    X = block.dense.astype(np.float64)
    U, V = (X[:, columns] for columns in laws.columns)
    U = U - origin
    values = joint(X, laws, log_priors)
    known = np.isfinite(log_priors)
    worst = 0.0
    for k, form in enumerate(forms, start=1):
        if not (known[0] and known[k]):
            continue
        odds = values[:, k] - values[:, 0]
        size = 0.5 * np.abs(U) @ np.abs(form.Q) * np.abs(U) @ np.ones(U.shape[1]) + np.abs(U) @ np.abs(
            form.alpha
        )
        size += np.abs(V) @ np.abs(form.beta) + abs(form.b) + np.abs(values[:, [0, k]]).sum(axis=1) + 1.0
        worst = max(worst, float(np.max(np.abs(form.value(U, V) - odds) / size, initial=0.0)))
    return worst
