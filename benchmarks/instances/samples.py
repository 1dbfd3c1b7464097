"""Workflows of samples for Snakemake: as stand-ins of its jobs for a clock of its own, and as a Snakefile.

`samples(count, steps, seed)`: each sample is a chain of steps; its size is lognormal(0, 1), a step takes the
size times lognormal(0, 0.3) (times 2 in every other step), its input has 10^8 bytes times the size. A job
without wildcards waits for all. `TUTORIAL` and its `reads` are real work for bwa and samtools. `Loop` asks a
scheduler as Snakemake does, whenever something happened; nothing of Snakemake is needed.
"""

from __future__ import annotations

import heapq
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

__all__ = ["SNAKEFILE", "TUTORIAL", "Loop", "StandIn", "StandInDag", "reads", "samples"]

SNAKEFILE = """
import random

rng = random.Random(int(config["seed"]))
names = [f"s{k:02d}" for k in range(int(config.get("samples", 20)))]
size = {name: rng.lognormvariate(0, 1) for name in names}
seconds = {
    (name, step): float(config["unit"]) * size[name] * (1 + step % 2) * rng.lognormvariate(0, 0.3)
    for name in names for step in range(5)
}
for name in names:
    if config.get("files") and not os.path.exists(f"in/{name}"):
        os.makedirs("in", exist_ok=True)
        with open(f"in/{name}", "wb") as file:
            file.truncate(int(1e6 * size[name]))

rule all:
    input: expand("out/{name}.4", name=names)

for step in range(5):
    rule:
        name: f"step{step}"
        input: f"out/{{name}}.{step - 1}" if step else "in/{name}" if config.get("files") else []
        output: f"out/{{name}}.{step}"
        params: seconds=lambda w, step=step: seconds[w.name, step]
        shell: "sleep {params.seconds}; touch {output}"
"""

# The steps of Snakemake's tutorial, for more samples.
TUTORIAL = """
names = sorted(name[:-6] for name in os.listdir("data/samples"))

rule all:
    input: "calls/all.vcf"
rule bwa_map:
    input: "data/genome.fa", "data/samples/{sample}.fastq"
    output: "mapped/{sample}.bam"
    shell: "bwa mem {input} 2> {output}.log | samtools view -b -o {output}"
rule samtools_sort:
    input: "mapped/{sample}.bam"
    output: "sorted/{sample}.bam"
    shell: "samtools sort -T {output} -o {output} {input}"
rule samtools_index:
    input: "sorted/{sample}.bam"
    output: "sorted/{sample}.bam.bai"
    shell: "samtools index {input}"
rule bcftools_call:
    input: fa="data/genome.fa", bam=expand("sorted/{sample}.bam", sample=names),
        bai=expand("sorted/{sample}.bam.bai", sample=names)
    output: "calls/all.vcf"
    shell: "bcftools mpileup -f {input.fa} {input.bam} | bcftools call -mv -o {output}"
"""


def reads(folder: Path, seed: int, count: int = 20, mean: int = 10_000) -> None:
    """A random genome of 10^6 bases, and samples of it: lognormal(0, 1) times so many reads of 100 bases."""
    rng = np.random.default_rng(seed)
    genome = np.frombuffer(b"ACGT", np.uint8)[rng.integers(4, size=10**6)]
    (folder / "data" / "samples").mkdir(parents=True)
    (folder / "data" / "genome.fa").write_bytes(b">genome\n" + genome.tobytes() + b"\n")
    for k, size in enumerate(rng.lognormal(0.0, 1.0, count)):
        begin = rng.integers(len(genome) - 100, size=int(mean * size))
        line = np.frombuffer(b"@%08d\n" % 0 + 100 * b"A" + b"\n+\n" + 100 * b"I" + b"\n", np.uint8)
        table = np.tile(line, (len(begin), 1))
        for digit in range(8):
            table[:, 8 - digit] = ord("0") + np.arange(len(begin)) // 10**digit % 10
        table[:, 10:110] = genome[begin[:, None] + np.arange(100)]
        wrong = rng.random((len(begin), 100)) < 0.01
        table[:, 10:110][wrong] = ord("A")
        (folder / "data" / "samples" / f"s{k:02d}.fastq").write_bytes(table.tobytes())


class _File(str):
    """A path as Snakemake has them."""

    def is_flagged(self, flag: str) -> bool:
        return False


class StandIn:
    """A job, as far as schedulers ask."""

    benchmark = None
    log = ()
    rules: ClassVar[dict[str, SimpleNamespace]] = {}  # jobs of a rule share it, as in Snakemake

    def __init__(
        self, rule: str, wildcards: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str],
        seconds: float, needs: Mapping[str, int] | None = None, priority: int = 0,
    ) -> None:  # fmt: skip
        self.rule = self.rules.setdefault(rule, SimpleNamespace(name=rule))
        self.wildcards_dict, self.seconds, self.priority = wildcards, seconds, priority
        self.input, self.output = list(map(_File, inputs)), list(map(_File, outputs))
        self.needs = {"_cores": 1, "_nodes": 1, "_job_count": 1} | dict(needs or {})

    @property
    def scheduler_resources(self) -> dict[str, int]:
        return dict(self.needs)

    def is_group(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self.rule.name} {self.output[0]}>"


class StandInDag:
    """A DAG of stand-ins."""

    def __init__(self, jobs: Sequence[StandIn]) -> None:
        self.all, self.done = list(jobs), set()
        made = {str(file): job for job in jobs for file in job.output}
        self.above = {
            job: list(dict.fromkeys(made[file] for file in job.input if file in made))
            for job in jobs
        }

    def needrun_jobs(self) -> Any:
        return (job for job in self.all if job not in self.done)

    def job_dependencies(self, job: Any) -> Any:
        return self.above[job]

    def finished(self, job: Any) -> bool:
        return job in self.done


class Loop:
    """Runs a DAG; `end` has the time of each job, `spent` the seconds of the processor for each answer."""

    def __init__(self, dag: StandInDag, resources: Mapping[str, int], sizes: Mapping[str, int]):
        self.dag, self.sizes = dag, sizes
        self.free = {"_cores": 4, "_nodes": sys.maxsize, "_job_count": sys.maxsize, **resources}
        self.end: dict[StandIn, float] = {}
        self.spent: list[float] = []
        self.now = 0.0
        self.running: list[tuple[float, int, StandIn]] = []
        self.started: list[StandIn] = []
        self.waits = {job: len(above) for job, above in dag.above.items()}
        self.after: dict[StandIn, list[StandIn]] = {job: [] for job in dag.all}
        for job, above in dag.above.items():
            for other in above:
                self.after[other].append(job)
        self.ready = {job for job in dag.all if not self.waits[job]}

    def ask(self, scheduler: Any, offered: set[StandIn] | None = None) -> list[StandIn]:
        """One answer, checked; what it says starts."""
        offered = set(self.ready) if offered is None else offered
        sizes = {file: self.sizes.get(file, 0) for job in offered for file in job.input}
        began = time.process_time()
        chosen = scheduler.select_jobs(offered, [], self.free, sizes)
        self.spent.append(time.process_time() - began)
        assert chosen is not None and len(set(chosen)) == len(chosen) and set(chosen) <= offered
        for job in chosen:
            self.ready.discard(job)
            self.started.append(job)
            for name in self.free:
                self.free[name] -= job.needs.get(name, 0)
            heapq.heappush(self.running, (self.now + job.seconds, len(self.started), job))
        assert min(self.free.values()) >= 0, self.free
        return list(chosen)

    def finish(self) -> StandIn:
        """The next job ends."""
        self.now, _, job = heapq.heappop(self.running)
        for name in self.free:
            self.free[name] += job.needs.get(name, 0)
        self.dag.done.add(job)
        self.end[job] = self.now
        for other in self.after[job]:
            self.waits[other] -= 1
            if not self.waits[other]:
                self.ready.add(other)
        return job

    def run(
        self, make: Callable[[StandInDag], Any], answers: int = sys.maxsize, subsample: int = 0
    ) -> Loop:
        """Until all has ended, or so many answers; `RuntimeError` where nothing would ever happen again."""
        scheduler = make(self.dag)
        scheduler.clock = lambda: self.now
        draw = random.Random(1)
        while (self.ready or self.running) and len(self.spent) < answers:
            if self.ready and self.free["_cores"] > 0:
                some = None
                if subsample and len(self.ready) > subsample:
                    some = set(draw.sample(sorted(self.ready, key=repr), subsample))
                if not self.ask(scheduler, some) and not self.running:
                    raise RuntimeError("nothing runs and nothing was chosen")
            if self.running:
                self.finish()
        return self


def samples(
    count: int, steps: int = 5, seed: int = 1, threads: Sequence[int] = (1,), spread: float = 1.0
) -> tuple[list[StandIn], dict[str, int]]:
    """Jobs, and bytes of their inputs."""
    draw = random.Random(seed)
    jobs, sizes = [], {}
    for k in range(count):
        size = draw.lognormvariate(0, spread)
        sizes[f"in/{k}"] = int(1e8 * size)
        for step in range(steps):
            seconds = size * (1 + step % 2) * draw.lognormvariate(0, 0.3)
            above = f"{k}.{step - 1}" if step else f"in/{k}"
            needs = {"_cores": threads[step % len(threads)]}
            jobs.append(
                StandIn(f"step{step}", {"name": str(k)}, [above], [f"{k}.{step}"], seconds, needs)
            )
    jobs.append(StandIn("all", {}, [f"{k}.{steps - 1}" for k in range(count)], ["all"], 0.0))
    return jobs, sizes
