"""Blobs: Gaussian clusters, round or elongated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._gaussian_components import GaussianComponents
from assay.datasets._requirements import (
    Array,
    Labels,
    covariance_stack,
    finite_array,
    integer_between,
    number_at_least,
    of_shape,
    probabilities,
    read_only,
    refuse,
)
from assay.randomness import RandomState, generator


@dataclass(frozen=True, eq=False, init=False)
class Blobs(GaussianComponents):
    """Gaussian clusters.

        P(Y = k) = w_k,        X | Y = k ~ N(c_k, C_k),        C_k = s_k² I unless given.

    Y is the true cluster, 0, …, n_clusters − 1. The Bayes risk is the share of rows that the best
    assignment, knowing the law, gives to a wrong cluster.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; None for 3, or for the number of `centers`.
    n_features : int, default=None
        Number of features; None for 2, or for that of `centers`.
    centers : array-like of shape (n_clusters, n_features), default=None
        The centres c_k; None draws them uniformly in the cube `center_box`.
    cluster_std : float or array-like of shape (n_clusters,), default=None
        Standard deviation s_k of round clusters; None for 1. Not with `covariances`.
    covariances : array-like of shape (n_features, n_features) or (n_clusters, n_features, n_features), \
default=None
        Covariances C_k of elongated clusters, one shared or one for each.
    weights : array-like of shape (n_clusters,), default=None
        The probabilities w_k, positive with sum 1; None for equal ones.
    center_box : tuple of two floats, default=(-10.0, 10.0)
        Ends of the side of the cube in which centres are drawn.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the centres come from when they are drawn.

    Examples
    --------
    >>> from assay.datasets import Blobs
    >>> law = Blobs(centers=[[0.0, 0.0], [6.0, 0.0]], covariances=[[1.0, 0.8], [0.8, 1.0]])
    >>> X, y = law.sample(200, random_state=0)
    >>> float((law.bayes_rule(X) == y).mean())
    1.0
    >>> Blobs(4, 3, random_state=0).true_centers.shape
    (4, 3)
    """

    classes: Labels = field(init=False, repr=False)
    priors: Array = field(init=False, repr=False)
    centers: Array
    weights: Array

    def __init__(
        self,
        n_clusters: int | None = None,
        n_features: int | None = None,
        *,
        centers: ArrayLike | None = None,
        cluster_std: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        center_box: tuple[float, float] = (-10.0, 10.0),
        random_state: RandomState = None,
    ) -> None:
        name = self._name
        if centers is None:
            shape = (
                integer_between(name, "n_clusters", 3 if n_clusters is None else n_clusters, 1),
                integer_between(name, "n_features", 2 if n_features is None else n_features, 1),
            )
            low, high = of_shape(name, "center_box", center_box, (2,))
            if low >= high:
                refuse(name, "center_box", "two increasing numbers", center_box)
            points = read_only(generator(random_state).uniform(low, high, shape))
        else:
            points = finite_array(name, "centers", centers, 2)
            for axis, (label, count) in enumerate([("n_clusters", n_clusters), ("n_features", n_features)]):
                if count not in (None, points.shape[axis]):
                    refuse(name, label, f"that of 'centers' ({points.shape[axis]})", count)
        if covariances is not None and cluster_std is not None:
            refuse(name, "cluster_std", "None when 'covariances' is given", cluster_std)
        if covariances is None:
            covariances = _round_covariances(name, 1.0 if cluster_std is None else cluster_std, *points.shape)
        stack = covariance_stack(name, "covariances", covariances, *points.shape)
        shares = probabilities(name, "weights", weights, len(points))
        self._set(
            n_features=points.shape[1],
            means=points,
            centers=points,
            covariances=stack,
            priors=shares,
            weights=shares,
            classes=np.arange(len(points)),
            _factors=np.linalg.cholesky(stack),
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    @property
    def true_centers(self) -> Array:
        """The centres c_k, one a row."""
        return self.centers


def _round_covariances(owner: str, cluster_std: ArrayLike, n_clusters: int, n_features: int) -> Array:
    if np.ndim(cluster_std) == 0:
        number_at_least(owner, "cluster_std", cluster_std, 0, strictly=True)
        cluster_std = np.full(n_clusters, cluster_std)
    deviations = of_shape(owner, "cluster_std", cluster_std, (n_clusters,))
    if np.any(deviations <= 0.0):
        refuse(owner, "cluster_std", "greater than 0", deviations)
    stack: Array = deviations[:, np.newaxis, np.newaxis] ** 2 * np.eye(n_features)
    return stack
