"""p as the scheduler learns it from tasks of one phase, against the truth."""

import numpy as np
import pytest

import malleable as mb


def run(times, limit, p):
    """Tasks of one phase in their order, `limit(now)` of them at once: (begin, end)."""
    waiting, left, began = list(times), {}, {}
    tasks, now, number = [], 0.0, 0
    while waiting or left:
        while waiting and len(left) < limit(now):
            left[number], began[number] = waiting.pop(0), now
            number += 1
        rate = len(left) ** (p - 1.0)
        step = min(left.values()) / rate
        now += step
        for task in [k for k in left if left[k] <= step * rate * (1.0 + 1e-12)]:
            tasks.append((began[task], now))
            del left[task]
        left = {k: own - step * rate for k, own in left.items()}
    return tasks


def tell(scheduler, tasks, end=True, more=0):
    """The scheduler is told of a job with these tasks."""
    first = scheduler.now
    (job,) = scheduler.add(mb.ClusterJobs([len(tasks) + more], 0.0), first)
    events = sorted(
        [(begin, 1, 0.0) for begin, _ in tasks] + [(end, 0, end - begin) for begin, end in tasks]
    )
    for time, starts, seconds in events:
        if starts:
            scheduler.started([job], now=first + time)
        else:
            scheduler.ended([job], seconds=seconds, now=first + time)
    if end:
        scheduler.finish([job], scheduler.now)
    return job


def widths(rng):
    """How many run at once: another number now and then."""
    levels = rng.integers(1, 25, 1000)
    return lambda now: int(levels[min(int(now / 40.0), 999)])


def learned(times, limit, p, **options):
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 40}]), **options)
    tell(scheduler, run(times, limit, p))
    found = scheduler.learned
    return found["speedup"], found["speedup"] - found["speedup_low"]


def test_what_goes_on_counts_already():
    tasks = run([10.0] * 60, widths(np.random.default_rng(5)), 0.6)
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 40}]))
    before = scheduler.learned["speedup"]
    tell(scheduler, tasks, end=False, more=20)
    assert scheduler.learned["speedup"] == pytest.approx(0.6, abs=0.08) and before > 0.85
    # What it has shown stays when it is cancelled.
    scheduler.remove([0])
    scheduler.decide(scheduler.now)
    assert scheduler.learned["speedup"] == pytest.approx(0.6, abs=0.08)


@pytest.mark.parametrize("p", [1.0, 0.8, 0.5])
def test_p_of_tasks_alike(p):
    errors = [
        learned([10.0] * 200, widths(np.random.default_rng(seed)), p)[0] - p for seed in range(4)
    ]
    assert np.abs(errors).max() < 0.02


def test_heavy_tails_are_no_speedup():
    """Long tasks end beside few others: a slope over how many ran would take p for more or less."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        times = 10.0 * np.exp(1.5 * rng.normal(size=200))
        found.append(learned(times.tolist(), widths(rng), 1.0)[0])
    assert np.mean(found) > 0.85


def test_priors():
    means = [
        learned([10.0] * 3, lambda now: 1, 1.0, processors=name)
        for name in ("own", "unknown", "beyond")
    ]
    assert means[0][0] > 0.95 and means[0][1] < 0.1
    assert means[0][0] > means[1][0] > means[2][0] and means[0][1] < means[1][1] < means[2][1]
    with pytest.raises(ValueError, match="processors = 'many'"):
        mb.Scheduler(mb.Cluster([{"slots": 4}]), processors="many")


def test_jobs_of_one_task_say_nothing():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 4}]))
    before = scheduler.learned
    for _ in range(30):
        tell(scheduler, [(0.0, 7.0)])
    for name in ("speedup", "speedup_low"):
        assert scheduler.learned[name] == before[name]


def test_histories_are_read():
    scheduler = mb.Scheduler(mb.Cluster([{"slots": 40}]))
    tell(scheduler, run([10.0] * 40, widths(np.random.default_rng(1)), 0.7))
    history = scheduler.history
    again = mb.Scheduler(mb.Cluster([{"slots": 40}]), history=history)
    assert again.learned == pytest.approx(scheduler.learned)
