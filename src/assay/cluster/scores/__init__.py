"""Scores of a clustering: by its rows alone, or against labels."""
