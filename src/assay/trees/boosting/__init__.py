"""Boosted trees: histogram boosting with any loss."""
