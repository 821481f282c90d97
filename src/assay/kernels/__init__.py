"""Kernels: symmetric functions of two rows, their algebra, the matrices they make, the spaces they span."""

from assay.homes import publish
from assay.kernels.algebra import (
    Composed,
    Constant,
    ExponentialOf,
    Multiple,
    Normalized,
    PolynomialOf,
    Product,
    Reweighted,
    Sum,
)
from assay.kernels.angles import ArcCosine, Geometric
from assay.kernels.custom import KERNEL_NAMES, Custom, Precomputed, kernel
from assay.kernels.definiteness import (
    Definiteness,
    KernelCheck,
    check_kernel,
    check_psd,
    is_psd,
    search_refutation,
)
from assay.kernels.dot_product import Bilinear, Exponential, Linear, Polynomial, Sigmoid
from assay.kernels.kernel import Kernel
from assay.kernels.maps import Functions, LinearMap, Monomials
from assay.kernels.periodic import BernoulliSpline, CosineSeries, ExpSineSquared
from assay.kernels.rkhs import (
    EmpiricalFeatureMap,
    MinimumNorm,
    RKHSFunction,
    Side,
    TwoSides,
    cheaper_side,
    empirical_feature_map,
    minimum_norm_weights,
)
from assay.kernels.series import n_monomials
from assay.kernels.stationary import Gaussian, Laplacian, Matern
from assay.kernels.tiles import asymmetry, mirror_upper

__all__ = ["KERNEL_NAMES", "Bilinear", "Custom", "Definiteness", "Exponential", "Gaussian", "Kernel"]
__all__ += ["Laplacian", "Linear", "Polynomial", "Precomputed", "Sigmoid", "asymmetry", "check_psd", "is_psd"]
__all__ += ["kernel", "mirror_upper"]
__all__ += ["ArcCosine", "BernoulliSpline", "CosineSeries", "ExpSineSquared", "Geometric", "Matern"]
__all__ += ["Composed", "Constant", "ExponentialOf", "Multiple", "Normalized", "PolynomialOf", "Product"]
__all__ += ["Functions", "LinearMap", "Monomials", "Reweighted", "Sum", "n_monomials"]
__all__ += ["KernelCheck", "check_kernel", "search_refutation"]
__all__ += ["EmpiricalFeatureMap", "MinimumNorm", "RKHSFunction", "Side", "TwoSides"]
__all__ += ["cheaper_side", "empirical_feature_map", "minimum_norm_weights"]

publish(globals())
