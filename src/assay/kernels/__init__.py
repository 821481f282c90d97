"""Kernels: symmetric functions of two rows, and the matrices they make."""

from assay.homes import publish
from assay.kernels.custom import KERNEL_NAMES, Custom, Precomputed, kernel
from assay.kernels.dot_product import Bilinear, Exponential, Linear, Polynomial, Sigmoid
from assay.kernels.kernel import Definiteness, Kernel, check_psd, is_psd
from assay.kernels.stationary import Gaussian, Laplacian
from assay.kernels.tiles import asymmetry, mirror_upper

__all__ = ["KERNEL_NAMES", "Bilinear", "Custom", "Definiteness", "Exponential", "Gaussian", "Kernel"]
__all__ += ["Laplacian", "Linear", "Polynomial", "Precomputed", "Sigmoid", "asymmetry", "check_psd", "is_psd"]
__all__ += ["kernel", "mirror_upper"]

publish(globals())
