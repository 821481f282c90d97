"""Any convex risk in the Hilbert space of a kernel."""
