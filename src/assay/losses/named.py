"""Losses by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from assay import parameters
from assay.losses.base import Loss
from assay.losses.counts import NegativeBinomial, Poisson
from assay.losses.logistic import CrossEntropy, Exponential, Logistic, Savage
from assay.losses.margin import Hinge, SquaredHinge, ZeroOne
from assay.losses.multinomial import Multinomial, ReferenceMultinomial
from assay.losses.positive import Gamma, Tweedie
from assay.losses.residual import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)
from assay.losses.responses import CumulativeResponse, Probit

_CLASSES: Mapping[str, Any] = {
    "squared": Squared,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "logistic": Logistic,
    "exponential": Exponential,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "savage": Savage,
    "zero_one": ZeroOne,
    "probit": Probit,
    "cumulative_response": CumulativeResponse,
    "cross_entropy": CrossEntropy,
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "multinomial": Multinomial,
    "reference_multinomial": ReferenceMultinomial,
}

LOSS_NAMES: tuple[str, ...] = tuple(_CLASSES)


def loss(name: Any, **settings: Any) -> Loss:
    """Give the loss of a name, or the loss itself.

    Parameters
    ----------
    name : str or Loss
        A name of `LOSS_NAMES`; a loss is returned as it is.
    **settings
        Parameters of the named loss.

    Examples
    --------
    >>> from assay.losses import loss
    >>> loss("huber", delta=2.0)
    Huber(delta=2.0)
    """
    if isinstance(name, Loss) and not settings:
        return name
    if not isinstance(name, str) or name not in _CLASSES:
        names = ", ".join(map(repr, LOSS_NAMES))
        words = f"one of {names}, or a Loss without further parameters"
        raise parameters.refusal("loss", "name", words, name)
    kind = _CLASSES[name]
    known = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in known:
            listed = " or ".join(map(repr, known))
            words = f"among those of {kind.__name__} ({listed or 'none'})"
            raise parameters.refusal("loss", "settings", words, setting)
    made: Loss = kind(**settings)
    return made
