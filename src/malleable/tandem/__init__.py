"""Map and shuffle phases that overlap: table, epoch and the tandem queue's simulation."""
