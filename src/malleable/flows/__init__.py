"""Flows, DAGs of malleable jobs: table, kernels, plan, epoch, and the checker of schedules."""
