"""Pictures of discriminant analysis."""
