"""Processes that run tasks, and the processes that start, watch and end them."""
