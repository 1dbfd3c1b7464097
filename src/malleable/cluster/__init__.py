"""The model of clusters: jobs of single tasks, nodes with slots, the scheduler, and the simulation."""
