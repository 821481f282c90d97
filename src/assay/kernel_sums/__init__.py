"""Kernel sums: smoothing kernels, and weighted sums of them around any row."""

from assay.homes import publish
from assay.kernel_sums.bins import (
    GridSums,
    PairLags,
    gaussian_grid,
    gaussian_pairs,
    lags_of_bins,
    linear_bins,
    pair_lags,
)
from assay.kernel_sums.kernels import KernelMoments, SmoothingKernel
from assay.kernel_sums.named import KERNEL_NAMES, kernel_moments, legendre_kernel, smoothing_kernel
from assay.kernel_sums.sums import KernelSums

__all__ = ["KERNEL_NAMES", "GridSums", "KernelMoments", "KernelSums", "PairLags", "SmoothingKernel"]
__all__ += ["gaussian_grid", "gaussian_pairs", "kernel_moments", "lags_of_bins", "legendre_kernel"]
__all__ += ["linear_bins", "pair_lags", "smoothing_kernel"]

publish(globals())
