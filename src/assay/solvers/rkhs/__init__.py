"""Regularised risk in the Hilbert space of a kernel: ½‖h‖² + Σ c ℓ(y, h(x) + b)."""
