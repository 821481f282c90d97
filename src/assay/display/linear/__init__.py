"""Pictures of linear models."""
