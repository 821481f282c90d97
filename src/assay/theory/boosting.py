"""What boosting stands on: Rademacher complexity, margin bounds, and where the error comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from assay.parameters import integer, real, refusal, require
from assay.randomness import RandomState, generator
from assay.trees import AdaBoostClassifier
from assay.trees.stagewise.stumps import best_stump, sort_rows
from assay.trees.stagewise.votes.risk import MarginBound as MarginBound
from assay.trees.stagewise.votes.risk import stump_bound

Array = NDArray[np.float64]


class KernelBall(NamedTuple):
    """Functions of an RKHS of norm at most a radius, on rows with this Gram matrix.

    Attributes
    ----------
    gram : array of shape (n_rows, n_rows)
    radius : float
    """

    gram: Any
    radius: float = 1.0


class RademacherComplexity(NamedTuple):
    """R_n = E sup_f (1/n)|Σ_i σ_i f(x_i)| over random signs σ.

    Attributes
    ----------
    value, standard_error : float
        Mean over the draws, each of which is an exact supremum, and its Monte Carlo error.
    bound : float
        An upper bound without draws: √(2 log N/n) for N sign vectors, (c/n) √(tr K) for a ball.
    draws : array of shape (n_draws,)
    """

    value: float
    standard_error: float
    bound: float
    draws: Array


def rademacher_complexity(
    functions: Any, X: ArrayLike | None = None, *, n_draws: int = 200, random_state: RandomState = None
) -> RademacherComplexity:
    """Rademacher complexity of a class of functions on given rows.

    Parameters
    ----------
    functions : "stumps", array of shape (n_functions, n_rows) or KernelBall
        Decision stumps with both polarities, whose supremum is an exact stump fitted to the signs; a finite
        class, by what each function says about the rows; or a ball of an RKHS, with the supremum
        (c/n) √(σᵀKσ).
    X : array-like of shape (n_rows, n_columns), optional
        The rows, for stumps.
    n_draws : int, default=200
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import rademacher_complexity
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> measured = rademacher_complexity("stumps", X, random_state=0)
    >>> round(measured.value, 2), round(measured.bound, 2)
    (0.15, 0.26)

    References
    ----------
    Sangnier §1.3.1, definition 1.3.1.
    """
    require("rademacher_complexity", integer(at_least=2), n_draws=n_draws)
    rng = generator(random_state)
    if isinstance(functions, str):
        if functions != "stumps" or X is None:
            raise refusal(
                "rademacher_complexity", "functions", "'stumps' with X, an array or a KernelBall", functions
            )
        rows = np.ascontiguousarray(X, dtype=np.float64)
        n, bound = len(rows), stump_bound(*rows.shape)
        table = sort_rows(rows, np.zeros(n, dtype=np.int64), 2, np.ones(n))
        units = np.ones(n, dtype=np.int64)

        def supremum(signs: Array) -> float:
            stump, left = best_stump(table._replace(labels=(signs > 0).astype(np.int64)), units)
            said = 2.0 * np.where(left, stump.left, stump.right) - 1.0
            return abs(float(signs @ said)) / n
    elif isinstance(functions, KernelBall):
        require("rademacher_complexity", real(at_least=0.0), radius=functions.radius)
        gram = np.asarray(functions.gram, dtype=np.float64)
        n = len(gram)
        bound = functions.radius / n * float(np.sqrt(np.trace(gram)))

        def supremum(signs: Array) -> float:
            return float(functions.radius / n * np.sqrt(max(float(signs @ gram @ signs), 0.0)))
    else:
        values = np.atleast_2d(np.asarray(functions, dtype=np.float64))
        n = values.shape[1]
        size = float(np.sqrt((values**2).sum(axis=1).max() / n))
        bound = size * float(np.sqrt(2.0 * np.log(2.0 * len(values)) / n))  # each function and its negative

        def supremum(signs: Array) -> float:
            return float(np.abs(values @ signs).max()) / n

    draws = np.array([supremum(rng.choice([-1.0, 1.0], n)) for _ in range(n_draws)])
    return RademacherComplexity(
        float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(n_draws)), bound, draws
    )


def margin_bound(
    model: AdaBoostClassifier,
    X: Any,
    y: Any,
    theta: Any,
    *,
    delta: float = 0.05,
    complexity: float | None = None,
) -> MarginBound:
    """With probability 1 − δ the risk of a boosted vote is at most this.

    Parameters
    ----------
    model : AdaBoostClassifier
        Fitted, of two classes.
    X, y
        The rows of the fit, drawn independently from the law of the rows to come.
    theta : float or sequence of floats in (0, 1)
        The margin, fixed before the data are seen; or a grid of them fixed before, among which δ is divided
        so that the best may be taken.
    delta : float, default=0.05
    complexity : float, optional
        R_n of the class of the learners; that of stumps by default.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.theory import margin_bound
    >>> from assay.trees import AdaBoostClassifier
    >>> X, y = iris(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[50:], y[50:])
    >>> margin_bound(model, X[50:], y[50:], 0.2).vacuous
    True

    References
    ----------
    Sangnier §1.3.1, theorems 15 and 17.
    """
    if len(model.classes_) != 2:
        raise refusal("margin_bound", "model", "a vote of two classes", model)
    return model._margin_bound("margin_bound", X, y, theta, delta, complexity)


class ErrorDecomposition(NamedTuple):
    """Risk of a boosted vote and where it comes from, after each number of rounds.

    Attributes
    ----------
    rounds : int array
    bayes : float
        The least risk of any rule.
    best : array
        Risk of the same number of rounds on very many rows: nearly the best of the class.
    fit : array
        Risk of the fit, averaged over training sets.
    standard_error : array
        Of `fit` − `best`, over training sets and test rows.
    """

    rounds: NDArray[np.int64]
    bayes: float
    best: Array
    fit: Array
    standard_error: Array

    @property
    def approximation(self) -> Array:
        """Best in class minus Bayes: falls with the rounds."""
        return self.best - self.bayes

    @property
    def estimation(self) -> Array:
        """Fit minus best in class: grows with the rounds."""
        return self.fit - self.best


def error_decomposition(
    model: Any,
    law: Any,
    n_samples: int = 200,
    *,
    n_repeats: int = 10,
    n_population: int = 20_000,
    n_test: int = 20_000,
    random_state: RandomState = None,
) -> ErrorDecomposition:
    """Bayes risk, best risk in the class and risk of the fit on a known law, as curves in the rounds.

    Parameters
    ----------
    model : AdaBoostClassifier
        Not fitted; its `n_estimators` is the last number of rounds.
    law : ClassificationLaw
        Of `assay.datasets`.
    n_samples, n_repeats : int
        Rows of a training set, and number of them.
    n_population, n_test : int
        Rows that the best in class is fitted to, and those that risks are measured on.
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> from assay.theory import error_decomposition
    >>> from assay.trees import AdaBoostClassifier
    >>> law = GaussianClasses([[0.7, 0.7], [-0.7, -0.7]])
    >>> parts = error_decomposition(AdaBoostClassifier(n_estimators=20), law, 60, n_repeats=3,
    ...                             n_population=3000, n_test=3000, random_state=0)
    >>> bool(parts.approximation[0] > parts.approximation[-1])
    True

    References
    ----------
    Sangnier §1.2, figure 1.8.
    """
    sizes = {"n_samples": n_samples, "n_repeats": n_repeats, "n_population": n_population, "n_test": n_test}
    require("error_decomposition", integer(at_least=2), **sizes)
    rng = generator(random_state)
    X, y = law.sample(n_test, random_state=rng)

    def risks(n_rows: int) -> Array:
        fitted = clone(model).fit(*law.sample(n_rows, random_state=rng))
        values = [np.mean(predicted != y) for predicted in fitted.staged_predict(X)]
        return np.array(values + values[-1:] * (model.n_estimators - len(values)))

    best = risks(n_population)
    each = np.array([risks(n_samples) for _ in range(n_repeats)])
    fit = each.mean(axis=0)
    spread = each.var(axis=0, ddof=1) / n_repeats + (fit * (1 - fit) + best * (1 - best)) / n_test
    rounds = np.arange(1, model.n_estimators + 1)
    return ErrorDecomposition(rounds, float(law.bayes_risk()[0]), best, fit, np.sqrt(spread))


class FlippedWeight(NamedTuple):
    """What label noise does to a boosted vote, by the rate of flipped labels.

    Attributes
    ----------
    rates : array
    weight : array
        Share of the final weight on flipped rows.
    accuracy : array
        On rows with true labels.
    """

    rates: Array
    weight: Array
    accuracy: Array


def flipped_weight(
    model: AdaBoostClassifier,
    law: Any,
    rates: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3),
    *,
    n_samples: int = 400,
    n_test: int = 5000,
    random_state: RandomState = None,
) -> FlippedWeight:
    """Flip labels of rows of a law, boost, and see where the weight goes.

    Parameters
    ----------
    model : AdaBoostClassifier
        Not fitted.
    law : ClassificationLaw
        Of two classes.
    rates : sequence of floats in [0, 0.5)
    n_samples, n_test : int
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> from assay.theory import flipped_weight
    >>> from assay.trees import AdaBoostClassifier
    >>> law = GaussianClasses([[2.0, 2.0], [-2.0, -2.0]])
    >>> shown = flipped_weight(AdaBoostClassifier(n_estimators=20), law, (0.05, 0.2), random_state=0)
    >>> bool(shown.weight[0] > 0.2)
    True

    References
    ----------
    Sangnier §1.3.2.
    """
    rng = generator(random_state)
    fresh, truth = law.sample(n_test, random_state=rng)
    weights, accuracies = [], []
    for rate in rates:
        require("flipped_weight", real(at_least=0.0, at_most=0.499), rates=rate)
        X, y = law.sample(n_samples, random_state=rng)
        flipped = rng.random(n_samples) < rate
        first, second = np.unique(y)
        noisy = np.where(flipped, np.where(y == first, second, first), y)
        fitted = clone(model).fit(X, noisy)
        weights.append(float(fitted.row_weights(X, noisy)[flipped].sum()))
        accuracies.append(float(np.mean(fitted.predict(fresh) == truth)))
    return FlippedWeight(np.array(rates, dtype=np.float64), np.array(weights), np.array(accuracies))
