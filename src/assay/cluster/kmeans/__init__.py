"""K-means: Lloyd's iteration with bounds, seeding, mini-batches, bisection, the exact line."""
