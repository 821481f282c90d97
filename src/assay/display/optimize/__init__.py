"""Pictures of convex sets, functions and programmes."""
