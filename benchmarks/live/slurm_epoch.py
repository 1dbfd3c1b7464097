"""What one look of a governor costs: its own time, and that of Slurm's controller, on real Slurm.

``python -m benchmarks.live.slurm_epoch [--arrays 1000] [--tasks 200] [--looks 12]``, as root. Arrays of
another user's can wait beside (``--others``). Times are of this machine as it is; shares are of one core,
the controller's beyond what it takes for itself in as long a time before.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from malleable.live.decider import SchedulerDecider
from malleable.live.slurm.commands import Slurm
from malleable.live.slurm.governor import Governor
from malleable.live.slurm.lease import Lease
from malleable.live.slurm.place_deciders import PlaceDeciders
from tests.live.slurm_cluster import SlurmCluster, why_not


def spent(pid):
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share_of(pid, seconds):
    """Per cent of a core that a process takes for so long."""
    before, began = spent(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (spent(pid) - before) / (time.monotonic() - began)


def ours():
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--others", type=int, default=0, help="single jobs of somebody else's")
    parser.add_argument("--looks", type=int, default=12)
    parser.add_argument("--every", type=float, default=5.0)
    asked = parser.parse_args()
    if why_not():
        sys.exit(why_not())
    rng = np.random.default_rng(1)
    with SlurmCluster(24) as cluster:
        sizes = rng.integers(asked.tasks // 2, 3 * asked.tasks // 2, asked.arrays)
        listed = " ".join(map(str, sizes))
        begin = "sbatch -Q -o /dev/null"
        cluster.run(
            "sh", "-c",
            f"for n in {listed}; do {begin} -J a$n --array=1-$n --wrap 'sleep 60'; done",
        )  # fmt: skip
        if asked.others:
            loop = f"for n in $(seq {asked.others}); do {begin} -J o$n --wrap 'sleep 60'; done"
            cluster.run("sh", "-c", loop, who=cluster.other)
        os.environ["SLURM_CONF"] = str(cluster.conf)
        engine = Slurm(asked.every, everybody=True)
        governor = Governor(
            engine, PlaceDeciders(lambda place: SchedulerDecider(1, counted=True, processors="own")),
            lambda array: array.user == cluster.user.pw_name, Lease(engine),
        )  # fmt: skip
        controller = int((cluster.base / "run" / "slurmctld.pid").read_text())
        time.sleep(10.0)  # the first tasks have started
        alone, took, slurm = share_of(controller, asked.looks * asked.every), [], []
        for number in range(asked.looks):
            if number == 2:  # the first two look for the first time, and move most
                before = ours(), spent(controller), time.monotonic()
            began = time.perf_counter()
            look = engine.look()
            governor.take(look)
            governor.step(0.0)
            took.append(time.perf_counter() - began)
            slurm.append(look.took)
            time.sleep(asked.every)
        lasted = time.monotonic() - before[2]
        shares = [
            100 * (ours() - before[0]) / lasted,
            100 * (spent(controller) - before[1]) / lasted,
        ]
        waiting = sum(array.pending for array in governor.look.arrays.values())
        print(
            f"{len(governor.look.arrays)} arrays, {waiting:,} tasks wait, {governor.looks} looks:"
            f" first {1e3 * took[0]:.0f} ms, then {1e3 * np.median(took[2:]):.0f} ms (most"
            f" {1e3 * max(took[2:]):.0f}), of which Slurm's answers {1e3 * np.median(slurm[2:]):.0f};"
            f" ours {shares[0]:.2f} % of a core, controller's {shares[1] - alone:.2f} % beyond its own"
            f" {alone:.2f} %; {governor.changes} changes"
        )


if __name__ == "__main__":
    main()
