"""The plainest rules that could win, each in a few lines that anybody can read.

None uses the package: what they share with it is the call, ``rule(state, now) -> slots`` (`loops`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

State = dict[str, Any]


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
    worth = np.where(enough & (given > 0) & (given < most), gain / (given * (given + 1.0)), 0.0)
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
    """The same, and slots that nobody then wants end jobs earlier that end within the period."""
    return hand_on(fair_capped(state, now), state, left_of(state))


def srpt(state: State, now: float) -> Any:
    """The job with the least work left first, with all slots that it can use."""
    return in_order(state["work"], state["max_slots"], state["capacity"])


def srpt_capped(state: State, now: float) -> Any:
    """The same, but no job gets more slots than end it within the period."""
    return in_order(left_of(state), whole_periods(state), state["capacity"])


def srpt_left_over(state: State, now: float) -> Any:
    """The same, and slots that nobody then wants end jobs earlier that end within the period."""
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
    """The same in a loop with a period: capped, and left-over slots handed on."""
    left = np.maximum(left_of(state), 1e-12)
    slack = np.maximum(state["deadline"] - now - left / state["max_slots"], 0.0)
    key = np.log(state["weight"] / left) - slack / (2.0 * left.mean() / state["capacity"])
    given = in_order(-key, whole_periods(state), state["capacity"])
    return hand_on(given, state, left * state["weight"])


def latest_start(state: State, now: float) -> Any:
    """The on-time set: jobs by weight / work join while all of the set can end in time; by latest start."""
    left, most, slots = state["work"], state["max_slots"], state["capacity"]
    due = state["deadline"] - now
    chosen: list[int] = []
    for job in np.argsort(-state["weight"] / np.maximum(left, 1e-12), kind="stable").tolist():
        if left[job] <= most[job] * due[job] and in_time([*chosen, job], left, most, due, slots):
            chosen.append(job)
    late = np.ones(len(left))
    late[chosen] = 0.0
    start = due - left / most
    order = np.lexsort((np.where(late > 0, left / state["weight"], start), late))
    place = np.empty(len(left))
    place[order] = np.arange(len(left))
    return in_order(place, most, slots)


def in_time(chosen: list[int], left: Any, most: Any, due: Any, slots: int) -> bool:
    """Whether at each due time t the work that must be done by t fits."""
    set_ = np.array(chosen)
    left, most, due = left[set_], most[set_], due[set_]
    times = np.unique(np.concatenate([due, due - left / most]))
    times = times[times > 0]
    forced = np.maximum(0.0, left - most * np.maximum(due - times[:, None], 0.0))
    return bool((forced.sum(axis=1) <= slots * times * (1 + 1e-9)).all())


def equal_in_turn(state: State, now: float) -> Any:
    """Slots one by one to the ready jobs of flows in turn."""
    return level(np.where(state["ready"], state["max_slots"], 0), state["capacity"])


def srwf(state: State, now: float) -> Any:
    """Flows by work left, least first; within a flow the longest remaining path first."""
    return in_order(srwf_key(state), np.where(state["ready"], state["max_slots"], 0),
                    state["capacity"])  # fmt: skip


def srwf_capped(state: State, now: float) -> Any:
    """The same in a loop with a period: no job gets more slots than end it within the period."""
    need = np.maximum(np.ceil(state["work"] / state["period"] - 1e-9), 1)
    most = np.where(state["ready"], np.minimum(state["max_slots"], need), 0).astype(np.int64)
    return in_order(srwf_key(state), most, state["capacity"])


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
