"""What every policy decides on recorded instances, frozen: `record` writes it, `test_frozen` compares.

``instances/`` holds what was recorded once and is data since: tables and flows in the exchange formats, and
streams of events of epochs as JSON lines (see `epochs`). ``expected/`` holds what was decided on them, as
text: all numbers in full, of long columns the first ones and a digest.

========================= =====================================================================
section41                 as in FLEX, section 4.1: minima, maxima, weights, deadlines, SLA steps
ties                      equal ratios and times, no work, weight 0, minima beyond the slots, gangs
facebook, jobs-facebook   48 jobs of a trace: its arrivals, and input / 64 MiB x 20 s as work; ``many``
                          makes 2,400 of them by arithmetic
flows, flows-arrivals     chains, trees and DAGs with deadlines; all there, or over time
map-shuffle, -batch       phases that overlap, with ties, empty phases and estimates; -batch: all at once
map-reduce                tasks in time steps
cluster, cluster-flows    tasks on nodes: users, racks, a node that leaves; flows on generic slots
jobs, flows, tandem,      streams of events, one for each class of epochs
slotted
adaptive                  a stream of events of a scheduler with that policy
========================= =====================================================================

The trace is FB-2009_samples_24_times_1hr_0 of SWIM (Chen, Ganapathi, Griffith, Katz, "The case for evaluating
MapReduce performance using workload suites", MASCOTS 2011; New BSD licence).

GCC and Clang, with and without optimisation, give the same bytes. Files whose name ends in ``-libm`` also hold
powers, logarithms and cosines, whose last bit the C library's version may change: their floats are compared to
1e-9. Class matching (adaptive) takes a solver of linear programs; what is frozen are starts of tasks, which do
not depend on its last bits.
"""
