"""Map and reduce tasks in time steps: a workload of Zheng et al. 2013 (ASRPT), a trace, and a loop of your own.

The trace is a SWIM file of the folder that the environment variable MALLEABLE_TRACES names, if any.
"""

import os
from pathlib import Path

import malleable as mb
from malleable.slotted.generate import section7

jobs = section7("uniform-small", rng=1)
for preemptive in (True, False):
    policies = ["asrpt", "unlock", "fifo", "fair", "lrpt"]
    result = mb.simulate(jobs, policies, machines=100, preemptive=preemptive)
    print("preemptive" if preemptive else "non-preemptive")
    for policy, summary in result.summary.items():
        print(
            f"  {policy:6} mean flow {summary['mean_response']:5.2f} steps, "
            f"{summary['ratio']:.2f} x the SRPT bound, {summary['tight_ratio']:.2f} x ours"
        )

# Sizes that are wrong, and jobs that overrun them.
wrong = mb.simulate(jobs, "unlock", estimates=1.0, rng=2).summary["unlock"]
print(f"unlock on log-normal estimates: {wrong['ratio']:.2f} x the SRPT bound")

# The same policy in a scheduler's loop: who starts how many tasks now.
epoch = mb.SlottedEpoch(slots=10, policy="unlock", step_seconds=20.0)
ids = epoch.add(maps=[4, 30], reduce_left=[200.0, 60.0])
decision = epoch.decide(0.0)
print("now:", dict(zip(decision.ids.tolist(), decision.maps.tolist(), strict=True)))
epoch.update(ids, maps=[0, 24], running=[4, 6])

trace = Path(os.environ.get("MALLEABLE_TRACES", "")) / "swim-facebook"
trace /= "FB-2009_samples_24_times_1hr_0.tsv.gz"
if "MALLEABLE_TRACES" in os.environ and trace.exists():
    jobs = mb.read(trace).map_reduce()
    result = mb.simulate(jobs, ["asrpt", "unlock", "fifo"], machines=191)
    for policy, summary in result.summary.items():
        print(f"  {policy:6} {summary['tight_ratio']:7.2f} x our bound on {trace.name}")
else:
    print("no trace: MALLEABLE_TRACES names no folder with one")
