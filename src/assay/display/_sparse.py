"""Pictures of sparse linear models: coefficients along the path, the curve that selects a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.display._columns import column_names, shortened
from assay.display._linear import _PICTURES as LINEAR_PICTURES
from assay.display._linear import _mark_alpha
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE
from assay.linear._sparse_model import SparseModel

MAX_CURVES = 60
MAX_NAMED_CURVES = 8


@draw.register(SparseModel)
def draw_sparse(
    model: SparseModel,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    alphas: Any = None,
    **options: Any,
) -> None:
    """Draw the regularisation path on data, the selection curve, or a picture of a linear regression."""
    kind = kind or ("coefficients" if X is None or y is None else "path")
    pictures = {
        "path": lambda *data, **rest: _path(*data, alphas=alphas, **rest),
        "selection": lambda *data, **rest: _selection(*data, alphas=alphas, options=options, **rest),
        **LINEAR_PICTURES,
    }
    choose(model, kind, pictures)(model, X, y, ax=ax, kind=kind, feature_names=feature_names)


def _path(model: Any, X: Any, y: Any, *, ax: Any, kind: str, feature_names: Any, alphas: Any) -> None:
    require_data(model, kind, X=X, y=y)
    path = model.path(X, y, alphas=alphas) if alphas is not None else model.path(X, y, n_alphas=60)
    coef = path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray()
    names = column_names(model, X, feature_names, coef.shape[1])
    ranked = np.argsort(-np.abs(coef).max(axis=0), kind="stable")[:MAX_CURVES]
    for rank, index in enumerate(ranked):
        named = rank < MAX_NAMED_CURVES
        ax.plot(
            path.alphas,
            coef[:, index],
            color=PALETTE[rank] if named else "#b1b8c0",
            linewidth=1.8 if named else 0.9,
            zorder=3 if named else 2,
            label=shortened(names[index], 18) if named else None,
        )
    ax.axhline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
    _mark_alpha(ax, model.alpha_)
    ax.set_xscale("log")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.4)
    ax.set(
        xlabel="alpha (penalty)",
        ylabel="coefficient",
        title=f"{path.n_nonzero[0]} to {path.n_nonzero[-1]} features along the path",
    )


def _selection(
    model: Any,
    X: Any,
    y: Any,
    *,
    ax: Any,
    kind: str,
    feature_names: Any,
    alphas: Any,
    options: dict[str, Any],
) -> None:
    require_data(model, kind, X=X, y=y)
    draw_selection(model.select(X, y, alphas=alphas, **options), ax)


def draw_selection(selection: Any, ax: Any) -> None:
    """The curve of a selection with its standard errors, least point and one-standard-error choice."""
    curve, error = selection.criterion, selection.standard_error
    ax.plot(selection.alphas, curve, color=PALETTE[0])
    if np.any(error > 0):
        ax.fill_between(selection.alphas, curve - error, curve + error, color=PALETTE[0], alpha=0.18, lw=0)
    best = int(np.argmin(curve))
    ax.plot(selection.alphas[best], curve[best], "o", color=PALETTE[0], markersize=7)
    if np.any(error > 0):
        ax.plot(
            selection.alphas[selection.one_se_index],
            curve[selection.one_se_index],
            "D",
            color=ACCENT,
            markersize=6,
        )
    _mark_alpha(ax, selection.alpha)
    ax.set_xscale("log")
    ax.set(
        xlabel="alpha (penalty)",
        ylabel=selection.criterion_name,
        title=f"rule {selection.rule!r} chooses alpha = {selection.alpha:.3g}",
    )
