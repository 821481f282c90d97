"""What is told of the models beside their scores."""
