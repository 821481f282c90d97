"""How sure: intervals, class sets and honest probabilities, from rows that trees have not seen."""
