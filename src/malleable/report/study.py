"""A study: what a page is about, that is jobs, a cluster, and the record (the schedule that really happened) if
the files have it. Every assumption is kept as a sentence for the page."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from malleable.arrays import Floats, numbered
from malleable.cluster.events import is_events
from malleable.cluster.jobs_from_events import jobs_from_events
from malleable.cluster.nodes import Cluster, read_cluster
from malleable.cluster.table import ClusterJobs
from malleable.display import counted
from malleable.files.advice import AdvisedError
from malleable.files.reading import source_of
from malleable.report.units import Schedule, Units, units_of
from malleable.traces.converting import left_out
from malleable.traces.formats import read
from malleable.traces.merging import Window, between, merged
from malleable.traces.recorded_schedule import RecordedSchedule
from malleable.traces.trace import Trace
from malleable.validation import ALL_SLOTS
from malleable.view.text import duration, number

_NO_WAIT = 0.99  # share of jobs that start on arrival from which waits show nothing
_PIECES = 20  # tasks of the median job, if the log has work but no tasks
_MOST_PIECES = 1e6  # tasks of all jobs
_CUT_PART = 0.05  # a log was cut if no job ended in this first part of the time of arrivals
_CUT_RATE = 4.0  # and jobs came this many times as often afterwards
_CUT_JOBS = 10  # fewer jobs afterwards say nothing of a rate


class KnownSlots(NamedTuple):
    """How many slots a cluster has, and a sentence that names the source."""

    slots: int
    sentence: str


@dataclass
class Study:
    """The jobs of a page and their cluster.

    Attributes
    ----------
    ran_on : Cluster or None
        Where the jobs ran, as the file says.
    record : RecordedSchedule or None
        When the jobs ran, from the first arrival on.
    known_slots : KnownSlots or None
        By the file, or by the record.
    groups : dict
        By kind the name of each job's group.
    warnings, assumed, skipped : list of str
        Sentences.
    files : list of dict
        ``name``, ``bytes``, ``sha256``.
    units : Units
        The jobs as the log counts them.
    schedule : Schedule or None
        The recorded one of the units.
    since : float
        From then on the log has all jobs [s]: later than the first arrival if it is cut out of a longer one.
    waits_tell : bool
        Whether the record is worth a comparison: not if nearly all of its jobs start on arrival.
    load : float
        Work over slots over the time in which jobs came; NaN if they came at once.
    """

    jobs: ClusterJobs
    format: str
    ran_on: Cluster | None = None
    record: RecordedSchedule | None = None
    known_slots: KnownSlots | None = None
    groups: dict[str, Sequence[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    cluster: Cluster = field(init=False)
    units: Units = field(init=False)
    schedule: Schedule | None = None
    since: float = -math.inf
    waits_tell: bool = False
    load: float = math.nan

    @property
    def slots(self) -> int:
        return int(self.cluster.map_slots.sum() + self.cluster.reduce_slots.sum())


def study(
    sources: Sequence[str | Trace],
    *,
    cluster: str | Cluster | None = None,
    slots: int | None = None,
    load: float | None = None,
    spread: float | None = None,
    seed: int = 0,
    rigid: bool = False,
    malleable: float | None = None,
    window: Window = (None, None),
    options: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Study:
    """Read files or traces of one format (or one file of events), and say on which cluster their jobs run.

    Parameters
    ----------
    sources : sequence of str or Trace
    cluster, slots, load
        At most one: nodes (a TOML file), a number of slots for all tasks, or the load. By default what the
        file says, or else the most slots that were ever in use at once.
    spread : float, optional
        Jobs that all have one arrival time come at random times within these seconds.
    seed : int
        Of these times, and of ``malleable``.
    rigid, malleable
        All jobs are rigid, or a random share of them is malleable.
    window
        First and last time of arrivals that count: seconds, or dates; None: all.
    options, reading : mapping, optional
        Options of `malleable.read` and of converters by name.

    Raises
    ------
    ValueError, OSError
        As `malleable.read`; more than one of the three, or nothing that gives the size of the cluster.
    """
    if sum(each is not None for each in (cluster, slots, load)) > 1:
        raise ValueError("give only one of --slots, --load and --cluster")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(sources[0], str) and len(sources) == 1 and is_events(sources[0]):
            jobs, ran_on = jobs_from_events(sources[0])
            found = Study(jobs, "recorded events", ran_on=ran_on)
        else:
            found = _read(sources, options or {}, dict(reading or {}), window)
        found.skipped += dict.fromkeys(str(warning.message) for warning in caught)
    found.files = [each for path in sources if isinstance(path, str) for each in checksums(path)]
    found.jobs = reshaped(_spread(found, spread, seed), rigid, malleable, seed)
    found.cluster = _place(found, cluster, slots, load)
    found.units = units_of(found.jobs, found.cluster, found.groups)
    found.since = since = _since(found)
    found.load = load_of(found.jobs, found.cluster, found.record, since)
    if not math.isinf(since):
        found.warnings.append(
            f"The log seems to be cut out of a longer one: some jobs came up to "
            f"{duration(since - float(found.jobs.arrival.min()))} before the others. Jobs that came then and "
            "ended soon are missing, so waits at the beginning are too short. The load is that of the time "
            "afterwards. (With --from TIME, only what is left then of the first jobs counts.)"
        )
    if round(found.load, 2) > 1.0:
        found.warnings.append(
            f"More work came than the slots can do (load {found.load:.3g}): waits grow until no more jobs come,"
            " so means and longest waits depend on how long the log is."
        )
    if found.record is not None:
        _take_record(found, found.record)
    return found


def _read(
    sources: Sequence[str | Trace],
    options: Mapping[str, Any],
    given: dict[str, Any],
    window: Window,
) -> Study:
    traces = [
        each if isinstance(each, Trace) else read(source_of(each), **options) for each in sources
    ]
    trace = between(merged(traces), *window)
    cut = "task_seconds" not in given and _uncut(trace)
    if cut:
        given["task_seconds"] = _piece(trace)
    found = Study(trace.tasks(**given), trace.format)
    if cut:
        piece = duration(given["task_seconds"])
        found.assumed.append(f"Jobs have work, but no tasks: it is cut into tasks of {piece}.")
    found.assumed += stated(trace, given)
    _tell_rows(found, trace, trace.task_rows())
    return found


def stated(trace: Trace, given: Mapping[str, Any], converter: str = "tasks") -> list[str]:
    """What a converter of a trace assumes, each as ``name = value``."""
    known = {**trace.assumptions(converter), **given}
    return [
        f"{name} = {number(own) if isinstance(own, (int, float)) else own}"
        for name, own in known.items()
        if own is not None
    ]


def _tell_rows(found: Study, trace: Trace, rows: Any) -> None:
    # What is known of these rows of a trace: groups, the record, and what is left out.
    groups = {"user": trace.user, "program": trace.program, **trace.groups}
    found.groups = {
        kind: [values[row] for row in rows.tolist()]
        for kind, values in groups.items()
        if values is not None and len(values)
    }
    if len(rows) < len(trace):
        what = "job" if trace.flow is None else "stage"
        why = left_out(trace, rows) or "no known task times, or never ran"
        found.skipped.append(
            f"{counted(len(trace) - len(rows), what)} of {len(trace):,} left out: {why}."
        )
    found.known_slots = slots_known(trace, rows)
    record = trace.recorded(rows)
    if record is not None and len(rows):
        origin = float(trace.arrival[rows].min()) / trace.per_second if trace.wall else 0.0
        shifted = {
            name: getattr(record, name) - origin for name in ("arrival", "start", "end", "time")
        }
        found.record = record._replace(**shifted)
    if record is None and trace.format == "SWF log":
        found.warnings.append(
            "In this log no job waits. If its submit times are start times, jobs come when there is room, "
            "and every policy looks better than it would be."
        )


def slots_known(trace: Trace, rows: Any) -> KnownSlots | None:
    # The slots of the cluster as the log says, or the most that were in use at once.
    record = trace.recorded(rows)
    most = 0 if record is None else record.most
    if trace.width is not None and len(rows):
        most = max(most, int(trace.width[rows].max()))
    if trace.slots is not None and trace.slots >= most:
        return KnownSlots(
            trace.slots,
            f"The cluster has {counted(trace.slots, 'slot')}, as the head of the log says.",
        )
    if record is None or not most:
        return None
    told = f"The cluster has {counted(most, 'slot')}: the most that were ever in use at once (--slots N if it"
    told += " has more)."
    if trace.slots is not None:
        told = f"{told[:-1]}; the log says {trace.slots:,}, which is less."
    return KnownSlots(most, told)


def reshaped(jobs: ClusterJobs, rigid: bool, malleable: float | None, seed: int) -> ClusterJobs:
    """The same jobs, all ``rigid`` or a random share of them ``malleable``, where possible. ValueError for
    both, and for a share out of range."""
    if rigid and malleable is not None:
        raise ValueError("give only one of --rigid and --malleable")
    if rigid:
        return jobs.changed(width=np.maximum(jobs.maps, 1))
    if malleable is None:
        return jobs
    if not 0.0 <= malleable <= 1.0:
        raise ValueError(f"--malleable {malleable:g}: a share is from 0 to 1")
    chosen = np.random.default_rng(seed).random(len(jobs)) < malleable
    return jobs.changed(width=np.where(chosen, 1, jobs.width)) if chosen.any() else jobs


def _since(found: Study) -> float:
    # When a log that was cut out of a longer one begins to have all jobs; -infinity if it was not cut.
    if found.record is None or not len(found.jobs):
        return -math.inf
    arrival = np.sort(found.jobs.arrival)
    ends = found.record.end[np.isfinite(found.record.end)]
    first = float(ends.min(initial=math.inf))
    early = arrival[arrival < first]
    whole = float(arrival[-1] - arrival[0])
    before, after = first - float(arrival[0]), float(arrival[-1]) - first
    later = len(arrival) - len(early)
    if not (len(early) > 1 and before > _CUT_PART * whole and after > 0.0) or later < _CUT_JOBS:
        return -math.inf
    if later / after < _CUT_RATE * len(early) / before:
        return -math.inf
    gaps = np.diff(np.append(early, first))
    return float(np.append(early, first)[int(np.argmax(gaps)) + 1])


def _uncut(trace: Trace) -> bool:
    # Whether the trace has work, but no tasks.
    if trace.map.work is None or isinstance(trace.table, ClusterJobs):
        return False
    tasks = trace.map.tasks
    return tasks is None or bool((tasks == ALL_SLOTS).any())


def _piece(trace: Trace) -> float:
    # Seconds of a task, so that the median job has some twenty and all jobs a million at most.
    work = trace.map.work
    some = work[work > 0.0]
    if not len(some):
        return 1.0
    exact = max(float(np.median(some)) / _PIECES, float(some.sum()) / _MOST_PIECES)
    digits = 10.0 ** math.floor(math.log10(exact))
    return float(f"{math.ceil(exact / digits) * digits:.12g}")


def _spread(found: Study, spread: float | None, seed: int) -> ClusterJobs:
    jobs = found.jobs
    if spread is None:
        return jobs
    if not (math.isfinite(spread) and spread > 0.0):
        raise ValueError(f"spread = {spread}: must be above 0")
    if len(jobs) and np.ptp(jobs.arrival):
        raise ValueError("--spread: the jobs have arrival times of their own")
    found.assumed.append(
        f"Jobs come at random times within {duration(spread)} (--spread, seed {seed})."
    )
    found.record = None
    return spread_jobs(jobs, spread, seed)


def spread_jobs(jobs: ClusterJobs, spread: float, seed: int) -> ClusterJobs:
    """The same jobs at random times, in the order of the table; jobs of a flow come together."""
    names, flow = numbered(range(len(jobs)) if jobs.flow is None else jobs.flow)
    times = np.sort(np.random.default_rng(seed).uniform(0.0, spread, len(names)))
    return at_times(jobs, jobs.arrival + times[flow])


def at_times(jobs: ClusterJobs, arrival: Floats) -> ClusterJobs:
    # The same jobs with other arrivals; deadlines move with them.
    return jobs.changed(
        arrival=arrival, deadline=np.minimum(jobs.deadline + (arrival - jobs.arrival), np.inf)
    )


def load_of(
    jobs: ClusterJobs,
    cluster: Cluster,
    record: RecordedSchedule | None = None,
    since: float = -math.inf,
) -> float:
    """Work over the capacity of the slots while jobs came, the larger of both kinds of slots. For a cut log
    the work that was done since then."""
    span = float(np.ptp(jobs.arrival)) if len(jobs) else 0.0
    if record is not None and not math.isinf(since):
        step = np.diff(np.maximum(record.time, since))
        span = float(jobs.arrival.max()) - since
        pool = float(cluster.rate @ (cluster.map_slots + cluster.reduce_slots))
        return float(record.slots[:-1] @ step) / (span * pool) if span * pool > 0.0 else math.nan
    if not span > 0.0:
        return math.nan
    maps, reduces = (float(cluster.rate @ own) for own in (cluster.map_slots, cluster.reduce_slots))
    work = float(jobs.map_work.sum()), float(jobs.reduce_work.sum())
    pairs = [(sum(work), maps)] if cluster.generic else [(work[0], maps), (work[1], reduces)]
    return max((own / (span * pool) for own, pool in pairs if pool > 0.0), default=math.nan)


def _place(
    found: Study, cluster: str | Cluster | None, slots: int | None, load: float | None
) -> Cluster:
    # The cluster on which the jobs run: as asked, or as the file says.
    jobs = found.jobs
    if cluster is not None:
        return cluster if isinstance(cluster, Cluster) else read_cluster(cluster)
    if slots is not None:
        return Cluster([{"name": "node", "slots": slots}])
    if load is None and found.ran_on is not None:
        return found.ran_on
    if load is None and found.known_slots is not None:
        found.assumed.append(found.known_slots.sentence)
        return Cluster([{"name": "node", "slots": found.known_slots.slots}])
    if len(jobs) and not np.ptp(jobs.arrival):
        told = "all jobs come at one time, so a load does not say how many slots there are"
        way = "--slots N says it; --spread SECONDS lets them come one after another"
        raise AdvisedError(told, "say slots or spread", way)
    if load is None:
        told, way = (
            "how large is the cluster? the file does not say it",
            "say slots, load or cluster",
        )
        raise AdvisedError(told, way, "--slots N, --load L or --cluster FILE says it")
    alike = jobs.flow is not None or found.record is not None or bool(jobs.rigid.any())
    made = Cluster.for_load(jobs, load, generic=alike)
    found.assumed.append(
        f"The cluster has as many slots as make a load of {load:g}, {made!r}: as --load says."
    )
    return made


def _take_record(told: Study, record: RecordedSchedule) -> None:
    # The record's figures of the jobs, and whether it can be believed.
    units = told.units
    schedule = units.schedule(np.arange(len(units.of)), record.start, record.end)
    known = np.isfinite(schedule.end) & np.isfinite(schedule.start)
    if not known.any():
        told.record = None
        told.warnings.append(
            "No job has a recorded start and end: there is no row for what really happened."
        )
        return
    told.schedule, told.units = schedule, replace(units, counted=known)
    missing = int((~known).sum())
    if missing:
        told.skipped.append(
            f"{counted(missing, 'job')} of {len(units):,} have no recorded start or end: they run in the "
            "simulations, and no figure counts them."
        )
    wait = schedule.start[known] - units.arrival[known]
    at_once = float((wait <= 0.0).mean())
    told.waits_tell = at_once < _NO_WAIT
    if not told.waits_tell:
        told.warnings.append(
            f"{100 * at_once:.0f} % of the jobs start at the moment they are submitted. If the file has start "
            "times as submit times, its waits mean nothing, and every policy looks better than it would be: "
            "what follows compares simulations with each other, not with the record."
        )
    late = int((wait < 0.0).sum())
    if late:
        told.warnings.append(
            f"{counted(late, 'job')} started before being submitted; their wait counts as 0."
        )


def checksums(path: str) -> list[dict[str, Any]]:
    # Name, bytes and SHA-256 of a file, or of each file of a folder.
    place = Path(path)
    if place.is_dir():
        inside = sorted(each for each in place.rglob("*") if each.is_file())
        return [told for each in inside for told in checksums(str(each))]
    if not place.is_file():
        name = "standard input" if path == "-" else path
        return [{"name": name, "bytes": None, "sha256": None}]
    digest, size = hashlib.sha256(), 0
    with place.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
            size += len(part)
    return [{"name": place.name, "bytes": size, "sha256": digest.hexdigest()}]
