"""Pictures of neighbours."""
