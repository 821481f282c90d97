"""Overlapping clusters of variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from assay import parameters
from assay.base import Model
from assay.certificates import Certificates, agreement, at_least, at_most
from assay.cluster.biclustering.overlapping_solver import SOURCE, check_identifiability, choose_delta
from assay.cluster.biclustering.overlapping_solver import overlapping_loadings as solve
from assay.parameters import Domain
from assay.randomness import RandomState, generator
from assay.rows import Block, Rows

MAX_FEATURES = 8192
"""Columns whose covariances, half a gigabyte of them, and some copies fit into memory."""

MAX_SPLITS = 2**16
"""Halvings beyond which the choice of δ would not get any better."""


class OverlappingClustering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):
    """Overlapping clusters of the columns, by a factor model with pure variables (LOVE).

    Finds the loadings A of

        X = A Z + E,      Σ_a |A_ja| ≤ 1,      two or more pure variables a factor (loading ±1, others 0),

    from the covariance of the columns: pure variables are those that share the largest covariances of their
    rows within 2δ, their groups are the factors and give Cov(Z), and the other rows of A are thresholded or
    the sparsest that fit within 2δ. Column j is in cluster a when A_ja ≠ 0. One walk over the rows for the
    covariance; δ by cross-validation needs rows in memory. `transform` estimates the factors.

    Assumes: the factor model above, with E uncorrelated between columns and with Z, and factors that are not
    collinear.

    Certificates: the conditions under which A is determined, pure variables reach their row maxima inside
    their groups, Cov(Z) is positive definite; `certify` finds the loadings again from the covariance.

    Parameters
    ----------
    delta : float, optional
        δ, the sampling error of a covariance. By default chosen among multiples of s √(log p / n), s the mean
        variance, by how well the fit on one half of the rows predicts the covariances of the other: the
        largest that predicts no worse than the best, by the standard error over splits.
    loadings : {"dantzig", "soft", "hard"}, default="dantzig"
        How rows of A that are not pure are model: least ‖a‖₁ with ‖θ_j − Cov(Z) a‖_∞ ≤ 2δ, or the soft or
        hard threshold of Cov(Z)⁻¹ θ_j; θ_j are mean covariances with the pure variables.
    n_splits : int, default=5
        Random halves that δ is chosen on.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the halves come from.

    Attributes
    ----------
    loadings_ : array of shape (n_features, n_clusters)
        A, determined up to order and sign of its columns.
    n_clusters_ : int
        Number of factors K.
    pure_sets_ : list of arrays of int
        Pure columns of each cluster.
    memberships_ : array of shape (n_features, n_clusters)
        |A_ja| / Σ_b |A_jb|; a row of zeros belongs to no cluster.
    overlaps_ : array of int
        Columns in two or more clusters.
    factor_covariance_ : array of shape (n_clusters, n_clusters)
        Cov(Z).
    noise_variance_ : array of shape (n_features,)
        What the factors leave of each variance.
    covariance_ : array of shape (n_features, n_features)
        Of the columns, with divisor n.
    mean_ : array of shape (n_features,)
        Of the columns.
    delta_ : float
        δ of the fit.
    delta_candidates_, delta_errors_ : arrays of shape (n_candidates,) and (n_candidates, n_splits)
        What cross-validation compared (errors over the squared mean variance); empty when `delta` is given.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import OverlappingClustering
    >>> A = np.array([[1, 0], [1, 0], [-1, 0], [0, 1], [0, 1], [0.5, 0.5]])
    >>> random = np.random.default_rng(0)
    >>> X = 3 * random.normal(size=(500, 2)) @ A.T + 0.3 * random.normal(size=(500, 6))
    >>> model = OverlappingClustering(random_state=0).fit(X)
    >>> model.pure_sets_
    [array([0, 1, 2]), array([3, 4])]
    >>> model.overlaps_, model.memberships_[5].round(1)
    (array([5]), array([0.5, 0.5]))

    References
    ----------
    Wei §10.3.3. Bing, Bunea, Ning & Wegkamp (2020), adaptive estimation in structured factor models.
    """

    _accepts_sparse: ClassVar[bool] = False
    _domains: ClassVar[Mapping[str, Domain]] = {
        "delta": parameters.nothing | parameters.real(at_least=0.0),
        "loadings": parameters.one_of("dantzig", "soft", "hard"),
        "n_splits": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
    }

    def __init__(
        self,
        *,
        delta: float | None = None,
        loadings: str = "dantzig",
        n_splits: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.delta = delta
        self.loadings = loadings
        self.n_splits = n_splits
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def fit(self, X: Any, y: Any = None) -> OverlappingClustering:
        """Find the clusters of columns.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features); with `delta`, also a path or Dask array
            The rows.
        y : None
            Ignored.

        Returns
        -------
        self : OverlappingClustering
        """
        data: Any = self._open_rows(X)
        if hasattr(data, "X"):
            check_moments(data.X)
        if data.shape[0] < 2 or data.shape[1] < 2:
            raise ValueError(
                "OverlappingClustering compares pairs of columns over two or more rows. Got "
                f"n_samples={data.shape[0]} and n_features={data.shape[1]}."
            )
        if data.shape[1] > MAX_FEATURES:
            raise ValueError(
                f"OverlappingClustering compares all pairs of columns, at most {MAX_FEATURES} of them. Got "
                f"{data.shape[1]}; choose some columns first."
            )
        mean, covariance = moments_of(data)
        if not np.abs(covariance - np.diag(np.diag(covariance))).max() > 0.0:
            raise ValueError(
                "OverlappingClustering needs columns that vary together. All covariances of X are 0."
            )
        self.delta_candidates_, self.delta_errors_ = np.empty(0), np.empty(0)
        if self.delta is not None:
            self.delta_ = float(self.delta)
        elif not hasattr(data, "X"):
            raise self._refuse("delta", "given for rows outside memory, where it cannot be chosen by halves")
        else:
            if self.n_splits > MAX_SPLITS:
                raise self._refuse("n_splits", f"at most {MAX_SPLITS}")
            choice = choose_delta(data.X.astype(np.float64), self.n_splits, generator(self.random_state))
            self.delta_candidates_, self.delta_errors_, self.delta_ = choice
        model = solve(covariance, self.delta_, self.loadings)
        self.loadings_ = model.loadings.astype(data.dtype)
        self.pure_sets_ = model.pure.members
        self.n_clusters_ = len(self.pure_sets_)
        self.factor_covariance_ = model.factor_covariance.astype(data.dtype)
        self.covariance_, self.mean_ = covariance, mean
        self.memberships_ = _shares(model.loadings).astype(data.dtype)
        self.overlaps_ = np.flatnonzero((model.loadings != 0).sum(axis=1) > 1)
        self.noise_variance_ = _noise(covariance, model.loadings, model.factor_covariance)
        self.certificates_ = self._measure(covariance)
        return self

    def transform(self, X: Any) -> Any:
        """Estimated factors: the best linear prediction of Z from the columns.

        Returns
        -------
        factors : array of shape (n_samples, n_clusters)
            In the dtype of the rows; lazy for Dask input.
        """
        data = self._open_new_rows(X)
        loadings = self.loadings_.astype(np.float64)
        between = loadings @ self.factor_covariance_.astype(np.float64)
        # A floor on the noise keeps the system regular where the factors explain a column whole.
        floor = 1e-10 * float(np.diag(self.covariance_).max())
        fitted = between @ loadings.T + np.diag(self.noise_variance_ + floor)
        weights = np.linalg.lstsq(fitted, between, rcond=None)[0]
        return data.map(_scores, self.mean_, weights, dtype=data.dtype, width=self.n_clusters_)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the rows of the fit.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows that the model was fitted on.
        y, sample_weight : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the rows alone.
        """
        mean, covariance = moments_of(self._open_new_rows(X))
        model = solve(covariance, self.delta_, self.loadings)
        same = model.loadings.shape == self.loadings_.shape
        claim = "The loadings are those that the covariance of the columns determines."
        value = float(np.abs(model.loadings - self.loadings_).max()) if same else np.inf
        bound = 1e-7 + 16.0 * float(np.finfo(self.loadings_.dtype).eps)
        repeated = at_most(claim, "largest error of a loading", value, bound, SOURCE)
        scale = float(np.diag(covariance).max())
        deviation = float(np.sqrt(scale))
        noise = _noise(covariance, model.loadings, model.factor_covariance)
        proof = [*self._measure(covariance), repeated]
        if same:  # else nothing below has the right shape
            claim = "What transform reads beside the loadings follows from the moments of the rows."
            pairs = {
                "covariance_": (self.covariance_ / scale, covariance / scale),
                "factor_covariance_": (self.factor_covariance_ / scale, model.factor_covariance / scale),
                "memberships_": (self.memberships_, _shares(model.loadings)),
            }
            proof.append(agreement(claim, pairs, SOURCE, rtol=bound))
            claim = "The mean and the noise are those of the rows, in units of the largest variance."
            value = float(np.abs(self.noise_variance_ - noise).max()) / scale
            value = max(value, float(np.abs(self.mean_ - mean).max()) / deviation)
            room = 8.0 * float(np.finfo(np.float64).eps) * float(np.abs(mean).max()) / deviation
            proof.append(at_most(claim, "error of mean_ and noise_variance_", value, bound + room, SOURCE))
        return Certificates(proof)

    def _measure(self, covariance: NDArray) -> Certificates:
        rounding = float(np.finfo(self.loadings_.dtype).eps)
        sizes = np.abs(covariance - np.diag(np.diag(covariance)))
        short = max(
            float((sizes[group].max(axis=1) - sizes[np.ix_(group, group)].max(axis=1)).max())
            for group in self.pure_sets_
        )
        spectrum = np.linalg.eigvalsh(self.factor_covariance_.astype(np.float64))
        scale = float(np.diag(covariance).max())
        claim = "Pure variables reach the largest covariance of their rows inside their groups."
        quantity, bound, room = "largest shortfall of a pure variable", 2.0 * self.delta_, 1e-9 * scale
        proof = [*check_identifiability(self.loadings_, tol=max(1e-10, 16.0 * rounding))]
        proof.append(at_most(claim, quantity, short, bound, SOURCE, tolerance=room))
        claim = "The covariance of the factors is one: it has no negative eigenvalue."
        proof.append(at_least(claim, "least eigenvalue of Cov(Z)", spectrum[0], 0.0, SOURCE))
        return Certificates(proof)


def check_moments(X: NDArray) -> None:
    """Refuse rows whose squared covariances overflow or vanish."""
    limits, wide = np.finfo(X.dtype), np.finfo(np.float64)
    largest, spread = float(np.abs(X).max()), float((X.max(axis=0) - X.min(axis=0)).max())
    most = min(float(wide.max) ** 0.25 / 2.0**8, float(np.sqrt(limits.max)) / 2.0)
    least = max(float(wide.tiny) ** 0.25 * 2.0**8, float(np.sqrt(limits.tiny / limits.eps)))
    if largest > most or 0.0 < spread < least:
        size, verb = (largest, "overflow") if largest > most else (spread, "vanish or lose their digits")
        raise ValueError(
            f"Covariances of columns of size {size:.3g} {verb} in OverlappingClustering. "
            "Divide all columns by one number, e.g. their largest entry."
        )


def _shares(loadings: NDArray) -> NDArray:
    sizes = np.abs(loadings)
    result: NDArray = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1e-300)
    return result


def _noise(covariance: NDArray, loadings: NDArray, factor_covariance: NDArray) -> NDArray:
    explained = np.einsum("ja,ab,jb->j", loadings, factor_covariance, loadings)
    return np.maximum(np.diag(covariance) - explained, 0.0)


def moments_of(data: Rows) -> tuple[NDArray, NDArray]:
    """Mean and covariance (divisor n) of the columns, in two walks over the rows."""
    mean = data.reduce(_sum_of) / data.shape[0]
    rest, products = data.reduce(_products_of, mean)
    rest = rest / data.shape[0]
    return mean + rest, products / data.shape[0] - np.outer(rest, rest)


def _sum_of(block: Block) -> NDArray:
    return np.asarray(block.X.sum(axis=0, dtype=np.float64))


def _products_of(block: Block, mean: NDArray) -> tuple[NDArray, NDArray]:
    centred = block.X - mean
    return centred.sum(axis=0), centred.T @ centred


def _scores(block: Block, mean: NDArray, weights: NDArray) -> NDArray:
    result: NDArray = (block.X - mean) @ weights
    return result.astype(block.X.dtype)
