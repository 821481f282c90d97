"""Boosting one learner at a time: one engine, oracles, line searches, and the proofs of every round."""
