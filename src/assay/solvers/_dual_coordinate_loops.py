"""Compiled loops of dual coordinate descent: one pass over some rows, dense or CSR.

Rows come dense (`dense`, the other three None) or as CSR (`dense` None, then `values`, `columns`, `starts`);
the tests `is not None` are decided when a loop is compiled.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


@compiled
def squared_norms(dense, values, starts, norms):  # type: ignore[no-untyped-def]
    """‖x_i‖² of every row."""
    for i in range(norms.shape[0]):
        total = 0.0
        if dense is not None:
            for j in range(dense.shape[1]):
                total += np.float64(dense[i, j]) ** 2
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                total += np.float64(values[position]) ** 2
        norms[i] = total


@compiled
def coordinate_pass(  # type: ignore[no-untyped-def]
    dense, values, columns, starts, target, upper, lower, norms, order, nu, coef, state, epsilon, squared, gap
):
    """One ν_i after the other along `order`, each minimised exactly; rows that stay at a bound are dropped.

    `state` is [b, 1/ρ]: with an intercept, b moves by Δν/ρ. Rows whose slope exceeds `gap` at a bound leave
    the front of `order`; returns how many stay and the largest violation seen.
    """
    kept, worst = 0, 0.0
    for place in range(order.shape[0]):
        i = order[place]
        up, low = upper[i], lower[i]
        if up + low == 0.0:
            continue
        slope = state[0] - target[i]
        if dense is not None:
            for j in range(dense.shape[1]):
                slope += np.float64(dense[i, j]) * coef[j]
        if values is not None:
            for position in range(starts[i], starts[i + 1]):
                slope += np.float64(values[position]) * coef[columns[position]]
        curve = norms[i] + state[1]
        now = nu[i]
        new = 0.0
        if squared:
            if up > 0.0 and curve * now - slope - epsilon > 0.0:
                new = (curve * now - slope - epsilon) / (curve + 0.5 / up)
            elif low > 0.0 and curve * now - slope + epsilon < 0.0:
                new = (curve * now - slope + epsilon) / (curve + 0.5 / low)
        elif curve > 0.0:
            if curve * now - slope - epsilon > 0.0:
                new = min((curve * now - slope - epsilon) / curve, up)
            elif curve * now - slope + epsilon < 0.0:
                new = max((curve * now - slope + epsilon) / curve, -low)
        else:
            new = up if -slope - epsilon > 0.0 else (-low if -slope + epsilon < 0.0 else 0.0)
        change = new - now
        worst = max(worst, abs(change) * max(curve, 1e-300))
        at_bound = change == 0.0 and (
            (now == 0.0 and abs(slope) < epsilon - gap)
            or (now == 0.0 and low == 0.0 and slope + epsilon > gap)
            or (now == 0.0 and up == 0.0 and slope - epsilon < -gap)
            or (not squared and now == up and up > 0.0 and slope + epsilon < -gap)
            or (not squared and now == -low and low > 0.0 and slope - epsilon > gap)
        )
        if not at_bound:
            order[kept] = i
            kept += 1
        if change != 0.0:
            nu[i] = new
            state[0] += change * state[1]
            if dense is not None:
                for j in range(dense.shape[1]):
                    coef[j] += change * np.float64(dense[i, j])
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    coef[columns[position]] += change * np.float64(values[position])
    return kept, worst
