"""Pictures of classifiers."""
