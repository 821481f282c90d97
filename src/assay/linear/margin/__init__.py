"""Support vectors, quantiles, Huber's loss, the perceptron."""
