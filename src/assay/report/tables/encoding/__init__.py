"""Columns turned into numbers, for methods that want marks and for trees that want codes."""
