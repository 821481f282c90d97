"""The house style: readable, light, and safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

INK = "#24292f"
FAINT_INK = "#6e7781"
GRID = "#d8dee4"
GROUND = "#fefefe"
"""Of rims and gaps between marks: white, in a shade of its own, which a page can replace by its ground."""

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#7b4fa3", "#8c6d31", "#7f7f7f")
"""Okabe and Ito's colours, without those that vanish on light or dark; vermilion is kept for marks."""

ACCENT = "#d55e00"
DASHES = (0, (4, 3))
"""How lines that only help to read a picture are drawn."""

SETTINGS: Mapping[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlepad": 9.0,
    "axes.labelsize": 10.0,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": FAINT_INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": FAINT_INK,
    "ytick.color": FAINT_INK,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.figsize": (6.4, 4.2),
    "figure.dpi": 110,
    "savefig.dpi": 160,
}


_others: ContextVar[Mapping[str, Any] | None] = ContextVar("settings beside the house style", default=None)


@contextmanager
def house_style(others: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Draw in the house style within a `with` block.

    Every picture of `assay.display` is drawn in it; use it around one's own figures to match them. Inside
    another such block, the settings of that one stay.

    Parameters
    ----------
    others : mapping of str to value, optional
        Settings of matplotlib that are to differ.

    Examples
    --------
    >>> from assay.display import house_style
    >>> with house_style():
    ...     pass  # figures made here
    """
    matplotlib = require_matplotlib()
    from cycler import cycler

    kept = _others.get() if others is None else others
    token = _others.set(kept)
    try:
        with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler(color=PALETTE), **(kept or {})}):
            yield
    finally:
        _others.reset(token)


def require_matplotlib() -> Any:
    """Import matplotlib, or say in one sentence how to install it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: install it with pip install 'assay[plot]'.") from error
    return matplotlib


def caption(ax: Any, xlabel: str, ylabel: str, title: str, **others: Any) -> None:
    """Name the two axes and the picture."""
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title, **others)


def new_axes(ax: Any) -> Any:
    """The axes handed in, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def colors(n_colors: int) -> list[Any]:
    """Colours that tell `n_colors` groups apart: the palette, or a map when it is too short."""
    if n_colors <= len(PALETTE):
        return list(PALETTE[:n_colors])
    return list(require_matplotlib().colormaps["turbo"](np.linspace(0.04, 0.96, n_colors)))


def write_beside(text: str, place: Any, ax: Any, *, by: tuple[float, float] = (9, 0), **style: Any) -> None:
    """A few words beside a point, moved from it `by` points of the page."""
    style = {"va": "center", "fontsize": 9, **style}
    ax.annotate(text, place, xytext=by, textcoords="offset points", **style)


def whole_numbers(ax: Any) -> None:
    """Let the ticks of the horizontal axis be whole numbers."""
    ax.xaxis.get_major_locator().set_params(integer=True)
