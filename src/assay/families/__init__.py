"""Families and links: the laws of generalised linear models."""

from __future__ import annotations

from assay.families._families import (
    FAMILIES,
    Binomial,
    Family,
    Gamma,
    Gaussian,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
    QuasiPoisson,
    Tweedie,
)
from assay.families._linked import LinkedFamily
from assay.families._links import LINKS, Link, link
from assay.homes import publish

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
    "Tweedie",
    "link",
]

publish(globals())
