"""Too simple, right, too rich: the risk of polynomials of growing degree."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike, NDArray

from assay.parameters import integer, real, refusal
from assay.randomness import RandomState, generator
from assay.solvers import minimum_norm

Array = NDArray[np.float64]

N_NODES = 200
"""Nodes of the quadrature: exact for the squares of polynomials of degree below this."""


class Overfitting(NamedTuple):
    """Least squares by polynomials of several degrees on one noisy sample, or on many.

    Attributes
    ----------
    degrees : array of int of shape (k,)
    train_risk : array of shape (k,)
        (1/n) Σ (y_i − f(x_i))², mean over the samples; it falls with the degree.
    true_risk : array of shape (k,)
        E (Y − f(X))² for X uniform on [−1, 1], by quadrature, median over the samples; it falls and rises
        again.
    x, y : arrays of shape (n,)
        The last sample.
    coef : list of arrays
        Legendre coefficients of the fits to the last sample.
    noise_variance : float
        σ², the least risk there is.
    """

    degrees: NDArray[np.int64]
    train_risk: Array
    true_risk: Array
    x: Array
    y: Array
    coef: list[Array]
    noise_variance: float

    @property
    def best_degree(self) -> int:
        """The degree of least true risk."""
        return int(self.degrees[np.argmin(self.true_risk)])


def polynomial_overfitting(
    regression_function: Callable[[Array], Array],
    degrees: ArrayLike,
    *,
    n_samples: int = 20,
    noise_std: float = 0.3,
    n_draws: int = 1,
    random_state: RandomState = None,
) -> Overfitting:
    """Fit polynomials of several degrees to noisy points y = f*(x) + σε, x uniform on [−1, 1].

    Parameters
    ----------
    regression_function : callable
        f*, from an array of points to an array of values.
    degrees : array-like of int
    n_samples : int, default=20
        Points of a sample.
    noise_std : float, default=0.3
        σ.
    n_draws : int, default=1
        Samples drawn.
    random_state : int, Generator, SeedSequence, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from assay.theory import polynomial_overfitting
    >>> found = polynomial_overfitting(lambda x: np.sin(4 * x), [1, 5, 15], random_state=0)
    >>> bool(np.all(np.diff(found.train_risk) < 0)), found.best_degree
    (True, 5)

    References
    ----------
    Rudi & Şimşekli §1.2, figures on over- and under-fitting.
    """
    owner = "polynomial_overfitting"
    grid = np.atleast_1d(np.asarray(degrees))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or not 0 <= grid.min() <= grid.max() < N_NODES:
        raise refusal(owner, "degrees", f"a list of ints from 0 to {N_NODES - 1}", degrees)
    for name, count in (("n_samples", n_samples), ("n_draws", n_draws)):
        if not integer(at_least=1).contains(count):
            raise refusal(owner, name, "an int at least 1", count)
    if not real(at_least=0).contains(noise_std):
        raise refusal(owner, "noise_std", "a finite number at least 0", noise_std)
    rng = generator(random_state)
    nodes, weights = legendre.leggauss(N_NODES)
    truth = np.asarray(regression_function(nodes), dtype=float)
    train, true = np.empty((2, n_draws, grid.size))
    for draw in range(n_draws):
        x = rng.uniform(-1, 1, n_samples)
        y = np.asarray(regression_function(x), dtype=float) + noise_std * rng.standard_normal(n_samples)
        coef = []
        for index, degree in enumerate(grid):
            table = np.asarray(legendre.legvander(x, int(degree)), dtype=np.float64)
            coef.append(minimum_norm(table, y[:, None]).coef[:, 0])
            train[draw, index] = np.mean((y - table @ coef[-1]) ** 2)
            gap = truth - legendre.legval(nodes, coef[-1])
            true[draw, index] = weights @ gap**2 / 2 + noise_std**2
    return Overfitting(
        grid.astype(np.int64), train.mean(axis=0), np.median(true, axis=0), x, y, coef, noise_std**2
    )
