"""K-means by mini-batches."""
