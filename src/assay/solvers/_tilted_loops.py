"""The evidence of a two-sided loss on dense rows, each of which is read once."""

from __future__ import annotations

from assay.loops import compiled

LOSS, LOSS_AT_ZERO, OUTSIDE, WRONG, TOTAL = range(5)
"""Places in `sums` of `evidence_rows`."""


@compiled
def evidence_rows(  # type: ignore[no-untyped-def]
    X,
    target,
    upper,
    lower,
    weight,
    coef,
    intercept,
    dual,
    epsilon,
    squared,
    digits,
    sums,
    sided,
    signs,
    pulls,
):
    """Add rows to `sums`, to the rows (slack, squares, mass, number) of `sided`, to `signs` and to `pulls`.

    The dual point is `dual`, brought back into its box, or the slopes of the loss when that is empty.
    """
    n, d = X.shape
    given = dual.shape[0] == n
    for i in range(n):
        score = 0.0
        for j in range(d):
            score += X[i, j] * coef[j]
        t, up, down = target[i], upper[i], lower[i]
        residual = t - score - intercept
        above, under = max(residual - epsilon, 0.0), max(-residual - epsilon, 0.0)
        if squared:
            sums[LOSS] += up * above * above + down * under * under
            nu = 2.0 * (up * above - down * under)
        else:
            sums[LOSS] += up * above + down * under
            nu = (up if above > 0.0 else 0.0) - (down if under > 0.0 else 0.0)
        if given:
            nu = float(dual[i])
            if not squared:
                beyond = max(nu - up, -down - nu, 0.0)
                sums[OUTSIDE] = max(sums[OUTSIDE], beyond / (up + down) if up + down > 0.0 else beyond)
                nu = min(max(nu, -down), up)
        above, under = max(t - epsilon, 0.0), max(-t - epsilon, 0.0)
        if squared:
            sums[LOSS_AT_ZERO] += up * above * above + down * under * under
        else:
            sums[LOSS_AT_ZERO] += up * above + down * under
        sums[TOTAL] += up + down
        if t * (t - residual) <= 0.0:
            sums[WRONG] += up + down
        noise = digits * (2.0 * abs(t) + abs(residual) + abs(intercept))
        signs[1 if abs(residual) <= noise else 0 if residual > 0.0 else 2] += weight[i]
        if nu == 0.0:
            continue
        side = 0 if nu > 0.0 else 1
        size, slope = abs(nu), up if nu > 0.0 else down
        sided[0, side] += size * ((residual if nu > 0.0 else -residual) - epsilon)
        if squared:
            sided[1, side] += size * size / (4.0 * slope if slope > 0.0 else 1.0)
        sided[2, side] += size
        sided[3, side] += 1.0
        for j in range(d):
            pulls[side, j] += nu * X[i, j]
