"""Convex clustering of rows, or of rows and columns: centres fused by a penalty."""
