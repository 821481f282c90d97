"""Rules from probabilities: the Bayes rule of a law, plug-in rules of estimates, and a rule of chance."""
