"""Losses: functions of a target and a prediction, with their derivatives, conjugates and constants."""

from __future__ import annotations

from assay.homes import publish
from assay.losses._counts import NegativeBinomial, Poisson
from assay.losses._cumulative import CumulativeResponse, Probit
from assay.losses._hinge import Hinge, SquaredHinge, ZeroOne
from assay.losses._log_link import LogLinkLoss
from assay.losses._logistic import CrossEntropy, Exponential, Logistic, Savage
from assay.losses._loss import Loss
from assay.losses._margin import MarginLoss
from assay.losses._multinomial import Multinomial, ReferenceMultinomial, logsumexp, softmax
from assay.losses._named import LOSS_NAMES, loss
from assay.losses._positive import Gamma, Tweedie
from assay.losses._residual import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)
from assay.losses._sided import SidedLoss

__all__ = [
    "LOSS_NAMES",
    "Absolute",
    "CrossEntropy",
    "CumulativeResponse",
    "EpsilonInsensitive",
    "Exponential",
    "Gamma",
    "Hinge",
    "Huber",
    "LogLinkLoss",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "Probit",
    "Quantile",
    "ReferenceMultinomial",
    "Savage",
    "SidedLoss",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "ZeroOne",
    "logsumexp",
    "loss",
    "softmax",
]

publish(globals())
