"""Names of policies and kinds of penalties come from the core, and it refuses what it does not know."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import malleable as mb
from malleable import _core
from malleable.cluster.simulate import CLUSTER_POLICIES
from malleable.flows.plan import FLOW_POLICIES
from malleable.jobs.plan import POLICIES
from malleable.objective import KINDS, parse_objective
from malleable.policies import policy_names, policy_of
from malleable.tandem.simulate import POLICIES as SIMULATED_POLICIES

MODELS = ("jobs", "flows", "tandem", "slotted", "cluster")
UNKNOWN = (-1, len(_core.KINDS), 255, 2**40)
NONE = np.empty(0)


def makers():
    yield (
        "Epoch",
        lambda kind: _core.Epoch(4, False, kind, "flex", "guarantee", 0.0, None, 0.0, None, False),
    )
    for name in ("flex", "flowflex"):
        yield name, partial(_cluster_policy, name)


def _cluster_policy(name, kind):
    return _core.cluster_policy(name, False, kind, {}, False, True, [], [])


@pytest.mark.parametrize("code", UNKNOWN)
@pytest.mark.parametrize(("name", "make"), list(makers()), ids=[name for name, _ in makers()])
def test_a_kind_that_the_core_does_not_know_is_refused(name, make, code):
    with pytest.raises(ValueError, match=rf"kind = {code}: must be from 0 to .*response, .*custom"):
        make(code)


def test_penalties_refuse_unknown_kinds_of_single_jobs():
    for codes in ([len(_core.KINDS)], [0, 255]):
        with pytest.raises(ValueError, match="kind = "):
            _core.Penalties(mb.Jobs([1.0, 1.0]), np.array(codes, dtype=np.uint8))


def test_every_kind_of_the_core_has_a_name_of_its_own_and_parses():
    names = [kind.name for kind in _core.KINDS]
    assert names == list(KINDS)
    assert len(set(names)) == len(names)
    jobs = mb.Jobs([2.0, 3.0], deadline=[4.0, 5.0])
    for kind in _core.KINDS:
        if not kind.custom:
            mb.plan(jobs, 2, f"sum:{kind.name}", effort=0).validate()


@pytest.mark.parametrize("kind", [k for k in _core.KINDS if not k.custom], ids=lambda k: k.name)
def test_what_kinds_are_said_to_be(kind):
    def paid(deadline, size=2.0, arrival=0.0):
        jobs = mb.Jobs([1.0], deadline=[deadline], arrival=arrival, size=[size], sla=[[(2.0, 7.0)]])
        goal = parse_objective(f"sum:{kind.name}")
        penalties = goal.penalties(jobs)
        return [float(penalties.of_jobs(np.array([t]))[0]) for t in (1.0, 3.0, 5.0, 7.0)]

    if kind.needs_deadline:
        with pytest.raises(ValueError, match="needs a deadline"):
            paid(np.inf)
    else:
        paid(np.inf)
    cost = paid(4.0)
    assert kind.steady == (len({b - a for a, b in pairwise(cost)}) == 1)
    assert kind.endless == (max(cost) == np.inf)
    assert kind.per_size == (paid(4.0, size=8.0) != cost)
    assert kind.uses_sla == (cost[0] == 0.0 and cost[1:] == [7.0, 7.0, 7.0])


def test_names_are_unique_within_a_model_and_lists_follow_the_registry():
    assert tuple(_core.POLICIES) == MODELS
    assert policy_names("jobs") == POLICIES
    assert policy_names("flows") == FLOW_POLICIES
    assert policy_names("cluster") == CLUSTER_POLICIES
    assert set(SIMULATED_POLICIES) < set(policy_names("tandem"))
    for model, rows in _core.POLICIES.items():
        assert all(row.model == model and name == row.name for name, row in rows.items())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["sjf", "", None, 3, [1.0]], ids=repr)
def test_an_unknown_name_is_answered_with_those_that_are_known(model, name):
    with pytest.raises(ValueError, match="policy = ") as error:
        policy_of(model, name)
    assert ", ".join(policy_names(model)) in str(error.value)
    with pytest.raises(ValueError, match="policy = "):
        policy_of(model, name, in_loop=True)


def test_only_what_a_loop_can_call_is_an_epochs_policy():
    with pytest.raises(ValueError, match=r"policy = 'dsrpt': expected one of asrpt, .*fair"):
        mb.SlottedEpoch(4, "dsrpt")
    with pytest.raises(ValueError, match=r"policy = 'ps': expected one of fcfs, "):
        mb.TandemEpoch((1, 1), "ps")


@pytest.mark.parametrize("policy", POLICIES)
def test_promises_about_minima_and_sizes_are_kept(policy):
    row = policy_of("jobs", policy)
    work = [9.0, 8.0, 7.0, 1.0]
    jobs = mb.Jobs(work, min_slots=[0, 0, 0, 2])
    plan = mb.plan(jobs, 3, "sum:response", policy, effort=0)
    plan.validate()
    assert row.ignores_minima == (plan.slots[3] < 2)
    other = mb.plan(mb.Jobs(work[::-1]), 3, "sum:response", policy, effort=0)
    same = mb.plan(mb.Jobs(work), 3, "sum:response", policy, effort=0)
    assert row.needs_sizes == (other.slots.tolist() != same.slots.tolist())


def test_weighted_shares_follow_weights_and_equal_ones_do_not():
    for name in POLICIES:
        plan = mb.plan(mb.Jobs([8.0, 8.0], weight=[3.0, 1.0]), 4, "sum:response", name)
        shares = policy_of("jobs", name).shares
        if shares:
            assert plan.slots.tolist() == {"equal": [2, 2], "weighted": [3, 1]}[shares]
        else:
            assert plan.slots.tolist() == [4, 0]
