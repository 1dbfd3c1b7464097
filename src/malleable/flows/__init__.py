"""The model of flows, which are graphs of malleable jobs: table, plan, epoch, and the checker of schedules."""
