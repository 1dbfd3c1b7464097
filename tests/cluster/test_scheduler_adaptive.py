"""The adaptive scheduler told by an engine: its choices against a choice that looks at every job, its
matchings against `match_classes`, blocks, estimates, and a solver that fails."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.oracles.class_matching import EAGER, chosen_job

pytest.importorskip("highspy")

NODES = [
    {"count": 2, "map_slots": 2, "reduce_slots": 1},
    {"count": 1, "map_slots": 3, "reduce_slots": 1, "rate": 4.0},
]
USERS = [
    {"name": "a", "minimum": 4, "priority": 2},
    {"name": "b", "minimum": 2, "priority": 1},
    {"name": "c", "priority": 3},
]


def cluster():
    return mb.Cluster(NODES, USERS)


def jobs(maps, reduces=0, **given):
    return mb.ClusterJobs(maps, given.pop("seconds", 10.0), reduces, 20.0, **given)


def scheduler_of(place=None, *, replicas=0, ageing=0.0, **options):
    """The class's estimates are the policy's own, so what the scheduler learns is left out."""
    more = {"replicas": replicas, "ageing": ageing, "learn": False}
    return mb.Scheduler(place or cluster(), mb.AdaptiveLiteral(**EAGER | options), **more)


def same_matching(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("fallback", [True, False])
@given(data=st.data())
def test_every_choice_is_the_one_that_the_rules_name(fallback, data):
    scheduler = scheduler_of(fallback=fallback, max_wait=float("inf"), patience=0.0)
    now, running = 0.0, []
    names = [user["name"] for user in USERS]
    known = []  # id, user, class
    for _ in range(data.draw(st.integers(1, 12))):
        now += data.draw(st.sampled_from([0.0, 1.0, 30.0]))
        what = data.draw(st.sampled_from(["add", "add", "start", "start", "end"]))
        if what == "add":
            user = data.draw(st.integers(0, 2))
            program = data.draw(st.sampled_from(["x", "y"]))
            table = jobs(
                [data.draw(st.integers(1, 4))],
                [data.draw(st.integers(0, 2))],
                seconds=3.0 if program == "x" else 50.0,
                user=[names[user]],
                program=[program],
            )
            key = (USERS[user]["priority"], program)
            known.append((int(scheduler.add(table, now)[0]), user, key))
        elif what == "end" and running:
            job, phase, node = running.pop(data.draw(st.integers(0, len(running) - 1)))
            if data.draw(st.booleans()):
                scheduler.ended([job], phase, node=node, seconds=5.0, now=now)
            else:
                scheduler.failed([job], phase, now=now)
        elif what == "start":
            node, phase = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
            matching = scheduler.matching()
            column = next((k for k, own in enumerate(matching.nodes) if node in own), 0)
            counts = scheduler.counts([job for job, _, _ in known])
            waiting = (counts["waiting"] * counts["ready"])[:, phase]
            busy = counts["running"].sum(axis=1)
            users = [
                (
                    user.get("minimum", 0),
                    user["priority"],
                    sum(int(n) for n, job in zip(busy, known, strict=True) if job[1] == k),
                )
                for k, user in enumerate(USERS)
            ]
            place = {key: k for k, key in enumerate(matching.classes)}
            rows = [
                (job, user, place[key], int(n))
                for (job, user, key), n in zip(known, waiting, strict=True)
            ]
            sets = [
                {k for k in range(len(place)) if share[k, column] > 0.0}
                for share in (matching.minimum_share, matching.share)
            ]
            expected = chosen_job(rows, users, *sets, fallback)
            free = np.zeros((3, 2), dtype=np.int64)
            free[node, phase] = 1
            starts = scheduler.assign(now, free)
            assert starts.ids.tolist() == ([] if expected is None else [expected])
            if expected is not None:
                assert (starts.phase[0], starts.node[0]) == (phase, node)
                running.append((expected, phase, node))


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 2)), max_size=12),
    st.booleans(),
)
def test_no_slot_idles_and_all_is_done(rows, generic):
    nodes = [{"slots": 3}, {"slots": 2, "rate": 3.0}] if generic else NODES
    place = mb.Cluster(nodes, USERS)
    scheduler = scheduler_of(place)
    free = np.stack([place.map_slots, place.reduce_slots])
    ids = np.zeros(0, dtype=np.int64)
    if rows:
        table = jobs(
            [maps for maps, _, _ in rows],
            [reduces for _, reduces, _ in rows],
            user=[USERS[user]["name"] for _, _, user in rows],
        )
        ids = scheduler.add(table, 0.0)
    done, now = 0, 0.0
    total = sum(maps + reduces for maps, reduces, _ in rows)
    pools = [0, 0] if generic else [0, 1]
    while done < total:
        starts = scheduler.assign(now, free.T)
        for phase, pool in enumerate(pools):
            np.subtract.at(free[pool], starts.node[starts.phase == phase], 1)
        assert (free >= 0).all() and len(starts.ids)
        counts = scheduler.counts(ids)
        waiting = (counts["waiting"] * counts["ready"]).sum(axis=0)
        for pool in set(pools):
            wanted = waiting.sum() if generic else waiting[pool]
            assert wanted == 0 or free[pool].sum() == 0
        now += 5.0
        scheduler.ended(starts.ids, starts.phase, node=starts.node, seconds=5.0, now=now)
        for phase, pool in enumerate(pools):
            np.add.at(free[pool], starts.node[starts.phase == phase], 1)
        done += len(starts.ids)
    assert len(scheduler.assign(now, free.T).ids) == 0
    assert scheduler.counts(ids)["finished"][:, 0].tolist() == [maps for maps, _, _ in rows]
    scheduler.remove(ids)
    assert len(scheduler) == 0


def test_nothing_starves():
    # User a's minimum is all the cluster has, and she always has work.
    place = mb.Cluster([{"map_slots": 2}], [{"name": "a", "minimum": 2, "priority": 1}])
    scheduler = scheduler_of(place, max_wait=100.0)
    poor = scheduler.add(jobs([1], user=["z"]), 0.0)[0]
    scheduler.add(jobs([10_000], user=["a"]))
    now, served = 0.0, None
    while served is None:
        starts = scheduler.assign(now, 2)
        served = now if poor in starts.ids else None
        now += 10.0
        scheduler.ended(starts.ids, starts.phase, node=starts.node, seconds=10.0, now=now)
    assert served == 100.0


def test_minima_and_priorities_that_change():
    place = mb.Cluster([{"map_slots": 1}], [{"name": "a"}, {"name": "b", "minimum": 1}])
    for new, first in (({}, "b"), ({"a": (5.0, 1.0)}, "a"), ({"b": (0.0, 1.0)}, "a")):
        scheduler = scheduler_of(place)
        ids = scheduler.add(jobs([1, 1], user=["a", "b"], program=["p", "p"]), 0.0)
        scheduler.set_users(new)
        assert scheduler.assign(0.0, 1).ids.tolist() == [ids["ab".index(first)]]


def test_estimates_follow_what_finishes():
    scheduler = scheduler_of(memory=float("inf"), threshold=0.0)
    scheduler.add(jobs([40], seconds=10.0, program=["p"]), 1.0)
    before = scheduler.matching()
    assert before.arrival_rates.tolist() == [1.0]
    # 2 slots on a slow node, 3 at four times the rate: 40 tasks of 10 s.
    assert np.allclose(before.execution_rates, [[2 / 400, 3 / 100]])
    slow = next(k for k, own in enumerate(before.nodes) if 0 in own)
    starts = scheduler.assign(1.0, [[2, 0], [0, 0], [0, 0]])
    scheduler.ended(starts.ids, starts.phase, node=starts.node, seconds=30.0, now=31.0)
    after = scheduler.matching()
    assert after.execution_rates[0, slow] < before.execution_rates[0, slow] / 2
    assert after.solves == before.solves  # what came since is matched when the next job comes
    scheduler.add(jobs([40], program=["p"]))
    assert scheduler.matching().solves == before.solves + 1
    assert [own.tolist() for own in after.nodes] == [[0, 1], [2]]
    literal = mb.Scheduler(cluster(), mb.AdaptiveLiteral(), learn=False)
    literal.add(jobs([40], seconds=10.0, program=["p"]), 1.0)
    assert np.allclose(literal.matching().execution_rates, [[1 / 400, 1 / 400, 1 / 100]])


def test_matchings_are_those_of_match_classes():
    scheduler = scheduler_of(memory=float("inf"), threshold=0.0)
    for k in range(12):
        table = jobs([1 + k % 3], [k % 2], user=["ac"[k % 2]], program=["xyz"[k % 3]])
        scheduler.add(table, 1.0 + k)
    found = scheduler.matching()
    member = np.zeros(3, dtype=np.int64)
    for column, own in enumerate(found.nodes):
        member[own] = column
    alone = mb.match_classes(found.arrival_rates, found.execution_rates[:, member])
    assert np.allclose(found.share[:, member], alone.share, atol=1e-9)
    least = mb.match_classes(
        found.minimum_arrival_rates,
        found.execution_rates[:, member],
        serve_idle=False,
    )
    assert np.allclose(found.minimum_share[:, member], least.share, atol=1e-9)
    only_c = [k for k, (priority, _) in enumerate(found.classes) if priority == 3]
    assert len(only_c) == 3 and not found.minimum_share[only_c].any()


def test_nodes_without_slots_are_in_no_matching():
    scheduler = scheduler_of()
    scheduler.add(jobs([40], program=["p"]), 1.0)
    assert [own.tolist() for own in scheduler.matching().nodes] == [[0, 1], [2]]
    scheduler.set_slots([2], [[0, 0]], now=2.0)
    gone = scheduler.matching()
    assert [own.tolist() for own in gone.nodes] == [[0, 1], []]
    assert not gone.share[:, 1].any()
    assert not gone.execution_rates[:, 1].any()
    assert scheduler.assign(2.0, [[2, 1], [2, 1], [0, 0]]).node.tolist() == [0, 1, 0, 1]
    assert scheduler.matching().solves == gone.solves + 1
    scheduler.set_slots([0, 1], [[0, 0], [0, 0]], now=3.0)
    scheduler.add(jobs([4], program=["q"]), 3.0)  # which runs nowhere now
    scheduler.set_slots([2], [[3, 1]], now=4.0)
    assert scheduler.assign(4.0, [[0, 0], [0, 0], [3, 1]]).node.tolist() == [2, 2, 2]
    assert [own.tolist() for own in scheduler.matching().nodes] == [[], [2]]


def test_classes_without_programs_are_of_magnitudes():
    scheduler = scheduler_of()
    scheduler.add(jobs([3, 4, 5, 3], user=["a", "a", "a", "c"]), 0.0)
    assert scheduler.matching().classes == (
        (2.0, (1, 2, -1000, -1000)),
        (2.0, (2, 2, -1000, -1000)),
        (3.0, (1, 2, -1000, -1000)),
    )


def test_blocks_and_their_places():
    scheduler = scheduler_of(replicas=2)
    one, two = scheduler.add(jobs([3, 2], user=["c", "c"]), 0.0)
    places = scheduler.place(one, copies=2)
    assert places.shape == (3, 2)
    assert all(len(set(row)) == 2 for row in places.tolist())
    assert scheduler.place(one, copies=3, blocks=5).shape == (5, 3)
    scheduler.set_blocks(one, [[0], [0], [2]])
    scheduler.set_blocks(two, [[1], [1]])
    starts = scheduler.assign(0.0, [[0, 0], [1, 0], [1, 0]])
    assert starts.node.tolist() == [1, 2]
    assert starts.ids.tolist() == [two, one]
    assert starts.task.tolist() == [0, 2]
    scheduler.failed([two], task=[0], now=4.0)
    assert scheduler.assign(4.0, [[0, 0], [1, 0], [0, 0]]).task.tolist() == [0]
    with pytest.raises(ValueError, match="map tasks of the job have started"):
        scheduler.set_blocks(one, [[0], [0], [2]])


def test_blocks_go_where_their_class_will_run():
    """Node 2 is four times as fast, so it serves more of the class and gets more copies."""
    scheduler = scheduler_of()
    (job,) = scheduler.add(jobs([12]), 0.0)
    held = np.bincount(scheduler.place(job, copies=1, blocks=18)[:, 0], minlength=3)
    assert held[2] > held[0] == held[1]


def test_a_block_takes_time_to_read():
    slow_disk = mb.Cluster([{"map_slots": 1, "storage": 1e6}, {"map_slots": 1}])
    scheduler = scheduler_of(slow_disk)
    scheduler.add(jobs([1], block=5e6), 0.0)
    assert scheduler.matching().execution_rates == pytest.approx(np.array([[1 / 15, 1 / 10]]))


def test_reduces_that_are_ready_early():
    scheduler = scheduler_of()
    (job,) = scheduler.add(jobs([4], [2]), 0.0)
    reduces = [[0, 1], [0, 1], [0, 0]]
    assert len(scheduler.assign(0.0, reduces).ids) == 0
    scheduler.ready([job], now=1.0)
    starts = scheduler.assign(1.0, reduces)
    assert starts.phase.tolist() == [1, 1]
    decision = scheduler.decide(1.0)
    assert decision.slots[:, 1].tolist() == [2]


def test_estimates_that_are_corrected_are_as_if_told_at_first():
    first, later = (scheduler_of(memory=float("inf")) for _ in range(2))
    told = {"program": ["p", "q"], "block": 1e6}
    first.add(jobs([40, 3], [5, 0], seconds=[30.0, 7.0], **told), 1.0)
    ids = later.add(jobs([40, 3], [5, 0], seconds=[10.0, 7.0], **told), 1.0)
    rates = [each.matching().execution_rates for each in (first, later)]
    assert not np.allclose(*rates)
    # The second has no reduces whose time could matter.
    later.update(ids, map_seconds=[30.0, 7.0], reduce_seconds=[20.0, 99.0])
    assert np.allclose(rates[0], later.matching().execution_rates)


def test_a_solver_that_fails_is_told_once_and_asked_again(monkeypatch):
    answers = 0

    def failing(self):
        solve = matcher(self)

        def some(*arguments):
            nonlocal answers
            answers -= 1
            if answers < 0:
                raise ArithmeticError("no solution")
            return solve(*arguments)

        return some

    matcher = mb.AdaptiveLiteral.matcher
    monkeypatch.setattr(mb.AdaptiveLiteral, "matcher", failing)
    scheduler = scheduler_of()
    new = jobs([1, 2], user=["new", "other"], program=["p", "q"])
    ids = scheduler.add(new, 5.0)
    assert ids.tolist() == [0, 1]
    assert scheduler.matching().classes == ((1.0, "p"), (1.0, "q"))
    assert not scheduler.matching().share.any()
    for _ in range(2):  # what was thrown, then a second try
        with pytest.raises(ArithmeticError):
            scheduler.assign(5.0, 1)
    answers = 99
    twin = pickle.loads(pickle.dumps(scheduler))
    for own in (scheduler, twin):
        starts = own.assign(5.0, [[2, 0], [0, 0], [1, 0]])
        assert sorted(starts.ids.tolist()) == [0, 1, 1]
    assert scheduler.matching().share.any()


def test_rows_of_jobs_that_are_gone_are_used_again():
    scheduler, seen, sizes = scheduler_of(), set(), set()
    for round_ in range(30):
        ids = scheduler.add(jobs([1, 1], program=["p", "p"]), float(round_))
        assert seen.isdisjoint(ids.tolist())
        seen.update(ids.tolist())
        starts = scheduler.assign(float(round_), 1)
        assert set(starts.ids.tolist()) == set(ids.tolist())
        scheduler.finish(ids)
        scheduler.decide(float(round_))
        with pytest.raises(ValueError, match="no such job"):
            scheduler.update(ids, weight=[2, 2])
        if round_ > 3:
            sizes.add(len(pickle.dumps(scheduler)))
    assert max(sizes) - min(sizes) < 100


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.place(9), "no such job"),
        (lambda s: s.place(0, copies=4), "copies = 4: must be"),
        (lambda s: s.place(0, copies=0), "copies = 0: must be"),
        (lambda s: s.place(0, blocks=-1), "blocks = -1: must be"),
        (lambda s: s.place(0, blocks=2**50), "blocks = "),
        (lambda s: s.place(1), "the job waits for others"),
        (lambda s: s.matching(float("nan")), "now = nan"),
        (lambda s: s.assign(0.0, [1, 1]), "free has 2 entries but there are 3 jobs"),
    ],
)
def test_wrong_calls_change_nothing(call, message):
    scheduler = scheduler_of()
    scheduler.add(mb.ClusterJobs([2, 2], 1.0, after=[[], [0]], flow=["f", "f"]), 0.0)
    before = copy.copy(scheduler)
    with pytest.raises(ValueError, match=message):
        call(scheduler)
    assert scheduler == before


def test_other_policies_match_no_classes():
    scheduler = mb.Scheduler(cluster(), "fair")
    (job,) = scheduler.add(jobs([2]), 0.0)
    with pytest.raises(ValueError, match="policy = 'fair': it matches no classes"):
        scheduler.matching()
    with pytest.raises(ValueError, match="the policy has no wish where blocks are"):
        scheduler.place(job)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"patience": -1.0}, "patience = -1.0: must be finite and at least 0"),
        ({"memory": 0.0}, "memory = 0.0: must be finite and above 0"),
        ({"threshold": float("inf")}, "threshold = inf"),
        ({"max_wait": float("nan")}, "max_wait = nan"),
        ({"patience": "x"}, "patience = 'x': not a number"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        mb.AdaptiveLiteral(**options)
