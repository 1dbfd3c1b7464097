"""Malleable jobs: table, kernels, plan, epoch, and the checker of schedules."""
