"""Generative classifier of any density: one fit of it for each class."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.discriminant.gaussian.laws import LOG_TWO_PI
from assay.discriminant.gaussian.moments import class_moments
from assay.discriminant.generative import ClassLaws, Family, GenerativeModel, posterior_block
from assay.discriminant.priors import PRIORS
from assay.models.capabilities import Density, require_memory
from assay.parameters import LARGEST, Domain
from assay.randomness import generator
from assay.rows import Block, MappedRows, MemoryRows, Rows
from assay.solvers.least_squares.moments import too_large

INSTEAD = "take a density that walks, such as BinnedKernelDensity, or QuadraticDiscriminantAnalysis"
SOURCE = "Wei §7.3.1"

LOOKED_AT = 512
"""Rows at which stored and fresh densities are compared."""


class DensityLaws(ClassLaws):
    """One fitted density per class; None for a class without any row that counts."""

    def __init__(self, densities: list[Any]) -> None:
        self.densities, self.n_classes = densities, len(densities)

    def log_density(self, X: NDArray) -> NDArray:
        """Log-densities of all classes; a row that no class can have tells nothing."""
        values = np.column_stack([self._of(density, X) for density in self.densities])
        values[np.isneginf(values).all(axis=1)] = 0.0
        return values.astype(X.dtype)

    def _of(self, density: Any, X: NDArray) -> NDArray:
        if density is None:
            return np.full(len(X), -np.inf)
        return np.asarray(density.score_samples(X), dtype=np.float64)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """Rows of each density that can draw some."""
        parts = {}
        for k in np.unique(codes).tolist():
            draw, seed = self.densities[k].sample, int(rng.integers(2**31))
            seeded = "random_state" in inspect.signature(draw).parameters  # else it has a seed of its own
            drawn = draw(int(np.sum(codes == k)), **({"random_state": seed} if seeded else {}))
            parts[k] = np.asarray(drawn[0] if isinstance(drawn, tuple) else drawn)  # some give components too
        X = np.empty((len(codes), next(iter(parts.values())).shape[1]))
        for k, rows in parts.items():
            X[codes == k] = rows
        return X


class FittedDensities(NamedTuple):
    """Weights of the classes and a fitted density of each."""

    weight: NDArray
    densities: list[Any]


class DensityFamily(Family):
    """Copies of one density, each fitted to the rows of its class."""

    def __init__(self, density: Any) -> None:
        self.density = density

    @property
    def walks(self) -> bool:
        """Whether rows may live outside memory: the density is of this house and does not keep them."""
        is_own = isinstance(self.density, Density) and not hasattr(self.density, "_memory_reason")
        return self.density is None or is_own

    def gather(self, data: Any, n_classes: int) -> FittedDensities:
        """Fit each class."""
        if self.density is None:
            return normal_laws(data, n_classes)
        if not isinstance(data, MemoryRows):
            return self._walked(data, n_classes)
        assert data.y is not None
        codes = data.y.astype(np.intp)
        weight = np.bincount(codes, data.weight, minlength=n_classes).astype(np.float64)
        return FittedDensities(
            weight, [self._fit(data, np.flatnonzero(codes == k)) for k in range(n_classes)]
        )

    def _walked(self, data: Rows, n_classes: int) -> FittedDensities:
        """Fit each class to all rows, those of other classes without weight."""
        weight = data.reduce(weights_of_classes, n_classes)
        parts = [MappedRows(data, of_class, k, has_weight=True) for k in range(n_classes)]
        for part in parts:
            part.feature_names = None  # the classifier itself matches columns by name
        fitted = [
            clone(self.density).fit(part) if n > 0 else None for n, part in zip(weight, parts, strict=True)
        ]
        return FittedDensities(weight, fitted)

    def _fit(self, data: Any, rows: NDArray[np.intp]) -> Any:
        density = clone(self.density)
        if data.weight is None:
            return density.fit(data.X[rows]) if len(rows) else None
        weight = data.weight[rows]
        rows, weight = rows[weight > 0], weight[weight > 0]
        if not len(rows):
            return None
        if has_fit_parameter(density, "sample_weight"):
            return density.fit(data.X[rows], sample_weight=weight)
        if not np.array_equal(weight, np.round(weight)):
            raise ValueError(
                f"{type(density).__name__} takes no weights, so that sample_weight must be whole numbers, "
                "each a number of repetitions."
            )
        return density.fit(data.X[np.repeat(rows, weight.astype(np.intp))])

    def estimate(self, statistics: FittedDensities) -> DensityLaws:
        """The densities as laws."""
        return DensityLaws(statistics.densities)


def normal_laws(data: Rows, n_classes: int) -> FittedDensities:
    """The normal law of each class, by a walk for the means and one for what is left about them."""
    moments = class_moments(data, n_classes, apart=True, about_means=True)
    heavy = np.where(moments.weight > 0, moments.weight, 1.0)[:, None, None]
    laws = zip(moments.weight, moments.means, moments.scatters / heavy, strict=True)
    return FittedDensities(
        moments.weight, [GaussianDensity().of_moments(*law) if n > 0 else None for n, *law in laws]
    )


def of_class(block: Block, k: int) -> Block:
    """The rows of a block, those of other classes without weight."""
    assert block.y is not None
    return block._replace(y=None, weight=block.weights * (block.y == k))


def weights_of_classes(block: Block, n_classes: int) -> NDArray:
    """Weights of the classes in one block."""
    assert block.y is not None
    return np.bincount(block.y.astype(np.intp), block.weight, n_classes).astype(np.float64)


class GaussianDensity(Density):
    """The normal law of some rows, with `var_smoothing` of the largest variance on the diagonal.

    Certificates: none of its own; those of the classifier that it is part of.

    Parameters
    ----------
    var_smoothing : float, default=1e-6
    """

    def __init__(self, var_smoothing: float = 1e-6) -> None:
        self.var_smoothing = var_smoothing

    def of_moments(self, mean: NDArray, covariance: NDArray) -> Self:
        """The law of a mean and of the covariance about it, 0 for columns that only rounding lets vary."""
        self.mean_ = mean
        if not np.isfinite(covariance).all() or np.abs(covariance).max(initial=0.0) > LARGEST:
            raise too_large("X")
        varies = np.diagonal(covariance) > (8 * np.finfo(np.float64).eps * mean) ** 2
        covariance = np.where(varies & varies[:, None], covariance, 0.0)
        largest = float(np.diagonal(covariance).max(initial=0.0))
        self.covariance_ = covariance + self.var_smoothing * (largest or 1.0) * np.eye(len(mean))
        return self

    def score_samples(self, X: Any) -> NDArray:
        """Log-density of each row."""
        root = np.linalg.cholesky(self.covariance_)
        standard = np.linalg.solve(root, (np.asarray(X, dtype=np.float64) - self.mean_).T)
        constant = len(root) * LOG_TWO_PI + 2 * np.log(np.diagonal(root)).sum()
        return np.asarray(-0.5 * (np.einsum("ij,ij->j", standard, standard) + constant))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> NDArray:
        """Rows of the law."""
        noise = generator(random_state).standard_normal((n_samples, len(self.mean_)))
        return np.asarray(self.mean_ + noise @ np.linalg.cholesky(self.covariance_).T)


class GenerativeClassifier(GenerativeModel):
    """Generative classifier of any density.

    Finds the shares of the classes and a density of each,

        P(Y = k) = π_k,   X | Y = k ~ p̂_k,        predicts argmax_k log π_k + log p̂_k(x).

    by fitting a copy of the density to the rows of each class: a kernel density, a mixture, a
    Gaussian law whose covariance follows a graph: anything with `fit` and `score_samples`. Rows on disk or on
    a cluster are walked twice for normal laws, and once for each class for densities of this package that do
    not keep their rows (`HistogramDensity`, `BinnedKernelDensity`); others need their rows in memory.

    Assumes: what the density assumes, within each class.

    Certificates: shares of the classes counted again; the log-densities that a fresh fit of each density to
    its class gives; posteriors by Bayes' formula from them; the densities' own certificates where they have
    some.

    Parameters
    ----------
    density : object with `fit` and `score_samples`, default=None
        Cloned for each class, unfitted. None for the normal law of the class. With a `random_state`, give it
        a number, so that a fit can be repeated.
    priors : {"empirical", "uniform"} or array of shape (n_classes,), default=None
        Probabilities of the classes; None for their shares among the rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    priors_, class_count_ : arrays of shape (n_classes,)
    densities_ : list of densities
        One fitted density per class; None for a class without any row that counts.
    n_features_in_ : int
    feature_names_in_ : array of str
        With named columns.
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.neighbors import KernelDensity
    >>> from assay.datasets import TwoMoons
    >>> from assay.discriminant import GenerativeClassifier
    >>> X, y = TwoMoons(0.2).sample(200, random_state=0)
    >>> model = GenerativeClassifier(KernelDensity(bandwidth=0.2)).fit(X, y)
    >>> model.score(X, y) > 0.95, model.certify(X, y).holds
    (True, True)

    References
    ----------
    Wei §7.3.1; Douc & Le Corff §8.5.
    """

    _memory_reason: ClassVar[str] = "hands the rows of each class to a density at once"
    _domains: ClassVar[Mapping[str, Domain]] = {
        "density": parameters.nothing
        | Domain(
            "an object with fit and score_samples",
            lambda value: hasattr(value, "fit") and hasattr(value, "score_samples"),
        ),
        "priors": PRIORS,
    }
    _accepts_sparse: ClassVar[bool] = False
    densities_: list[Any]

    def __init__(self, density: Any = None, *, priors: Any = None) -> None:
        self.density = density
        self.priors = priors

    @classmethod
    def from_parameters(cls, densities: Any, priors: Any = None, classes: Any = None) -> Self:
        """The oracle: the classifier of known densities.

        Parameters
        ----------
        densities : list of objects with `score_samples`
            One for each class, fitted or known. All must tell `n_features_in_`, or have one column.
        priors, classes : array-like of shape (n_classes,), optional
            Equal priors, and classes 0, 1, … by default.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.neighbors import KernelDensity
        >>> from assay.discriminant import GenerativeClassifier
        >>> sides = [KernelDensity(bandwidth=0.5).fit(np.array([[m - 1], [m], [m + 1]])) for m in (-2.0, 2.0)]
        >>> GenerativeClassifier.from_parameters(sides).predict([[-1.0], [1.0]])
        array([0, 1])
        """
        laws = list(densities)
        if len(laws) < 2 or not all(hasattr(law, "score_samples") for law in laws):
            must_be = "a list of at least two objects with score_samples"
            raise parameters.refusal(cls.__name__, "densities", must_be, densities)
        model = cls._given(classes, priors, len(laws))
        model.n_features_in_ = int(getattr(laws[0], "n_features_in_", 1))
        model.densities_ = laws
        own = [proof for law in laws for proof in getattr(law, "certificates_", ())]
        model.certificates_ = Certificates(own)
        return model

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a copy of the density to the rows of each class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features); path, Arrow or Dask where the density walks
        y : array-like of shape (n_samples,), or column name
        sample_weight : array-like of shape (n_samples,), or column name, optional
            A weight of 2 means the row counts twice; whole numbers where the density takes no weights.
        """
        if not self._family().walks:
            require_memory(self, X, instead=INSTEAD)
        return super().fit(X, y, sample_weight)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure the certificates afresh: fit every density again and compare.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        if not self._family().walks:
            require_memory(self, X, instead="certify on a sample of them")
        return super().certify(X, y, sample_weight)

    def _family(self) -> DensityFamily:
        return DensityFamily(self.density)

    def _keep_laws(self, laws: DensityLaws, statistics: FittedDensities, data: Rows) -> None:
        self.densities_ = laws.densities

    def _laws(self) -> DensityLaws:
        return DensityLaws(self.densities_)

    def _proofs(self, laws: DensityLaws, statistics: FittedDensities, data: Rows) -> list[Certificate]:
        own = [proof for each in self.densities_ for proof in getattr(each, "certificates_", ())]
        return [self._stored_counts(statistics.weight), self._bayes_formula(data), *own]

    def _bayes_formula(self, data: Rows) -> Certificate:
        """Posteriors of the first rows beside Bayes' formula written with densities, not logarithms."""
        state = self._laws(), self._log_priors()
        worst = data.head(LOOKED_AT, posterior_deviation, *state, np.asarray(self.priors_))
        claim = "The posterior is π_k p̂_k(x)/Σ_l π_l p̂_l(x)."
        bound = 1e-4 if data.dtype == np.float32 else 1e-9
        return at_most(claim, "deviation of posteriors", worst, bound, SOURCE)

    def _certify_more(self, data: Any) -> list[Certificate]:
        n_rows = data.shape[0]
        rows = data.take(np.unique(np.linspace(0, n_rows - 1, min(LOOKED_AT, n_rows)).astype(np.intp)))
        fresh = self._family().estimate(self._family().gather(data, len(self.classes_)))
        pairs = {"log-densities": (self._laws().log_density(rows), fresh.log_density(rows))}
        claim = "A fresh fit of each density gives the same log-densities."
        return [agreement(claim, pairs, SOURCE)]


def posterior_deviation(block: Block, laws: DensityLaws, log_priors: NDArray, priors: NDArray) -> float:
    """Largest difference of the posteriors of a block from Bayes' formula."""
    values = laws.log_density(block.dense).astype(np.float64)
    with np.errstate(under="ignore"):
        masses = priors * np.exp(values - values.max(axis=1, keepdims=True))
    expected = masses / masses.sum(axis=1, keepdims=True)
    known = np.isfinite(expected).all(axis=1)
    return float(np.abs(posterior_block(block, laws, log_priors) - expected)[known].max(initial=0.0))
