"""Naive Bayes: within a class the columns are independent, each of a family of its own."""
