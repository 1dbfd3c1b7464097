"""Every object that keeps state, and random calls that are right: for tests that hold for all of them.

A `Kind` makes an object and takes steps with it. What tests must remember of its calls (ids, counts) is in
``memory``, which can be copied like the object itself.
"""

import numpy as np

import malleable as mb
from malleable.policies import policy_names
from tests.oracles.class_matching import EAGER

CLUSTER = {
    "node": [
        {"count": 2, "map_slots": 2, "reduce_slots": 1},
        {"count": 2, "map_slots": 3, "reduce_slots": 2, "rate": 4.0, "storage": 1e6},
    ],
    "user": [{"name": "ann", "minimum": 2, "priority": 3}, {"name": "bob"}],
}
GENERIC = {"node": [{"count": 3, "slots": 4}], "user": CLUSTER["user"]}


class Kind:
    """One sort of object, with the options that matter."""

    def __init__(self, name, make, step):
        self.name, self.make, self.step = name, make, step

    def start(self, seed, steps=0):
        """An object after some steps, what is known of it, and the numbers to go on with."""
        rng = np.random.default_rng(seed)
        kept, memory = self.make(), {"now": 0.0, "ids": []}
        for _ in range(steps):
            self.step(kept, memory, rng)
        return kept, memory, rng


def some(rng, ids, share=0.4):
    return [k for k in ids if rng.random() < share]


def lists(*arrays):
    return [array.tolist() for array in arrays]


def epoch_step(epoch, memory, rng):
    memory["now"] += float(rng.uniform(0, 2))
    now, ids = memory["now"], memory["ids"]
    sums = epoch.objective.startswith("sum")
    call = rng.integers(5)
    if call == 0 or len(ids) < 4:
        count = int(rng.integers(1, 12))
        low = rng.integers(0, 4, count)
        new = epoch.add(
            rng.integers(0, 40, count) * 0.5,
            arrival=now,
            min_slots=low,
            max_slots=low + rng.integers(1, 9, count),
            weight=rng.integers(0, 4, count),
            deadline=now + rng.uniform(0, 40, count),
            sla=[[(now + 1.0, 1.0), (now + 9.0, 2.5)] if rng.random() < 0.4 else None] * count,
        )
        memory["ids"] += new.tolist()
        return new.tolist()
    if call == 1:
        which = some(rng, ids)
        epoch.update(
            which, work=rng.uniform(0, 20, len(which)), weight=rng.integers(0, 4, len(which))
        )
        return len(epoch)
    if call == 2:
        gone = some(rng, ids, 0.2)
        epoch.remove(gone)
        memory["ids"] = [k for k in ids if k not in gone]
        return len(epoch)
    slots = int(rng.integers(1, 40)) if rng.random() < 0.3 else None
    period = float(rng.uniform(0.1, 5)) if rng.random() < 0.5 else None
    decision = epoch.decide(now, slots=slots, period=period)
    said = lists(decision.ids, decision.slots, decision.changed)
    if period:
        ended = some(rng, ids, 0.1)
        said += [decision.order.tolist(), decision.overloaded]
        epoch.finish(ended)
        memory["ids"] = [k for k in ids if k not in ended]
    elif call == 3:
        said += [decision.value, decision.lower_bound]
    elif sums:
        plan = decision.plan()
        said += [plan.value, plan.lower_bound, *lists(plan.order, plan.completion)]
    return said


def flow_table(rng, now):
    flows = []
    for _ in range(int(rng.integers(1, 4))):
        jobs = [{"name": "a", "work": float(rng.integers(0, 9))}]
        jobs += [{"name": "b", "work": float(rng.integers(1, 9)), "max_slots": 3, "after": ["a"]}]
        if rng.random() < 0.5:
            jobs += [{"name": "c", "work": 2.0, "after": ["a", "b"]}]
        flows.append(jobs)
    return mb.Flows(
        flows,
        arrival=now + rng.integers(0, 2, len(flows)),
        weight=rng.integers(1, 4, len(flows)),
        deadline=now + rng.uniform(1, 30, len(flows)),
    )


def flow_step(epoch, memory, rng):
    memory["now"] += float(rng.uniform(0, 1))
    now, ids = memory["now"], memory["ids"]
    call = rng.integers(6)
    if call == 0 or len(ids) < 3:
        table = flow_table(rng, now)
        kinds = rng.choice(["response", "tardiness", "stretch"], len(table)).tolist()
        new = epoch.add(table, kind=kinds if rng.random() < 0.5 else None)
        memory["ids"] += new.jobs.tolist()
        memory.setdefault("flows", []).append(
            (new.flows.tolist(), new.jobs.tolist(), table.flow.tolist())
        )
        return lists(*new)
    if call == 1:
        which = some(rng, ids)
        epoch.update(which, work=rng.integers(0, 9, len(which)))
        return len(epoch)
    if call == 2:
        gone = some(rng, ids, 0.3)
        epoch.finish(gone)
        memory["ids"] = [k for k in ids if k not in gone]
        return len(epoch)
    if call == 3 and memory["flows"]:
        flows, jobs, flow = memory["flows"][int(rng.integers(len(memory["flows"])))]
        there = [job in memory["ids"] for job in jobs]
        whole = flows[flow[there.index(True)]] if any(there) else None
        if whole is None:
            return len(epoch)
        epoch.update(
            flows=[whole],
            weight=[2.0],
            deadline=[now + 3.0],
            sla=[[(now + 1.0, 2.0), (now + 2.0, 3)]],
        )
        if rng.random() < 0.3:
            epoch.remove(flows=[whole])
            gone = [j for j, f in zip(jobs, flow, strict=True) if flows[f] == whole]
            memory["ids"] = [k for k in ids if k not in gone]
        return len(epoch)
    decision = epoch.decide(now, slots=int(rng.integers(1, 12)) if rng.random() < 0.3 else None)
    plan = decision.plan()
    return [
        *lists(decision.ids, decision.slots, decision.changed, decision.ready, decision.ended),
        plan.value,
        plan.order.tolist(),
    ]


def tandem_step(epoch, memory, rng):
    memory["now"] += float(rng.uniform(0, 1))
    now, ids = memory["now"], memory["ids"]
    call = rng.integers(5)
    if call == 0 or len(ids) < 3:
        count = int(rng.integers(1, 6))
        new = epoch.add(
            rng.integers(0, 9, count),
            rng.integers(0, 9, count),
            arrival=now,
            max_map_slots=rng.integers(1, 5, count),
        )
        memory["ids"] += new.tolist()
        return new.tolist()
    if call == 1:
        which = some(rng, ids)
        epoch.update(
            which, map=rng.integers(-2, 6, len(which)), shuffle=rng.integers(0, 6, len(which))
        )
        return len(epoch)
    if call == 2:
        gone = some(rng, ids, 0.2)
        (epoch.finish if rng.random() < 0.5 else epoch.remove)(gone)
        memory["ids"] = [k for k in ids if k not in gone]
        return len(epoch)
    d = epoch.decide(now, slots=rng.integers(0, 9, 2) if rng.random() < 0.3 else None)
    return [*lists(d.ids, d.slots, d.changed, d.share), d.explain()]


def slotted_step(epoch, memory, rng):
    memory["now"] += float(rng.uniform(0, 3))
    now, ids = memory["now"], memory["ids"]
    call = rng.integers(6)
    if call == 0 or len(ids) < 3:
        count = int(rng.integers(1, 5))
        left = rng.uniform(0, 30, count) if rng.random() < 0.5 else None
        maps = rng.integers(0, 9, count)
        new = epoch.add(maps, rng.uniform(0, 20, count), arrival=now, map_left=left)
        memory["ids"] += new.tolist()
        return new.tolist()
    if call == 1:
        which = some(rng, ids)
        count = len(which)
        epoch.update(
            which,
            maps=rng.integers(0, 5, count),
            reduces=rng.integers(0, 5, count),
            running=rng.integers(0, 2, count),
        )
        return len(epoch)
    if call == 2:
        gone = some(rng, ids, 0.2)
        (epoch.finish if rng.random() < 0.5 else epoch.remove)(gone)
        memory["ids"] = [k for k in ids if k not in gone]
        return len(epoch)
    d = epoch.decide(now, slots=int(rng.integers(0, 20)) if call == 3 else None)
    return [*lists(d.ids, d.slots, d.changed, d.maps, d.reduces), d.explain()]


def _epoch(name, *arguments, **options):
    return Kind(name, lambda: mb.Epoch(*arguments, **options), epoch_step)


def adaptive_step(scheduler, memory, rng):
    """What only adaptive policies answer, now and then; the first job that is left waits for nobody."""
    ids = memory["ids"]
    if len(ids) >= 3 and rng.random() < 0.1:
        seconds = float(rng.uniform(1, 9))
        scheduler.update(ids[:1], map_seconds=seconds, reduce_seconds=2.0, now=memory["now"])
        return lists(scheduler.place(ids[0], copies=1, blocks=3), scheduler.matching().share)
    return scheduler_step(scheduler, memory, rng)


def scheduler_step(scheduler, memory, rng):
    memory["now"] += float(rng.uniform(0, 2))
    now, ids = memory["now"], memory["ids"]
    call = rng.integers(10)
    if call == 0 or len(ids) < 3:
        count = int(rng.integers(1, 4))
        jobs = mb.ClusterJobs(
            rng.integers(1, 6, count),
            3.0,
            rng.integers(0, 3, count),
            2.0,
            user=rng.choice(["ann", "bob", "cid"], count).tolist(),
            flow=["one"] * count,
            after=[[], [0], [0, 1]][:count],
        )
        new = scheduler.add(jobs, now).tolist()
        memory["ids"] += new
        return new
    which = some(rng, ids)
    phase = rng.integers(0, 2, len(which))
    if call == 1:
        return scheduler.started(which, phase, now=now)
    if call in (2, 3):
        seconds = rng.uniform(1, 5, len(which))
        return scheduler.ended(
            which, phase, seconds=seconds, copying=0.4 * seconds, node=0, now=now
        )
    if call == 4:
        return scheduler.failed(which, phase, now=now)
    if call == 5:
        done = rng.integers(0, 3, (len(which), 2))
        scheduler.observe(which, pending=1, running=done, done=done, now=now)
        return len(scheduler)
    if call == 6:
        scheduler.update(which, weight=rng.integers(1, 4, len(which)), now=now)
        scheduler.set_users({"ann": (1.0, float(rng.integers(1, 4)))}, now=now)
        return len(scheduler)
    if call == 7:
        gone = some(rng, ids, 0.2)
        scheduler.finish(gone, now)
        memory["ids"] = [k for k in ids if k not in gone]
        return len(scheduler)
    decision = scheduler.decide(now)
    free = rng.integers(0, 2, len(scheduler.cluster))
    taken = scheduler.take_back(now, free)
    starts = scheduler.assign(now, free)
    return lists(decision.ids, decision.slots, decision.changed, decision.order, taken, *starts)


KINDS = [
    _epoch("epoch", 20),
    _epoch("epoch-hysteresis", 20, hysteresis=0.4),
    _epoch("epoch-tardiness-hysteresis", 20, "sum:tardiness", hysteresis=0.4),
    _epoch("epoch-gang", 20, "sum:stretch", min_mode="gang"),
    _epoch("epoch-start", 20, "sum:stretch", min_mode="start"),
    _epoch("epoch-effort", 20, "sum:sla", effort=20),
    _epoch("epoch-max", 20, "max:lateness"),
    _epoch("epoch-fair", 20, policy="fair"),
    _epoch("epoch-wdeq", 20, policy="wdeq"),
    _epoch("epoch-fifo", 20, policy="fifo"),
    Kind("flow", lambda: mb.FlowEpoch(6, "sum:stretch", hysteresis=0.2, effort=5), flow_step),
    Kind("flow-order", lambda: mb.FlowEpoch(6, "max:stretch", hysteresis=0.2), flow_step),
    Kind("flow-fifo", lambda: mb.FlowEpoch(6, "sum:tardiness", "fifo"), flow_step),
    Kind("flow-fair", lambda: mb.FlowEpoch(6, policy="fair"), flow_step),
    *(
        Kind(f"tandem-{policy}", lambda p=policy: mb.TandemEpoch((4, 3), p), tandem_step)
        for policy in ("max-srpt", "split-srpt", "two-srpt", "fcfs")
    ),
    Kind(
        "tandem-literal",
        lambda: mb.TandemEpoch((4, 3), conserving=False),
        tandem_step,
    ),
    *(
        Kind(f"slotted-{p}", lambda p=p: mb.SlottedEpoch(6, p, step_seconds=2.0), slotted_step)
        for p in policy_names("slotted", in_loop=True)
    ),
    Kind("scheduler", lambda: mb.Scheduler(CLUSTER, "flex"), scheduler_step),
    Kind("scheduler-auto", lambda: mb.Scheduler(CLUSTER, "auto", prior=3.0), scheduler_step),
    Kind(
        "scheduler-take-back",
        lambda: mb.Scheduler(GENERIC, "auto", prior=3.0, take_back=True),
        scheduler_step,
    ),
    Kind("scheduler-gittins", lambda: mb.Scheduler(CLUSTER, "gittins", prior=3.0), scheduler_step),
    Kind("scheduler-adaptive", lambda: mb.Scheduler(CLUSTER, "adaptive"), scheduler_step),
    Kind(
        "scheduler-generic",
        lambda: mb.Scheduler(GENERIC, "flowflex", "max:stretch", ageing=5.0, replicas=1, delay=2.0),
        scheduler_step,
    ),
    Kind("scheduler-auto-flows", lambda: mb.Scheduler(GENERIC, "auto"), scheduler_step),
    Kind(
        "scheduler-adaptive-literal",
        lambda: mb.Scheduler(GENERIC, mb.AdaptiveLiteral(**EAGER | {"patience": 30.0})),
        adaptive_step,
    ),
]
