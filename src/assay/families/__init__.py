"""Families and links: the laws of generalised linear models."""

from __future__ import annotations

from assay.families.families import (
    FAMILIES,
    Binomial,
    Gaussian,
    InverseGaussian,
    LinkedFamily,
)
from assay.families.links import LINKS, Link, ShareLoss, link
from assay.homes import publish
from assay.losses import Family, Gamma, NegativeBinomial, Poisson, QuasiPoisson, Tweedie

__all__ = [
    "FAMILIES",
    "LINKS",
    "Binomial",
    "Family",
    "Gamma",
    "Gaussian",
    "InverseGaussian",
    "Link",
    "LinkedFamily",
    "NegativeBinomial",
    "Poisson",
    "QuasiPoisson",
    "ShareLoss",
    "Tweedie",
    "link",
]

_HERE = ["Binomial", "Gaussian", "InverseGaussian", "Link", "LinkedFamily", "ShareLoss", "link"]
publish({**globals(), "__all__": _HERE})  # the others live in `assay.losses`
