"""Clustering by centres of any kind: one alternation of assignment and update, many centres."""
