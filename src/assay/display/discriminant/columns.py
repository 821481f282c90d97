"""Pictures of rules from laws: the law of a column in each class, shares of classes, costs of decisions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, poisson

from assay.discriminant import (
    BayesClassifier,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    MixedDiscriminant,
    MultinomialNB,
    NaiveBayes,
    PlugInClassifier,
    RandomClassifier,
)
from assay.discriminant.naive_bayes.base import IndependentColumns
from assay.discriminant.naive_bayes.binned_columns import CategoricalLaws, HistogramLaws
from assay.discriminant.naive_bayes.columns import BernoulliLaws, PoissonLaws
from assay.discriminant.naive_bayes.gaussian_columns import GaussianLaws
from assay.discriminant.naive_bayes.kernel_columns import KernelLaws
from assay.discriminant.naive_bayes.words import MultinomialLaws
from assay.display.base import Display
from assay.display.discriminant.frontier import FrontierDisplay
from assay.display.discriminant.pictures import SCORED
from assay.display.linear.coefficients import draw_tinted
from assay.display.plane import column_names, plain, shortened
from assay.display.registry import Default, declare
from assay.display.style import FAINT_INK, caption, colors

N_POINTS, MOST_BARS, REACH = 301, 24, 3.5


class ColumnLawsDisplay(Display):
    """The law of one column in each class: curves of densities, or bars of probabilities.

    Parameters
    ----------
    values : array of shape (n_values,)
        Where the laws are shown.
    heights : array of shape (n_classes, n_values)
        Densities, or probabilities of levels and counts.
    classes : list of str
    name : str
        The column, or the words of a bag.
    ticks : list of str or None
        Names of the values; None for the numbers of a density.
    title : str, default=""
        Above the picture; the law of the column by default.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import GaussianNB
    >>> from assay.display import ColumnLawsDisplay
    >>> X, y = iris(return_X_y=True)
    >>> ColumnLawsDisplay.from_estimator(GaussianNB().fit(X, y), column=2).heights.shape
    (3, 301)
    """

    values: NDArray
    heights: NDArray
    classes: list[str]
    name: str
    ticks: list[str] | None
    title: str = ""

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, column: Any = None, feature_names: Any = None
    ) -> Self:
        names = column_names(estimator, X, feature_names, estimator.n_features_in_)
        place = _place(estimator, column, names)
        if isinstance(estimator, MixedDiscriminant):
            law, j = _mixed_column(estimator, place)
        else:
            law, j = _own_column(estimator, place)
        values, heights, ticks = _shown(law, j)
        name = names[place]
        title = f"law of {shortened(plain(name), 24)} in each class"
        if column is None and len(names) > 1:
            title += "\n(the classes differ most in it)"
        if isinstance(law, MultinomialLaws):
            ticks, name, title = [names[int(word)] for word in values], "word", "words of each class"
            if len(values) < len(names):
                title += f"\n(the {len(values)} in which they differ most)"
            values = np.arange(len(values))
        elif isinstance(law, CategoricalLaws):
            levels = getattr(estimator, "levels_", {}).get(place)
            ticks = ticks if not levels else [str(levels[int(value)]) for value in values]
        classes = [plain(str(label)) for label in estimator.classes_]
        return cls(values, heights, classes, plain(name), ticks, title)

    def _draw(self, ax: Any) -> None:
        palette = colors(len(self.classes))
        if self.ticks is None:
            for heights, label, color in zip(self.heights, self.classes, palette, strict=True):
                ax.plot(self.values, heights, color=color, label=shortened(label, 18))
                ax.fill_between(self.values, heights, color=color, alpha=0.12, linewidth=0)
        else:
            width = 0.8 / len(self.classes)
            places = np.arange(len(self.values))
            for k, (heights, label) in enumerate(zip(self.heights, self.classes, strict=True)):
                offset = (k - (len(self.classes) - 1) / 2) * width
                ax.bar(places + offset, heights, 0.92 * width, color=palette[k], label=shortened(label, 18))
            turned = {"rotation": 45, "ha": "right"} if max(map(len, self.ticks)) > 4 else {}
            ax.set_xticks(places, [shortened(tick, 14) for tick in self.ticks], **turned)
        ax.set_ylim(bottom=0)
        if self.ticks is None:
            ax.legend(title="class")
        else:  # bars leave no room inside
            ax.legend(title="class", loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ylabel = "density" if self.ticks is None else "probability"
        title = self.title or f"law of {shortened(self.name, 30)} in each class"
        caption(ax, shortened(self.name, 40), ylabel, title)


def _place(estimator: Any, column: Any, names: list[str]) -> int:
    """The place of a column, by name or place; by default that which tells the classes best apart."""
    if column is None:
        return _most_telling(estimator)
    place = names.index(column) if column in names else column
    if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
        raise ValueError(
            f"The 'column' must be a name or a place below {len(names)}. Got {column!r} instead."
        )
    return int(place)


def _most_telling(estimator: Any) -> int:
    """The column whose laws are farthest apart: half the L1 distance, largest of all pairs of classes."""
    best, most = 0, -1.0
    mixed = isinstance(estimator, MixedDiscriminant)
    for place in range(min(estimator.n_features_in_, 200)):
        law, j = (_mixed_column if mixed else _own_column)(estimator, place)
        values, heights, ticks = _shown(law, j)
        step = 1.0 if ticks is not None else values[1] - values[0]
        apart = float((heights.max(axis=0) - heights.min(axis=0)).sum() * step)
        if apart > most * (1 + 1e-9):
            best, most = place, apart
    return best


def _own_column(estimator: IndependentColumns, place: int) -> tuple[Any, int]:
    laws = estimator._laws()
    for columns, part in zip(laws.columns, laws.parts, strict=True):
        if place in columns:
            return part, int(np.flatnonzero(columns == place)[0])
    raise ValueError(f"There is no column {place}.")


def _mixed_column(estimator: MixedDiscriminant, place: int) -> tuple[Any, int]:
    if place in estimator.binary_:
        return BernoulliLaws(np.log(estimator.probabilities_)), estimator.binary_.index(place)
    gaussian = estimator._columns[0]
    variances = np.diagonal(estimator.covariance_, axis1=1, axis2=2)
    return GaussianLaws(estimator.means_, variances), int(np.flatnonzero(gaussian == place)[0])


def _shown(law: Any, j: int) -> tuple[NDArray, NDArray, list[str] | None]:
    """Values, heights of the classes there, and names of the values where they are levels."""
    if isinstance(law, GaussianLaws):
        means, deviations = law.means[:, j], np.sqrt(law.variances[:, j])
        low, high = (means - REACH * deviations).min(), (means + REACH * deviations).max()
        grid = np.linspace(low, high, N_POINTS)
        return grid, norm.pdf(grid, means[:, None], deviations[:, None]), None
    if isinstance(law, HistogramLaws):
        edges = law.edges[j]
        grid = np.repeat(edges, 2)[1:-1]
        return grid, np.repeat(np.exp(law.log_heights[:, j]), 2, axis=1), None
    if isinstance(law, KernelLaws):
        return law.nodes[j], law.heights[:, j], None
    if isinstance(law, PoissonLaws):
        rates = law.rates[:, j]
        counts = np.arange(int(poisson.ppf(0.999, rates.max())) + 1)
        counts = counts[:: max(1, len(counts) // MOST_BARS)]
        return counts, np.asarray(poisson.pmf(counts, rates[:, None])), [str(count) for count in counts]
    if isinstance(law, BernoulliLaws):
        ones = np.exp(law.log_ones[:, j])
        return np.arange(2), np.column_stack([1 - ones, ones]), ["0", "1"]
    if isinstance(law, MultinomialLaws):
        shares = np.exp(law.log_probabilities)
        words = np.sort(np.argsort(-np.ptp(shares, axis=0), kind="stable")[:MOST_BARS])
        return words, shares[:, words], [str(word) for word in words]
    shares = np.exp(law.log_probabilities[j])
    levels = np.sort(np.argsort(-shares.max(axis=0), kind="stable")[:MOST_BARS])
    return levels, shares[:, levels], [str(level) for level in levels]


class ClassSharesDisplay(Display):
    """Probabilities of the classes before any row is seen.

    Parameters
    ----------
    shares : array of shape (n_classes,)
    classes : list of str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import GenerativeClassifier
    >>> from assay.display import ClassSharesDisplay
    >>> X, y = iris(return_X_y=True)
    >>> ClassSharesDisplay.from_estimator(GenerativeClassifier().fit(X, y)).shares.round(2)
    array([0.33, 0.33, 0.33])
    """

    shares: NDArray
    classes: list[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        shares = estimator.priors_ if hasattr(estimator, "priors_") else estimator.class_prior_
        return cls(np.asarray(shares, dtype=float), [plain(str(label)) for label in estimator.classes_])

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.classes))
        ax.barh(places, self.shares, 0.7, color=colors(len(places)))
        ax.set_yticks(places, [shortened(label, 18) for label in self.classes])
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        caption(ax, "probability", "class", "probabilities of the classes")


class DecisionCostsDisplay(Display):
    """Costs of decisions: of two classes over the probability of the second, else as a table.

    Parameters
    ----------
    costs : array of shape (n_classes, n_classes)
        A row per true class, a column per decision.
    classes : list of str

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import PlugInClassifier
    >>> from assay.display import DecisionCostsDisplay
    >>> X, y = two_gaussians_law().sample(100, random_state=0)
    >>> DecisionCostsDisplay.from_estimator(PlugInClassifier(threshold=0.2).fit(X, y)).threshold
    0.2
    """

    costs: NDArray
    classes: list[str]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(estimator._cost_table(), [plain(str(label)) for label in estimator.classes_])

    @property
    def threshold(self) -> float | None:
        """The probability of the second of two classes at which both decisions cost the same."""
        if len(self.classes) != 2:
            return None
        false, missed = self.costs[0, 1] - self.costs[0, 0], self.costs[1, 0] - self.costs[1, 1]
        return float(false / (false + missed)) if false + missed else None

    def _draw(self, ax: Any) -> None:
        if len(self.classes) == 2:
            share = np.array([0.0, 1.0])
            for k, color in enumerate(colors(2)):
                cost = (1 - share) * self.costs[0, k] + share * self.costs[1, k]
                ax.plot(share, cost, color=color, label=f"say {shortened(self.classes[k], 18)}")
            if self.threshold is not None and 0 <= self.threshold <= 1:
                ax.axvline(
                    self.threshold, color=FAINT_INK, linestyle="--", label=f"threshold {self.threshold:.3g}"
                )
            ax.legend()
            second = shortened(self.classes[1], 18)
            caption(ax, f"probability of class {second}", "expected cost", "the cheaper decision is taken")
            return
        largest = float(np.abs(self.costs).max()) or 1.0
        draw_tinted(self.costs / largest, ax)
        places = np.arange(len(self.classes))
        if len(places) <= 12:
            for (row, column), cost in np.ndenumerate(self.costs):
                ax.text(column, row, f"{cost:.3g}", ha="center", va="center")
        names = [shortened(label, 12) for label in self.classes]
        ax.set_xticks(places, names)
        ax.set_yticks(places, names)
        caption(ax, "decision", "true class", "costs of decisions")


declare(
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MixedDiscriminant,
    MultinomialNB,
    NaiveBayes,
    default=Default("columns", "columns"),
    columns=ColumnLawsDisplay,
    frontier=FrontierDisplay,
    **SCORED,
)
declare(
    GenerativeClassifier,
    default=Default("confusion", "shares", target=True),
    shares=ClassSharesDisplay,
    frontier=FrontierDisplay,
    **SCORED,
)
declare(
    BayesClassifier,
    PlugInClassifier,
    RandomClassifier,
    default=Default("confusion", "costs", target=True),
    costs=DecisionCostsDisplay,
    frontier=FrontierDisplay,
    **SCORED,
)
