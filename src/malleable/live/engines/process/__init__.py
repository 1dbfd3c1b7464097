"""Processes that run tasks, and those that start, watch and end them."""
