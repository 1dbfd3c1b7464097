"""Malleable jobs: table, plan, epoch, and the checker of schedules."""
