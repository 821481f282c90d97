"""K-means at work: images in few colours, and how much the initial centres matter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from assay import parameters
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.estimator import KMeans
from assay.randomness import RandomState, spawn


@dataclass(frozen=True, slots=True)
class QuantizedImage:
    """An image in few colours.

    Parameters
    ----------
    image : array of shape (height, width, n_channels)
        Every pixel in the nearest colour of the palette.
    palette : array of shape (n_colors, n_channels)
        The colours.
    distortion : float
        Mean squared distance of a pixel to its colour.
    bits : float
        Bits per pixel: log₂ n_colors.
    """

    image: NDArray
    palette: NDArray
    distortion: float
    bits: float


def quantize_colors(
    image: Any, n_colors: int, *, n_init: int = 1, random_state: RandomState = None
) -> QuantizedImage:
    """Reduce an image to `n_colors` colours that k-means chooses: pixels are rows, colours are centres.

    Parameters
    ----------
    image : array-like of shape (height, width, n_channels)
        Colours as numbers; whole numbers 0 … 255 are brought to [0, 1].
    n_colors : int
        Number of colours.
    n_init : int, default=1
        Restarts of k-means.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial colours come from.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import quantize_colors
    >>> ramp = np.repeat(np.linspace(0.0, 1.0, 64).reshape(1, -1, 1), 3, axis=2)
    >>> small = quantize_colors(ramp, 4, random_state=0)
    >>> small.palette.shape, small.bits
    ((4, 3), 2.0)

    References
    ----------
    Sangnier §2.2 (vector quantisation); Lloyd (1957).
    """
    pixels = np.asarray(image)
    if pixels.ndim != 3:
        raise ValueError(
            "The 'image' parameter of quantize_colors must be an array of shape (height, width, n_channels). "
            f"Got shape {pixels.shape} instead."
        )
    scale = 255.0 if pixels.dtype.kind in "iu" else 1.0
    rows = pixels.reshape(-1, pixels.shape[2]).astype(np.float64) / scale
    model = KMeans(n_colors, n_init=n_init, random_state=random_state).fit(rows)
    return QuantizedImage(
        model.quantize(rows).reshape(pixels.shape),
        model.cluster_centers_,
        model.inertia_ / len(rows),
        float(np.log2(n_colors)),
    )


@dataclass(frozen=True, slots=True)
class InitComparison:
    """Fits of k-means from many seeds, one line for each initialisation.

    Parameters
    ----------
    inits : tuple of str
        The initialisations.
    inertias : array of shape (n_inits, n_seeds)
        Inertia that each fit ended at.
    n_iter : array of shape (n_inits, n_seeds)
        Iterations that each fit took.
    """

    inits: tuple[str, ...]
    inertias: NDArray
    n_iter: NDArray

    @property
    def excess(self) -> NDArray:
        """Inertias over the smallest of all fits, minus 1."""
        least = self.inertias.min()
        return self.inertias / least - 1.0 if least > 0.0 else np.zeros_like(self.inertias)

    def success(self, within: float = 1e-3) -> NDArray:
        """Share of the seeds, for each initialisation, that end this near to the smallest inertia of all."""
        return np.asarray((self.excess <= within).mean(axis=1))


def compare_inits(
    X: Any,
    n_clusters: int,
    *,
    inits: Sequence[str] = ("random", "k-means++", "farthest"),
    n_seeds: int = 50,
    random_state: RandomState = None,
    sample_weight: Any = None,
) -> InitComparison:
    """Fit k-means once from each seed and each initialisation; compare inertias and iterations.

    Parameters
    ----------
    X : array, CSR matrix or frame
        The rows.
    n_clusters : int
        Number of clusters.
    inits : sequence of str
        Names that the `init` of `KMeans` knows.
    n_seeds : int, default=50
        Number of fits of each.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the seeds come from.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> from assay.cluster import compare_inits
    >>> from assay.datasets import Blobs
    >>> X, _ = Blobs(9, 2, random_state=1).sample(300, random_state=1)
    >>> fits = compare_inits(X, 9, n_seeds=10, random_state=0)
    >>> fits.inertias.shape
    (3, 10)
    >>> bool(fits.success()[1] >= fits.success()[0])        # k-means++ against random rows
    True

    References
    ----------
    Peyré, clustering (initialisations compared); Rudi & Şimşekli §7.1.3; Sangnier §2.2.
    """
    parameters.require("compare_inits", parameters.integer(at_least=1), n_seeds=n_seeds)
    unknown = [name for name in inits if name not in _init.INITS]
    if unknown or not len(inits):
        known = ", ".join(repr(name) for name in _init.INITS)
        raise parameters.refusal("compare_inits", "inits", f"some of {known}", inits)
    seeds = [child.integers(2**32) for child in spawn(random_state, int(n_seeds))]
    shape = len(inits), len(seeds)
    starts: list[Any] = [{"init": init, "random_state": int(seed)} for init in inits for seed in seeds]
    models = (KMeans(n_clusters, n_init=1, **start) for start in starts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that needs all iterations counts
        fits = [(model.fit(X, sample_weight=sample_weight).inertia_, model.n_iter_) for model in models]
    inertias, n_iter = (np.array(values).reshape(shape) for values in zip(*fits, strict=True))
    return InitComparison(tuple(inits), inertias, n_iter)
