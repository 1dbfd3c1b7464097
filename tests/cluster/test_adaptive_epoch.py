"""The adaptive scheduler in a loop of one's own, against a choice that looks at every job."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from tests.oracles.class_matching import chosen_job

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


def epoch_of(**options):
    return mb.AdaptiveEpoch(cluster(), mb.Adaptive(**options))


@pytest.mark.parametrize("fallback", [True, False])
@given(data=st.data())
def test_every_choice_is_the_one_that_the_rules_name(fallback, data):
    epoch = epoch_of(fallback=fallback, max_wait=float("inf"), patience=0.0)
    now, running = 0.0, []
    names = [user["name"] for user in USERS]
    known = []  # id, user, class
    for _ in range(data.draw(st.integers(1, 12))):
        now += data.draw(st.sampled_from([0.0, 1.0, 30.0]))
        what = data.draw(st.sampled_from(["add", "add", "start", "start", "finish"]))
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
            known.append(
                (int(epoch.add(table, arrival=now)[0]), user, (USERS[user]["priority"], program))
            )
        elif what == "finish" and running:
            job, phase, node = running.pop(data.draw(st.integers(0, len(running) - 1)))
            epoch.ended([job], [phase], [node], [5.0], end=now, done=data.draw(st.booleans()))
        elif what == "start":
            node, phase = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
            matching = epoch.matching()
            column = next(k for k, own in enumerate(matching.nodes) if node in own)
            counts = epoch.counts([job for job, _, _ in known])
            waiting = counts["map_waiting" if phase == 0 else "reduce_waiting"]
            busy = counts["map_running"] + counts["reduce_running"]
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
            decision = epoch.decide(now, slots=free)
            starts = decision.starts
            held = {job: [0, 0] for job, _, _ in known if job in decision.ids}
            assert starts.ids.tolist() == ([] if expected is None else [expected])
            if expected is not None:
                assert (starts.phase[0], starts.node[0]) == (phase, node)
                running.append((expected, phase, node))
            for job, p, _ in running:
                held[job][p] += 1
            assert dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True)) == held


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(0, 2)), max_size=12),
    st.booleans(),
)
def test_no_slot_idles_and_all_is_done(rows, generic):
    nodes = [{"slots": 3}, {"slots": 2, "rate": 3.0}] if generic else NODES
    place = mb.Cluster(nodes, USERS)
    epoch = mb.AdaptiveEpoch(place)
    free = np.stack([place.map_slots, place.reduce_slots])
    if rows:
        table = jobs(
            [maps for maps, _, _ in rows],
            [reduces for _, reduces, _ in rows],
            user=[USERS[user]["name"] for _, _, user in rows],
        )
        ids = epoch.add(table)
    done, now = 0, 0.0
    total = sum(maps + reduces for maps, reduces, _ in rows)
    while done < total:
        starts = epoch.decide(now, slots=free.T).starts
        counts = epoch.counts(ids)
        pools = [0, 0] if generic else [0, 1]
        for phase, (name, pool) in enumerate(zip(("map", "reduce"), pools, strict=True)):
            np.subtract.at(free[pool], starts.node[starts.phase == phase], 1)
            assert counts[f"{name}_waiting"].sum() == 0 or free[pool].sum() == 0 or generic
        assert (free >= 0).all()
        if generic:
            waiting = counts["map_waiting"].sum() + counts["reduce_waiting"].sum()
            assert waiting == 0 or free[0].sum() == 0
        assert len(starts.ids)
        now += 5.0
        epoch.ended(starts.ids, starts.phase, starts.node, 5.0, end=now)
        for phase, pool in enumerate(pools):
            np.add.at(free[pool], starts.node[starts.phase == phase], 1)
        done += len(starts.ids)
    assert len(epoch.decide(now, slots=free.T).starts.ids) == 0
    if rows:
        assert epoch.counts(ids)["map_finished"].tolist() == [maps for maps, _, _ in rows]
        epoch.remove(ids)
    assert len(epoch) == 0


def test_nothing_starves():
    # User a's minimum is all the cluster has, and she always has work.
    place = mb.Cluster([{"map_slots": 2}], [{"name": "a", "minimum": 2, "priority": 1}])
    epoch = mb.AdaptiveEpoch(place, mb.Adaptive(max_wait=100.0))
    poor = epoch.add(jobs([1], user=["z"]))[0]
    epoch.add(jobs([10_000], user=["a"]))
    now, served = 0.0, None
    while served is None:
        starts = epoch.decide(now, slots=2).starts
        served = now if poor in starts.ids else None
        now += 10.0
        epoch.ended(starts.ids, starts.phase, starts.node, 10.0, end=now)
    assert served == 100.0


def test_estimates_follow_what_finishes():
    epoch = epoch_of(memory=float("inf"))
    epoch.add(jobs([40], seconds=10.0, program=["p"]), arrival=1.0)
    before = epoch.matching()
    assert before.arrival_rates.tolist() == [1.0]
    # 2 slots on a slow node, 3 at four times the rate: 40 tasks of 10 s.
    assert np.allclose(before.execution_rates, [[2 / 400, 3 / 100]])
    slow = next(k for k, own in enumerate(before.nodes) if 0 in own)
    starts = epoch.decide(1.0, slots=[[2, 0], [0, 0], [0, 0]]).starts
    epoch.ended(starts.ids, starts.phase, starts.node, 30.0, end=31.0)
    after = epoch.match(31.0)
    assert after.execution_rates[0, slow] < before.execution_rates[0, slow] / 2
    assert after.solves == before.solves + 1
    assert [own.tolist() for own in after.nodes] == [[0, 1], [2]]
    literal = mb.AdaptiveEpoch(cluster(), mb.Adaptive.literal())
    literal.add(jobs([40], seconds=10.0, program=["p"]), arrival=1.0)
    assert np.allclose(literal.matching().execution_rates, [[1 / 400, 1 / 400, 1 / 100]])


def test_matchings_are_those_of_match_classes():
    epoch = epoch_of(memory=float("inf"))
    for k in range(12):
        table = jobs([1 + k % 3], [k % 2], user=["ac"[k % 2]], program=["xyz"[k % 3]])
        epoch.add(table, arrival=1.0 + k)
    found = epoch.match(13.0)
    member = np.zeros(3, dtype=np.int64)
    for column, own in enumerate(found.nodes):
        member[own] = column
    alone = mb.match_classes(
        found.arrival_rates, found.execution_rates[:, member], node_type=member
    )
    assert np.allclose(found.share[:, member], alone.share, atol=1e-9)
    least = mb.match_classes(
        found.minimum_arrival_rates,
        found.execution_rates[:, member],
        node_type=member,
        serve_idle=False,
    )
    assert np.allclose(found.minimum_share[:, member], least.share, atol=1e-9)
    only_c = [k for k, (priority, _) in enumerate(found.classes) if priority == 3]
    assert not found.minimum_share[only_c].any()


def test_blocks_and_their_places():
    epoch = epoch_of()
    one, two = epoch.add(jobs([3, 2], user=["c", "c"]))
    places = epoch.place(one, copies=2)
    assert places.shape == (3, 2)
    assert all(len(set(row)) == 2 for row in places.tolist())
    epoch.set_blocks(one, [[0], [0], [2]])
    epoch.set_blocks(two, [[1], [1]])
    starts = epoch.decide(0.0, slots=[[0, 0], [1, 0], [1, 0]]).starts
    assert starts.node.tolist() == [1, 2]
    assert starts.ids.tolist() == [two, one]
    assert starts.task.tolist() == [0, 2]
    epoch.ended([two], 0, 1, 4.0, end=4.0, task=0, done=False)
    assert epoch.decide(4.0, slots=[[0, 0], [1, 0], [0, 0]]).starts.task.tolist() == [0]
    with pytest.raises(ValueError, match="has started map tasks, or blocks"):
        epoch.set_blocks(one, [[0], [0], [2]])


def test_blocks_that_come_with_the_jobs():
    epoch = epoch_of()
    (job,) = epoch.add(jobs([2]), blocks=[[[2], [0]]])
    starts = epoch.decide(0.0, slots=[[1, 0], [0, 0], [1, 0]]).starts
    assert sorted(zip(starts.node.tolist(), starts.task.tolist(), strict=True)) == [(0, 1), (2, 0)]
    assert set(starts.ids.tolist()) == {job}


def test_slow_start():
    epoch = epoch_of()
    (job,) = epoch.add(jobs([4], [2]))
    reduces = [[0, 1], [0, 1], [0, 0]]
    d = epoch.decide(0.0, slots=reduces)
    assert len(d.starts.ids) == len(d.ids) == 0
    epoch.update([job], reduces=[2])
    d = epoch.decide(1.0, slots=reduces)
    assert d.starts.phase.tolist() == [1, 1]
    assert d.slots.tolist() == [[0, 2]]
    assert d.explain() == [
        f"job {job}: 0 map slots (no slots are left), 2 reduce slots (all that waited has started)"
    ]


def test_estimates_that_are_corrected_are_as_if_told_at_first():
    first, later = epoch_of(memory=float("inf")), epoch_of(memory=float("inf"))
    told = {"program": ["p", "q"], "block": 1e6}
    first.add(jobs([40, 3], [5, 0], seconds=[30.0, 7.0], **told), arrival=1.0)
    ids = later.add(jobs([40, 3], [5, 0], seconds=[10.0, 7.0], **told), arrival=1.0)
    assert not np.allclose(first.match(1.0).execution_rates, later.match(1.0).execution_rates)
    # The second has no reduces whose time could matter.
    later.update(ids, map_seconds=[30.0, 7.0], reduce_seconds=[20.0, 99.0])
    assert np.allclose(first.match(1.0).execution_rates, later.match(1.0).execution_rates)


def test_what_is_told_late_counts_from_the_latest_time():
    late, at_once = epoch_of(), epoch_of()
    for epoch, second in ((late, 3.0), (at_once, 10.0)):
        epoch.add(jobs([1]), arrival=10.0)
        epoch.add(jobs([2]), arrival=second)
        epoch.decide(10.0, slots=1)
        epoch.ended([0], 0, 0, 2.0, end=second)
    assert late == at_once


def test_a_solver_that_fails_changes_nothing(monkeypatch):
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

    matcher = mb.Adaptive.matcher
    with monkeypatch.context() as patch:
        patch.setattr(mb.Adaptive, "matcher", failing)
        epochs = epoch_of(), epoch_of()
    epoch, other = epochs
    new = jobs([1, 2], user=["new", "other"], program=["p", "q"])
    for good in range(2):  # the first job's classes are solved for, or not even these
        answers = good
        with pytest.raises(ArithmeticError):
            epoch.add(new, arrival=5.0)
    assert len(epoch) == 0
    for each in epochs:
        answers = 9
        assert each.add(jobs([3], user=["late"], program=["z"])).tolist() == [0]
    answers = 0
    with pytest.raises(ArithmeticError):
        epoch.match(7.0)
    assert vars(epoch)["_users"] == vars(other)["_users"]
    assert epoch.matching() == other.matching()
    assert epoch.decide(5.0, slots=2) == other.decide(5.0, slots=2)


def test_rows_of_jobs_that_are_gone_are_used_again():
    epoch, seen, sizes = epoch_of(), set(), set()
    for round_ in range(30):
        ids = epoch.add(jobs([1, 1], program=["p", "p"]), arrival=float(round_))
        assert seen.isdisjoint(ids.tolist())
        seen.update(ids.tolist())
        starts = epoch.decide(float(round_), slots=1).starts
        assert set(starts.ids.tolist()) == set(ids.tolist())
        epoch.finish(ids)
        with pytest.raises(ValueError, match="no such job"):
            epoch.update(ids, maps=[0, 0])
        sizes.add(len(pickle.dumps(epoch)))
    assert max(sizes) - min(sizes) < 100


def test_slots_of_nodes():
    epoch = epoch_of()
    epoch.add(jobs([5]))
    with pytest.raises(ValueError, match=r"slots has shape \(2,\), expected \(3,\) or \(3, 2\)"):
        epoch.decide(0.0, slots=[1, 1])
    with pytest.raises(ValueError, match="expected one for each of 5 maps"):
        epoch.set_blocks(0, [[0]])
    assert len(epoch.decide(0.0, slots=1).starts.ids) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guard": -1.0}, "guard = -1.0: must be finite and at least 0"),
        ({"memory": 0.0}, "memory = 0.0: must be finite and above 0"),
        ({"threshold": float("inf")}, "threshold = inf"),
        ({"max_wait": float("nan")}, "max_wait = nan"),
        ({"patience": "x"}, "patience = 'x': not a number"),
        ({"solver": "x"}, "solver = 'x'"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        mb.Adaptive(**options)


def test_jobs_that_fit_nowhere():
    epoch = mb.AdaptiveEpoch({"node": [{"map_slots": 1}]})
    with pytest.raises(ValueError, match=r"reduces\[0\] = 1: the cluster has no slots"):
        epoch.add(jobs([1], [1]))
    assert len(epoch) == 0
    with pytest.raises(ValueError, match="an Adaptive is needed"):
        mb.AdaptiveEpoch(cluster(), "adaptive")
