"""Proofs of forests: splits, averages, what rows out of the bag say."""
