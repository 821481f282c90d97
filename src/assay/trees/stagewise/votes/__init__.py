"""How a boosted vote is made, where its rows are, and what its margins say."""
