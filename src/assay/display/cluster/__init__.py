"""Pictures of clusterings."""
