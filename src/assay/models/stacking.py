"""Weights of a mean of predictions: non-negative, of sum one, of least squared error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]


def convex_weights(predictions: ArrayLike, target: ArrayLike) -> Array:
    """Weights of the best weighted mean of several predictions.

    Minimises over w ≥ 0 with Σ_m w_m = 1

        Σ_i (y_i − Σ_m w_m f_m(x_i))²,

    exactly, by one non-negative least squares: on the simplex the sum is ‖Aw‖² with columns
    A_m = f_m − y, and the minimiser of ‖Aw‖² + (1 − Σ_m w_m)² over w ≥ 0 satisfies the same conditions of
    optimality once it is divided by its sum. Predictions of rows that the models have not seen give the
    weights of a stacked ensemble (Wolpert 1992; Breiman 1996).

    Parameters
    ----------
    predictions : array of shape (n_rows, n_models) or (n_rows, n_outputs, n_models)
        One column per model; several outputs, such as probabilities of classes, share the weights.
    target : array of shape (n_rows,) or (n_rows, n_outputs)

    Returns
    -------
    weights : array of shape (n_models,)

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> convex_weights(np.column_stack([y + 1, y - 1, -y]), y).round(6).tolist()
    [0.5, 0.5, 0.0]
    """
    said = np.asarray(predictions, dtype=np.float64)
    errors = (said - np.asarray(target, dtype=np.float64)[..., None]).reshape(-1, said.shape[-1])
    if not np.isfinite(errors).all():
        raise ValueError("The predictions and the target must be finite to be weighted.")
    size = float(np.sqrt(np.mean(np.square(errors)))) * np.sqrt(len(errors))
    n_models = errors.shape[1]
    if size == 0:  # every prediction is right
        return np.full(n_models, 1 / n_models)
    # The triangle of a QR has the same ‖Aw‖² in a few rows.
    triangle = np.linalg.qr(errors / size, mode="r")
    system = np.vstack([triangle, np.ones(n_models)])
    weights, _ = nnls(system, np.append(np.zeros(len(triangle)), 1.0))
    return weights / weights.sum()
