"""Replays: the recorded calls of a scheduler, given to a fresh one, and to another policy beside it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

from malleable import _core
from malleable.checkpoints import by_value
from malleable.cluster.events import cluster_of, read_events
from malleable.cluster.named_policies import policy_name
from malleable.cluster.scheduler import Scheduler


@by_value()
class Replay(NamedTuple):
    """The result of a replay.

    Attributes
    ----------
    recorded, policy : str
        Names of the policy of the record and of the other policy.
    jobs, calls, decisions : int
        How many the record has.
    same : bool
        Whether the fresh scheduler decided, and started, what the record says.
    differing : int
        Decisions in which the other policy gives any job other slots.
    moved : float
        Slots that change hands between the two, on average over decisions.

    See Also
    --------
    malleable.replay : Runs a record again under another policy.

    Notes
    -----
    Plain numbers, made once by `malleable.replay`. O(1).

    Examples
    --------
    >>> import malleable as mb
    >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", record="events")
    >>> ids = scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0]), 0.0)
    >>> decision = scheduler.decide(0.0)
    >>> scheduler.close()
    >>> found = mb.replay("events", "fair")
    >>> found.decisions, found.differing, found.moved
    (1, 1, 1.0)
    """

    recorded: str
    policy: str
    jobs: int
    calls: int
    decisions: int
    same: bool
    differing: int
    moved: float


def replay(
    events: str | PathLike[str],
    policy: Any = None,
    *,
    objective: str | None = None,
    recorded: Any = None,
) -> Replay:
    """Give a record to a fresh scheduler, and ask what another policy would have decided.

    Parameters
    ----------
    events : path
        A file that `Scheduler` with ``record=`` wrote.
    policy : str, AdaptiveLiteral or function, optional
        The other policy. At every decision it says what it would decide at the state of the record, one
        step only. `malleable.simulate` says how jobs would have ended. By default the policy of the record.
    objective : str, optional
        Objective of the other policy; by default that of the record.
    recorded : function, optional
        The policy of the record, if it is one of your own.

    Returns
    -------
    Replay

    Raises
    ------
    ValueError
        Not a file of events, or a cut file; a policy that cannot follow these events.

    See Also
    --------
    malleable.Replay : What is returned.

    Notes
    -----
    O(calls + events), and two decisions for each recorded decision.

    Examples
    --------
    >>> import malleable as mb
    >>> scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", record="events")
    >>> ids = scheduler.add(mb.ClusterJobs([6, 3], [2.0, 1.0]), 0.0)
    >>> decision = scheduler.decide(0.0)
    >>> scheduler.close()
    >>> mb.replay("events", "fair").same
    True
    """
    header, data, at = read_events(events)
    fresh = _scheduler(header, header["policy"] if recorded is None else recorded, None)
    other = None if policy is None else _scheduler(header, policy, objective)
    try:
        beside = None if other is None else other._core
        told: Any = _core.replay(data, at, fresh._core, beside)
    except ValueError as fault:
        raise ValueError(f"{events}: {fault}") from None
    known = str(header["policy"])
    found = Replay(known, known if policy is None else policy_name(policy), *told)
    return found._replace(moved=found.moved / max(found.decisions, 1))


def _scheduler(header: Mapping[str, Any], policy: Any, objective: str | None) -> Scheduler:
    goal = header["objective"] if objective is None else objective
    history = header.get("history")
    return Scheduler(cluster_of(header), policy, goal, history=history, **header["options"])
