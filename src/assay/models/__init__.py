"""What rooms share: bases by capability, selection, paths."""
