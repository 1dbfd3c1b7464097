"""Flows, DAGs of malleable jobs: table, plan, epoch, and the checker of schedules."""
