"""K-means by repeated bisection."""
