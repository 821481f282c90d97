"""Best-first growing on bins: histograms, the search among them, the frontier."""
