"""Feature maps of columns, and regression on them."""
