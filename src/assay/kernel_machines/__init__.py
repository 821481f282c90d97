"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.kernel_machines._kernel_ridge import KernelRidge
from assay.kernel_machines._kernel_ridge_results import KernelRidgePath, Smoothing
from assay.kernel_machines._kernel_ridge_selection import KernelSelection

__all__ = ["KernelRidge", "KernelRidgePath", "KernelSelection", "Smoothing"]
