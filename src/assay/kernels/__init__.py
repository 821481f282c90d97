"""Kernels: symmetric functions of two rows, and the matrices they make."""

from assay.homes import publish
from assay.kernels._bilinear import Bilinear
from assay.kernels._custom import Custom
from assay.kernels._definiteness import Definiteness, check_psd, is_psd
from assay.kernels._exponential import Exponential
from assay.kernels._gaussian import Gaussian
from assay.kernels._kernel import Kernel
from assay.kernels._laplacian import Laplacian
from assay.kernels._linear import Linear
from assay.kernels._named import KERNEL_NAMES, kernel
from assay.kernels._polynomial import Polynomial
from assay.kernels._precomputed import Precomputed
from assay.kernels._sigmoid import Sigmoid
from assay.kernels._tiles import asymmetry, mirror_upper

__all__ = [
    "KERNEL_NAMES",
    "Bilinear",
    "Custom",
    "Definiteness",
    "Exponential",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "asymmetry",
    "check_psd",
    "is_psd",
    "kernel",
    "mirror_upper",
]

publish(globals())
