"""The kernels of flows one by one, from Python."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable import _core
from malleable.flows.check import check_flow_schedule
from malleable.flows.generate import section51_flows
from tests.flows.flow_instances import any_flows, as_flows


def deadline_greedy(flows, slots, order, now=0.0):
    return SimpleNamespace(
        **_core.deadline_greedy(flows, slots, now, np.array(order, dtype=np.int64))
    )


def wrap_around(flows, slots, chains, now=0.0):
    held = chains.flow, chains.offset, chains.pseudo_job, chains.start, chains.end, chains.slots
    return _core.wrap_around(flows, slots, now, *held)


def ready_list(flows, slots, rank, now=0.0):
    """FAIR without ranks."""
    ranks = np.array(rank, dtype=np.int64)
    return SimpleNamespace(**_core.ready_list(flows, slots, now, ranks))


class Schedule:
    """What the checker reads of a plan."""

    def __init__(self, flows, slots, now, start, completion, flow_completion, pieces):
        self.flows, self.slots, self.now = flows, slots, now
        self.start, self.completion = start, completion
        self.flow_completion, self.pieces = flow_completion, pieces


def idle_jobs(flows, now, pieces):
    """Starts and completions: of a job without a piece, when the last of its parents ends."""
    start = np.full(len(flows.work), np.inf)
    end = np.full(len(flows.work), -np.inf)
    np.minimum.at(start, pieces["job"], pieces["start"])
    np.maximum.at(end, pieces["job"], pieces["end"])
    arrived = np.maximum(flows.arrival, now)
    idle = np.add.reduceat(np.append(flows.work, 0.0), flows.job_offset[:-1]) == 0.0
    arrived[idle] = flows.arrival[idle]
    for i in range(len(flows.work)):  # parents come first in these tables
        if start[i] == np.inf:
            parents = flows.parent[flows.parent_offset[i] : flows.parent_offset[i + 1]]
            start[i] = end[i] = max([arrived[flows.flow[i]], *(end[p] for p in parents)])
    return start, end


@given(any_flows(), st.integers(1, 9), st.sampled_from([0.0, 3.0]), st.randoms())
def test_stages_make_a_valid_schedule(flows, slots, now, random):
    order = list(range(len(flows)))
    random.shuffle(order)
    chains = deadline_greedy(flows, slots, order, now)
    assert chains.flow.tolist() == order
    pieces = wrap_around(flows, slots, chains, now)
    start, end = idle_jobs(flows, now, pieces)
    check_flow_schedule(Schedule(flows, slots, now, start, end, chains.completion, pieces))
    # The chains as a schedule: heights, slots in all, pseudo-jobs in their order.
    rows = _core.flow_chains(flows, slots)
    assert np.all(chains.slots <= rows["height"][chains.pseudo_job])
    times = np.unique(np.concatenate([chains.start, chains.end]))
    for t in times:
        assert chains.slots[(chains.start <= t) & (chains.end > t)].sum() <= slots


@given(any_flows(), st.integers(1, 9), st.sampled_from([0.0, 3.0]), st.randoms())
def test_ready_lists_are_valid_schedules(flows, slots, now, random):
    rank = list(range(len(flows.work)))
    random.shuffle(rank)
    for found in (ready_list(flows, slots, rank, now), ready_list(flows, slots, [], now)):
        check_flow_schedule(
            Schedule(
                flows,
                slots,
                now,
                found.start,
                found.completion,
                found.flow_completion,
                found.pieces,
            )
        )


def test_fair_list_is_the_policy():
    flows, slots = section51_flows(5), 25
    plan = mb.plan(flows, slots, "sum:completion", "fair")
    found = ready_list(flows, slots, [])
    assert np.array_equal(found.completion, plan.completion)
    assert np.array_equal(found.pieces["slots"], plan.pieces["slots"])


def test_the_first_rank_runs_as_if_alone():
    flows = as_flows([[(6.0, 2, []), (4.0, 4, [0])], [(8.0, 4, [])]])
    found = ready_list(flows, 4, [0, 1, 2])
    # 2 slots for 3 s, then 4 for 1 s; the other flow has 2 slots for 3 s, and 2 s of work left.
    assert found.completion.tolist() == [3.0, 4.0, 4.5]
    assert found.flow_completion.tolist() == [4.0, 4.5]


def test_deadline_greedy_fills_what_is_free():
    flows = as_flows([[(6.0, 2, [])], [(8.0, 4, [])]])
    found = deadline_greedy(flows, 4, [0, 1], now=10.0)
    assert found.completion.tolist() == [13.0, 13.5]
    assert found.start.tolist() == [10.0, 10.0, 13.0]
    assert found.slots.tolist() == [2, 2, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flow": [0, 7]}, r"flow\[1\] = 7"),
        ({"flow": [0, 0]}, r"flow\[1\] = 0: stands there twice"),
        ({"offset": [0, 1, 2]}, "offset: expected 3 entries from 0 to 3"),
        ({"offset": [0, 4, 3]}, r"offset\[2\] = 3: must not fall"),
        ({"pseudo_job": [0, 0, 1]}, r"pseudo_job\[1\] = 0: is none of its flow"),
        ({"slots": [3, 2, 4]}, r"slots\[0\] = 3"),
        ({"end": [3.0, 0.0, 3.5]}, r"end\[1\] = 0: "),
        ({"start": [0.0, np.nan, 3.0]}, r"start\[1\] = nan"),
        ({"start": [0.0, 0.0, 2.9]}, r"start\[2\] = 2.9: before the piece before"),
        ({"end": [3.0, 3.0, 3.4]}, "pseudo_job: 1 has 7"),
        ({"slots": [2, 2]}, "differ in length"),
    ],
)
def test_chain_schedules_are_checked(change, message):
    flows = as_flows([[(6.0, 2, [])], [(8.0, 4, [])]])
    given_schedule = deadline_greedy(flows, 4, [0, 1])
    changed = {k: np.array(v) for k, v in change.items()}
    wrong = SimpleNamespace(**(vars(given_schedule) | changed))
    with pytest.raises(ValueError, match=message):
        wrap_around(flows, 4, wrong)
