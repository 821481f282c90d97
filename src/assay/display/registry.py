"""The function that draws any model, and how a class gets its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import singledispatch
from textwrap import fill
from typing import Any, NamedTuple, TypeVar

from sklearn.utils.validation import check_is_fitted

from assay.display.base import Display, unwrapped
from assay.registry import estimators

T = TypeVar("T")


def plot(model: Any, X: Any = None, y: Any = None, *, ax: Any = None, **options: Any) -> Any:
    """Draw a fitted model.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a `Pipeline` that ends in one.
    X, y : array-like, optional
        Data to show the model on. Without them the picture shows the fitted parameters.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    **options
        `kind` chooses among the pictures of the model, and `feature_names` names the columns; the others
        are those of the display that draws the picture:

        {pictures}

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.diabetes(return_X_y=True)
    >>> display.plot(linear.LinearRegression().fit(X, y), X, y).get_xlabel()
    'observed'
    """
    check_is_fitted(model)
    inside = unwrapped(model, None, None, {})[0]
    displays = pictures(inside).displays
    kind = options.pop("kind", None)
    if kind is None:  # the default, or the first that takes the options where the default does not
        taking = [name for name, each in displays.items() if set(options) <= set(each.option_names())]
        kind = default_kind(model, X, y)
        kind = kind if kind in taking or not taking else taking[0]
    shown = choose(inside, kind, displays)
    if any({"X": X, "y": y}[name] is None for name in shown.needs):
        raise ValueError(
            f"The {kind!r} picture of {type(inside).__name__} needs {' and '.join(shown.needs)}: "
            f"plot({', '.join(shown.needs)}, kind={kind!r})."
        )
    return shown.from_estimator(model, X, y, ax=ax, **options).ax_


class Pictures(NamedTuple):
    """The pictures of a class of models.

    Attributes
    ----------
    displays : mapping of str to type of Display
        By kind, in the order in which a reader wants them.
    default : callable
        The kind to draw when none is asked for, of (model, X, y).
    """

    displays: Mapping[str, type[Display]]
    default: Callable[[Any, Any, Any], str]


@dataclass(frozen=True)
class Default:
    """The kind that `plot` draws unless told: `with_data` of a model on data, else `alone`.

    Attributes
    ----------
    with_data, alone : str
    target : bool, default=False
        Whether the data must have a target too.
    """

    with_data: str
    alone: str
    target: bool = False

    def __call__(self, model: Any, X: Any, y: Any) -> str:
        """The kind for a model and data."""
        return self.alone if X is None or (self.target and y is None) else self.with_data


@singledispatch
def pictures(model: Any) -> Pictures:
    """The pictures that there are of a model; register a function here to give a class its own.

    Examples
    --------
    ::

        @pictures.register(MyModel)
        def pictures_of_my_model(model):
            return Pictures({"weights": WeightsDisplay}, default=lambda model, X, y: "weights")
    """
    known = sorted({kind.__name__ for kind in pictures.registry if kind is not object})
    raise TypeError(
        f"There is no picture of {type(model).__name__}; there is one of {', '.join(known)}, and "
        "assay.display.pictures.register adds one."
    )


def declare(*models: type, default: Callable[[Any, Any, Any], str], **displays: type[Display]) -> None:
    """Give classes of models their pictures, by kind in the order in which a reader wants them."""
    for kind in models:
        pictures.register(kind, lambda model: Pictures(displays, default))


def list_pictures() -> None:
    """Write the pictures of every estimator into the documentation of `plot`."""
    told: dict[str, list[str]] = {}
    for entry in estimators():
        if pictures.dispatch(entry.kind) is pictures.dispatch(object):
            continue  # tests/test_registry.py tells that it has none
        told.setdefault(_in_words(pictures(entry.kind())), []).append(entry.name)
    lines = "\n".join(
        fill(f"- {', '.join(names)}: {words};", 100, initial_indent=" " * 8, subsequent_indent=" " * 10)
        for words, names in told.items()
    )
    plot.__doc__ = (plot.__doc__ or "").replace("{pictures}", f"{lines.strip().removesuffix(';')}.")


def _in_words(shown: Pictures) -> str:
    """The kinds of pictures, with the options of each and which one is the default."""
    default, tail = shown.default, ""
    marks: dict[str, str] = {}
    if not isinstance(default, Default):
        tail = f"; by default {(default.__doc__ or 'one of them').lower().rstrip('.')}"
    elif default.alone == default.with_data:
        marks = {default.alone: "default"}
    else:
        marks = {default.alone: "default without data", default.with_data: "default with data"}
    words = []
    for kind, display in shown.displays.items():
        options = [f"`{name}`" for name in display.option_names() if name != "feature_names"]
        notes = ", ".join([*options, *([marks[kind]] if kind in marks else [])])
        words.append(f'"{kind}" ({notes})' if notes else f'"{kind}"')
    return ", ".join(words) + tail


def default_kind(model: Any, X: Any = None, y: Any = None) -> str:
    """The kind of picture that `plot` draws of a model when none is asked for."""
    inside, X, y, _ = unwrapped(model, X, y, {})
    return pictures(inside).default(inside, X, y)


def kinds(model: Any) -> tuple[str, ...]:
    """The kinds of pictures that there are of a model, or of the one at the end of a pipeline.

    Examples
    --------
    >>> from assay import display, linear
    >>> display.kinds(linear.Ridge())
    ('path', 'leave_one_out', 'predictions', 'residuals', 'coefficients')
    """
    inside = unwrapped(model, None, None, {})[0]
    return tuple(pictures(inside).displays)


def choose(model: Any, kind: str, pictures: Mapping[str, T]) -> T:
    """The picture of that kind, or a sentence that lists the kinds there are."""
    if kind not in pictures:
        known = ", ".join(repr(name) for name in pictures)
        raise ValueError(
            f"The 'kind' parameter of the picture of {type(model).__name__} must be one of {known}. "
            f"Got {kind!r} instead."
        )
    return pictures[kind]
