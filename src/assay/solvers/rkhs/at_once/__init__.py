"""Steps on many rows at once, where those on pairs of rows creep."""
