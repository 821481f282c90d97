"""Trying one clusterer on a table: its main parameter chosen by silhouette, its groups measured."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from assay.cluster import (
    KMeans,
    Silhouette,
    calinski_harabasz,
    davies_bouldin,
    select_k,
    silhouette,
    within_inertia,
)
from assay.distances import distance_matrix
from assay.registry import Entry
from assay.report.errors import ReportError
from assay.report.tables.data import Data
from assay.report.tables.encoding.encoder import ClusterEncoder
from assay.report.trials.trial import noted

MAX_CLUSTERS = 8
SILHOUETTE_ROWS = 2000
STABILITY_ROWS = 4000
N_RESAMPLES = 5
DENSE_ROWS = 5
"""Least rows of a group that a density method is asked for first; the next sizes double it."""

MAX_DENSE_SIZES = 6


@dataclass(frozen=True)
class EncodedTable:
    """A table as numbers."""

    encoder: ClusterEncoder
    metric: str  # between rows: "euclidean", or "cityblock" where words are among the columns
    Z: NDArray  # columns as numbers, standardised or in Gower's way
    measured: NDArray  # rows that silhouettes are averaged over, the same for every method
    n_distinct: int  # different rows of Z

    @cached_property
    def distances(self) -> NDArray:
        """Those between the measured rows: every silhouette of every method is made of them."""
        return distance_matrix(self.Z[self.measured], metric=self.metric)


class PartitionMeasures(NamedTuple):
    """One partition in numbers; `nan` where a measure has no meaning."""

    n_groups: int
    n_noise: int
    silhouette: float
    standard_error: float
    explained: float
    calinski_harabasz: float
    davies_bouldin: float


@dataclass(frozen=True)
class Scan:
    """The partitions of a clusterer at each value of its main parameter."""

    parameter: str  # "n_clusters" or "min_cluster_size"
    values: tuple[int, ...]
    partitions: tuple[PartitionMeasures, ...]
    place: int  # of the greatest mean silhouette

    def curve(self, name: str) -> NDArray:
        """A measure by value."""
        return np.array([getattr(item, name) for item in self.partitions], dtype=float)

    def choice_of(self, name: str) -> int | None:
        """The number of groups that a measure speaks for; None where it speaks for none."""
        curve = self.curve(name) * (-1.0 if name == "davies_bouldin" else 1.0)
        if not np.isfinite(curve).any():
            return None
        return self.partitions[int(np.nanargmax(curve))].n_groups


class ChosenPartition(NamedTuple):
    """The best of a scan: the fitted model, its labels, and the silhouettes of the measured rows."""

    scan: Scan
    model: Any
    labels: NDArray
    scores: NDArray
    widths: Silhouette | None
    fit_seconds: float
    notes: tuple[str, ...]


def encode(data: Data, seed: int) -> EncodedTable:
    """The columns as numbers; refuses a table with fewer than three different rows."""
    encoder = ClusterEncoder(data.columns)
    Z = encoder.fit_transform(data.X)
    n_distinct = int((~pd.DataFrame(Z).duplicated()).sum())
    if n_distinct < 3:
        raise ReportError(f"{data.name} has {n_distinct} distinct rows; groups need at least 3.")
    measured = np.arange(len(Z))
    if len(Z) > SILHOUETTE_ROWS:
        measured = np.sort(np.random.default_rng(seed).choice(len(Z), SILHOUETTE_ROWS, replace=False))
    return EncodedTable(encoder, encoder.metric_, Z, measured, n_distinct)


def parameter_of(model: Any) -> str:
    """The main parameter of a clusterer: the number of groups, or the least size of one."""
    return "n_clusters" if "n_clusters" in model.get_params(deep=False) else "min_cluster_size"


def choose_partition(entry: Entry, encoded: EncodedTable, seed: int) -> ChosenPartition:
    """Fit a clusterer for every value of its main parameter and keep the greatest mean silhouette."""
    made = entry.make(seed)
    if "min_samples" in made.get_params(deep=False):
        # Few rows tell whether a row is dense: as many as a large group has would make its rim noise.
        made.set_params(min_samples=min(DENSE_ROWS, max(2, len(encoded.Z) // 4)))
    made.set_params(**by_metric(made, encoded.metric))
    load(made)
    parameter, n_rows = parameter_of(made), len(encoded.Z)
    if parameter == "n_clusters":
        # Without rows that repeat, as many groups as rows would say nothing.
        most = encoded.n_distinct if encoded.n_distinct < n_rows else n_rows - 1
        values = tuple(range(2, min(MAX_CLUSTERS, most) + 1))
    else:
        sizes = [max(DENSE_ROWS, n_rows // 200) * 2**power for power in range(MAX_DENSE_SIZES)]
        values = tuple(size for size in sizes if size <= n_rows // 4) or (max(2, n_rows // 4),)
    start = perf_counter()
    with noted() as notes:
        try:
            # A criterion of one pass over the rows: silhouettes compare pairs of them, and would leave out
            # those in no group, so that they are measured on a sample by `measure`.
            scanned = select_k(
                made, encoded.Z, values=values, parameter=parameter, criterion="calinski_harabasz"
            )
            models = list(scanned.models)
        except ValueError:  # no value gives two groups; what the fit itself refuses it refuses again
            values = values[:1]
            models = [clone(made).set_params(**{parameter: values[0]}).fit(encoded.Z)]
        labels = [np.asarray(model.labels_) for model in models]
        measured = [measure(encoded, own) for own in labels]
    partitions = tuple(measures for measures, _, _ in measured)
    # Of equal ones, the fewest groups: the first number of them, the last of the least sizes.
    sign = 1 if parameter == "min_cluster_size" else -1
    place = max(range(len(values)), key=lambda at: (partitions[at].silhouette, sign * at))
    seconds, model, (_, scores, widths) = perf_counter() - start, models[place], measured[place]
    moved = int(np.count_nonzero(np.asarray(model.predict(encoded.Z)) != labels[place]))
    if moved:
        notes.append(
            f"Asked about the rows of the table again, the model places {moved} of {len(encoded.Z)} "
            "elsewhere: a new row is placed by what lies near it, without finding the groups anew."
        )
    scan = Scan(parameter, values, partitions, place)
    return ChosenPartition(scan, model, labels[place], scores, widths, seconds, tuple(notes))


def one_group(encoded: EncodedTable, seed: int) -> ChosenPartition:
    """All rows in one group: silhouettes are not defined there, and count 0."""
    load(KMeans(random_state=seed))
    start = perf_counter()
    model = KMeans(1, random_state=seed).fit(encoded.Z)
    labels = np.asarray(model.labels_)
    measures, scores, widths = measure(encoded, labels)
    scan = Scan("n_clusters", (1,), (measures._replace(explained=0.0),), 0)
    return ChosenPartition(scan, model, labels, scores, widths, perf_counter() - start, ())


def by_metric(made: Any, metric: str) -> dict[str, Any]:
    """The parameters that make a clusterer see the distances of a table; those that know one have none."""
    known = made.get_params(deep=False)
    if metric == "euclidean" or "metric" not in known:
        return {}
    linkage = {"linkage": "average"} if known.get("linkage") == "ward" else {}  # which is Euclidean
    return {"metric": metric, **linkage}


def measure(encoded: EncodedTable, labels: NDArray) -> tuple[PartitionMeasures, NDArray, Silhouette | None]:
    """A partition in numbers, the silhouette of each measured row, and their details.

    A row in no group counts 0, as one that is alone in its group does; so does every row where there is only
    one group. The variance about the common mean of rows in no group stays unexplained.
    """
    Z, shown = encoded.Z, labels[encoded.measured]
    groups, noise = np.unique(labels[labels >= 0]), labels < 0
    scores, widths = np.zeros(len(shown)), None
    if len(np.unique(shown[shown >= 0])) > 1:
        widths = replace(silhouette(encoded.distances, shown, metric="precomputed"), metric=encoded.metric)
        scores = np.nan_to_num(widths.values)
    apart = ((Z - Z.mean(axis=0)) ** 2).sum(axis=1)
    within = (within_inertia(Z, labels) if len(groups) else 0.0) + float(apart[noise].sum())
    several = 1 < len(groups) < np.count_nonzero(~noise)
    item = PartitionMeasures(
        n_groups=len(groups),
        n_noise=int(noise.sum()),
        silhouette=float(scores.mean()),
        standard_error=float(scores.std(ddof=1) / np.sqrt(scores.size)),
        explained=1.0 - within / float(apart.sum()),
        calinski_harabasz=float(calinski_harabasz(Z, labels)) if several else float("nan"),
        davies_bouldin=float(davies_bouldin(Z, labels)) if several else float("nan"),
    )
    return item, scores, widths


def agreement(chosen: ChosenPartition, Z: NDArray, part: NDArray) -> float:
    """Adjusted Rand index of the groups with those that the same clusterer finds in some of the rows.

    `nan` where there is one group, or where the rows are too few for the groups.
    """
    n_groups = len(np.unique(chosen.labels[chosen.labels >= 0]))
    if n_groups < 2 or len(part) < 2 * n_groups:
        return float("nan")
    again = clone(chosen.model)
    if parameter_of(again) == "min_cluster_size":  # it is a share of the rows
        again.set_params(min_cluster_size=max(2, again.min_cluster_size * len(part) // len(Z)))
    try:
        with noted():
            again.fit(Z[part])
    except ValueError:  # a part may have fewer different rows than there are groups
        return float("nan")
    return float(adjusted_rand_score(chosen.labels[part], again.labels_))


def load(made: Any) -> None:
    """Group a few rows: the first fit of a process loads compiled loops, whose time is not the method's."""
    few = np.random.default_rng(0).normal(size=(24, 2))
    with suppress(ValueError), noted():
        clone(made).set_params(**{parameter_of(made): 2}).fit(few)
    measure(EncodedTable(ClusterEncoder(), "euclidean", few, np.arange(24), 24), np.arange(24) % 2)
