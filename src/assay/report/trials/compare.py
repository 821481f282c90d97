"""Comparing the methods that can answer the question a table asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.report.errors import ReportError
from assay.report.tables.data import Data
from assay.report.trials.comparison import Comparison
from assay.report.trials.engine import Progress


def compare(
    data: Data,
    *,
    folds: int = 5,
    repeats: int | None = None,
    seed: int = 0,
    methods: Sequence[str] = (),
    exclude: Sequence[str] = (),
    budget: float | None = None,
    jobs: int | None = None,
    metric: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Measure every candidate for the question that a table asks.

    Predictions: repeated cross-validation on the same folds for all, with equal shares of every class;
    whatever a candidate learns or chooses (medians, levels, scales, penalties) it learns on the training
    rows of each fold alone. Clustering: every clusterer on standardised columns, its number of groups (2 to
    8) or least size of a group chosen by the mean silhouette, by which they are ranked.

    Parameters
    ----------
    data : Data
        The table, from `choose_data`, which has chosen the task.
    folds : int, default=5
        Number of folds.
    repeats : int, optional
        How often the cross-validation is repeated; three times up to 1000 rows, else once, by default.
    seed : int, default=0
        Seed of the folds, of samples and of restarts.
    methods : sequence of str
        Names of the methods to try; by default all that declare themselves fit for the table.
    exclude : sequence of str
        Names of methods not to try.
    budget : float, optional
        Seconds after which no fit is begun, the simple and quick methods first; those that were not finished
        are left out, and said.
    jobs : int, optional
        Number of fits at the same time, with the same results; by default one, or on a large table all cores.
    metric : str, optional
        What predictions are judged and recommended by: "r2" (the default), "rmse", "mae" or "pinball:Q" for a
        regression; "accuracy" (the default), "balanced-accuracy", "f1", "auc", "log-loss" or "brier" for
        classes; "cost:COLUMN" for what an error in each row costs. Named here, it also chooses the parameters
        of every method, inside the rows that it learns from; by default its own loss does.
    progress : callable, optional
        Told an `Event` for every fit that begins and every method that ends.

    Returns
    -------
    comparison : Comparison
        Candidates best first, each with its fitted model and certificates.

    Examples
    --------
    >>> from assay.report import choose_data, compare, read_table
    >>> compare(choose_data(read_table("us_arrests"))).headline
    'No clear groups in us_arrests: the best split, into 2, has silhouette 0.41'
    """
    options: dict[str, Any] = {"seed": seed, "methods": methods, "exclude": exclude, "budget": budget}
    options["progress"] = progress or (lambda event: None)  # folds, repeats, jobs: for predictions alone
    if data.task == "clustering":
        from assay.report.trials.clusters.comparison import compare_clusterings

        if metric is not None:
            raise ReportError("Clusterings are judged by their silhouette; leave out --metric.")
        return compare_clusterings(data, **options)
    from assay.report.trials.supervised import compare_predictions

    return compare_predictions(data, folds=folds, repeats=repeats, jobs=jobs, metric=metric, **options)
