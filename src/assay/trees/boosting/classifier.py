"""Boosted trees of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.callback import with_callbacks

from assay import rows
from assay.losses import CrossEntropy, Exponential, Loss, Multinomial, softmax
from assay.losses.margin import MarginLoss
from assay.models.calibration import Calibrator
from assay.models.classes import CLASS_WEIGHT, Classifier, class_factors, class_of
from assay.parameters import Domain
from assay.rows import Block
from assay.suitability import Suitability
from assay.trees.boosting.base import BOOSTING_DOMAINS, Boosting, OpenedRows
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import Opened, kept_aside, survey, survey_classes, target_of, with_classes
from assay.trees.boosting.rounds import Sampling, Stopping
from assay.trees.calibration.aside import CALIBRATION
from assay.trees.calibration.probabilities import CALIBRATION_METHOD, HasClassSets
from assay.trees.describing import BOOSTED, described, keep_parameters
from assay.trees.growing.columns import Columns

LOSS = Domain(
    "'log_loss', 'exponential' or a margin loss of assay.losses",
    lambda value: (
        isinstance(value, MarginLoss) or (isinstance(value, str) and value in ("log_loss", "exponential"))
    ),
)


@described(
    BOOSTED,
    loss="""{"log_loss", "exponential"} or margin loss, default=DEFAULT
    What is minimised; an object of `assay.losses` such as `Savage()` for two classes.""",
    min_samples_leaf="""int, default=DEFAULT
    Least weight of a leaf, so that a row of weight 2 counts as two; 1 forbids nothing. Each side of a cut
    under the log-loss also has the curvature of four rows of equal chances at least.""",
    calibration="""float, int or None, default=DEFAULT
    Share of the rows kept aside, which neither bins nor trees nor early stopping see: `predict_sets` and
    `calibration_method` learn from them how sure the trees may be. Or a number K ≥ 2 of folds: no row is
    lost, and K more fits, each without a fold, are what they learn from.""",
)
class HistGradientBoostingClassifier(HasClassSets, Classifier, Boosting):
    """Boosted trees of classes, grown best-first on histograms of at most 255 bins.

    Minimises, by a tree per round,

        Σ_i w_i ℓ(y_i, G(x_i)),        G(x) = c + ν Σ_m b_m(x),

    ℓ the logistic or multinomial loss, or any loss of the margin; b_m(x) is b_jm in the leaf R_jm. The leaves
    maximise the gain S²/(H + λ) of sums of slopes S and curvatures H, and b_jm is a Newton step S/(H + λ) or
    the minimiser of the loss of the leaf. Slopes and curvatures are summed as integers: the trees are the
    same bit for bit on any number of threads and from memory, disk or Dask. A round that would raise the
    training risk is halved.

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
        With `calibration`: the rows kept aside, 1 − the probability of their class, and their weights.
    fold_models_ : list of HistGradientBoostingClassifier
        With folds: the models that lack each, with the attributes above.
    calibrator_ : Calibrator
        With `calibration_method`: the map of the probabilities.
    calibration_errors_ : array of shape (2,)
        Calibration error on the rows kept aside before the map, and after it on halves it has not seen.
    is_categorical_, levels_
        Columns of categories, and the names of levels that are not numbers.
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from assay.trees import HistGradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> model.score(X, y) > 0.98, model.certificates_.holds
    (True, True)

    References
    ----------
    Wei §8.4; Friedman (2001), Greedy function approximation; Ke et al. (2017), LightGBM.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_features=1000,
        max_numbers=10_000_000,
        per_class=True,
        encoding="codes",
        settings={"early_stopping": True, "max_iter": 500},
        summary="Small trees added one after the other, each to what the sum still gets wrong; rows that "
        "are not learnt from say when to stop.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "loss": LOSS,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
        "calibration_method": CALIBRATION_METHOD,
        **BOOSTING_DOMAINS,
    }

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
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
        class_weight: Any = None,
        line_search: str = "newton",
        subsample: float | Sampling = 1.0,
        calibration: float | None = None,
        calibration_method: str | None = None,
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
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows held out for early stopping.
        """
        data, weights = self._open_classes(X, y, sample_weight)
        if isinstance(self._named(), MarginLoss) and len(self.classes_) > 2:
            raise self._refuse("loss", "'log_loss' where there are more than two classes")
        self.n_classes_ = len(self.classes_)
        seen = survey(data)
        target, weight = self._weighted(seen, weights)
        held, margin = None, isinstance(self._named(), MarginLoss)
        if X_val is not None:
            other = survey(self._open_new_classes(X_val, y_val, sample_weight_val))
            numbers, own = target_of(other)
            held = (with_classes(other, margin, None), self._coded(numbers), own)
        labelled = with_classes(seen, margin, self._factors(weights))

        def run(model: Self, left: NDArray | None) -> None:
            own, coded = self._own_rows(labelled, target)
            model._boost(X, kept_aside(own, model), coded, left, held)

        self._fit_calibrated(run, weight, (seen, *target_of(seen)))
        return self

    def _open_external_classes(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> tuple[Any, NDArray]:
        if not (rows.is_name(y) or hasattr(y, "dask")):
            return super()._open_external_classes(X, y, sample_weight, offset)
        seen, classes, weights = survey_classes(self._open_external(X, y, sample_weight))
        self._set_classes(classes)
        return seen, weights

    def _named(self) -> Any:
        named = isinstance(self.loss, str) and self.loss == "exponential"
        return Exponential() if named else self.loss

    def _losses(self, target: NDArray) -> list[Loss]:
        named = self._named()
        if isinstance(named, MarginLoss):
            return [named]
        n_classes = len(self.classes_)
        return [CrossEntropy(shares=False) if n_classes == 2 else Multinomial(n_classes=n_classes)]

    def _coded(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels −1 and 1 for a loss of the margin."""
        return 2 * places - 1 if isinstance(self._named(), MarginLoss) else places

    def _labels(self, target: NDArray) -> Any:
        places = target > 0 if len(self.classes_) == 2 else target
        return self.classes_[places.astype(np.intp)]

    def _weighted(self, data: Opened, weights: NDArray) -> tuple[NDArray, NDArray | None]:
        places, weight = target_of(data)
        factors = self._factors(weights)
        if factors is not None:
            own = factors[places.astype(np.intp)]
            weight = own if weight is None else weight * own
        return self._coded(places), weight

    def _factors(self, weights: NDArray) -> NDArray[np.float64] | None:
        """Factors of the weights of each class."""
        if self.class_weight is None:
            return None
        return class_factors(self.class_weight, self.classes_, weights)

    def _open_again(self, X: Any, y: Any, sample_weight: Any) -> OpenedRows:
        data = survey(self._open_new_classes(X, y, sample_weight))
        places, weight = target_of(data)
        weights = np.bincount(places.astype(np.intp), weight, minlength=len(self.classes_))
        target, weight = self._weighted(data, weights)
        return OpenedRows(data, target, self._weight_of_fit(len(target), weight), self._losses(target))

    def decision_function(self, X: Any) -> Any:
        """Scores: of the second of two classes, else one column per class."""
        scores = self._scores(X)
        return scores[:, 0] if self.trees_.n_outputs == 1 else scores

    def predict(self, X: Any) -> Any:
        """The class of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        calibrator = getattr(self, "calibrator_", None)
        how = (self.trees_, self.columns_, self.classes_, self._named(), calibrator)
        return data.map(class_of_rows, *how, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, through the map of `calibration_method` where there is one."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": len(self.classes_)}
        calibrator = getattr(self, "calibrator_", None)
        return data.map(chances_of_rows, self.trees_, self.columns_, self._named(), calibrator, **how)

    def _chances(self, scores: NDArray) -> NDArray:
        return chances(scores, self._named())

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray]:
        """Scores after each round."""
        for scores in self._staged(X):
            yield scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_predict(self, X: Any) -> Iterator[NDArray]:
        """The class of each row after each round."""
        for scores in self.staged_decision_function(X):
            yield class_of(scores, self.classes_)

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray]:
        """Probabilities after each round."""
        for scores in self._staged(X):
            yield chances(scores, self._named())


def chances(scores: NDArray, loss: Any) -> NDArray:
    """Probabilities of the classes from scores of shape (n_rows, n_outputs)."""
    if scores.shape[1] > 1:
        return softmax(scores)
    margin = scores[:, 0]
    if isinstance(loss, Exponential):
        second = special.expit(2 * margin)
    elif isinstance(loss, MarginLoss) and loss.minimiser(np.array([0.9]))[0] <= 1.0:
        second = np.clip(0.5 + 0.5 * margin, 0.0, 1.0)  # scores that are themselves in [−1, 1]
    else:
        second = special.expit(margin)
    return np.column_stack([1 - second, second])


def class_of_rows(
    block: Block,
    trees: BoostedTrees,
    columns: Columns,
    classes: NDArray,
    loss: Any,
    calibrator: Calibrator | None,
) -> NDArray:
    """The class of each row of a block: of the largest score, or of the largest honest probability."""
    if calibrator is not None:
        return class_of(chances_of_rows(block, trees, columns, loss, calibrator), classes)
    scores = trees.scores(block.X, columns)
    return class_of(scores[:, 0] if scores.shape[1] == 1 else scores, classes)


def chances_of_rows(
    block: Block, trees: BoostedTrees, columns: Columns, loss: Any, calibrator: Calibrator | None
) -> NDArray:
    """Probabilities of the classes of the rows of a block."""
    said = chances(trees.scores(block.X, columns), loss)
    return said if calibrator is None else calibrator.apply(said)
