"""Boosted trees of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import rows
from assay.losses import LOSS_NAMES, LogLinkLoss, Loss, Poisson, Quantile, QuasiPoisson
from assay.losses import loss as named_loss
from assay.losses.margin import MarginLoss
from assay.losses.residual import LEVEL
from assay.models.capabilities import Regressor
from assay.parameters import Domain, nothing
from assay.rows import Block
from assay.suitability import Suitability
from assay.trees.boosting.base import BOOSTING_DOMAINS, Boosting, OpenedRows
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import kept_aside, survey, target_of
from assay.trees.boosting.rounds import Sampling, Stopping
from assay.trees.calibration.aside import CALIBRATION
from assay.trees.calibration.intervals import HasIntervals
from assay.trees.decision.regressor import require_range
from assay.trees.describing import BOOSTED, described, keep_parameters
from assay.trees.growing.columns import Columns

OTHER_NAMES = {"squared_error": "squared", "absolute_error": "absolute"}
NAMES = ("squared_error", "absolute_error", "gamma", "poisson", "quantile", "squared", "absolute", "huber",
         "tweedie", "epsilon_insensitive", "squared_epsilon_insensitive", "negative_binomial")  # fmt: skip

LOSS = Domain(
    "one of " + ", ".join(map(repr, NAMES)) + ", or a loss of assay.losses for numbers",
    lambda value: (
        (isinstance(value, Loss) and not isinstance(value, MarginLoss) and value.n_scores == 1)
        or (isinstance(value, str) and value in NAMES and OTHER_NAMES.get(value, value) in LOSS_NAMES)
    ),
)

LEVELS = (
    nothing
    | LEVEL
    | Domain(
        "a list of increasing numbers between 0 and 1",
        lambda value: (
            (isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim == 1))
            and len(value) > 0
            and all(LEVEL.contains(level) for level in value)
            and bool(np.all(np.diff(np.asarray(value, dtype=float)) > 0))
        ),
    )
)


@described(
    BOOSTED,
    loss="""str or Loss, default=DEFAULT
    "squared_error", "absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie", …, or an object
    of `assay.losses`, your own included. Predictions of losses with the logarithm as link are means.""",
    line_search="""{"newton", "leaf"}, default=DEFAULT
    Whether the value of a leaf is one Newton step or the minimiser of the loss over its rows. Losses in
    pieces (absolute, quantile, Huber) always take the minimiser, a weighted quantile for corners.""",
)
class HistGradientBoostingRegressor(HasIntervals, Regressor, Boosting):
    """Boosted trees of numbers, grown best-first on histograms of at most 255 bins.

    Minimises, by a tree per round,

        Σ_i w_i ℓ(y_i, G(x_i)),        G(x) = c + ν Σ_m b_m(x),

    for any loss ℓ of `assay.losses`; b_m(x) is b_jm in the leaf R_jm. Leaves maximise the gain S²/(H + λ) of
    sums of slopes S and curvatures H; b_jm minimises the loss of the leaf, or is a Newton step S/(H + λ)
    towards it. Slopes and curvatures are summed as integers: the trees are the same bit for bit on any number
    of threads and from memory, disk or Dask. A round that would raise the training risk is halved. Several
    quantiles are fitted side by side and sorted, so that they never cross (Chernozhukov, Fernández-Val &
    Galichon 2010).

    Assumes: rows drawn independently from one law; nothing about its form.

    Certificates: the training risk never rises (without sampling), constraints hold everywhere; `certify`
    adds bins, thresholds and weights recomputed from the rows, stationary leaves and the gains of all splits.

    Parameters
    ----------
    …

    Attributes
    ----------
    trees_ : BoostedTrees
        All nodes as flat arrays, and the constant that the scores start from.
    columns_ : Columns
        Bins of the columns.
    n_iter_ : int
        Rounds.
    train_score_ : array of shape (n_iter_ + 1,)
        Minus the training risk before the first round and after each.
    validation_score_ : array of shape (n_iter_,) or (0,)
        Minus the loss of the rows held out.
    seed_, n_held_out_ : int
        The seed that rows and columns were drawn by, and how many rows the fit held out of the ones it got.
    halvings_ : int
        How often a round was halved because its step had raised the risk.
    feature_importances_ : array of shape (n_features_in_,)
    calibration_rows_, calibration_scores_, calibration_weight_ : arrays of shape (n_aside,)
        With `calibration`: the rows kept aside, how far their targets are from the prediction or outside the
        quantiles, and their weights.
    fold_models_ : list of HistGradientBoostingRegressor
        With folds: the models that lack each, with the attributes above.
    is_categorical_, levels_
        Columns of categories, and the names of levels that are not numbers.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.trees import HistGradientBoostingRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], max_iter=20).fit(X, y)
    >>> model.predict(X[:3]).shape, model.certificates_.holds
    ((3, 2), True)

    References
    ----------
    Wei §8.4; Friedman (2001), Greedy function approximation; Ke et al. (2017), LightGBM.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_features=1000,
        max_numbers=10_000_000,
        encoding="codes",
        settings={"early_stopping": True, "max_iter": 500},
        summary="Small trees added one after the other, each to what the sum still gets wrong; rows that "
        "are not learnt from say when to stop.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "loss": LOSS,
        "quantile": LEVELS,
        "calibration": CALIBRATION,
        **BOOSTING_DOMAINS,
    }

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile: Any = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: bool | str | Stopping = "auto",
        scoring: Any = "loss",
        validation_fraction: float | None = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        line_search: str = "newton",
        subsample: float | Sampling = 1.0,
        calibration: float | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Boost the trees.

        Parameters
        ----------
        X : array-like, frame, Parquet path, Arrow table, memory map, Dask array or dataframe
            NaN is a missing value.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows held out for early stopping.
        """
        data = survey(self._open_vector(X, y, sample_weight))
        if isinstance(self.loss, str) and self.loss == "quantile" and self.quantile is None:
            raise self._refuse("quantile", "a level between 0 and 1, or a list of them, with loss='quantile'")
        target, weight = target_of(data)
        self._require_targets(target if weight is None else target[weight > 0])
        held = None
        if X_val is not None:
            other = survey(self._open_new_vector(X_val, y_val, sample_weight_val))
            numbers, own = target_of(other)
            self._require_targets(numbers)
            held = (other, numbers, own)

        def run(model: Self, left: NDArray | None) -> None:
            own, numbers = self._own_rows(data, target)
            model._boost(X, kept_aside(own, model), numbers, left, held)

        self._fit_calibrated(run, weight, (data, target, weight))
        return self

    def _losses(self, target: NDArray) -> list[Loss]:
        if isinstance(self.loss, Loss):
            return [self.loss]
        if self.loss == "quantile":
            return [Quantile(float(level)) for level in np.atleast_1d(self.quantile)]
        return [named_loss(OTHER_NAMES.get(self.loss, self.loss))]

    def _require_targets(self, target: NDArray) -> None:
        rows.check_finite(target, "y")
        require_range(self, target)
        for loss in self._losses(target):
            if not isinstance(loss, LogLinkLoss):
                continue
            family = QuasiPoisson() if isinstance(loss, Poisson) else loss  # rates are welcome
            if not family.accepts(target) or target.sum() <= 0:
                raise ValueError(
                    f"{type(self).__name__} with the loss {type(loss).__name__} takes as target "
                    f"{family.target}, not all of them 0. The smallest is {target.min():g}, the sum "
                    f"{target.sum():g}."
                )

    def _open_again(self, X: Any, y: Any, sample_weight: Any) -> OpenedRows:
        data = survey(self._open_new_vector(X, y, sample_weight))
        target, weight = target_of(data)
        return OpenedRows(data, target, self._weight_of_fit(len(target), weight), self._losses(target))

    @property
    def _is_logarithm(self) -> bool:
        return isinstance(self._losses(np.empty(0))[0], LogLinkLoss)

    def _from_scores(self, scores: NDArray) -> NDArray:
        return numbers(scores, self._is_logarithm)

    def predict(self, X: Any) -> Any:
        """The prediction for each row, a column per level for several quantiles; lazy for Dask input."""
        data = self._open_new_rows(X)
        width = self.trees_.n_outputs
        how: Any = {"dtype": data.dtype} | ({"width": width} if width > 1 else {})
        return data.map(numbers_of_rows, self.trees_, self.columns_, self._is_logarithm, **how)

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """Predictions after each round."""
        for scores in self._staged(X):
            yield numbers(scores, self._is_logarithm)


def numbers(scores: NDArray, is_logarithm: bool) -> NDArray:
    """Predictions from scores: means where they are logarithms, quantiles in order."""
    if is_logarithm:
        scores = np.exp(np.clip(scores, -700.0, 700.0))
    return scores[:, 0] if scores.shape[1] == 1 else np.sort(scores, axis=1)


def numbers_of_rows(block: Block, trees: BoostedTrees, columns: Columns, is_logarithm: bool) -> NDArray:
    """Predictions for the rows of a block."""
    return numbers(trees.scores(block.X, columns), is_logarithm)
