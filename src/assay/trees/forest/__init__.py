"""Ensembles of trees that are grown apart and averaged: bagging, random forests, extremely random trees."""
