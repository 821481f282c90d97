"""How clear the groups of a table without groups seem: what the silhouettes of a real table must exceed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from assay.cluster import KMeans, silhouette
from assay.distances import distance_matrix
from assay.report.tables.encoding.encoder import ClusterEncoder
from assay.report.trials.clusters.trial import MAX_CLUSTERS, EncodedTable
from assay.report.trials.trial import noted

ROWS = 500
N_TABLES = 19
"""Tables without groups; a split that is better than those of all is so by chance in one of twenty."""

MOST_NUMBERS = 2_000_000
"""Numbers of a table up to which its columns are drawn together, and k-means begins from several starts; a
larger table without words is not judged."""

MODES = 32
"""Places that are tried for the hump of a column."""


class Chance(NamedTuple):
    """The best mean silhouettes of k-means on a table, and on tables without groups that resemble it."""

    own: float
    without_groups: float

    @property
    def explains(self) -> bool:
        """Whether tables without groups are split as well."""
        return self.own <= self.without_groups


def chance_of(encoded: EncodedTable, seed: int) -> Chance | None:
    """What k-means makes of a table, beside tables without groups; None where the table is too large.

    Such a table is one cloud: each column of numbers has the law of one hump that is nearest to its values,
    so that it keeps its skew and its tails, and columns go together as those of a normal law with the same
    correlations of ranks. Words are shuffled, so that none goes with anything; in a very large table all
    columns are. K-means judges all tables, this one too: other methods would not be as good on each.
    """
    Z = encoded.Z[encoded.measured[:: -(-len(encoded.measured) // ROWS)]]
    if Z.size > MOST_NUMBERS and encoded.metric == "euclidean":
        return None
    cloud, random = Cloud(Z, encoded.encoder), np.random.default_rng(seed)
    drawn = max(_best_silhouette(cloud.draw(random), encoded.metric, seed) for _ in range(N_TABLES))
    return Chance(_best_silhouette(Z, encoded.metric, seed), drawn)


class Cloud:
    """The law of tables without groups that resemble a table.

    Parameters
    ----------
    Z : array of shape (n_rows, n_features)
    encoder : ClusterEncoder
        Tells which features are one column of numbers.
    """

    def __init__(self, Z: NDArray, encoder: ClusterEncoder) -> None:
        ends = np.cumsum([len(code.names(column)) for column, code in encoder_parts(encoder)])
        blocks = [slice(*pair) for pair in zip([0, *ends[:-1]], ends, strict=True)]
        self.Z = Z
        together = Z.size <= MOST_NUMBERS
        varied = [together and part.stop - part.start == 1 and np.ptp(Z[:, part]) > 0 for part in blocks]
        self.blocks = [part for part, number in zip(blocks, varied, strict=True) if not number]
        self.numbers = [part.start for part, number in zip(blocks, varied, strict=True) if number]
        self.humps = [Hump(Z[:, place]) for place in self.numbers]
        ranks = rankdata(Z[:, self.numbers], axis=0) if self.numbers else np.empty((len(Z), 0))
        scores = ndtri((ranks - 0.5) / len(Z))
        self.scores = (scores - scores.mean(axis=0)) / scores.std(axis=0)

    def draw(self, random: np.random.Generator) -> NDArray:
        """A table of as many rows."""
        n_rows, drawn = len(self.Z), np.empty_like(self.Z)
        for part in self.blocks:
            drawn[:, part] = self.Z[random.permutation(n_rows), part]
        # Sums of all rows with normal weights are normal, with the correlations of the rows.
        shares = ndtr(random.normal(size=(n_rows, n_rows)) @ self.scores / np.sqrt(n_rows))
        for place, hump, share in zip(self.numbers, self.humps, shares.T, strict=True):
            drawn[:, place] = hump(share)
        return drawn


class Hump:
    """Quantiles of the law of one hump that is nearest to some values, as in the dip test of Hartigan.

    Its distribution function is convex before the hump and concave after it. Values that repeat on a grid, as
    whole numbers do, are drawn on that grid.

    Examples
    --------
    >>> two_groups = np.concatenate([np.linspace(0.0, 1.0, 50), np.linspace(9.0, 10.0, 50)])
    >>> quarter, middle, three_quarters = Hump(two_groups)(np.array([0.25, 0.5, 0.75]))
    >>> bool(middle - quarter > 2.0 or three_quarters - middle > 2.0)  # no gap is left
    True
    """

    def __init__(self, values: NDArray) -> None:
        self.values, counts = np.unique(values, return_counts=True)
        below = (np.cumsum(counts) - counts / 2) / len(values)
        self.step = _grid(self.values) if len(self.values) <= len(values) / 2 else 0.0
        if self.step:  # every value stands for its cell of the grid
            places = np.round((self.values - self.values[0]) / self.step)
            edges = np.union1d(places, places + 1)
            below = np.append(0.0, np.cumsum(counts))[np.searchsorted(places, edges)] / len(values)
            self.values = self.values[0] + (edges - 0.5) * self.step
        steps, rises = np.diff(self.values), np.diff(below)
        modes = np.unique(np.linspace(0, len(steps), MODES).astype(int))
        tried = [_with_mode(steps, rises, mode) for mode in modes]
        # Nearest by the greatest difference of the distribution functions, which the dip is too.
        grown = min(tried, key=lambda rise: float(np.abs(np.cumsum(rise - rises)).max()))
        self.shares = np.concatenate([[0.0], np.cumsum(grown)]) / grown.sum()

    def __call__(self, shares: NDArray) -> NDArray:
        """The values below which those shares lie."""
        drawn = np.interp(shares, self.shares, self.values)
        if not self.step:
            return drawn
        cells = np.floor((drawn - self.values[0]) / self.step)
        last = round((self.values[-1] - self.values[0]) / self.step) - 1
        return self.values[0] + (np.minimum(cells, last) + 0.5) * self.step


def _with_mode(steps: NDArray, rises: NDArray, mode: int) -> NDArray:
    """Rises of the distribution function that is convex up to a place, and concave after it."""
    slopes, grown = rises / steps, np.empty_like(rises)
    for part, rising in ((slice(None, mode), True), (slice(mode, None), False)):
        if len(slopes[part]):
            fitted = isotonic_regression(slopes[part], weights=steps[part], increasing=rising)
            grown[part] = fitted.x * steps[part]
    return grown


def _grid(values: NDArray) -> float:
    """The step of the grid that sorted values lie on; 0 where they lie on none."""
    step = float(np.diff(values).min())
    places = (values - values[0]) / step
    return step if np.allclose(places, np.round(places), rtol=0, atol=1e-6) else 0.0


def _best_silhouette(Z: NDArray, metric: str, seed: int) -> float:
    """The greatest mean silhouette of k-means over the numbers of groups that are tried."""
    scores, distances = [0.0], distance_matrix(Z, metric=metric)
    n_starts = 3 if Z.size <= MOST_NUMBERS else 1
    with noted():
        for k in range(2, min(MAX_CLUSTERS, len(Z) - 1) + 1):
            with suppress(ValueError):  # fewer different rows than groups
                labels = KMeans(k, n_init=n_starts, random_state=seed).fit(Z).labels_
                scores.append(float(silhouette(distances, labels, metric="precomputed").mean))
    return max(scores)


def encoder_parts(encoder: ClusterEncoder) -> list[tuple[Any, Any]]:
    """The columns that an encoder has learnt, each with what it learnt of it."""
    used = [column for column in encoder.columns if column.learnable]
    return list(zip(used, encoder.codes_, strict=True))
