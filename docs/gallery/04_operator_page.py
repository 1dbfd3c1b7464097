"""The operator's page.

The page says how soon the jobs of a cluster would have ended under another policy. It is one file, and needs
no network. The script uses 200 generated jobs. Use the log of your own cluster instead.
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
