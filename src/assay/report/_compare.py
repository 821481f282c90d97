"""Comparing the methods that can answer the question a table asks."""

from __future__ import annotations

from assay.report._comparison import Comparison, Progress
from assay.report._tables import Data
from assay.report._task import Task


def compare(
    data: Data, task: Task, *, folds: int = 5, seed: int = 0, progress: Progress | None = None
) -> Comparison:
    """Measure every candidate for a task on a table.

    Regression: K-fold cross-validation on the same folds for all; whatever a candidate chooses (penalty,
    width of a kernel, scale of the columns) it chooses on the training rows of each fold alone.
    Clustering: k-means for 2 to 8 groups on standardised columns, ranked by silhouette.

    Parameters
    ----------
    data : Data
        The table, from `select` or `choose_data`.
    task : {"regression", "clustering"}
        The question.
    folds : int, default=5
        Number of folds of a regression.
    seed : int, default=0
        Seed of the folds, of samples and of restarts.
    progress : callable, optional
        Called with the steps done, the steps there are, and what is under way.

    Returns
    -------
    comparison : Comparison
        Candidates best first, each with its fitted model and certificates.

    Examples
    --------
    >>> from assay.report import choose_data, compare, read_table
    >>> task, data = choose_data(read_table("us_arrests"))
    >>> comparison = compare(data, task)
    >>> comparison.best.name
    'KMeans, 2 clusters'
    """
    report = progress or (lambda done, total, doing: None)
    if task == "clustering":
        from assay.report._clustering import compare_clusterings

        return compare_clusterings(data, seed=seed, progress=report)
    from assay.report._regression import compare_regressions

    return compare_regressions(data, folds=folds, seed=seed, progress=report)
