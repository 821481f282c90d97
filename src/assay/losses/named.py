"""Losses by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from assay import parameters
from assay.losses import counts, logistic, margin, multinomial, positive, residual, responses
from assay.losses.base import Loss

_CLASSES: Mapping[str, Any] = {
    "squared": residual.Squared,
    "absolute": residual.Absolute,
    "huber": residual.Huber,
    "quantile": residual.Quantile,
    "epsilon_insensitive": residual.EpsilonInsensitive,
    "squared_epsilon_insensitive": residual.SquaredEpsilonInsensitive,
    "logistic": logistic.Logistic,
    "exponential": logistic.Exponential,
    "hinge": margin.Hinge,
    "squared_hinge": margin.SquaredHinge,
    "savage": logistic.Savage,
    "zero_one": margin.ZeroOne,
    "probit": responses.Probit,
    "cumulative_response": responses.CumulativeResponse,
    "cross_entropy": logistic.CrossEntropy,
    "poisson": counts.Poisson,
    "negative_binomial": counts.NegativeBinomial,
    "gamma": positive.Gamma,
    "tweedie": positive.Tweedie,
    "multinomial": multinomial.Multinomial,
    "reference_multinomial": multinomial.ReferenceMultinomial,
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
