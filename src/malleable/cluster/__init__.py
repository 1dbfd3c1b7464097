"""Tasks on nodes: jobs and nodes, classes matched to resources, epoch and simulation."""
