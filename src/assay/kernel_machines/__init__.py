"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.homes import publish
from assay.kernel_machines.kernel_ridge.estimator import KernelRidge
from assay.kernel_machines.kernel_ridge.results import KernelRidgePath, Smoothing
from assay.kernel_machines.kernel_ridge.selection import KernelSelection

__all__ = ["KernelRidge", "KernelRidgePath", "KernelSelection", "Smoothing"]

publish(globals())
