"""Kernel machines: models whose solution is a combination of kernels at the training rows."""

from assay.homes import publish
from assay.kernel_machines.kernel_ridge.estimator import KernelRidge
from assay.kernel_machines.kernel_ridge.path import KernelRidgePath, Smoothing
from assay.kernel_machines.likelihood.estimator import KernelLogisticRegression
from assay.kernel_machines.likelihood.path import KernelLogisticPath
from assay.kernel_machines.risk.estimator import KernelERM

__all__ = [
    "KernelERM",
    "KernelLogisticPath",
    "KernelLogisticRegression",
    "KernelRidge",
    "KernelRidgePath",
    "Smoothing",
]

publish(globals())
