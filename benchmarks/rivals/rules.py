"""The plainest rules that could win, each in a few plain lines.

None uses the package. Each is a call ``rule(state, now) -> slots``; `loops` simulates it. The state has columns
with an entry for each job that is here: ``ids`` (its row), ``work`` (left, by its estimate), ``size`` (original
work), ``attained`` (work done), ``max_slots``, ``weight``, ``deadline``, and for flows ``flow`` and ``ready``;
and the numbers ``capacity`` (slots) and ``period`` (seconds for which the answer is held).
"""

from __future__ import annotations

import functools
import heapq
from typing import Any

import numpy as np

from tests.oracles.flow_loop import fluid_loop

State = dict[str, Any]


# In all rules `most` is what each job can use, `given` the slots that it has got so far.
def level(most: Any, slots: int, share: Any = 1.0) -> Any:
    """Whole numbers near min(x share, most) that add up to the slots, x the same for all."""
    if most.sum() <= slots:
        return most.copy()
    share = np.broadcast_to(np.asarray(share, dtype=float), most.shape)
    order = np.argsort(most / np.maximum(share, 1e-300), kind="stable")
    full, rest = np.cumsum(most[order]) - most[order], np.cumsum(share[order][::-1])[::-1]
    x = (slots - full) / np.maximum(
        rest, 1e-300
    )  # if those before in the order have all they can use
    x = x[np.argmax(x * share[order] <= most[order])]
    exact = np.minimum(x * share, most)
    given = np.floor(exact + 1e-9).astype(np.int64)
    room = np.flatnonzero(given < most)
    first = room[np.argsort(-(exact - given)[room], kind="stable")]
    given[first[: slots - int(given.sum())]] += 1
    return given


def in_order(key: Any, most: Any, slots: int) -> Any:
    """The first in the order gets all that it can use, then the next."""
    given = np.zeros(len(most), dtype=np.int64)
    order = np.argsort(key, kind="stable")
    before = np.cumsum(most[order]) - most[order]
    given[order] = np.clip(slots - before, 0, most[order])
    return given


def equal_shares(state: State, now: float) -> Any:
    """FAIR: as many slots for each job as for the next, but at most what it can use."""
    return level(state["max_slots"], state["capacity"])


def left_of(state: State) -> Any:
    """What is left, by its word; if a job outlived its estimate, a quarter of what it had."""
    return np.where(state["work"] > 0, state["work"], 0.25 * state["attained"])


def whole_periods(state: State) -> Any:
    """As many slots as end the job within the period, but at most its maximum."""
    need = np.ceil(left_of(state) / state["period"] - 1e-9)
    return np.minimum(state["max_slots"], np.maximum(need, 1)).astype(np.int64)


def hand_on(given: Any, state: State, gain: Any) -> Any:
    """Left-over slots one by one to the job whose end comes forward most, gain / (a (a + 1))."""
    given, spare = given.copy(), state["capacity"] - int(given.sum())
    if spare <= 0:
        return given
    most, enough = state["max_slots"], left_of(state) <= given * state["period"] * (1 + 1e-9)
    worth = np.where(enough & (given > 0) & (given < most), gain, 0.0)
    worth = worth / np.maximum(given * (given + 1.0), 1.0)
    while spare > 0:
        best = int(worth.argmax())
        if worth[best] <= 0:
            break
        given[best] += 1
        spare -= 1
        more = given[best] < most[best]
        worth[best] = gain[best] / (given[best] * (given[best] + 1.0)) if more else 0.0
    return given


def fair_capped(state: State, now: float) -> Any:
    """FAIR that gives no job more slots than end it within the period."""
    return level(whole_periods(state), state["capacity"])


def fair_left_over(state: State, now: float) -> Any:
    """The same, and slots that no job then wants end jobs earlier that end within the period."""
    return hand_on(fair_capped(state, now), state, left_of(state))


def srpt(state: State, now: float) -> Any:
    """The job with the least work left first, with all slots that it can use."""
    return in_order(state["work"], state["max_slots"], state["capacity"])


def srpt_capped(state: State, now: float) -> Any:
    """The same, but no job gets more slots than end it within the period."""
    return in_order(left_of(state), whole_periods(state), state["capacity"])


def srpt_left_over(state: State, now: float) -> Any:
    """The same, and slots that no job then wants end jobs earlier that end within the period."""
    return hand_on(srpt_capped(state, now), state, left_of(state))


def by_size(state: State, now: float) -> Any:
    """`srpt_left_over` for stretch: least work left x size first."""
    given = in_order(left_of(state) * state["size"], whole_periods(state), state["capacity"])
    return hand_on(given, state, left_of(state) / state["size"])


def edf(state: State, now: float) -> Any:
    """Earliest deadline first."""
    return in_order(state["deadline"], state["max_slots"], state["capacity"])


def apparent_cost(state: State, now: float) -> Any:
    """Apparent tardiness cost: weight / work, fading with the slack over twice the mean time of a job."""
    left = np.maximum(state["work"], 1e-12)
    slack = np.maximum(state["deadline"] - now - left / state["max_slots"], 0.0)
    key = np.log(state["weight"] / left) - slack / (2.0 * left.mean() / state["capacity"])
    return in_order(-key, state["max_slots"], state["capacity"])


def apparent_cost_capped(state: State, now: float) -> Any:
    """The same in a loop with a period: capped to what ends a job within it, and left-over slots handed on."""
    left = np.maximum(left_of(state), 1e-12)
    slack = np.maximum(state["deadline"] - now - left / state["max_slots"], 0.0)
    key = np.log(state["weight"] / left) - slack / (2.0 * left.mean() / state["capacity"])
    given = in_order(-key, whole_periods(state), state["capacity"])
    return hand_on(given, state, left * state["weight"])


def latest_start(state: State, now: float) -> Any:
    """The on-time set: jobs by weight / work join while all of the set can end in time; by latest start."""
    left, most = state["work"], state["max_slots"]
    due = state["deadline"] - now
    chosen = on_time_set(left, most, due, state["weight"], state["capacity"])
    order = np.lexsort((np.where(chosen, due - left / most, left / state["weight"]), ~chosen))
    place = np.empty(len(left))
    place[order] = np.arange(len(left))
    return in_order(place, most, state["capacity"])


def due_start(state: State, now: float) -> Any:
    """By latest start: deadline - work left / maximum, least first."""
    key = state["deadline"] - state["work"] / state["max_slots"]
    return in_order(key, state["max_slots"], state["capacity"])


def on_time_set(left: Any, most: Any, due: Any, weight: Any, slots: int) -> Any:
    """Which jobs join: at each due time t the work that must be done by t has to fit."""
    times = np.unique(due[due > 0])
    room = slots * times * (1 + 1e-9)
    chosen = np.zeros(len(left), dtype=bool)
    for job in np.argsort(-weight / np.maximum(left, 1e-12), kind="stable").tolist():
        if left[job] > most[job] * due[job]:
            continue
        rest = room - np.maximum(left[job] - most[job] * np.maximum(due[job] - times, 0.0), 0.0)
        if rest.min(initial=0.0) >= 0.0:
            chosen[job], room = True, rest
    return chosen


def least_area(state: State, now: float) -> Any:
    """Least work left x maximum / weight first: narrow jobs cannot catch up later."""
    key = state["work"] * state["max_slots"] / state["weight"]
    return in_order(key, state["max_slots"], state["capacity"])


def catch_up(state: State, now: float) -> Any:
    """Work left over weight, less for jobs that take long alone beside half of what all have left."""
    left, most = state["work"], state["max_slots"]
    key = left / state["weight"] / (0.5 * left.sum() / state["capacity"] + left / most)
    return in_order(key, most, state["capacity"])


def least_stretch_area(state: State, now: float) -> Any:
    """`least_area` for stretch."""
    return least_area(state | {"weight": state["weight"] / state["size"]}, now)


def stretch_catch_up(state: State, now: float) -> Any:
    """`catch_up` for stretch."""
    return catch_up(state | {"weight": state["weight"] / state["size"]}, now)


def srpt_outlived(state: State, now: float) -> Any:
    """`srpt` by `left_of`."""
    return in_order(left_of(state), state["max_slots"], state["capacity"])


def smith(state: State, now: float) -> Any:
    """Least work left / weight first."""
    key = state["work"] / state["weight"]
    return in_order(key, state["max_slots"], state["capacity"])


def cost_of(state: State, now: float, patience: float) -> Any:
    """Minus the logarithm of apparent cost, and the slack."""
    left = np.maximum(state["work"], 1e-12)
    slack = state["deadline"] - now - left / state["max_slots"]
    return np.log(left / state["weight"]) + np.maximum(slack, 0.0) / patience, slack


def apparent_cost_median(state: State, now: float) -> Any:
    """Apparent cost with less patience: half the time of the median job."""
    patience = 0.5 * float(np.median(state["work"])) / state["capacity"]
    key, _ = cost_of(state, now, max(patience, 1e-12))
    return in_order(key, state["max_slots"], state["capacity"])


def cost_on_time(state: State, now: float) -> Any:
    """Apparent cost of jobs that can still be on time; the others last."""
    key, slack = cost_of(state, now, 2.0 * state["work"].mean() / state["capacity"])
    return in_order(np.where(slack >= -1e-9, key, key + 1e6), state["max_slots"], state["capacity"])


def gangs_in_order(key: Any, width: Any, slots: int) -> Any:
    """All or nothing, in the order; what does not fit is skipped."""
    given = np.zeros(len(width), dtype=np.int64)
    for job in np.argsort(key, kind="stable").tolist():
        if width[job] <= slots:
            given[job] = width[job]
            slots -= width[job]
    return given


def gangs_by_work(state: State, now: float) -> Any:
    """Gangs by work left / weight."""
    return gangs_in_order(state["work"] / state["weight"], state["max_slots"], state["capacity"])


def gangs_by_time(state: State, now: float) -> Any:
    """Gangs by the time that they still take, over weight."""
    time = state["work"] / state["max_slots"]
    return gangs_in_order(time / state["weight"], state["max_slots"], state["capacity"])


def gangs_by_cost(state: State, now: float) -> Any:
    """Gangs by apparent cost of their times."""
    alone = state["work"] / state["max_slots"]
    key, _ = cost_of(state, now, 2.0 * alone.mean())
    return gangs_in_order(key - np.log(state["max_slots"]), state["max_slots"], state["capacity"])


class StepsInReach:
    """SLA: each step that can still be reached counts by its rise, fading with the slack, x weight / work."""

    def __init__(self, steps: Any):
        self.times, self.rises = steps[:, :, 0], np.diff(steps[:, :, 1], axis=1, prepend=0.0)

    def __call__(self, state: State, now: float) -> Any:
        left, rows = np.maximum(state["work"], 1e-12), state["ids"]
        slack = self.times[rows] - now - (left / state["max_slots"])[:, None]
        fading = np.exp(-np.maximum(slack, 0.0) / (2.0 * left.mean() / state["capacity"]))
        worth = np.where(slack >= -1e-9, self.rises[rows] * fading, 0.0)
        key = worth.sum(axis=1) * state["weight"] / left
        if not state["period"]:
            return in_order(-key, state["max_slots"], state["capacity"])
        given = in_order(-key, whole_periods(state), state["capacity"])
        return hand_on(given, state, left * state["weight"])


def equal_one_by_one(state: State, now: float) -> Any:
    """Slots one by one to the ready jobs of flows in turn."""
    return level(np.where(state["ready"], state["max_slots"], 0), state["capacity"])


def srwf(state: State, now: float) -> Any:
    """Shortest remaining work first: flows by work left; within a flow the longest remaining path first."""
    return in_order(srwf_key(state), np.where(state["ready"], state["max_slots"], 0),
                    state["capacity"])  # fmt: skip


def srwf_capped(state: State, now: float) -> Any:
    """The same in a loop with a period: no job gets more slots than end it within the period."""
    need = np.maximum(np.ceil(state["work"] / state["period"] - 1e-9), 1)
    most = np.where(state["ready"], np.minimum(state["max_slots"], need), 0).astype(np.int64)
    return in_order(srwf_key(state), most, state["capacity"])


def srwf_left_over(state: State, now: float) -> Any:
    """The same, and slots that no job then wants end jobs earlier that end within the period."""
    return hand_on(srwf_capped(state, now), state, left_of(state))


def srwf_key(state: State) -> Any:
    """Places of jobs in that order, from 0."""
    volume = np.bincount(state["flow"], weights=state["work"])[state["flow"]]
    order = np.lexsort((-longest_paths(state), state["arrival"], volume))
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    return place


def longest_paths(state: State) -> Any:
    """Seconds from the start of a job to the end of its flow, each job at its maximum."""
    place = {row: k for k, row in enumerate(state["ids"].tolist())}
    own = state["work"] / state["max_slots"]
    behind = np.zeros(len(own))
    for row in reversed(state["ids"].tolist()):  # parents stand before their children
        k = place[row]
        for parent in state["flows"].after(row):
            if parent in place:
                j = place[parent]
                behind[j] = max(behind[j], own[k] + behind[k])
    return own + behind


# On a cluster the state is that of your own policy (`malleable.Scheduler`, Notes): arrays have a column for
# maps and one for reduces, with ``waiting``, ``running`` and ``finished`` tasks.


def by_pool(state: State, give: Any) -> Any:
    """``give(tasks left, most, slots)`` for the only kind of slots, or for map and for reduce slots apart."""
    left = state["waiting"] + state["running"]
    if np.ndim(state["capacity"]) == 0:
        return give(left, state["max_slots"], int(state["capacity"]))
    pools = [
        give(left[:, [k]], state["max_slots"][:, k], int(state["capacity"][k])) for k in (0, 1)
    ]
    return np.stack(pools, axis=1)


def cluster_fair(state: State, now: float) -> Any:
    """Equal shares of each kind of slots."""
    return by_pool(state, lambda left, most, slots: level(most, slots))


def cluster_smith(state: State, now: float) -> Any:
    """Least work left / weight first."""
    key = smith_key(state, now)
    return by_pool(state, lambda left, most, slots: in_order(key, most, slots))


def in_turn(key: Any) -> Any:
    """A rule that starts all tasks of the job with the least ``key(state, now)`` first, then the next one's."""

    def rule(state: State, now: float) -> Any:
        return key(state, now).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")

    rule.style = "ranks"  # type: ignore[attr-defined]
    return rule


def smith_key(state: State, now: float) -> Any:
    """Work left / weight."""
    return state["work"].reshape(len(state["weight"]), -1).sum(axis=1) / state["weight"]


def cost_key(state: State, now: float) -> Any:
    """Apparent cost: work left / weight, growing with the slack over twice the mean time of a job; slack:
    before the last task must start."""
    pools, count = np.atleast_1d(state["capacity"]), len(state["weight"])
    left = np.maximum(state["work"].reshape(count, -1) / pools, 1e-12)
    seconds = state["work"].reshape(count, -1) / np.maximum(
        (state["waiting"] + state["running"]).reshape(count, len(pools), -1).sum(axis=2), 1
    )
    slack = state["deadline"][:, None] - now - seconds[:, ::-1].cumsum(axis=1)[:, ::-1]
    key = np.log(left / state["weight"][:, None]) + np.maximum(slack, 0) / (2 * left.mean(axis=0))
    return key.squeeze() if len(pools) == 1 else key


def hopeful_key(state: State, now: float) -> Any:
    """The same, but jobs that cannot be in time come last."""
    late = now + state["work"] / np.maximum(state["max_slots"], 1) > state["deadline"].reshape(
        -1, *[1] * (state["work"].ndim - 1)
    )
    return cost_key(state, now) + 1e9 * late


def ended_mean(state: State, now: float) -> Any:
    """Least tasks left x mean seconds of the job's own ended tasks first; before that the mean of all jobs."""
    count, seconds = state["finished"].sum(axis=1), state["attained"]
    common = seconds.sum() / max(count.sum(), 1) or 1.0
    mean = np.where(count > 0, seconds / np.maximum(count, 1), common)
    return by_pool(state, lambda left, most, slots: in_order(left.sum(axis=1) * mean, most, slots))


class ProgramMean:
    """`ended_mean` with the mean of the ended tasks of the job's program, ``program`` by job."""

    def __init__(self, program: Any):
        self.program = program
        self.count, self.seconds = np.zeros((2, len(program)))

    def __call__(self, state: State, now: float) -> Any:
        rows = state["ids"]
        self.count[rows], self.seconds[rows] = state["finished"].sum(axis=1), state["attained"]
        count, seconds = (np.bincount(self.program, of) for of in (self.count, self.seconds))
        common = seconds.sum() / max(count.sum(), 1) or 1.0
        mean = np.where(count > 0, seconds / np.maximum(count, 1), common)[self.program[rows]]
        return by_pool(
            state, lambda left, most, slots: in_order(left.sum(axis=1) * mean, most, slots)
        )


class RightSizes:
    """What rules know that are told a table's mean seconds of a map and of a reduce task, shape (J, 2)."""

    def __init__(self, seconds: Any, p: Any = 1.0):
        self.seconds, self.p = seconds, p

    def left(self, state: State) -> Any:
        tasks = state["waiting"] + state["running"]
        return (tasks * self.seconds[state["ids"]]).sum(axis=1)

    def srpt(self, state: State, now: float) -> Any:
        """Least work left first."""
        key = self.left(state)
        return by_pool(state, lambda left, most, slots: in_order(key, most, slots))

    def hesrpt(self, state: State, now: float) -> Any:
        """heSRPT (Berg, Vesilo and Harchol-Balter 2020) with share exponent p; what a job cannot use goes to
        the next in the order."""
        return self.steep(state, min(float(np.mean(self.p)), 0.95))

    def steep(self, state: State, x: float) -> Any:
        """The k smallest of n jobs together get 1 - (1 - k / n)^(1 / (1 - x)) of the slots."""
        key = self.left(state)
        return by_pool(state, lambda left, most, slots: power_shares(key, most, slots, x))

    def price(self, state: State, now: float) -> Any:
        """Shares by price (the rule WHAM): p / (1 - p) slots for each unit of the inverse price, p by job."""
        p = np.broadcast_to(np.minimum(self.p, 0.95), len(self.seconds))[state["ids"]]
        return by_pool(state, lambda left, most, slots: level(most, slots, p / (1 - p)))


def power_shares(key: Any, most: Any, slots: int, x: float) -> Any:
    """Whole slots by these shares, smallest job first; what it cannot use goes on to the next."""
    given, rest = np.zeros(len(key), dtype=np.int64), slots
    order = np.argsort(key, kind="stable")
    for rank, job in enumerate(order.tolist(), start=1):
        upto = slots * (1 - (1 - rank / len(key)) ** (1 / (1 - x)))
        given[job] = min(most[job], round(upto) - (slots - rest), rest)
        rest -= given[job]
    for job in order.tolist():  # what the caps left
        more = min(most[job] - given[job], rest)
        given[job] += more
        rest -= more
    return given


class Srwf:
    """`srwf` on a cluster, told the stages of all flows: ``seconds`` of a task of each job, and ``after``."""

    def __init__(self, flow: Any, tasks: Any, seconds: Any, after: Any):
        self.flow, self.seconds = np.asarray(flow), np.asarray(seconds)
        self.volume = np.bincount(self.flow, weights=tasks * self.seconds)
        self.path = self.seconds.astype(float).copy()
        for row in reversed(range(len(after))):  # parents stand before their children
            for parent in after[row]:
                self.path[parent] = max(self.path[parent], self.seconds[parent] + self.path[row])
        self.done = np.zeros(len(self.seconds))
        self.tasks = np.asarray(tasks)
        self.there: set[int] = set()

    def __call__(self, state: State, now: float) -> Any:
        rows = state["ids"]
        for row in self.there - set(rows.tolist()):
            self.done[row] = self.tasks[row]
        self.there = set(rows.tolist())
        self.done[rows] = state["finished"][:, 0]
        left = self.volume - np.bincount(self.flow, weights=self.done * self.seconds)
        order = np.lexsort((-self.path[rows], self.flow[rows], left[self.flow[rows]]))
        place = np.empty(len(rows))
        place[order] = np.arange(len(rows))
        return by_pool(state, lambda _, most, slots: in_order(place, most, slots))


def ends_by_work_left(
    arrival: Any, job_offset: Any, work: Any, max_slots: Any, after: list[Any], slots: int
) -> Any:
    """When malleable flows end under `srwf`: ``after`` has the job rows that each job waits for."""
    flow = np.repeat(np.arange(len(arrival)), np.diff(job_offset))
    alone = np.asarray(work) / np.asarray(max_slots)
    path, before = alone.copy(), np.zeros(len(alone))
    while (path != before).any():  # as often as the longest chain has jobs
        before = path.copy()
        for job, parents in enumerate(after):
            for parent in parents:
                path[parent] = max(path[parent], alone[parent] + path[job])
    here: set[int] = set()

    def decide(now: float, came: Any, finished: Any, left: Any) -> tuple[Any, Any]:
        here.update(came.tolist())
        volume = np.bincount(flow, left, len(arrival))
        ready = [
            job
            for job, parents in enumerate(after)
            if flow[job] in here and left[job] > 0.0 and not left[parents].any()
        ]
        ready.sort(key=lambda job: (volume[flow[job]], flow[job], -path[job]))
        rows, given = (
            np.array(ready, dtype=int),
            in_order(np.arange(len(ready)), np.asarray(max_slots)[ready], slots),
        )
        return rows[given > 0], given[given > 0]

    return fluid_loop(arrival, job_offset, work, decide)


# Jobs with speed-ups of their own: ``tables`` has what 0, 1, 2, ... slots of each do.


def smallest_service(state: State, now: float) -> Any:
    """SRSF of PCS: least GPU-time left first, at the most that a job can use."""
    top = [table[most] for table, most in zip(state["tables"], state["max_slots"], strict=True)]
    key = state["work"] / np.array(top) * state["max_slots"]
    return in_order(key, state["max_slots"], state["capacity"])


def first_come(state: State, now: float) -> Any:
    """FIFO."""
    return in_order(state["arrival"], state["max_slots"], state["capacity"])


def elastic_shares(state: State, now: float) -> Any:
    """AFS (Hwang et al., NSDI 2021): each slot to the job that wins against all others, two by two."""
    left, tables = state["work"].tolist(), [table.tolist() for table in state["tables"]]
    most, given = state["max_slots"].tolist(), [0] * len(left)

    def end(job: int) -> float:
        return left[job] / tables[job][given[job]] if given[job] else np.inf

    def better(a: int, b: int) -> int:
        if given[a] == given[b] == 0:
            return a if left[a] <= left[b] else b
        if end(b) < end(a):
            a, b = b, a  # a ends first
        gain_a = (tables[a][given[a] + 1] - tables[a][given[a]]) / tables[a][given[a]]
        gain_b = (tables[b][given[b] + 1] - tables[b][given[b]]) / tables[b][given[b] + 1]
        return b if gain_b > gain_a else a

    for _ in range(state["capacity"]):
        open_ = [job for job in range(len(left)) if given[job] < most[job]]
        if not open_:
            break
        given[functools.reduce(better, open_)] += 1
    return given


def shares_by_price(state: State, now: float) -> Any:
    """WHAM: one price l of a slot for all; each job has the s with the least (1 + l s) / rate(s)."""

    def asked(price: float) -> Any:
        cost = [(1.0 + price * np.arange(1, most + 1)) / table[1 : most + 1]
                for most, table in zip(state["max_slots"], state["tables"], strict=True)]  # fmt: skip
        return np.array([row.argmin() + 1 for row in cost])

    low, high = 0.0, 1e3
    for _ in range(40):
        price = (low + high) / 2.0
        low, high = (price, high) if asked(price).sum() > state["capacity"] else (low, price)
    return in_order(state["work"], asked(high), state["capacity"])


def furthest_behind(state: State, now: float) -> Any:
    """Like Themis: the job whose end, if it ran alone from now on, is the latest for its size first."""
    top = [table[most] for table, most in zip(state["tables"], state["max_slots"], strict=True)]
    late = (now - state["arrival"] + state["work"] / top) / (state["size"] / top)
    return in_order(-late, state["max_slots"], state["capacity"])


# For a table: whole plans.


def pack(order: Any, work: Any, least: Any, most: Any, slots: int) -> Any:
    """Completions if jobs get all that they can use in this order, and the others their minima.

    One event a job: the first that waits gets its maximum as soon as so many slots are free, and before
    that what there is.
    """
    count, now, first = len(order), 0.0, 0
    left, done = np.asarray(work, dtype=float)[order].copy(), np.zeros(len(order))
    low, high = np.asarray(least)[order].astype(float), np.asarray(most)[order].astype(float)
    free = slots - float(low.sum())
    full: list[tuple[float, int]] = []  # ends of jobs at their maximum
    waiting = [(left[k] / low[k], k) for k in range(count) if low[k] > 0]
    heapq.heapify(waiting)  # ends of jobs that stay at their minimum
    part = 0.0  # slots of the first one that waits, beyond its minimum
    over = np.zeros(count, dtype=bool)
    since = np.zeros(count)  # when the work left was noted
    started = np.zeros(count, dtype=bool)
    for _ in range(2 * count):
        if over[-1] and over.all():
            break
        while first < count and (over[first] or started[first]):
            first, part = first + 1, 0.0
        if first < count:
            left[first] -= (low[first] + part) * (now - since[first])
            since[first] = now
            part = min(free, high[first] - low[first])
            if part == high[first] - low[first]:
                free -= part
                started[first] = True
                heapq.heappush(full, (now + max(left[first], 0.0) / high[first], first))
                part = 0.0
                continue
        ends = [full[0] if full else (np.inf, -1)]
        while waiting and (waiting[0][1] <= first or over[waiting[0][1]]):
            heapq.heappop(waiting)  # it is served by now
        if waiting:
            ends.append(waiting[0])
        if first < count and low[first] + part > 0:
            ends.append((now + max(left[first], 0.0) / (low[first] + part), first))
        now, job = min(ends)
        over[job], done[job] = True, now
        if started[job]:
            heapq.heappop(full)
            free += high[job]
        else:
            free += low[job]
    found = np.empty(count)
    found[order] = done
    return found
