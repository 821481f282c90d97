"""A classifier of chance, the least that any other must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.discriminant.rules.base import DEVIATIONS, RuleOfProbabilities
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows


class RandomClassifier(RuleOfProbabilities):
    """A classifier of chance: its label of a row depends on the row in no way that anyone could use.

    Finds the shares of the classes, nothing more, and draws

        g(x) = argmax_k log π_k + G_k(x),   G_k(x) independent Gumbel numbers, one for each x and k,

    so that P(g(x) = k) = π_k whatever x. With equal π its risk is 1 − 1/K, one half for two classes: what any
    classifier must beat. The numbers come from the bits of the row and the seed, so that a row has the same
    label wherever and however often it is asked for.

    Assumes: nothing.

    Certificates: stored priors are those of the rows and the strategy; the error on rows is within its
    deviations of the risk of chance.

    Parameters
    ----------
    strategy : {"uniform", "prior"}, default="uniform"
        Classes alike, or with their shares among the rows.
    random_state : None, int, Generator, SeedSequence or RandomState, default=0
        Which of all such classifiers it is.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
        Shares π of the answers.
    risk_ : float
        1 − Σ_k π_k P(Y = k), with the shares of the rows for P(Y = k).
    seed_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import RandomClassifier
    >>> X, y = iris(return_X_y=True)
    >>> round(RandomClassifier().fit(X, y).risk_, 3)
    0.667

    References
    ----------
    Rudi & Şimşekli §6.2.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "strategy": parameters.one_of("uniform", "prior"),
        "random_state": parameters.random_state,
    }
    class_prior_: NDArray
    risk_: float
    seed_: int

    def __init__(self, *, strategy: str = "uniform", random_state: Any = 0) -> None:
        self.strategy = strategy
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the classes.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
        """
        data, weights = self._open_classes(X, y, sample_weight)
        self.seed_ = int(generator(self.random_state).integers(2**62))
        self.class_prior_, self.risk_ = self._shares(weights)
        self.certificates_ = Certificates(self._proofs(data, weights))
        return self

    def _shares(self, weights: NDArray) -> tuple[NDArray, float]:
        own = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        shares = (own > 0) / np.count_nonzero(own) if self.strategy == "uniform" else own
        return np.asarray(shares, dtype=np.float64), float(1 - shares @ own)

    def _posterior_step(self) -> tuple[Any, tuple[Any, ...]]:
        return chance_block, (self.class_prior_, self.seed_)

    def _proofs(self, data: Rows, weights: NDArray) -> list[Certificate]:
        shares, risk = self._shares(weights)
        source = "Rudi & Şimşekli §6.2.1"
        pairs = {"class_prior_": (self.class_prior_, shares), "risk_": (self.risk_, risk)}
        claim = "The stored shares and the risk are those of the rows and the strategy."
        score = data.head(4096, chance_error, self.class_prior_, self.seed_)
        claims = "The error on the first rows is that of chance."
        name = "deviation of the error in standard deviations"
        return [agreement(claim, pairs, source, rtol=1e-9), at_most(claims, name, score, DEVIATIONS, source)]

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Count the classes and the mistakes again.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        weights = data.reduce(class_totals_block, len(self.classes_))
        return Certificates(self._proofs(data, weights))


def class_totals_block(block: Block, n_classes: int) -> NDArray:
    """Weights of the classes of one block."""
    assert block.y is not None
    return np.bincount(block.y.astype(np.intp), block.weights, minlength=n_classes).astype(np.float64)


def row_bits(X: NDArray, seed: int) -> NDArray[np.uint64]:
    """A number of 64 bits for each row, a mixture of the bits of its values and of the seed."""
    bits = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # −0 and 0 are the same number
    words = bits.view(np.uint64)
    state = np.full(len(words), seed, dtype=np.uint64)
    for j in range(words.shape[1]):
        state = _mixed(state ^ (words[:, j] + np.uint64(j + 1)))
    return state


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Steele, Lea and Flood's mixture of 64 bits."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def chance_block(block: Block, priors: NDArray, seed: int) -> NDArray:
    """Shares of a point drawn at random for each row: the largest is that of class k with probability π_k."""
    state, columns = row_bits(block.dense, seed), []
    for prior in priors:
        state = _mixed(state)
        uniform = ((state >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52
        columns.append(prior / -np.log(uniform))  # e to the power of log π + Gumbel
    masses = np.column_stack(columns)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=block.X.dtype)


def chance_error(block: Block, priors: NDArray, seed: int) -> float:
    """How far the mistakes are from those of chance, in standard deviations; equal rows answer together."""
    assert block.y is not None
    codes, weight = block.y.astype(np.intp), block.weights
    wrong = chance_block(block, priors, seed).argmax(axis=1) != codes
    _, groups = np.unique(row_bits(block.dense, seed), return_inverse=True)
    # One answer for a group: its mistakes are its weight less that of the class that it answers.
    tables = np.zeros((groups.max(initial=0) + 1, len(priors)))
    np.add.at(tables, (groups, codes), weight)
    variance = float(np.sum(tables**2 @ priors - (tables @ priors) ** 2))
    excess = float(weight @ wrong - weight @ (1 - priors[codes]))
    return abs(excess) / np.sqrt(variance) if variance > 1e-9 else 0.0
