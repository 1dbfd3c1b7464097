"""Live runs: a loop that observes, decides, acts and records, over engines that run tasks."""
