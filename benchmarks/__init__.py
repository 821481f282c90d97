"""Benchmarks: every case run by Assay and by each peer that is installed, in one run."""
