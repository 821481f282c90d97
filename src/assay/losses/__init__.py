"""Losses: functions of a target and a prediction, with their derivatives, conjugates and constants."""

from __future__ import annotations

from assay.homes import publish
from assay.losses.base import Loss, RowTerms, weighted_mean
from assay.losses.counts import Family, LogLinkLoss, NegativeBinomial, Poisson, QuasiPoisson
from assay.losses.decision import chosen, mistaken
from assay.losses.logistic import CrossEntropy, Exponential, Logistic, Savage
from assay.losses.margin import Hinge, MarginLoss, SquaredHinge, ZeroOne
from assay.losses.multinomial import Multinomial, ReferenceMultinomial, logsumexp, softmax
from assay.losses.named import LOSS_NAMES, loss
from assay.losses.positive import Gamma, Tweedie
from assay.losses.residual import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    SidedLoss,
    Squared,
    SquaredEpsilonInsensitive,
)
from assay.losses.responses import CumulativeResponse, Probit

__all__ = [
    "LOSS_NAMES",
    "Absolute",
    "CrossEntropy",
    "CumulativeResponse",
    "EpsilonInsensitive",
    "Exponential",
    "Family",
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
    "QuasiPoisson",
    "ReferenceMultinomial",
    "RowTerms",
    "Savage",
    "SidedLoss",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "ZeroOne",
    "chosen",
    "logsumexp",
    "loss",
    "mistaken",
    "softmax",
    "weighted_mean",
]

publish(globals())
