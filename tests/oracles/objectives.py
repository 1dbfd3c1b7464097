"""The value of an objective, written literally from its definition.

Proves: what a set of completion times is worth.
How: one ``if`` per kind of penalty, one loop over the jobs; nothing is vectorised or shared with
the solvers. ``latest_time`` is the inverse, again one ``if`` per kind.
"""

import math

KINDS = ("response", "completion", "stretch", "tardy", "tardiness", "lateness", "sla")


def with_slack(deadline):
    """The latest time that still counts as meeting a deadline."""
    if math.isinf(deadline):
        return deadline
    return deadline + 1e-9 * max(1.0, abs(deadline))


def meets(time, deadline):
    """Whether completing at ``time`` meets ``deadline``."""
    return time <= with_slack(deadline)


def penalty(kind, time, *, arrival=0.0, size=1.0, weight=1.0, deadline=math.inf, sla=()):
    """Penalty of one job that completes at the absolute ``time`` (which may be infinite)."""
    if kind == "lateness" and math.isinf(deadline):
        raise ValueError("lateness needs a deadline")
    if kind == "strict":
        return 0.0 if meets(time, deadline) else math.inf
    if weight == 0.0:
        return 0.0  # also at an infinite time, where 0 * inf would be NaN
    if kind == "response":
        return weight * (time - arrival)
    if kind == "completion":
        return weight * time
    if kind == "stretch":
        return 0.0 if size == 0.0 else weight * (time - arrival) / size
    if kind == "tardy":
        return 0.0 if meets(time, deadline) else weight
    if kind == "tardiness":
        return 0.0 if math.isinf(deadline) else weight * max(0.0, time - deadline)
    if kind == "lateness":
        return weight * (time - deadline)
    if kind == "sla":
        charged = 0.0
        for step_time, cumulative in sla:
            if not meets(time, step_time):
                charged = cumulative
        return weight * charged
    raise ValueError(f"unknown kind {kind!r}")


def latest_time(kind, level, *, arrival=0.0, size=1.0, weight=1.0, deadline=math.inf, sla=()):
    """The latest completion whose penalty is at most ``level``; -inf if there is none."""
    if kind == "lateness" and math.isinf(deadline):
        raise ValueError("lateness needs a deadline")
    if kind == "strict":
        return with_slack(deadline) if level >= 0.0 else -math.inf
    if weight == 0.0:
        return math.inf if level >= 0.0 else -math.inf
    if kind == "response":
        return arrival + level / weight
    if kind == "completion":
        return level / weight
    if kind == "stretch":
        if size == 0.0:
            return math.inf if level >= 0.0 else -math.inf
        return arrival + level * size / weight
    if kind == "lateness":
        return deadline + level / weight
    if level < 0.0:
        return -math.inf
    if kind == "tardiness":
        return deadline + level / weight
    if kind == "tardy":
        return math.inf if level >= weight else with_slack(deadline)
    if kind == "sla":
        for step_time, cumulative in sla:
            if weight * cumulative > level:
                return with_slack(step_time)
        return math.inf
    raise ValueError(f"unknown kind {kind!r}")


def parse(objective, count):
    """Split "sum:KIND" / "max:KIND", or one such text per job, into the aggregate and the kinds."""
    texts = [objective] * count if isinstance(objective, str) else list(objective)
    assert len(texts) == count, "one text per job"
    aggregates = {text.split(":")[0] for text in texts}
    if not texts:
        return "sum", []
    assert len(aggregates) == 1 and aggregates <= {"sum", "max"}, aggregates
    return aggregates.pop(), [text.split(":")[1] for text in texts]


def job_data(count, *, arrival=None, size=None, weight=None, deadline=None, sla=None):
    """One dictionary of keyword arguments of ``penalty`` per job; scalars broadcast."""

    def column(given, default):
        given = default if given is None else given
        if getattr(given, "ndim", None) == 0 or isinstance(given, (int, float)):
            return [float(given)] * count
        assert len(given) == count, "one entry per job"
        return [float(x) for x in given]

    columns = zip(
        column(arrival, 0.0),
        column(size, 1.0),
        column(weight, 1.0),
        column(deadline, math.inf),
        [()] * count if sla is None else sla,
        strict=True,
    )
    names = ("arrival", "size", "weight", "deadline", "sla")
    return [dict(zip(names, row, strict=True)) for row in columns]


def aggregate_of(aggregate, penalties):
    """Sum or maximum of the penalties; 0 if there are none."""
    if not penalties:
        return 0.0
    if math.inf in penalties:
        return math.inf
    return math.fsum(penalties) if aggregate == "sum" else max(penalties)


def value(objective, completion, *, arrival=None, size=None, weight=None, deadline=None, sla=None):
    """Value of absolute completions; ``objective`` as in ``parse``, ``sla`` a list of lists."""
    aggregate, kinds = parse(objective, len(completion))
    jobs = job_data(
        len(completion), arrival=arrival, size=size, weight=weight, deadline=deadline, sla=sla
    )
    penalties = [
        penalty(kind, float(time), **job)
        for kind, time, job in zip(kinds, completion, jobs, strict=True)
    ]
    return aggregate_of(aggregate, penalties)
