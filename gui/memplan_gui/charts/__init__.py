"""Charts: what they paint, the axes they stand in, and the files they are exported to."""
