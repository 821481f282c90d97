"""The probability of a class against the signed distance to the hyperplane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._class_scores import labels_of, quietly, write
from assay.display._columns import sampled, shortened
from assay.display._flat_map import rgb, rows_at
from assay.display._style import ACCENT, FAINT_INK, INK, PALETTE

N_GROUPS = 10
LEAST_IN_GROUP = 15


def draw_probability(model: Any, X: Any, y: Any, *, ax: Any, feature_names: Any) -> None:
    """The curve 1/(1 + e^{−‖w‖d}) with its tangent of slope ‖w‖/4 at the hyperplane, and the rows."""
    coef, intercept = _score(model)
    size = float(np.linalg.norm(coef))
    distance = None
    if X is not None:
        shown = sampled(X.shape[0] if hasattr(X, "shape") else len(X))
        distance = quietly(model.decision_function, rows_at(X, shown)).astype(float) / size
    reach = 8.0 / size if distance is None else max(float(np.abs(distance).max()) * 1.06, 4.0 / size)
    grid = np.linspace(-reach, reach, 801)
    rows = np.multiply.outer(grid - intercept / size, coef / size)
    curve = quietly(model.predict_proba, rows)[:, 1]
    ax.axhline(0.5, color=FAINT_INK, linewidth=0.7, linestyle=(0, (1, 3)), zorder=1)
    ax.axvline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
    ax.plot(grid, curve, color=INK, linewidth=2.2, zorder=4)
    ends = np.array([-2.0, 2.0]) / size
    ax.plot(ends, 0.5 + ends * size / 4, color=ACCENT, linewidth=1.6, linestyle=(0, (4, 3)), zorder=5)
    # Right of the hyperplane and below one half there is nothing but this line.
    ax.text(
        0.03 * reach, 0.32, f"slope ‖w‖/4 = {size / 4:.3g}\nat the hyperplane", color=ACCENT, fontsize=9.5
    )
    if distance is not None and y is not None:
        _draw_rows(distance, labels_of(X, y)[shown] == model.classes_[1], ax)
    for place, (level, color) in enumerate(zip((-0.13, 1.13), PALETTE, strict=False)):
        word = shortened(str(model.classes_[place]), 18)
        side = ("left", "right")[place]
        write(ax, word, np.array([(-0.98, 0.98)[place] * reach, level]), rgb(color), ha=side)
    ax.set(
        xlim=(-reach, reach),
        ylim=(-0.2, 1.2),
        xlabel="signed distance to the hyperplane",
        ylabel=f"probability of {shortened(str(model.classes_[1]), 18)}",
        title="nearly linear beside the hyperplane, certain far from it",
    )
    ax.set_yticks(np.linspace(0, 1, 5))


def _score(model: Any) -> tuple[NDArray, float]:
    """The normal and the intercept of the hyperplane of two classes with probabilities, or a refusal."""
    name = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"The 'probability' picture needs predict_proba, which {name} lacks; use kind='map'."
        )
    if len(model.classes_) != 2:
        raise ValueError(
            f"The 'probability' picture is of two classes; this {name} has {len(model.classes_)}. "
            "Use kind='map' or kind='confusion'."
        )
    coef = np.asarray(model.coef_, dtype=float)[0]
    if not np.any(coef):
        raise ValueError(f"All coefficients of this {name} are zero: there is no hyperplane to draw.")
    return coef, float(np.ravel(model.intercept_)[0])


def _draw_rows(distance: NDArray, positive: NDArray, ax: Any) -> None:
    """Ticks of the rows beside 0 and 1, and the observed share of the class in groups of equal size."""
    for chosen, level, color in ((~positive, -0.06, PALETTE[0]), (positive, 1.06, PALETTE[1])):
        place = distance[chosen]
        ax.plot(
            place,
            np.full(place.size, level),
            "|",
            color=color,
            markersize=8,
            alpha=0.45 if distance.size < 600 else 0.15,
        )
    n_groups = min(N_GROUPS, distance.size // LEAST_IN_GROUP)
    if n_groups < 3:
        return
    groups = np.array_split(np.argsort(distance, kind="stable"), n_groups)
    middle = np.array([distance[group].mean() for group in groups])
    share = np.array([positive[group].mean() for group in groups])
    error = np.sqrt(share * (1 - share) / np.array([group.size for group in groups]))
    ax.errorbar(
        middle,
        share,
        yerr=error,
        fmt="o",
        color=PALETTE[2],
        markersize=5,
        linewidth=1.2,
        zorder=5,
        label="observed share\n± standard error",
    )
    ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.68))
