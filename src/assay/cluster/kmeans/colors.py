"""Images in few colours: k-means as a vector quantiser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster.kmeans.estimator import KMeans
from assay.randomness import RandomState


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
        Bits a pixel: log₂ n_colors.
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
