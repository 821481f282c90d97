"""Columns that are independent within a class: families of groups of columns, walked together."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_most
from assay.discriminant.generative import ClassLaws, Family
from assay.discriminant.naive_bayes.binned_columns import CategoricalLaws, HistogramLaws
from assay.discriminant.naive_bayes.columns import (
    Array,
    BernoulliLaws,
    ColumnFamily,
    ColumnLaws,
    PoissonLaws,
    Share,
    chosen_columns,
)
from assay.discriminant.naive_bayes.gaussian_columns import FlatColumnError, GaussianLaws
from assay.discriminant.naive_bayes.kernel_columns import KernelLaws
from assay.discriminant.naive_bayes.words import MultinomialLaws
from assay.rows import Block, Rows

LAWS: dict[str, type[ColumnLaws]] = {
    "gaussian": GaussianLaws,
    "bernoulli": BernoulliLaws,
    "categorical": CategoricalLaws,
    "poisson": PoissonLaws,
    "multinomial": MultinomialLaws,
    "histogram": HistogramLaws,
    "kernel": KernelLaws,
}

GRADIENT = 1e-8
"""How far from zero the gradient of the log-likelihood may be, over its scale."""


class Group(NamedTuple):
    """Columns of one family."""

    family: ColumnFamily
    columns: NDArray[np.intp]


class ProductStatistics(NamedTuple):
    """Weights of the classes, and for each group what was added up and what the walk began with."""

    class_weight: Array
    parts: tuple[Any, ...]
    states: tuple[Any, ...]


class ProductFamily(Family):
    """Independent groups of columns."""

    def __init__(self, groups: list[Group], n_columns: int, labels: NDArray, names: Any = None) -> None:
        self.groups, self.n_columns = groups, n_columns
        self.labels, self.names = labels, names  # what classes and columns are called in errors

    def gather(self, data: Rows, n_classes: int) -> ProductStatistics:
        """One walk for all groups, after one for the ranges of bins; again where digits were lost."""
        states = [group.family.prepare(data, group.columns, n_classes) for group in self.groups]
        found = self._walk(data, n_classes, self.groups, states)
        parts = list(found[1])
        for place, group in enumerate(self.groups):
            better = group.family.again(parts[place], states[place])
            if better is not None:
                states[place] = better
                parts[place] = self._walk(data, n_classes, [group], [better])[1][0]
        return ProductStatistics(found[0], tuple(parts), tuple(states))

    def _walk(self, data: Rows, n_classes: int, groups: list[Group], states: list[Any]) -> Any:
        merge = partial(merge_groups, tuple(group.family for group in groups))
        with np.errstate(over="ignore", invalid="ignore"):
            return data.reduce(gather_groups, groups, states, n_classes, combine=merge)

    def estimate(self, statistics: ProductStatistics) -> ProductLaws:
        """The laws of the columns."""
        triples = zip(self.groups, statistics.parts, statistics.states, strict=True)
        laws = [self._estimated(group, part, state) for group, part, state in triples]
        return ProductLaws([group.columns for group in self.groups], laws, self.n_columns)

    def _estimated(self, group: Group, part: Any, state: Any) -> ColumnLaws:
        try:
            return group.family.estimate(part, state)
        except FlatColumnError as where:
            place = int(group.columns[where.args[1]])
            column = place if self.names is None else self.names[place]
            label = self.labels[where.args[0] : where.args[0] + 1].tolist()[0]
            raise ValueError(
                f"Column {column!r} does not vary within class {label!r}, so that it has no density there: "
                "set var_smoothing above 0, or give the column another family."
            ) from None

    def gradient(self, laws: ProductLaws, statistics: ProductStatistics) -> float:
        """Largest component of the gradients of all groups, each over its scale."""
        fours = zip(self.groups, laws.parts, statistics.parts, statistics.states, strict=True)
        worst = [group.family.gradient(law, part, state) for group, law, part, state in fours]
        return float(np.max(worst, initial=0.0))


def gather_groups(block: Block, groups: list[Group], states: list[Any], n_classes: int) -> tuple[Any, ...]:
    """Weights of the classes and statistics of each group in one block."""
    assert block.y is not None
    codes, weights = block.y.astype(np.intp), block.weights
    totals = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
    parts = []
    for group, state in zip(groups, states, strict=True):
        X = columns_of(block, group.columns, sparse=group.family.takes_sparse)
        parts.append(group.family.gather(Share(X, codes, weights, n_classes), state))
    return totals, tuple(parts)


def merge_groups(
    families: tuple[ColumnFamily, ...], left: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Statistics of two blocks together."""
    triples = zip(families, left[1], right[1], strict=True)
    return left[0] + right[0], tuple(family.merge(first, second) for family, first, second in triples)


def columns_of(block: Block, columns: NDArray[np.intp], *, sparse: bool) -> Any:
    """Some columns of a block in float64: CSR if sparse rows are taken, else in C order, read-only."""
    if block.is_sparse and sparse and len(columns) == block.X.shape[1]:
        return block.X.astype(np.float64)
    return chosen_columns(block.dense, columns)


class ProductLaws(ClassLaws):
    """Laws of groups of columns, independent within a class.

    A row that no class can have tells nothing: its log-densities are 0.
    """

    def __init__(self, columns: list[NDArray[np.intp]], parts: list[ColumnLaws], n_columns: int) -> None:
        self.columns, self.parts, self.n_columns = columns, parts, n_columns
        self.n_classes = parts[0].n_classes
        self.takes_sparse = len(parts) == 1 and parts[0].takes_sparse  # type: ignore[misc]
        kinds = {part.log_odds for part in parts}
        self.log_odds = next(kind for kind in ("other", "quadratic", "affine") if kind in kinds)  # type: ignore[misc]

    def log_density(self, X: Any) -> NDArray:
        """Sum of the log-densities of the groups."""
        if not isinstance(X, np.ndarray):
            total = self.parts[0].log_density(X.astype(np.float64))
        else:
            pairs = zip(self.columns, self.parts, strict=True)
            terms = [part.log_density(chosen_columns(X, columns)) for columns, part in pairs]
            total = terms[0] if len(terms) == 1 else np.sum(terms, axis=0)
        impossible = np.isneginf(total).all(axis=1)
        if impossible.any():
            total[impossible] = 0.0
        return np.asarray(total, dtype=X.dtype)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """Columns of each group, independently."""
        X = np.empty((len(codes), self.n_columns))
        for columns, part in zip(self.columns, self.parts, strict=True):
            X[:, columns] = part.draw(codes, rng)
        return X


class LinearForm(NamedTuple):
    """A log-joint that is linear in features made of single columns: log π_k + log p_k(x) = B_kᵀz(x) + b_k.

    Attributes
    ----------
    coef : array of shape (n_classes, n_features)
        B_k: of a category the logarithms of its probabilities, one per level; of a yes-no column its
        log-odds; of a count the logarithm of its rate; of a Gaussian column two, for x and x².
    intercept : array of shape (n_classes,)
        b_k.
    feature_names : list of str
        The features z: marks of levels and bins, columns, squares.
    laws : ProductLaws
        What the features are made by.
    """

    coef: Array
    intercept: Array
    feature_names: list[str]
    laws: ProductLaws

    def features(self, X: Any) -> Array:
        """z(x) of some rows without missing values, of shape (n_samples, n_features)."""
        rows, laws = np.asarray(X), self.laws
        pairs = zip(laws.columns, laws.parts, strict=True)
        return np.hstack([part.linear_features(chosen_columns(rows, columns)) for columns, part in pairs])

    def log_joint(self, X: Any) -> Array:
        """B_kᵀz(x) + b_k, of shape (n_samples, n_classes)."""
        finite = np.isfinite(self.coef)
        features = self.features(X)
        total = features @ np.where(finite, self.coef, 0.0).T + self.intercept
        if not finite.all():
            total[(features @ (~finite).T.astype(float)) > 0] = -np.inf
        return np.asarray(total)


def linear_form(laws: ProductLaws, log_priors: Array, names: list[str]) -> LinearForm:
    """The linear form of a product of laws that all have one."""
    terms = [part.linear_terms() for part in laws.parts]
    intercept = log_priors + sum(constants for _, constants in terms)
    pairs = zip(laws.columns, laws.parts, strict=True)
    written = [name for columns, part in pairs for name in part.linear_names([names[j] for j in columns])]
    return LinearForm(np.hstack([slopes for slopes, _ in terms]), np.asarray(intercept), written, laws)


def product_proofs(
    family: ProductFamily, stored: ProductLaws, fresh: ProductLaws, statistics: ProductStatistics
) -> list[Certificate]:
    """The stored numbers are those of the rows, and the gradient of the log-likelihood vanishes at them."""
    pairs = {}
    for place, (own, new) in enumerate(zip(stored.parts, fresh.parts, strict=True)):
        theirs = new.parameters
        for name, value in own.parameters.items():
            pairs[f"{name} ({family.groups[place].family.name})"] = value, theirs[name]
    claim = "The stored numbers of every column are those that the rows give again."
    source = "Wei §7.3.2"
    claims = "The gradient of the (smoothed) log-likelihood of every column vanishes at the fit."
    return [
        agreement(claim, pairs, source),
        at_most(claims, "relative gradient", family.gradient(stored, statistics), GRADIENT, source),
    ]
