"""What every estimator stands on: opening rows, checking parameters, certificates, callbacks, pictures."""

from __future__ import annotations

import functools
import importlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from assay import parameters, rows
from assay.certificates import Certificate, Certificates, at_most
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.suitability import Suitability

logger = logging.getLogger("assay")

LARGE = 2**18
"""Values beyond which an array is worth the threads, or a check is left to the walk of the fit."""

FLOATS = [np.float64, np.float32]

__all__ = ["Certificate", "Certificates", "IterativeModel", "Model", "Watch", "logger"]


def _none_infinite(X: NDArray) -> bool:
    """Whether no value is infinite; NaN, a missing value, is let through."""
    if X.size == 0 or _all_finite(X):
        return True
    with np.errstate(invalid="ignore"):
        return not bool(np.isinf(X).any())


def _all_finite(X: NDArray) -> bool:
    """Whether a sum of all values is finite; large arrays are summed by blocks on threads."""
    with np.errstate(over="ignore", invalid="ignore"):
        if X.size <= LARGE:
            return bool(np.isfinite(X.sum(dtype=np.float64)))
        return bool(np.isfinite(MemoryRows(X).reduce(lambda block: float(block.X.sum(dtype=np.float64)))))


def _is_plain(X: Any, *, finite: Callable[[NDArray], bool] = _all_finite) -> bool:
    """Whether `X` is an array that needs no conversion: two-dimensional, floating, not empty, finite.

    Anything else goes through scikit-learn's `validate_data`, which costs more than a small fit.
    """
    floating = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS
    return floating and X.shape[0] > 1 and X.shape[1] > 0 and finite(X)


def _is_plain_target(y: Any, X: NDArray) -> bool:
    floating = type(y) is np.ndarray and y.ndim == 1 and y.dtype in FLOATS
    with np.errstate(over="ignore", invalid="ignore"):
        return floating and len(y) == len(X) and bool(np.isfinite(y.sum(dtype=np.float64)))


def _validated(estimator: Any, *data: Any, **options: Any) -> Any:
    """scikit-learn's `validate_data`, with one sentence about missing values in place of a page."""
    try:
        return validate_data(estimator, *data, **options)
    except ValueError as error:
        first, _, rest = str(error).partition("\n")
        if "contains NaN" not in first or not rest:
            raise
        raise ValueError(f"{first.rstrip('.')}; drop or fill those rows first.") from None
    except OverflowError:  # an int of four hundred digits
        raise rows.out_of_range("X" if len(data) == 1 else "X or y", np.float64) from None


def _and_as_reported(certify: Callable[..., Certificates]) -> Callable[..., Certificates]:
    """Let no fit hold that has NaN among its numbers, or that reports another optimality than it proved.

    Comparisons with NaN may go unnoticed in a maximum, and what is measured again may be rounding.
    """

    @functools.wraps(certify)
    def certified(self: Model, *data: Any, **options: Any) -> Certificates:
        certificates, failed = certify(self, *data, **options), []
        spoilt = [name for name, value in vars(self).items() if name[-1:] == "_" and _has_nan(value)]
        if spoilt:
            claim = f"Every fitted number is a number; there is NaN in {', '.join(spoilt)}."
            failed.append(at_most(claim, "attributes with NaN", len(spoilt), 0))
        values = [item.value for item in getattr(self, "certificates_", ())]
        reported = {name: getattr(self, name, None) for name in self._proven_numbers() if values}
        changed = [name for name, value in reported.items() if _is_none_of(value, values)]
        if changed:
            claim = f"What the fit reports is what it proved; of no certificate is {', '.join(changed)}."
            failed.append(at_most(claim, "numbers that differ from those of the fit", len(changed), 0))
        return Certificates([*certificates, *failed]) if failed else certificates

    return certified


def _is_none_of(reported: Any, values: list[float]) -> bool:
    """Whether a finite number that is not 0 is none of these, to three digits."""
    if not isinstance(reported, (float, np.floating)) or reported == 0.0 or not np.isfinite(reported):
        return False
    number = float(reported)
    return not any(abs(value - number) <= 1e-3 * abs(number) for value in values)


def _has_nan(value: Any) -> bool:
    if sparse.issparse(value):
        return _has_nan(getattr(value, "data", None))
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool(np.isnan(value).any())
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


class Model(BaseEstimator):
    """Base of all estimators.

    A subclass lists the domain of each parameter in `_domains`, says in `_suits` for which tables it is worth
    a try (nothing inherits that), opens its data with `_open_rows` (at fit) and `_open_new_rows`
    (afterwards), sets `certificates_` in `fit`, and recomputes all certificates, expensive ones included, in
    `certify`.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {}
    _accepts_sparse: ClassVar[bool] = True
    _accepts_nan: ClassVar[bool] = False  # whether NaN among the features means a missing value
    _accepts_infinity: ClassVar[bool] = False  # among features outside memory
    _checks_finite: ClassVar[bool] = False  # whether the fit's own walk finds NaN and infinity
    _suits: ClassVar[Suitability | None] = None  # for which tables `assay compare` tries it
    certificates_: Certificates

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Its own, or that of a mixin that is no model; not the one below that only refuses.
        if cls.certify is not Model.certify and not hasattr(cls.certify, "__wrapped__"):
            cls.certify = _and_as_reported(cls.certify)  # type: ignore[method-assign]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.allow_nan = self._accepts_nan
        return tags

    def _proven_numbers(self) -> tuple[str, ...]:
        """Fitted numbers that are values of certificates of the fit."""
        return "dual_gap_", "optimality_"

    def _check_parameters(self) -> None:
        parameters.check(type(self).__name__, vars(self), self._domains)

    def _finite_check(self, X: NDArray) -> bool:
        return (self._checks_finite and X.size > LARGE) or self._valid_values(X)

    def _valid_values(self, X: NDArray) -> bool:
        return _none_infinite(X) if self._accepts_nan else _all_finite(X)

    @property
    def _feature_options(self) -> dict[str, Any]:
        """What `validate_data` lets pass among the features."""
        return {
            "accept_sparse": "csr" if self._accepts_sparse else False,
            "dtype": FLOATS,
            "ensure_all_finite": "allow-nan" if self._accepts_nan else True,
        }

    def _refuse(self, name: str, must_be: str) -> parameters.ParameterError:
        """The error for a parameter that only the data shows to be wrong."""
        return parameters.refusal(type(self).__name__, name, must_be, getattr(self, name))

    def _split_table(self, X: Any, y: Any, sample_weight: Any, *, fitting: bool) -> tuple[Any, Any, Any]:
        """Features, target and weights, apart, of a table in memory."""
        return rows.split_columns(X, y, sample_weight)

    def _open_rows(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, with_target: bool = False
    ) -> Rows:
        """Validate parameters and training data; set `n_features_in_` and `feature_names_in_`."""
        self._check_parameters()
        if rows.is_external(X):
            return self._open_external(X, y if with_target else None, sample_weight)
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=True)
        options = self._feature_options
        target: NDArray | None = None
        if _is_plain(X, finite=self._finite_check) and (not with_target or _is_plain_target(y, X)):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            target = rows.real_numbers(y, X.dtype, "y") if with_target else None
        elif with_target:
            X, target = _validated(self, X, y, multi_output=True, y_numeric=True, **options)
            target = rows.real_numbers(target, X.dtype, "y")
            rows.check_finite(target, "y")  # None among objects
        else:
            X = _validated(self, X, **options)
        weight = rows.fit_weights(sample_weight, X.shape[0], X.dtype)
        return MemoryRows(X, target, weight)

    def _open_new_rows(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, with_target: bool = False
    ) -> Rows:
        """Validate data given after the fit; columns are matched by name where there are names."""
        check_is_fitted(self)
        y = y if with_target else None
        if rows.is_external(X):
            data = rows.open_external(X, y, sample_weight, features=getattr(self, "feature_names_in_", None))
            if self._accepts_nan:
                data.allow_missing(infinite=self._accepts_infinity)
            if data.shape[1] != self.n_features_in_:
                asked = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
                raise ValueError(f"X has {data.shape[1]} features, but {asked}.")
            return data
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=False)
        named = hasattr(self, "feature_names_in_")
        if named or not _is_plain(X, finite=self._valid_values) or X.shape[1] != self.n_features_in_:
            X = _validated(self, X, reset=False, **self._feature_options)
        target = None if y is None else rows.real_numbers(y, X.dtype, "y")
        if target is not None and target.shape[:1] != X.shape[:1]:
            raise ValueError(f"X has {X.shape[0]} rows but y has {target.shape[0]}; they must be as many.")
        return MemoryRows(X, target, rows.check_weights(sample_weight, X.shape[0], X.dtype))

    def _open_external(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        data = rows.open_external(X, y, sample_weight)
        if self._accepts_nan:
            data.allow_missing(infinite=self._accepts_infinity)
        elif self._checks_finite:
            data.trust_values()
        self.n_features_in_ = data.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = data.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return data

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """What a notebook shows: scikit-learn's diagram, and after a fit the certificates below it."""
        diagram = super()._repr_html_  # refused there, as an attribute, where diagrams are switched off
        return lambda: diagram() + self._certificates_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The same for front ends that ask for all forms at once."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._certificates_html()
        return bundle

    def _certificates_html(self) -> str:
        certificates = getattr(self, "certificates_", None)
        return certificates.to_html(collapsible=True) if certificates else ""

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, expensive ones included.

        Parameters
        ----------
        X, y, sample_weight
            The data that the model was fitted on.

        Returns
        -------
        certificates : Certificates
            Computed from the fitted attributes and the data alone.
        """
        raise NotImplementedError

    def plot(self, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
        """Draw the fitted model; see `assay.display.plot`.

        Returns
        -------
        ax : matplotlib Axes
        """
        check_is_fitted(self)
        # The pictures stand on the models, not the other way round: found at run time, by name.
        display = importlib.import_module("assay.display")
        return display.plot(self, X, y, ax=ax, **options)


class IterativeModel(CallbackSupportMixin, Model):
    """Base of estimators that iterate: scikit-learn's callbacks see every restart and every iteration.

    `fit` is decorated with `sklearn.callback.with_callbacks`, calls `_watch_fit` once, and hands the `Watch`
    to its solver. Fitted attributes: `n_iter_`, `converged_`, `optimality_`, and `history_` with
    `history=True`.
    """

    n_iter_: int
    converged_: bool
    optimality_: float

    def _watch_fit(self, X: Any, y: Any = None, *, n_runs: int, max_iter: int) -> Watch:
        return Watch(self, X, y, n_runs=n_runs, max_iter=max_iter)


class Watch:
    """Tells scikit-learn's callbacks about runs (restarts) and iterations; does nothing when there are none.

    Examples
    --------
    In a solver::

        for run in range(n_init):
            with watch.run():
                for iteration in range(max_iter):
                    ...
                    if watch.iteration(lambda: {"cluster_centers_": centers}):
                        break          # a callback asked to stop
    """

    def __init__(self, estimator: Any, X: Any, y: Any, *, n_runs: int, max_iter: int) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._max_iter = max_iter
        self._run: Any = None
        self.stopped = False  # whether a callback asked to stop after the last run
        self._root = None
        if getattr(estimator, "_skl_callbacks", None):
            self._root = estimator._init_callback_context(task_name="fit", max_subtasks=n_runs)
            self._root.call_on_fit_task_begin(estimator=estimator, **self._data)

    @property
    def is_idle(self) -> bool:
        """Whether nobody listens."""
        return self._root is None

    @contextmanager
    def run(self, name: str = "restart") -> Iterator[None]:
        """One restart of the solver."""
        if self._root is None:
            yield
            return
        self._run = self._root.subcontext(task_name=name, max_subtasks=self._max_iter)
        self._run.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        yield
        self.stopped = bool(self._run.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def iteration(self, attributes: Callable[[], dict[str, Any]]) -> bool:
        """Report one finished iteration; true when a callback asks to stop.

        `attributes` gives the fitted attributes of a model stopped here; it is called only if needed.
        """
        if self._run is None:
            return False
        task = self._run.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        data: dict[str, Any] = {"estimator": self._estimator, **self._data}
        return bool(task.call_on_fit_task_end(**data, reconstruction_attributes=attributes))

    def finish(self) -> None:
        """Report the end of the fit."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data)
