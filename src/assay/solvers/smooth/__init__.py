"""Penalised risks of smooth losses, by walks over the rows."""
