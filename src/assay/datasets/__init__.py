"""Data: tables of real data, and laws that can be sampled and asked for their truth."""

from assay.datasets.curves import Rings, TwoMoons
from assay.datasets.gaussian import Blobs, GaussianClasses, two_gaussians_law
from assay.datasets.lattice import LatticeLaw
from assay.datasets.laws import ClassificationLaw, Estimate, Law, RegressionLaw, Sample
from assay.datasets.linear import LinearGaussian, SparseLinear
from assay.datasets.mixed import GaussianBernoulli, GaussianUniform, LabelNoise
from assay.datasets.stand_ins import HOUSE_FEATURES, ElectricityLoad, house_prices_law
from assay.datasets.tables import (
    Table,
    available,
    breast_cancer,
    diabetes,
    digits,
    iris,
    load,
    us_arrests,
    wine,
)
from assay.homes import publish

__all__ = ["HOUSE_FEATURES", "Blobs", "ClassificationLaw", "ElectricityLoad", "Estimate", "GaussianClasses"]
__all__ += ["Law", "LinearGaussian", "RegressionLaw", "Rings", "Sample", "SparseLinear", "Table", "TwoMoons"]
__all__ += ["GaussianBernoulli", "GaussianUniform", "LabelNoise", "LatticeLaw"]
__all__ += ["available", "breast_cancer", "diabetes", "digits", "house_prices_law", "iris", "load"]
__all__ += ["two_gaussians_law", "us_arrests", "wine"]

publish(globals())
