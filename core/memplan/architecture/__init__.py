"""From a model's configuration to its shapes and exact counts."""
