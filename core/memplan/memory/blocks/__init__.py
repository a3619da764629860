"""The parts of a model, operation by operation, as the walk runs them."""
