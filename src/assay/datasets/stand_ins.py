"""Laws with the shape of well-known tables: house prices, electricity demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets.laws import RegressionLaw, Sample
from assay.datasets.linear import LinearGaussian
from assay.datasets.requirements import Array, integer_between, number_at_least
from assay.randomness import RandomState, generator

HOUSE_FEATURES: tuple[str, ...] = ("crime", "large_lots", "industry", "river", "nitric_oxides", "rooms")
HOUSE_FEATURES += ("old_houses", "distance_to_work", "highways", "tax", "pupils_per_teacher", "noise")
HOUSE_FEATURES += ("poverty",)
"""Names of the columns of `house_prices_law`."""

# How much each feature follows "centre of the city", "wealth" and "traffic".
_CENTRE = [0.5, -0.7, 0.7, 0.1, 0.8, -0.1, 0.8, -0.9, 0.4, 0.4, 0.1, 0.4, 0.3]
_WEALTH = [-0.4, 0.2, -0.3, 0.1, -0.2, 0.8, -0.2, 0.1, -0.2, -0.3, -0.4, -0.1, -0.8]
_TRAFFIC = [0.5, -0.1, 0.3, 0.0, 0.3, 0.0, 0.1, -0.1, 0.8, 0.8, 0.3, 0.5, 0.2]
_LOADINGS = np.column_stack([_CENTRE, _WEALTH, _TRAFFIC])
_COEF = np.array([-0.9, 1.1, 0.1, 0.7, -2.0, 2.7, 0.0, -3.1, 2.6, -2.1, -2.0, -0.8, -3.7])


def house_prices_law() -> LinearGaussian:
    """A stand-in for the table of Boston house prices: 13 correlated features, price in thousands.

    The original table has a variable that was made to measure people by their origin, and was withdrawn from
    common libraries; it is not shipped here. This law has its shape: `sample(506)` gives 13 columns of unit
    variance that follow three hidden factors, and prices around 22.5 with about three quarters of their
    variance explained. A file of one's own goes the way of any table: `assay compare houses.csv`.

    Examples
    --------
    >>> from assay.datasets import house_prices_law
    >>> X, y = house_prices_law().sample(506, random_state=0)
    >>> X.shape, bool(20 < y.mean() < 25)
    ((506, 13), True)

    References
    ----------
    Peyré, linear models, numerical tour on house prices.
    """
    shared = _LOADINGS @ _LOADINGS.T
    own = np.maximum(1.05 - np.diagonal(shared), 0.05)
    covariance = shared + np.diag(own)
    scale = np.sqrt(np.diagonal(covariance))
    covariance = covariance / np.outer(scale, scale)
    return LinearGaussian(_COEF, intercept=22.5, noise_std=4.7, covariance=covariance)


@dataclass(frozen=True, eq=False, init=False)
class ElectricityLoad(RegressionLaw):
    """Hourly demand in GW from the hour, the weekday, the temperature and the cloud cover.

        Y = 55 + daily(hour) + weekly(weekday) + thermal(temperature) + 2 cloud + σε,   ε ~ N(0, 1),

    with a morning and an evening peak, quieter weekends, 2.3 GW for each degree below 15 °C (heating, with a
    smooth bend) and 0.8 GW for each degree above 24 °C (cooling). Hour and weekday are cyclic. The numbers
    are made up; their shape and size are those of France.

    Parameters
    ----------
    noise_std : float, default=1.5
        σ in GW, at least 0.

    Examples
    --------
    >>> from assay.datasets import ElectricityLoad
    >>> X, y = ElectricityLoad().sample(1000, random_state=0)
    >>> X.shape, ElectricityLoad.feature_names
    ((1000, 4), ('hour', 'weekday', 'temperature', 'cloud'))

    References
    ----------
    Rudi & Şimşekli §1.3.4 names the use case.
    """

    feature_names: ClassVar[tuple[str, ...]] = ("hour", "weekday", "temperature", "cloud")
    noise_std: float = field(default=1.5)

    def __init__(self, noise_std: float = 1.5) -> None:
        self._set(noise_std=number_at_least("ElectricityLoad", "noise_std", noise_std, 0.0), n_features=4)

    @property
    def noise_variance(self) -> float:
        """Var(Y | X) = σ²."""
        return self.noise_std**2

    def parts(self, X: ArrayLike) -> Array:
        """The four terms of each row, of shape (n, 4): daily, weekly, thermal and cloud."""
        hour, weekday, temperature, cloud = self._rows(X).T
        turn = 2 * np.pi * hour / 24
        daily = -4 * np.cos(turn - 0.4) - 3 * np.cos(2 * turn - 1.6) + np.sin(3 * turn)
        week = 2 * np.pi * weekday / 7
        weekly = 2.5 * np.cos(week - 2 * np.pi * 2 / 7) - 1.2 * np.cos(2 * week - 4 * np.pi * 5.5 / 7)
        # log(1 + eˣ) is a ramp with a smooth bend.
        thermal = 2.3 * np.logaddexp(0.0, 15 - temperature) + 0.8 * np.logaddexp(0.0, temperature - 24)
        return np.column_stack([daily, weekly, thermal, 2.0 * cloud])

    def regression_function(self, X: ArrayLike) -> Array:
        """Give f*(x), one value per row."""
        return 55.0 + self.parts(X).sum(axis=1)

    def _draw_features(self, n_samples: int, rng: np.random.Generator) -> Array:
        hour = rng.integers(0, 24, n_samples).astype(float)
        season = rng.uniform(0, 2 * np.pi, n_samples)
        weekday = rng.integers(0, 7, n_samples).astype(float)
        temperature = _temperature(season, hour) + 3 * rng.standard_normal(n_samples)
        return np.column_stack([hour, weekday, temperature, rng.beta(0.8, 0.8, n_samples)])

    def series(self, n_hours: int, random_state: RandomState = None) -> Sample:
        """Draw consecutive hours from the first of January on, with weather that changes slowly.

        Parameters
        ----------
        n_hours : int
            Length of the series.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Where the randomness comes from.
        """
        n_hours = integer_between(self._name, "n_hours", n_hours, 1)
        rng = generator(random_state)
        index = np.arange(n_hours)
        hour = (index % 24).astype(float)
        weather = np.empty((2, n_hours))
        state = rng.standard_normal(2)
        for step in index:  # two autoregressions of unit variance that forget within two days
            state = 0.98 * state + np.sqrt(1 - 0.98**2) * rng.standard_normal(2)
            weather[:, step] = state
        temperature = _temperature(2 * np.pi * index / (24 * 365), hour) + 3 * weather[0]
        X = np.column_stack([hour, index // 24 % 7, temperature, 1 / (1 + np.exp(-2 * weather[1]))])
        return Sample(X, self.regression_function(X) + self.noise_std * rng.standard_normal(n_hours))


def _temperature(season: Array, hour: Array) -> Array:
    """Mean temperature in °C at an angle of the year, 0 being the first of January, and an hour."""
    return 12.5 - 8 * np.cos(season - 0.35) - 3 * np.cos(2 * np.pi * (hour - 3) / 24)
