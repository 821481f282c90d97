"""What every picture is: data as attributes, how they are read off a model, and how they are drawn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, getdoc, signature
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from assay.display.style import house_style, new_axes


@dataclass_transform()
class Display:
    """Base of all pictures, after scikit-learn's displays.

    A subclass becomes a dataclass of the data that the picture shows; it writes `_collect`, which
    reads them off a fitted model, and `_draw`, which draws them and computes nothing. The data without which
    there is no picture are named in the class statement: `class MapDisplay(Display, needs=("X",))`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was last drawn.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    # A class method of (estimator, X, y) and the options of the picture, which differ from one to the other.
    _collect: ClassVar[Any]
    ax_: Any
    figure_: Any

    def __init_subclass__(cls, *, needs: tuple[str, ...] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if needs is not None:
            cls.needs = needs
        dataclass(cls)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Read the data of the picture off a fitted model, and draw it.

        Parameters
        ----------
        estimator : fitted estimator
            A model, or a pipeline that ends in one; the picture then shows the data as the last step sees
            them.
        X, y : array-like, optional
            Data to show the model on.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **options
            Those of the picture, such as `feature_names`.

        Returns
        -------
        display : Display
        """
        if not hasattr(cls, "_collect"):
            raise TypeError(
                f"{cls.__name__} is not read off a model: make it from its data, {cls.__name__}(...)."
            )
        check_is_fitted(estimator)
        estimator, X, y, options = unwrapped(estimator, X, y, options)
        unknown = set(options) - set(cls.option_names())
        # Options are handed on to a method of the model where the picture takes any.
        takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in _parameters(cls))
        if unknown and not takes_any:
            known = ", ".join(repr(name) for name in cls.option_names())
            raise TypeError(f"{cls.__name__} takes the options {known}. Got {min(unknown)!r} instead.")
        data = {"X": X, "y": y}
        if any(data[name] is None for name in cls.needs):
            raise ValueError(
                f"{cls.__name__} of {type(estimator).__name__} needs {' and '.join(cls.needs)}: "
                f"from_estimator(model, {', '.join(cls.needs)})."
            )
        return cls._collect(estimator, X, y, **options).plot(ax=ax)

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Names of the options of `from_estimator`."""
        return tuple(each.name for each in _parameters(cls) if each.kind is Parameter.KEYWORD_ONLY)

    @classmethod
    def _read_off(cls, result: Any, **others: Any) -> Self:
        """A picture whose data are the attributes of a result of the same names, and some others."""
        names = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: getattr(result, name) for name in names if hasattr(result, name)} | others)

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : Display
            Itself, with `ax_` and `figure_`.
        """
        with house_style():
            self.ax_ = self._new_axes(ax)
            self.figure_ = self.ax_.figure
            self._draw(self.ax_)
        return self

    def _new_axes(self, ax: Any) -> Any:
        """The axes handed in, or those of a new figure."""
        return new_axes(ax)

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """The data alone: a figure is drawn again, it does not travel."""
        return {name: value for name, value in vars(self).items() if name not in ("ax_", "figure_")}


P = ParamSpec("P")
D = TypeVar("D", bound=Display)
R = TypeVar("R")


def drawn_by(make: Callable[P, D], name: str, result: Callable[[D], R]) -> Callable[P, R]:
    """The function `plot_…` of a picture: it calls a class method of the display, which also documents it."""

    @wraps(make)
    def draw(*args: P.args, **options: P.kwargs) -> R:
        return result(make(*args, **options))

    draw.__name__ = draw.__qualname__ = name
    draw.__signature__ = signature(make).replace(return_annotation=Parameter.empty)  # type: ignore[attr-defined]
    owner: type[Display] = make.__self__  # type: ignore[attr-defined]
    what = "ax : matplotlib Axes" if result is axes_of else f"display : {owner.__name__}"
    examples = (getdoc(owner) or "").partition("Examples\n")[2]
    draw.__doc__ = f"{getdoc(make)}\n\nReturns\n-------\n{what}\n\nExamples\n{examples}\n"
    return draw


def axes_of(display: Display) -> Any:
    """Where a picture was drawn."""
    return display.ax_


def itself(display: D) -> D:
    """The picture."""
    return display


def _parameters(display: type[Display]) -> list[Parameter]:
    return list(signature(display._collect).parameters.values())


def unwrapped(
    estimator: Any, X: Any, y: Any, options: dict[str, Any]
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The model inside pipelines and transformed targets, with the data and the column names it sees."""
    if isinstance(estimator, Pipeline):
        before, last = estimator[:-1], estimator[-1]
        if len(before) and "feature_names" not in options:
            with suppress(AttributeError, ValueError):  # a step may not name its output
                options = {**options, "feature_names": before.get_feature_names_out()}
        return unwrapped(last, before.transform(X) if X is not None and len(before) else X, y, options)
    if isinstance(estimator, TransformedTargetRegressor):
        if y is not None:
            y = np.asarray(y, dtype=float)
            y = estimator.transformer_.transform(y.reshape(y.shape[0], -1)).reshape(y.shape)
        return unwrapped(estimator.regressor_, X, y, options)
    return estimator, X, y, options
