"""Data: tables of real data, and laws that can be sampled and asked for their truth."""

from assay.datasets._blobs import Blobs
from assay.datasets._classification_law import ClassificationLaw
from assay.datasets._gaussian_classes import GaussianClasses, two_gaussians_law
from assay.datasets._houses import HOUSE_FEATURES, house_prices_law
from assay.datasets._law import Estimate, Law, Sample
from assay.datasets._linear_gaussian import LinearGaussian
from assay.datasets._linear_law import RegressionLaw
from assay.datasets._load import ElectricityLoad
from assay.datasets._rings import Rings
from assay.datasets._sparse_linear import SparseLinear
from assay.datasets._table import Table
from assay.datasets._tables import available, breast_cancer, diabetes, digits, iris, load, us_arrests, wine
from assay.datasets._two_moons import TwoMoons
from assay.homes import publish

__all__ = [
    "HOUSE_FEATURES",
    "Blobs",
    "ClassificationLaw",
    "ElectricityLoad",
    "Estimate",
    "GaussianClasses",
    "Law",
    "LinearGaussian",
    "RegressionLaw",
    "Rings",
    "Sample",
    "SparseLinear",
    "Table",
    "TwoMoons",
    "available",
    "breast_cancer",
    "diabetes",
    "digits",
    "house_prices_law",
    "iris",
    "load",
    "two_gaussians_law",
    "us_arrests",
    "wine",
]

publish(globals())
