"""Epochs along recorded events: one adapter a class, so that another dialect changes adapters alone.

An event has a time ``t``, a ``call`` and its columns. Jobs and flows are called by ``keys``, the order in
which they were added, never by ids. Decisions show keys, too.
"""

import io
import json
from pathlib import Path

import numpy as np

import malleable as mb
from malleable.flows.plan import FLOW_POLICIES
from malleable.jobs.plan import POLICIES
from malleable.policies import policy_names
from tests.frozen.lines import cluster_of, column, section, words
from tests.frozen.plans import OBJECTIVES, many_jobs
from tests.oracles.class_matching import EAGER

INSTANCES = Path(__file__).parent / "instances"


class Adapter:
    """An epoch object that hears events; ``decide`` gives lines. What all classes have in common."""

    def __init__(self, epoch):
        self.epoch = epoch
        self.ids = []
        self.key = {}
        self.held = {}

    def took(self, ids):
        """New ids are the next keys'."""
        for number in ids.tolist():
            self.key[number] = len(self.ids)
            self.ids.append(number)

    def of(self, keys):
        return [self.ids[key] for key in keys]

    def keys(self, ids):
        return [self.key[number] for number in ids.tolist()]

    def add(self, now, **columns):
        self.took(self.epoch.add(**columns))

    def update(self, now, keys, **columns):
        self.epoch.update(self.of(keys), **columns)

    def finish(self, now, keys):
        self.epoch.finish(self.of(keys))

    def remove(self, now, keys):
        self.epoch.remove(self.of(keys))

    def moved(self, decision):
        """What changed since the decision before, by key; the decision says so itself."""
        keys, slots = self.keys(decision.ids), decision.slots.tolist()
        now = dict(sorted(zip(keys, slots, strict=True)))
        none = [0, 0] if decision.slots.ndim == 2 else 0
        moved = {key: got for key, got in now.items() if got != self.held.get(key, none)}
        said = [key for key, flag in zip(keys, decision.changed.tolist(), strict=True) if flag]
        assert sorted(said) == list(moved)
        self.held = now
        return " ".join([f"n={len(now)}", *(f"{key}:{got}" for key, got in moved.items())])


class Jobs(Adapter):
    def __init__(self, **options):
        super().__init__(mb.Epoch(**options))

    def finish(self, now, keys):
        self.epoch.remove(self.of(keys))

    def decide(self, now, slots=None, value=False, plan=False):
        decision = self.epoch.decide(now, slots=slots)
        yield f"{now} {self.moved(decision)}"
        if value:
            yield words(value=decision.value, lower_bound=decision.lower_bound)
        if plan:
            found = decision.plan()
            yield words(plan=found.value, lower_bound=found.lower_bound, status=found.status)
            yield " ".join(["order", *map(str, self.keys(decision.ids[found.order]))])
            yield column("completion", found.completion[decision.ids.argsort()])


class Flows(Adapter):
    """Keys of jobs, and of flows beside them."""

    def __init__(self, **options):
        super().__init__(mb.FlowEpoch(**options))
        self.flow_ids = []

    def add(self, now, flows):
        table = mb.read_flows(io.StringIO(json.dumps({"flows": flows})))
        ids = self.epoch.add(table)
        self.took(ids.jobs)
        self.flow_ids += ids.flows.tolist()

    def remove(self, now, flows):
        self.epoch.remove(flows=[self.flow_ids[flow] for flow in flows])

    def decide(self, now, slots=None, value=False):
        decision = self.epoch.decide(now, slots=slots)
        ready = sorted(self.keys(decision.ids[decision.ready]))
        ended = [self.flow_ids.index(flow) for flow in decision.ended.tolist()]
        yield f"{now} {self.moved(decision)} ready {ready} ended {ended}".replace(",", "")
        if value:
            plan = decision.plan()
            yield words(value=plan.value, lower_bound=plan.lower_bound, status=plan.status)
            yield " ".join(
                ["order", *(plan.flows.name[row].removeprefix("flow") for row in plan.order)]
            )
            yield column("flow_completion", plan.flow_completion)


class Tandem(Adapter):
    def __init__(self, map_slots, shuffle_slots, **options):
        self.slots = [map_slots, shuffle_slots]
        super().__init__(mb.TandemEpoch(self.slots, **options))

    def decide(self, now, map_slots=None, shuffle_slots=None):
        if map_slots is not None:
            self.slots[0] = map_slots
        if shuffle_slots is not None:
            self.slots[1] = shuffle_slots
        d = self.epoch.decide(now, slots=self.slots)
        self.moved(d)
        runs = [
            f"{key}:{maps}+{shuffles}({a}+{b})"
            for key, (maps, shuffles), (a, b) in zip(
                self.keys(d.ids), d.slots.tolist(), d.share.tolist(), strict=True
            )
            if a or b
        ]
        yield " ".join([str(now), *runs])


class Slotted(Adapter):
    def __init__(self, machines, **options):
        super().__init__(mb.SlottedEpoch(machines, **options))

    def add(self, now, **columns):
        self.took(self.epoch.add(arrival=now, **columns))

    def decide(self, now, machines=None):
        d = self.epoch.decide(now, slots=machines)
        self.moved(d)
        given = zip(self.keys(d.ids), d.maps.tolist(), d.reduces.tolist(), strict=True)
        starts = [f"{key}:{maps}+{reduces}" for key, maps, reduces in given if maps or reduces]
        yield " ".join([str(now), *starts])


class AdaptiveStarts(Adapter):
    """What it starts ends when the events say so: ``end`` takes a part of what runs, the oldest first."""

    def __init__(self, **options):
        cluster = cluster_of(INSTANCES / "cluster.toml")
        policy = mb.AdaptiveLiteral(**EAGER | options)
        super().__init__(mb.Scheduler(cluster, policy, learn=False, ageing=0.0, replicas=2))
        self.running = []

    def add(self, now, blocks=None, **columns):
        ids = self.epoch.add(mb.ClusterJobs(**columns), now)
        self.took(ids)
        for job, nodes in zip(ids, blocks or [None] * len(ids), strict=True):
            if nodes is not None:
                self.epoch.set_blocks(job, nodes)

    def end(self, now, part, factor, failed):
        count = round(part * len(self.running))
        ended, self.running = self.running[:count], self.running[count:]
        for k, (job, phase, task, node, began) in enumerate(ended):
            if k < failed:
                self.epoch.failed([job], phase, task=task, now=now)
            else:
                seconds = (now - began) * factor
                self.epoch.ended([job], phase, node=node, seconds=seconds, now=now)

    def remove(self, now, keys):
        gone = self.of(keys)
        self.epoch.remove(gone, now)
        self.running = [run for run in self.running if run[0] not in gone]

    def place(self, now, key, copies, blocks):
        nodes = self.epoch.place(self.ids[key], copies, blocks)
        yield f"{now} place {key} {nodes.tolist()}".replace(",", "")

    def match(self, now):
        yield words(time=now, solves=self.epoch.matching(now).solves)

    def decide(self, now, free_map_slots, free_reduce_slots=0):
        free = np.zeros((len(self.epoch.cluster), 2), dtype=int)
        free[:, 0], free[:, 1] = free_map_slots, free_reduce_slots
        starts = self.epoch.assign(now, free)
        runs = list(
            zip(
                *(c.tolist() for c in (starts.ids, starts.phase, starts.task, starts.node)),
                strict=True,
            )
        )
        self.running += [(*run, now) for run in runs]
        shown = [f"{self.key[job]}.{phase}.{task}@{node}" for job, phase, task, node in runs]
        yield " ".join([str(now), *shown])


def replay(adapter, stream, options):
    """What an epoch answers to a stream of events."""
    heard = adapter(**options)
    lines = []
    for text in (INSTANCES / f"{stream}.jsonl").read_text().splitlines():
        event = json.loads(text)
        now, call = event.pop("t"), event.pop("call")
        lines += getattr(heard, call)(now, **event) or ()
    return lines


def _all(adapter, stream, settings):
    return [
        section(words(**options) or "as it comes", replay(adapter, stream, options))
        for options in settings
    ]


def jobs():
    """Every policy with every objective, then FLEX with its options."""
    each = [
        {"slots": 24, "objective": objective, "policy": policy}
        for policy in POLICIES
        for objective in OBJECTIVES
    ]
    more = [
        {"slots": 24, "objective": objective, **options}
        for objective in ("sum:response", "sum:stretch", "sum:tardiness", "max:lateness")
        for options in ({"hysteresis": 0.4}, {"min_mode": "gang"}, {"effort": 20})
    ]
    more += [{"slots": 24, "policy": p, "min_mode": "gang"} for p in ("fair", "fifo", "wdeq")]
    more += [{"slots": 24, "objective": "sum:strict", "hysteresis": 0.4}]
    return _all(Jobs, "jobs", each + more)


def _many(table, options):
    """All come at once; then a few change, and many go."""
    heard = Jobs(**options)
    heard.took(heard.epoch.add(table))
    keys = np.arange(len(table))
    few, gone = keys[keys % 100 == 3], keys[keys % 4 == 1]
    calls = (
        lambda: None,
        lambda: heard.update(7.5, few, work=table.work[few] * 0.25, weight=few % 7),
        lambda: heard.remove(7.5, gone),
    )
    lines = []
    for call, now in zip(calls, (0.0, 7.5, 7.5), strict=True):
        call()
        decision = heard.epoch.decide(now)
        lines.append(column(f"slots at {now}", decision.slots[decision.ids.argsort()]))
        lines.append(words(value=decision.value, lower_bound=decision.lower_bound))
    return lines


def many():
    """Every policy with every objective, and many jobs."""
    table = many_jobs()
    each = [
        {"slots": 300, "objective": objective, "policy": policy}
        for policy in POLICIES
        for objective in OBJECTIVES
    ]
    return [section(words(**options), _many(table, options)) for options in each]


def facebook():
    """Jobs of a trace, a decision where some come or end."""
    return _all(
        Jobs,
        "jobs-facebook",
        [
            {"slots": 60, "objective": objective, "policy": policy}
            for policy in POLICIES
            for objective in ("sum:response", "max:stretch")
        ],
    )


def flows():
    """Every policy with every objective, by orders and by plans, then FlowFlex with its options."""
    each = [
        {"slots": 6, "objective": objective, "policy": policy, "effort": effort}
        for policy in FLOW_POLICIES
        for objective in OBJECTIVES
        for effort in (0, None)
    ]
    more = [
        {"slots": 6, "objective": objective, "effort": effort, **options}
        for objective in ("sum:response", "sum:stretch", "sum:tardiness")
        for effort in (0, 5, None)
        for options in ({}, {"hysteresis": 0.2})
        if options or effort
    ]
    return _all(Flows, "flows", each + more)


def tandem():
    """Every policy, as it comes and as printed."""
    return _all(
        Tandem,
        "tandem",
        [
            {"policy": policy, "map_slots": 5, "shuffle_slots": 4, **options}
            for policy in policy_names("tandem", in_loop=True)
            for options in ({}, {"conserving": False})
        ],
    )


class PeriodicFlows(Flows):
    """Decisions that are held have no plan."""

    def decide(self, now, slots=None, value=False):
        yield from super().decide(now, slots)


def periodic():
    """Loops that hold their decisions for a period: jobs by every policy and objective, and the others."""
    of_jobs = [
        {"slots": 24, "objective": objective, "policy": policy, "period": 3.0}
        for policy in POLICIES
        for objective in OBJECTIVES
        if policy == "flex" or objective == "sum:response"
    ]
    of_flows = [
        {"slots": 6, "objective": objective, "policy": policy, "effort": 0, "period": 2.0}
        for policy in FLOW_POLICIES
        for objective in ("sum:response", "max:stretch")
    ]
    of_phases = [
        {"policy": policy, "map_slots": 5, "shuffle_slots": 4, "period": 2.0}
        for policy in policy_names("tandem", in_loop=True)
    ]
    of_tasks = [
        {"machines": 10, "policy": policy, "period": 4.0}
        for policy in policy_names("slotted", in_loop=True)
    ]
    return [
        *_all(Jobs, "jobs", of_jobs),
        *_all(PeriodicFlows, "flows", of_flows),
        *_all(Tandem, "tandem", of_phases),
        *_all(Slotted, "slotted", of_tasks),
    ]


def slotted():
    """Every policy, in steps of two lengths."""
    return _all(
        Slotted,
        "slotted",
        [
            {"machines": 10, "policy": policy, "step_seconds": seconds}
            for policy in policy_names("slotted", in_loop=True)
            for seconds in (1.0, 2.5)
        ],
    )


def adaptive():
    """The options that decide otherwise, and as printed."""
    printed = {"grouped": False, "by_slots": False, "fallback": False, "patience": 0.0}
    return _all(
        AdaptiveStarts,
        "adaptive",
        [{}, {"patience": 30.0}, {"threshold": 0.0, "max_wait": 20.0}, printed],
    )
