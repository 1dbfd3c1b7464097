"""Map and shuffle phases that overlap: table, kernels, epoch and the tandem queue's simulation."""
