"""The picture of clusters against classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import PartitionComparison, compare_partitions
from assay.display.base import Display
from assay.display.cluster.clusterers import labels_at
from assay.display.flat_map import n_rows
from assay.display.style import colors

MAX_BESIDE = 6
"""Classes whose bars stand beside each other; more are stacked."""

MAX_NAMED = 12


@dataclass
class PartitionDisplay(Display):
    """The histogram of the true classes inside each cluster, stacked where there are many classes.

    `from_estimator(model, X, y)` compares the clusters that a model gives rows with their classes.

    Parameters
    ----------
    contingency : array of int of shape (n_classes, n_clusters)
        Rows of each class in each cluster.
    classes, clusters : arrays
        The labels.
    matched_accuracy, adjusted_rand : float

    Examples
    --------
    >>> from assay.cluster import compare_partitions
    >>> from assay.display import PartitionDisplay
    >>> PartitionDisplay.from_comparison(compare_partitions([0, 0, 1, 1], [1, 1, 0, 1])).contingency
    array([[0, 2],
           [1, 1]])
    """

    needs: ClassVar[tuple[str, ...]] = ("X", "y")
    contingency: NDArray
    classes: NDArray
    clusters: NDArray
    matched_accuracy: float
    adjusted_rand: float

    @classmethod
    def from_comparison(cls, comparison: PartitionComparison, *, ax: Any = None) -> Self:
        """Read the data of the picture off a comparison, and draw it.

        Parameters
        ----------
        comparison : PartitionComparison
            Result of `assay.cluster.compare_partitions`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : PartitionDisplay
        """
        return cls._read(comparison).plot(ax=ax)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        labels = labels_at(estimator, X, np.arange(n_rows(X)))
        return cls._read(compare_partitions(np.asarray(y), labels))

    @classmethod
    def _read(cls, comparison: PartitionComparison) -> Self:
        return cls(
            comparison.contingency,
            comparison.classes,
            comparison.clusters,
            comparison.matched_accuracy,
            comparison.adjusted_rand,
        )

    def _draw(self, ax: Any) -> None:
        n_classes, n_clusters = self.contingency.shape
        stacked = n_classes > MAX_BESIDE
        places, bottom = np.arange(n_clusters), np.zeros(n_clusters)
        width = 0.8 if stacked else 0.8 / n_classes
        for order, (name, color) in enumerate(zip(self.classes, colors(n_classes), strict=True)):
            middle = places if stacked else places - 0.4 + (order + 0.5) * width
            counts = self.contingency[order]
            ax.bar(middle, counts, 0.92 * width, bottom=bottom, color=color, label=f"class {name}")
            bottom = bottom + counts if stacked else bottom
        ax.set_xticks(np.arange(n_clusters), [str(name) for name in self.clusters])
        ax.grid(visible=False, axis="x")
        if n_classes <= MAX_NAMED:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        ax.set(
            xlabel="cluster",
            ylabel="rows",
            title=f"classes in each cluster: matched accuracy {self.matched_accuracy:.3f}, "
            f"adjusted Rand {self.adjusted_rand:.3f}",
        )


def plot_partition(comparison: PartitionComparison, *, ax: Any = None) -> Any:
    """Draw the histogram of the true classes inside each cluster, stacked where there are many classes.

    Parameters
    ----------
    comparison : PartitionComparison
        Result of `assay.cluster.compare_partitions`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.cluster import compare_partitions
    >>> from assay.display import plot_partition
    >>> plot_partition(compare_partitions([0, 0, 1, 1], [1, 1, 0, 1])).get_ylabel()
    'rows'
    """
    return PartitionDisplay.from_comparison(comparison, ax=ax).ax_
