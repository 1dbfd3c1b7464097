"""Three jobs of section 2.1 of Lin et al. 2013, and its two policies on a generated stream."""

import malleable as mb

jobs = mb.MapShuffleJobs(map=[1, 3, 2], shuffle=[2, 1, 2])
for overlap in (True, False):
    records = mb.simulate(jobs, policy="fcfs", overlap=overlap).records
    print("overlap" if overlap else "tandem", records["map_completion"], records["completion"])

stream = mb.MapShuffleStream(100_000, load=0.75)
result = mb.simulate(stream, policy=["max-srpt", "split-srpt", "k-lps"], rng=7)
for policy, summary in result.summary.items():
    print(f"{policy:10} {summary['mean_response']:.3f} s, bound {summary['lower_bound']:.3f} s")
