"""Real runs of Snakemake with the local executor: how soon samples are complete, and when all is, by scheduler.

    python benchmarks/live/samples.py [--seeds 3] [--cores 4] [--unit 1.0] [--known] [--files]

The workflow is `benchmarks.instances.samples.SNAKEFILE`: 20 samples of 5 steps that sleep. Schedulers take
turns on each seed. Nothing is known of times at first; with ``--known`` each run is the second one of its
workflow (``--forceall``), with ``--files`` inputs are as large as samples take long. Printed: seconds until
a sample is complete in the mean, and until all are, as ratios to greedy's on the same seed.

    python benchmarks/live/samples.py --tutorial --cores 2 --schedulers greedy ilp firstfit malleable

The same for the steps of Snakemake's tutorial with real reads (`benchmarks.instances.samples.TUTORIAL`): 20
samples are mapped, sorted and indexed, then all are called. bwa, samtools and bcftools are in the path;
ilp needs pulp, firstfit `snakemake-scheduler-plugin-firstfit`.

    python benchmarks/live/samples.py --clock [--seeds 10] [--cores 2 4 8]

The same ratios on a clock of its own, where nothing costs time (`benchmarks.instances.samples.samples`):
without and with sizes of inputs, and with what an earlier run of other samples took.

    python benchmarks/live/samples.py --ready 10000 100000

Time of an answer with so many ready jobs, against greedy's, on 8 slots: processor seconds of the first answer,
and in the mean of the ``--answers`` after it.
"""

from __future__ import annotations

import argparse
import logging
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.instances.samples import SNAKEFILE, TUTORIAL, Loop, StandInDag, reads, samples


def run(scheduler, options, seed):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(TUTORIAL if options.tutorial else SNAKEFILE)
        if options.tutorial:
            reads(folder, seed)
            subprocess.run(
                ["bwa", "index", "data/genome.fa"], cwd=folder, check=True, capture_output=True
            )
        command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores[0]), "--quiet", "all",
                   "--scheduler", scheduler, "--config", f"seed={seed}", f"unit={options.unit}",
                   *(["files=1"] if options.files else [])]  # fmt: skip
        for again in [[], ["--forceall"]] if options.known else [[]]:
            began = time.time()
            subprocess.run([*command, *again], cwd=folder, check=True, capture_output=True)
        made = ("sorted/*.bai", "calls/*") if options.tutorial else ("out/*.4", "out/*.4")
        ends, last = ([file.stat().st_mtime - began for file in folder.glob(some)] for some in made)
        return statistics.fmean(ends), max(last)


def compare(options):
    ratios = {}
    for seed in range(1, options.seeds + 1):
        base = None
        for name in options.schedulers:
            found = run(name, options, seed)
            base = base or found
            ratios.setdefault(name, []).append([a / b for a, b in zip(found, base, strict=True)])
            print("seed {} {}: {:.1f} s, {:.1f} s".format(seed, name, *found), flush=True)
    for name, own in ratios.items():
        mean, last = (statistics.fmean(column) for column in zip(*own, strict=True))
        print(
            f"{name}: mean until a sample is complete {mean:.2f}, makespan {last:.2f} of greedy's"
        )


def on_a_clock(options):
    import snakemake_scheduler_plugin_malleable as malleable
    from snakemake.scheduling import greedy

    malleable.order.SHARE = math.inf

    def run(module, seed, cores, known, past=()):
        def make(dag):
            made = module.Scheduler(dag, module.SchedulerSettings(), logging.getLogger("it"))
            for job in past:
                made._times.add(job.rule.name, job.bytes, job.seconds)
            return made

        jobs, sizes = samples(20, seed=seed)
        loop = Loop(StandInDag(jobs), {"_cores": cores}, sizes if known else {}).run(make)
        ends = [loop.end[job] for job in jobs if job.rule.name == "step4"]
        return statistics.fmean(ends), max(ends)

    for cores in options.cores:
        ratios = {}
        for seed in range(options.seeds):
            jobs, sizes = samples(20, seed=1000 + seed)
            for job in jobs:
                job.bytes = sizes.get(f"in/{job.wildcards_dict.get('name')}", 0)
            base = run(greedy, seed, cores, False)
            cases = {
                "nothing known": (False,),
                "sizes": (True,),
                "sizes, earlier run": (True, jobs[:-1]),
            }
            for name, case in cases.items():
                own = run(malleable, seed, cores, *case)
                ratios.setdefault(name, []).append([a / b for a, b in zip(own, base, strict=True)])
        for name, own in ratios.items():
            mean, last = (statistics.fmean(column) for column in zip(*own, strict=True))
            print(f"{cores} cores, {name}: mean {mean:.2f}, makespan {last:.2f} of greedy's")


def answers(options):
    import snakemake_scheduler_plugin_malleable as malleable
    from snakemake.scheduling import greedy

    for count in options.ready:
        for name, module in (("malleable", malleable), ("greedy", greedy)):

            def make(dag, module=module):
                return module.Scheduler(dag, module.SchedulerSettings(), logging.getLogger("it"))

            jobs, sizes = samples(count)
            loop = Loop(StandInDag(jobs), {"_cores": 8}, sizes).run(
                make, answers=1 + options.answers
            )
            first, *later = loop.spent
            told = f"first answer {first:.3f} s, then {statistics.fmean(later):.3f} s"
            print(
                f"{count:,} ready jobs, {name}: {told}; {sum(loop.spent):.2f} s in all", flush=True
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=int, nargs="+", default=[4])
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--unit", type=float, default=1.0)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--tutorial", action="store_true")
    parser.add_argument("--schedulers", nargs="+", default=["greedy", "malleable"])
    parser.add_argument("--ready", type=int, nargs="*")
    parser.add_argument("--answers", type=int, default=100)
    options = parser.parse_args()
    (answers if options.ready else on_a_clock if options.clock else compare)(options)


if __name__ == "__main__":
    main()
