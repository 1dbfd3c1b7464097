"""The operator's page.

What another policy would have done to the jobs that a cluster wrote down, as one file without any network.
Here: 200 generated jobs; your own file takes their place.
"""

import subprocess

import numpy as np

import malleable as mb

rng = np.random.default_rng(1)
come, most = np.cumsum(rng.exponential(2.0, 200)), rng.integers(1, 20, 200)
jobs = mb.Jobs(
    rng.lognormal(3.0, 1.2, 200), arrival=come, max_slots=most, user=rng.choice(["ann", "bob"], 200)
)
mb.write_jobs(jobs, "jobs.csv")
subprocess.run(
    ["malleable", "report", "jobs.csv", "--slots", "40", "--html", "page.html", "--quick", "-q"],
    check=True,
)
