"""What runs tasks: one file an engine."""
