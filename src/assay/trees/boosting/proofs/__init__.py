"""Proofs of boosted trees: every round again from the rows."""
