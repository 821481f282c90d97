"""Linear discriminant analysis."""
