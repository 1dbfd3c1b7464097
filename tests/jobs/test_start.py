"""Jobs that wait until they get their minimum, and never have less after that."""

import copy
import io
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.oracles.first_come import easy

OBJECTIVES = ("sum:response", "sum:stretch", "sum:tardiness", "sum:tardy", "max:stretch")


class Ledger:
    """A loop as a user runs it, which keeps account of what each job had and when."""

    def __init__(self, slots, seed, *, mixed=False, curved=False, **options):
        self.rng = np.random.default_rng(seed)
        self.slots, self.mixed, self.curved, self.now = slots, mixed, curved, 0.0
        self.epoch = mb.Epoch(slots, min_mode="start", **options)
        self.jobs = {}

    def come(self, count):
        low = self.rng.integers(0, self.slots // 2 + 1, count)
        high = low + self.rng.integers(1, self.slots, count)
        rigid = (self.rng.random(count) < 0.3) & (low > 0)
        high = np.where(rigid, low, high)
        work = self.rng.lognormal(3.0, 1.0, count)
        starts = self.rng.random(count) < 0.7 if self.mixed else np.ones(count, dtype=bool)
        columns = {"min_slots": low, "max_slots": high, "deadline": self.now + 4.0 * work}
        if self.mixed:
            columns["min_mode"] = ["start" if own else "guarantee" for own in starts]
        power = self.rng.choice([0.5, 0.8, 1.0], count) if self.curved else np.ones(count)
        if self.curved:
            columns["speedup"] = power.tolist()
        ids = self.epoch.add(work, **columns)
        for k, job in enumerate(ids.tolist()):
            told = int(low[k]), int(high[k]), bool(starts[k]), float(work[k]), float(power[k])
            self.jobs[job] = [*told, 0]

    def step(self):
        decision = self.epoch.decide(self.now)
        given = dict(zip(decision.ids.tolist(), decision.slots.tolist(), strict=True))
        assert given.keys() == self.jobs.keys()
        assert decision.slots.dtype == np.int64 and decision.slots.min(initial=0) >= 0
        assert sum(given.values()) <= self.epoch.slots
        fell = self.least > self.epoch.slots
        ends = np.inf
        for job, (low, high, starts, work, power, had) in self.jobs.items():
            now = given[job]
            assert now <= max(high, 1)
            if starts:
                assert now == 0 or now >= low
                assert fell or had == 0 or now >= low
            if now:
                ends = min(ends, work / now**power)
        for job, row in self.jobs.items():
            row[5] = given[job]
            row[3] -= given[job] ** row[4] * ends if given[job] and ends < np.inf else 0.0
        if ends == np.inf:
            return False
        self.now += ends
        over = [job for job, row in self.jobs.items() if row[3] <= 1e-9]
        for job in over:
            del self.jobs[job]
        self.epoch.finish(over)
        left = [job for job in self.jobs if self.jobs[job][5]]
        self.epoch.update(left, work=[self.jobs[job][3] for job in left])
        return True

    @property
    def least(self):
        """The minima of what runs."""
        return sum(row[0] for row in self.jobs.values() if row[2] and row[5])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("policy", ["flex", "fair", "fifo"])
@pytest.mark.parametrize("kind", ["plain", "mixed", "curved"])
def test_who_runs_keeps_its_minimum_and_everybody_ends(objective, policy, kind):
    for seed in range(4):
        how = {"mixed": kind == "mixed", "curved": kind == "curved"}
        loop = Ledger(12, seed, objective=objective, policy=policy, **how)
        for _ in range(60):
            if loop.rng.random() < 0.5:
                loop.come(int(loop.rng.integers(1, 4)))
            if loop.rng.random() < 0.1:
                loop.epoch.decide(loop.now, slots=int(loop.rng.integers(6, 20)))
                for row in loop.jobs.values():  # what that decision gave counts from here
                    row[5] = 0
            loop.step()
        loop.epoch.decide(loop.now, slots=20)
        for row in loop.jobs.values():
            row[5] = 0
        while loop.jobs:
            assert loop.step()


@pytest.mark.parametrize("options", [{"period": 3.0}, {"hysteresis": 0.5}, {"effort": 5}])
def test_what_else_an_epoch_does_goes_with_it(options):
    for seed in range(4):
        loop = Ledger(12, seed, **options)
        for _ in range(30):
            loop.come(int(loop.rng.integers(0, 3)))
            loop.step()


def test_a_copy_goes_on_as_the_original():
    for mixed in (False, True):
        loop = Ledger(12, 5, mixed=mixed)
        for _ in range(40):
            loop.come(int(loop.rng.integers(0, 3)))
            loop.step()
        twins = copy.deepcopy(loop), pickle.loads(pickle.dumps(loop))
        assert all(twin.epoch == loop.epoch for twin in twins)
        for _ in range(20):
            for one in (loop, *twins):
                one.come(1)
                one.step()
        assert all(twin.epoch == loop.epoch and twin.jobs == loop.jobs for twin in twins)


def test_rigid_jobs_by_arrival_are_easy_backfilling():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        width = rng.integers(1, 9, 60)
        seconds = rng.uniform(1.0, 40.0, 60)
        arrival = np.sort(rng.uniform(0.0, 400.0, 60))
        jobs = mb.Jobs(width * seconds, arrival=arrival, min_slots=width, max_slots=width)
        result = mb.simulate(jobs, policy="fifo", slots=12, min_mode="start")
        rows = result.records["job_id"]
        started = dict(zip(rows.tolist(), result.records["starting_time"].tolist(), strict=True))
        expected = easy(arrival.tolist(), seconds.tolist(), width.tolist(), 12)
        assert [started[j] for j in range(60)] == pytest.approx(expected)


def test_a_wide_job_does_not_starve_behind_narrow_ones():
    narrow = np.arange(400.0)
    jobs = mb.Jobs(
        np.append(np.full(400, 9.0), 100.0),
        arrival=np.append(narrow, 5.0),
        min_slots=np.append(np.full(400, 1), 10),
        max_slots=np.append(np.full(400, 1), 10),
    )
    for objective in OBJECTIVES[:2]:
        done = mb.simulate(jobs, policy="flex", slots=10, objective=objective, min_mode="start")
        end = done.records["completion"][done.records["job_id"] == 400]
        assert end[0] < 200.0


def test_who_started_last_stops_if_slots_leave_and_keeps_its_work():
    epoch = mb.Epoch(10, min_mode="start")
    first = epoch.add([100.0], min_slots=4, max_slots=4)
    assert epoch.decide(0.0).slots.tolist() == [4]
    second = epoch.add([100.0], min_slots=5, max_slots=6)
    assert epoch.decide(1.0).slots.tolist() == [4, 6]
    epoch.update([*first, *second], work=[92.0, 88.0])
    assert epoch.decide(3.0, slots=8).slots.tolist() == [4, 0]
    assert epoch.decide(4.0, slots=9).slots.tolist() == [4, 5]
    plan = epoch.decide(4.0).plan()
    assert plan.jobs.work.tolist() == [92.0, 88.0]
    plan.validate()


def test_a_job_that_fits_nowhere_is_told_once():
    epoch = mb.Epoch(10, min_mode="start")
    epoch.add([100.0, 5.0], min_slots=[11, 1], max_slots=20)
    with pytest.warns(UserWarning, match="more than the 10 slots; waiting: 0"):
        assert epoch.decide(0.0).slots.tolist() == [0, 10]
    epoch.decide(1.0)  # a second warning would be an error
    assert epoch.decide(2.0, slots=12).slots.tolist()[0] == 11


def test_guarantees_get_what_started_jobs_leave():
    epoch = mb.Epoch(10, min_mode="guarantee")
    epoch.add([100.0], min_slots=6, max_slots=8, min_mode="start")
    assert epoch.decide(0.0).slots.tolist() == [8]
    epoch.add([50.0], min_slots=8, max_slots=9)
    assert epoch.decide(1.0).slots.tolist() == [6, 4]
    epoch.add([1.0], min_slots=3, max_slots=9, min_mode="start")
    assert epoch.decide(2.0).slots.tolist() == [6, 4, 0]


def _table(rng, count, mixed):
    low = rng.integers(0, 7, count)
    columns = {"min_slots": low, "max_slots": low + rng.integers(1, 7, count)}
    columns["deadline"] = rng.uniform(1.0, 60.0, count)
    if mixed:
        columns["min_mode"] = rng.choice(["start", "guarantee"], count).tolist()
    return mb.Jobs(rng.lognormal(3.0, 1.0, count), **columns)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_plans_hold_and_their_bounds_are_bounds(objective):
    for seed in range(12):
        jobs = _table(np.random.default_rng(seed), 9, seed % 2 == 1)
        for policy in ("flex", "fair", "fifo"):
            for period in (0.0, 2.0):
                how = {"min_mode": "start", "period": period, "policy": policy}
                plan = mb.plan(jobs, slots=10, objective=objective, **how)
                plan.validate()
                assert plan.lower_bound <= plan.value * (1 + 1e-9)
                assert len(plan.explain()) == 9


def test_the_checker_sees_a_job_below_the_minimum_on_which_it_started():
    jobs = mb.Jobs([40.0, 40.0], min_slots=[4, 4], max_slots=8)
    plan = mb.plan(jobs, slots=10, min_mode="start")
    plan.validate()
    for job, slots in ((0, 3), (1, 2)):
        pieces = {name: column.copy() for name, column in plan.pieces.items()}
        at = int(np.flatnonzero(pieces["job"] == job)[0])
        half = (pieces["start"][at] + pieces["end"][at]) / 2
        more = {"job": job, "start": half, "end": pieces["end"][at], "slots": slots}
        pieces["end"][at] = half
        bad = copy.copy(plan)
        bad.pieces = {name: np.append(column, more[name]) for name, column in pieces.items()}
        with pytest.raises(ValueError, match="invalid plan"):
            bad.validate()


def test_a_job_that_never_fits_makes_a_plan_infeasible():
    jobs = mb.Jobs([40.0, 40.0], min_slots=[4, 14], max_slots=20)
    plan = mb.plan(jobs, slots=10, min_mode="start")
    assert plan.status == "infeasible" and np.isinf(plan.completion[1])
    plan.validate()
    assert "it needs 14 slots at once" in plan.explain()[1]


def test_words_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"min_mode\[1\] = 'gang'"):
        mb.Jobs([1.0, 2.0], min_mode=["start", "gang"])
    with pytest.raises(ValueError, match="min_mode: gang goes without jobs that wait to start"):
        mb.Epoch(10, min_mode="gang").add([1.0], min_mode="start")
    with pytest.raises(ValueError, match="predictable: goes without jobs that wait to start"):
        mb.Epoch(10, min_mode="start", predictable=1.0)
    with pytest.raises(ValueError, match="program: goes without jobs that wait to start"):
        mb.Epoch(10, min_mode="start").add([1.0], program=3)


def test_a_table_says_what_its_minima_mean():
    jobs = mb.Jobs([1.0, 2.0], min_mode=["start", "guarantee"])
    assert jobs.min_mode == ("start", "guarantee")
    assert jobs.take([1]).min_mode == ("guarantee",)
    assert pickle.loads(pickle.dumps(jobs)) == jobs
    file = io.StringIO()
    mb.write_jobs(jobs, file)
    assert mb.read_jobs(io.BytesIO(file.getvalue().encode())) == jobs
    assert jobs != mb.Jobs([1.0, 2.0]) and mb.Jobs([1.0]).min_mode is None


def test_a_job_starts_on_what_it_prefers_if_nobody_needs_it():
    epoch = mb.Epoch(10, "sum:response", min_mode="start")
    epoch.add([900.0, 9.0], min_slots=1, max_slots=[8, 10], preferred=[6, 0])
    assert epoch.decide(0.0).slots.tolist() == [6, 4]
    assert epoch.decide(1.0).slots.tolist() == [1, 9]  # once it has started, the objective decides
    later = epoch.add([5.0], min_slots=5, max_slots=10, preferred=8)
    assert epoch.decide(2.0).slots.tolist() == [1, 1, 8]
    epoch.finish(later)
    assert epoch.decide(3.0).slots.tolist() == [1, 9]


@pytest.mark.parametrize("curved", [False, True])
def test_minima_come_before_what_others_prefer(curved):
    epoch = mb.Epoch(10, min_mode="start")
    speedup = 0.8 if curved else None
    epoch.add([50.0] * 3, min_slots=3, max_slots=9, preferred=7, speedup=speedup)
    assert sorted(epoch.decide(0.0).slots.tolist()) == [3, 3, 4]
    twin = pickle.loads(pickle.dumps(epoch))
    for one in (epoch, twin):
        one.add([1.0], min_slots=1, max_slots=2, speedup=speedup)
    assert epoch.decide(1.0).slots.tolist() == twin.decide(1.0).slots.tolist()
    assert epoch == twin


def test_what_a_job_prefers_is_a_column_of_tables():
    jobs = mb.Jobs([1.0, 2.0], min_slots=1, max_slots=[4, 8], preferred=[2, 0])
    file = io.StringIO()
    mb.write_jobs(jobs, file)
    assert "preferred" in file.getvalue()
    assert mb.read_jobs(io.BytesIO(file.getvalue().encode())) == jobs
    assert jobs.take([1]).preferred.tolist() == [0] and jobs != jobs.take([0, 1]).take([1, 0])
    assert mb.read_jobs(io.StringIO("work,preferred\n3,2\n4,\n")).preferred.tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"preferred\[1\] = 9: must be from min_slots"):
        mb.Jobs([1.0, 2.0], max_slots=8, preferred=[2, 9])
    plan = mb.plan(jobs, slots=10, min_mode="start")
    plan.validate()
    assert plan.jobs.preferred.tolist() == [2, 0]


def test_hopeless_jobs_do_not_stop_those_that_can_be_on_time():
    epoch = mb.Epoch(4, "sum:tardy", min_mode="start")
    epoch.add([40.0, 41.0], min_slots=4, max_slots=4, deadline=[5.0, 20.0])
    assert epoch.decide(0.0).slots.tolist() == [0, 4]


def test_steps_that_come_near_count_in_the_line():
    epoch = mb.Epoch(4, "sum:sla", min_mode="start")
    far, near = [(4000.0, 5.0)], [(20.0, 3.0), (90.0, 5.0)]
    epoch.add([36.0, 40.0], min_slots=4, max_slots=4, sla=[far, near])
    assert epoch.decide(0.0).slots.tolist() == [0, 4]


def test_tables_that_are_not_concave_are_shared_by_their_corners():
    epoch = mb.Epoch(9, min_mode="start")
    stairs = [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 7.0]
    epoch.add([80.0, 80.0], min_slots=1, max_slots=8, speedup=[stairs, stairs])
    slots = sorted(epoch.decide(0.0).slots.tolist())
    assert slots in ([1, 8], [4, 4])


def test_a_job_that_outlives_its_estimate_keeps_its_minimum():
    epoch = mb.Epoch(10, min_mode="start")
    first = epoch.add([40.0], min_slots=4, max_slots=10)
    assert epoch.decide(0.0).slots.tolist() == [10]
    epoch.add([3.0], min_slots=6, max_slots=6)
    epoch.update(first, work=[0.0])
    for now in (4.0, 40.0, 400.0):
        assert epoch.decide(now).slots.tolist() == [4, 6]


def _waits(jobs, policy):
    records = mb.simulate(jobs, policy=policy, slots=64, min_mode="start").records
    arrival = jobs.arrival[records["job_id"]]
    wait = records["starting_time"] - arrival
    return wait.max(), (records["completion"] - arrival).mean()


def test_rigid_jobs_wait_little_longer_than_by_arrival_and_end_much_sooner():
    ratios = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        width, seconds = 2 ** rng.integers(0, 7, 400), rng.lognormal(6.0, 1.5, 400)
        gaps = rng.exponential(1.0, 400)
        arrival = np.cumsum(gaps) * ((width * seconds).sum() / 64 / gaps.sum())
        limits = {"min_slots": width, "max_slots": width}
        jobs = mb.Jobs(width * seconds, arrival=arrival, **limits)
        ratios.append(np.divide(_waits(jobs, "flex"), _waits(jobs, "fifo")))
    longest, mean = np.mean(ratios, axis=0)
    assert longest < 1.2 and np.max(ratios, axis=0)[0] < 1.4 and mean < 0.8
