"""Linear models by stochastic gradients."""
