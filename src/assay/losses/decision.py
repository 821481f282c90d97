"""The rule that turns scores into classes: everything that predicts or counts errors asks here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def chosen(scores: NDArray) -> NDArray[np.intp]:
    """Number of the class that scores decide for; a tie goes to the first of its classes.

    A vector holds the scores of the second of two classes, which a row is given to when its score is above 0;
    a score of exactly 0, a probability of one half, goes to the first: sign(0) = −1. A matrix has one column
    per class, and the largest decides. This is scikit-learn's convention.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.losses import chosen
    >>> chosen(np.array([-0.1, 0.0, 0.1]))
    array([0, 0, 1])
    >>> chosen(np.array([[0.2, 0.4, 0.4]]))
    array([1])

    References
    ----------
    Sangnier, notation; Rudi & Şimşekli §2.1.1, where the class that a tie goes to is called 1.
    """
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)


def mistaken(label: NDArray, score: NDArray) -> NDArray[np.bool_]:
    """Which rows of labels −1 and +1 the rule gives to the other class."""
    return (score > 0) != (label > 0)
