"""What a training step holds: states, the walk of tensors through a step, and what the process adds."""
