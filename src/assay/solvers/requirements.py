"""What a solver needs of a loss, checked before any numerics."""

from __future__ import annotations

from assay.losses import Loss
from assay.parameters import refusal


def requires(
    solver: str, loss: Loss, *, smooth: bool = False, convex: bool = False, scores: int | None = None
) -> None:
    """Refuse in one sentence a loss that a solver cannot take.

    Parameters
    ----------
    solver : str
        Its name in the sentence.
    loss : Loss
    smooth : bool
        Whether the solver follows derivatives, which corners do not have.
    convex : bool
        Whether its proof is a duality gap.
    scores : int, optional
        Number of scores per row.

    Examples
    --------
    >>> from assay.losses import Hinge, Logistic
    >>> from assay.solvers import requires
    >>> requires("fit_smooth", Logistic(), smooth=True)
    >>> requires("fit_smooth", Hinge(), smooth=True)
    Traceback (most recent call last):
    ...
    assay.parameters.ParameterError: The 'loss' parameter of fit_smooth must be a loss without corners. Got \
Hinge() instead.
    """
    lacks = {
        "without corners": smooth and loss.cornered,
        "with a dual problem": convex and loss.n_groups == 0,
        f"of {scores} score{'' if scores == 1 else 's'} per row": scores not in (None, loss.n_scores),
    }
    words = " and ".join(need for need, missing in lacks.items() if missing)
    if words:
        raise refusal(solver, "loss", f"a loss {words}", loss)
