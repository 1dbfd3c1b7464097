"""Every instance that a measurement names: its generator, its parameters and its seeds.

Each module says at its top what it has: `speed` (what kernels, epochs and simulators are timed on, and the
papers' generators), `loops` (jobs and flows that come while decisions are made), `events` (many worlds for
loops that ask at every event), `tables` (large, with deadlines), `clusters` (tasks on nodes), `workflows`
(DAGs of real traces), `dags` (whose tasks slow each other), `research` (files of research), `samples`
(workflows for Snakemake), `gpus` (measured speed-ups), `sleeps` (live runs), `hpc` (rigid and malleable jobs
of MPI programs), `rigid` (logs of rigid jobs).
Generators draw with NumPy's default generator (PCG64) from the seed alone, so an instance is the same wherever
it is drawn with the same NumPy. All names are found here: ``from benchmarks.instances import periodic_jobs``.
"""

from benchmarks.instances.clusters import *  # noqa: F403
from benchmarks.instances.dags import *  # noqa: F403
from benchmarks.instances.events import *  # noqa: F403
from benchmarks.instances.gpus import *  # noqa: F403
from benchmarks.instances.hpc import *  # noqa: F403
from benchmarks.instances.loops import *  # noqa: F403
from benchmarks.instances.research import *  # noqa: F403
from benchmarks.instances.rigid import *  # noqa: F403
from benchmarks.instances.samples import *  # noqa: F403
from benchmarks.instances.sleeps import *  # noqa: F403
from benchmarks.instances.speed import *  # noqa: F403
from benchmarks.instances.tables import *  # noqa: F403
from benchmarks.instances.workflows import *  # noqa: F403
