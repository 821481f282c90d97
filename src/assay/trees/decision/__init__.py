"""Single trees: growing, pruning, reading and proving them."""
