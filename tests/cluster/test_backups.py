"""Backup tasks in a simulated cluster: who gets one, which attempt counts, and what it costs."""

import numpy as np
import pytest

import malleable as mb
from benchmarks.instances import two_phase

CLUSTER = mb.Cluster([{"map_slots": 6, "reduce_slots": 2}])
START, END, FAILED, KILLED, BACKUP, IN_VAIN = 0, 1, 2, 3, 5, 6


def simulated(jobs, cluster=CLUSTER, *, rng=1, trace=False, **options):
    options = {"estimates": "learn", "backups": True} | options
    return mb.simulate(jobs, "auto", cluster=cluster, rng=rng, trace=trace, **options)


def stragglers(count=6, gap=400.0, slow=100.0):
    """Jobs one after the other, the last map of each ten times as long as the others."""
    seconds = [[9.0, 10.0, 11.0, 10.5, 9.5, slow]] * count
    return mb.ClusterJobs([6] * count, seconds, arrival=gap * np.arange(count))


def test_a_straggler_ends_when_its_backup_task_does():
    jobs = stragglers()
    off = simulated(jobs, backups=False).records["turnaround_time"]
    result = simulated(jobs, trace=True)
    on, summary = result.records["turnaround_time"], result.summary["auto"]
    assert off.tolist() == [100.0] * 6
    # A second attempt takes as long as one of the other tasks.
    # Also in the first job, though nothing is known yet of how times scatter.
    assert (on < 60.0).all()
    assert summary["backups_won"] == 6
    tasks = result.tasks
    won = (tasks["success"] == 1) & (tasks["task"] == 5)
    took = np.round((tasks["finish_time"] - tasks["starting_time"])[won], 6)
    assert set(took[1:]) <= {9.0, 9.5, 10.0, 10.5, 11.0}


def test_a_slot_that_a_ready_task_wants_is_given_back_at_once():
    """Six maps come while two attempts of the straggler run: five start at once, the straggler keeps a slot."""
    seconds = [[9.0, 10.0, 11.0, 10.5, 9.5, 100.0]] * 4 + [[30.0] * 6]
    jobs = mb.ClusterJobs([6] * 5, seconds, arrival=[0.0, 400.0, 800.0, 1200.0, 1215.0])
    result = simulated(jobs, trace=True)
    trace = result.trace["auto"]
    begun = trace["time"][(trace["kind"] == BACKUP) & (trace["job"] == 3)]
    assert len(begun) and begun.min() < 1215.0
    starts = trace["time"][(trace["kind"] == START) & (trace["job"] == 4)]
    assert (starts == 1215.0).sum() == 5
    ended = (trace["kind"] == IN_VAIN) & (trace["job"] == 3) & (trace["time"] == 1215.0)
    assert ended.sum() == 1
    kept = simulated(jobs, trace=True, take_back=False).trace["auto"]
    starts = kept["time"][(kept["kind"] == START) & (kept["job"] == 4)]
    assert (starts == 1215.0).sum() < 5


def test_a_backup_task_as_slow_as_its_task_changes_nothing():
    jobs, cluster = two_phase(1, 1.0, 150)
    off = simulated(jobs, cluster, backups=False)
    on = simulated(jobs, cluster, inherent=1.0)
    assert on.records["turnaround_time"].tolist() == off.records["turnaround_time"].tolist()
    assert on.summary["auto"]["backup_tasks"] > 0 == on.summary["auto"]["backups_won"]


def test_times_of_backup_tasks_lie_between_those_of_their_task_and_of_another():
    """Two maps: the other one's time is all that a second attempt can draw."""
    jobs = mb.ClusterJobs([2] * 5, [[16.0, 1024.0]] * 5, arrival=3000.0 * np.arange(5))
    for inherent, seconds in ((0.0, 16.0), (0.5, 128.0), (0.75, 362.0387)):
        tasks = simulated(jobs, trace=True, inherent=inherent).tasks
        own = (tasks["success"] == 1) & (tasks["task"] == 1)
        took = (tasks["finish_time"] - tasks["starting_time"])[own]
        assert np.allclose(took[took < 1024.0], seconds, rtol=1e-6)
        assert (took < 1024.0).any()


def test_only_tasks_of_phases_of_which_none_waits_and_one_has_ended():
    result = simulated(stragglers(4, slow=60.0), trace=True)
    trace = result.trace["auto"]
    for row in np.flatnonzero(trace["kind"] == BACKUP):
        own = trace["job"][: row + 1] == trace["job"][row]
        kind = trace["kind"][: row + 1][own]
        assert (kind == START).sum() == 6
        assert (kind == END).sum() >= 1


def after_stragglers(*jobs):
    """Rows (arrival after 1600 s, seconds of maps), once it is known how times scatter."""
    before = [[9.0, 10.0, 11.0, 10.5, 9.5, 100.0]] * 4
    seconds = before + [list(times) for _, times in jobs]
    arrival = [0.0, 400.0, 800.0, 1200.0, *(1600.0 + when for when, _ in jobs)]
    return mb.ClusterJobs([len(times) for times in seconds], seconds, arrival=arrival)


def test_the_largest_gain_comes_first():
    """At 1622 s one slot is free, for the task that has run for 22 s and not for the one that has for 17 s."""
    jobs = after_stragglers(
        (0.0, [300.0] * 2), (5.0, [10.0, 100.0]), (0.0, [10.0, 100.0]), (6.0, [12.0]), (7.0, [50.0])
    )
    trace = simulated(jobs, trace=True).trace["auto"]
    own = (trace["kind"] == BACKUP) & (trace["time"] > 1600.0)
    assert (trace["time"][own][0], trace["job"][own][0]) == (1622.0, 6)


def test_the_backup_task_that_began_last_is_ended():
    jobs = after_stragglers(
        (0.0, [300.0] * 2), (0.0, [10.0, 100.0]), (3.0, [10.0, 100.0]), (16.0, [40.0])
    )
    trace = simulated(jobs, trace=True).trace["auto"]
    late = trace["time"] > 1600.0
    begun = late & (trace["kind"] == BACKUP)
    assert trace["job"][begun][:2].tolist() == [5, 6]
    ended = late & (trace["kind"] == IN_VAIN)
    assert (trace["time"][ended][0], trace["job"][ended][0]) == (1616.0, 6)


def test_where_attempts_cannot_be_ended_those_that_never_win_become_few():
    jobs, cluster = two_phase(1, 1.0, 300)
    count = {
        inherent: simulated(jobs, cluster, inherent=inherent, take_back=False).summary["auto"]
        for inherent in (0.0, 1.0)
    }
    assert count[1.0]["backup_tasks"] < 0.2 * count[0.0]["backup_tasks"]


def test_a_task_gets_one_once_it_has_run_for_long_though_nothing_else_happens():
    """Nothing happens from 14 s after the last arrival on, when all is well yet, to the end at 200 s."""
    others = [5.0, 10.0, 14.0, 8.0, 12.0]
    jobs = mb.ClusterJobs(
        [6] * 7, [[*others, 15.0]] * 6 + [[*others, 200.0]], arrival=400.0 * np.arange(7)
    )
    trace = simulated(jobs, trace=True).trace["auto"]
    begun = trace["time"][(trace["kind"] == BACKUP) & (trace["job"] == 6) & (trace["task"] == 5)]
    assert len(begun) == 1
    assert 2414.0 < begun[0] < 2460.0


def test_attempts_slow_each_other_down_below_linear_speed_up():
    """The straggler is alone in the end, and half as fast beside an attempt that never wins."""
    jobs = stragglers(gap=2000.0, slow=300.0)
    off = simulated(jobs, speedup=[1.0, 1.0], backups=False).records["turnaround_time"]
    on = simulated(jobs, speedup=[1.0, 1.0], inherent=1.0).records["turnaround_time"]
    assert (on[1:] > off[1:] + 200.0).all()


def test_every_backup_task_draws_anew_whether_it_fails():
    """Else those that fail would follow each other for ever."""
    jobs, cluster = two_phase(1, 1.0, 100)
    summary = simulated(jobs, cluster, failure=0.5).summary["auto"]
    assert summary["unfinished"] == 0 < summary["failed_attempts"]


WORLDS = {
    "plain": {},
    "noise": {"noise": 0.8},
    "failures": {"failure": 0.3, "noise": 0.5},
    "kept": {"take_back": False, "noise": 1.0, "failure": 0.2},
    "speed-up": {"speedup": 0.7, "noise": 0.5},
    "epochs": {"epoch": 0.0, "inherent": 0.5},
    "heartbeats": {"heartbeat": 3.0, "noise": 0.5},
    "blocks": {"replicas": 2, "delay": 2.0, "noise": 0.7},
    "copying split": {"split_copy": True, "noise": 0.5},
}


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("name", WORLDS)
def test_every_task_ends_once_and_all_slot_seconds_are_counted(name, generic):
    rng = np.random.default_rng(3)
    count = 60
    maps, reduces = rng.integers(1, 12, count), rng.integers(0, 4, count)
    jobs = mb.ClusterJobs(
        maps,
        [rng.lognormal(2.0, 1.0, n).tolist() for n in maps],
        reduces,
        [rng.lognormal(2.0, 1.0, n).tolist() for n in reduces],
        shuffle=rng.choice([0.0, 5.0], count),
        arrival=np.cumsum(rng.exponential(12.0, count)),
    )
    node = {"slots": 4} if generic else {"map_slots": 4, "reduce_slots": 2}
    moves = [(100.0, 1, False), (160.0, 1, True), (300.0, 0, False), (420.0, 0, True)]
    changes = [{"time": time, "node": place, "up": up} for time, place, up in moves]
    cluster = mb.Cluster([{"count": 3, **node}], changes=changes)
    result = simulated(jobs, cluster, trace=True, **WORLDS[name])
    summary, trace, tasks = result.summary["auto"], result.trace["auto"], result.tasks
    kind = trace["kind"]
    assert summary["unfinished"] == 0
    assert summary["backup_tasks"] == (kind == BACKUP).sum() > 0
    assert summary["tasks"] == (maps + reduces).sum() == (kind == END).sum() - (kind == 4).sum()
    # Slots of their own, one attempt at a time.
    for slot in np.unique(trace["slot"][trace["slot"] >= 0]):
        own = trace["slot"] == slot
        begins = np.isin(kind[own], (START, BACKUP))
        assert (begins[::2]).all() and not begins[1::2].any()
    took = tasks["finish_time"] - tasks["starting_time"]
    lost = (kind == IN_VAIN).sum()
    won = summary["backups_won"]
    # Without failures and nodes that leave, each pair has one attempt that ended in vain.
    assert lost <= summary["backup_tasks"] and won <= summary["backup_tasks"]
    if name == "kept":
        return  # attempts may outlive the last job
    used = took.sum()
    pools = [("map", 12), ("reduce", 0 if generic else 6)]
    offered = sum(
        summary[f"{pool}_utilisation"] * _offered(slots, summary["end"], moves)
        for pool, slots in pools
        if slots
    )
    assert used == pytest.approx(offered, rel=1e-9)


def _offered(slots, end, moves):
    """Slot-seconds that three equal nodes have had."""
    seconds, down = 3 * end, {}
    for time, node, up in moves:
        if up:
            seconds -= min(time, end) - min(down.pop(node), end)
        else:
            down[node] = time
    return slots / 3 * seconds


def test_what_attempts_in_vain_took_is_reported():
    result = simulated(*two_phase(2, 1.0, 150), trace=True)
    trace, tasks = result.trace["auto"], result.tasks
    took = tasks["finish_time"] - tasks["starting_time"]
    assert result.summary["auto"]["wasted_slot_seconds"] == pytest.approx(
        took[tasks["success"] == 0].sum()
    )
    assert (trace["kind"] == IN_VAIN).sum() == result.summary["auto"]["backup_tasks"]


def test_attempts_that_outlive_the_last_job_count_until_the_end():
    """The straggler of the last job runs on when its backup task has ended."""
    result = simulated(stragglers(), trace=True, take_back=False)
    trace, tasks, summary = result.trace["auto"], result.tasks, result.summary["auto"]
    took = tasks["finish_time"] - tasks["starting_time"]
    wasted = took[tasks["success"] == 0].sum()
    lasting = 0
    for slot in np.unique(trace["slot"]):
        times = trace["time"][trace["slot"] == slot]
        if len(times) % 2:
            lasting += 1
            wasted += summary["end"] - times[-1]
    assert lasting > 0
    assert summary["wasted_slot_seconds"] == pytest.approx(wasted)


def test_backup_tasks_shorten_responses_where_times_scatter():
    """Mean response over that without them, geometric mean of two draws."""
    worth = {}
    for inherent in (0.0, 0.5):
        ratios = []
        for seed in (0, 1):
            jobs, cluster = two_phase(seed, 1.0, 300)
            on = simulated(jobs, cluster, inherent=inherent).summary["auto"]["mean_response"]
            off = simulated(jobs, cluster, backups=False).summary["auto"]["mean_response"]
            ratios.append(on / off)
        worth[inherent] = np.exp(np.log(ratios).mean())
    assert worth[0.0] < 0.8
    assert worth[0.5] < 0.92


def test_without_learning_they_are_refused():
    with pytest.raises(ValueError, match="backups = True: needs learn"):
        mb.simulate(stragglers(), "fair", cluster=CLUSTER, backups=True)


def test_gains_of_backup_tasks():
    """Of running tasks of a phase of which none waits and one has ended; the longer one runs the more."""
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]))
    for _ in range(5):  # times scatter
        before = scheduler.add(mb.ClusterJobs([4], [0.0]), now=0.0)
        scheduler.ended(before.repeat(4), seconds=[5.0, 10.0, 20.0, 60.0], now=0.0)
        scheduler.finish(before, now=0.0)
    first, other = scheduler.add(mb.ClusterJobs([4, 4], [0.0, 0.0], [2, 0], 0.0), now=0.0)
    scheduler.started([first, other], count=[4, 2], now=0.0)

    def gains(ids, phase, seconds):
        return scheduler.backup_gains(ids, phase, seconds).tolist()

    assert gains([first] * 2, [0, 1], [1.0, 1.0]) == [0.0, 0.0]  # none has ended
    scheduler.ended([first] * 3, seconds=[5.0, 10.0, 20.0], now=20.0)
    scheduler.ended([other], seconds=9.0, now=20.0)  # one runs, two wait
    young, old, waits, reduce = gains(
        [first, first, other, first], [0, 0, 0, 1], [1.0, 90.0, 90.0, 9.0]
    )
    assert old > young > 1.0
    assert waits == reduce == 0.0
    scheduler.ended([first], seconds=30.0, now=30.0)
    assert gains([first], [0], [9.0]) == [0.0]  # none runs
    scheduler.started([first], [1], count=[1], now=30.0)
    scheduler.ended([first], [1], seconds=4.0, now=34.0)
    scheduler.started([first], [1], count=[1], now=34.0)
    assert gains([first], [1], [50.0])[0] > 0.0
    scheduler.finish([first], now=40.0)
    assert gains([first], [1], [50.0]) == [0.0]  # it has left
    assert scheduler.backup_gains([], [], []).shape == (0,)


def test_gains_need_learning_and_numbers():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]), "flex", learn=False)
    ids = scheduler.add(mb.ClusterJobs([2], [5.0]), now=0.0)
    scheduler.started(ids, count=[2], now=0.0)
    scheduler.ended(ids, seconds=5.0, now=5.0)
    assert scheduler.backup_gains(ids, [0], [50.0]).tolist() == [0.0]
    for wrong in ({"ids": ids + 1}, {"phase": [2]}, {"seconds": [-1.0]}, {"seconds": [np.nan]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            scheduler.backup_gains(**{"ids": ids, "phase": [0], "seconds": [1.0], **wrong})
