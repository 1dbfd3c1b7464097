"""Jobs of a Spark, governed; Spark is a fake in virtual time."""

import pytest

from malleable.live.decider import SchedulerDecider
from malleable.live.journal import Journal
from malleable.live.spark.context import Context
from malleable.live.spark.governor import Governor, Wishes
from malleable.live.status import run_status
from tests.live.fake_spark import FakeSpark


def governed(spark, objective="sum:response", wishes=lambda pool: Wishes(), **more):
    decider = SchedulerDecider(1, "auto", objective, counted=True, processors="own")
    return Governor(Context(spark), decider, wishes, clock=spark.clock, **more)


def play(spark, governor, comes=(), every=0.2, most=1000.0):
    """Submit jobs as they come (time, pool, stages ...), and look until all have ended; the jobs."""
    comes, jobs, at = sorted(comes), [], spark.now
    while comes or any(job.status == "RUNNING" for job in spark.jobs):
        at += every
        assert at < most
        while comes and comes[0][0] <= at:
            when, pool, *stages = comes.pop(0)
            spark.until(max(when, spark.now))
            jobs.append(spark.submit(pool, *stages))
        spark.until(at)
        if governor:
            governor.look()
    return jobs


def least(spark):
    return {name: pool.least for name, pool in spark.pools.items()}


JOBS = [(0.0, "long", (80, 1.0)), (0.3, "other", (60, 1.0)), (1.0, "short", (8, 1.0))]


def test_a_short_job_does_not_wait_behind_long_ones():
    fair, flex = FakeSpark(), FakeSpark()
    own = play(fair, None, JOBS)
    ours = play(flex, governed(flex), JOBS)
    assert ours[2].ended < own[2].ended
    assert max(job.ended for job in ours) <= max(job.ended for job in own) + 0.01
    assert set(least(flex).values()) == {0}


def test_what_is_left_of_a_job_counts_whole_though_its_stages_wait():
    """One stage of either can run; behind one of them a long one waits."""
    spark = FakeSpark(slots=4)
    governor = governed(spark)
    spark.submit("deep", (8, 1.0), (90, 1.0))
    spark.submit("flat", (16, 1.0))
    for at in (0.2, 0.4):
        spark.until(at)
        governor.look()
    assert least(spark) == {"default": 0, "deep": 0, "flat": 4}
    assert [work.waiting for work in governor.jobs] == [4, 90, 16]


def test_task_times_are_those_that_spark_says():
    spark = FakeSpark(slots=4)
    governor = governed(spark)
    spark.submit("p", (40, 2.5), (5, 0.4))
    spark.until(0.2)
    governor.look()
    spark.until(2.6)
    governor.look()
    assert governor.decider.seconds([0], governor.now) == pytest.approx([2.5], rel=0.05)
    spark.until(25.5)
    governor.look()
    assert governor.jobs[0].left == 0
    assert governor.jobs[1].done == 4
    assert governor.jobs[0].mean == 2.5


@pytest.mark.parametrize("objective", ["sum:tardy", "sum:tardiness", "max:lateness"])
def test_deadlines_that_can_be_met_are(objective):
    comes = [(0.0, "long", (80, 1.0)), (0.3, "other", (60, 1.0)), (2.5, "urgent", (16, 1.0))]
    due = {"long": 25.0, "other": 25.0, "urgent": 3.5}

    def late(spark, governor):
        jobs = play(spark, governor, comes)
        return [job.pool.name for job in jobs if job.ended > job.submitted + due[job.pool.name]]

    assert late(FakeSpark(), None) == ["urgent"]
    spark = FakeSpark()
    governor = governed(spark, objective, lambda pool: Wishes(deadline=due[pool]))
    assert late(spark, governor) == []


def test_a_minimum_is_kept_beside_shorter_jobs_and_the_owner_s_is_a_floor():
    spark = FakeSpark()
    governor = governed(spark, wishes=lambda pool: Wishes(min_slots=2 * (pool == "kept")))
    spark.submit("owned", (90, 1.0))
    spark.pools["owned"].least = 1
    spark.submit("kept", (80, 1.0))
    spark.submit("short", (20, 1.0))
    for at in (0.2, 0.4):
        spark.until(at)
        governor.look()
    found = least(spark)
    assert (found["owned"], found["kept"], found["short"]) == (1, 2, 5)
    governor.spark.restore()
    assert least(spark) == {"default": 0, "owned": 1, "kept": 0, "short": 0}


def test_a_barrier_stage_has_all_that_it_needs_or_nothing():
    spark = FakeSpark(slots=4)
    governor = governed(spark)
    spark.submit("a", (3, 2.0))
    spark.submit("b", (4, 1.0), barrier=True)
    seen = set()
    for step in range(1, 12):
        spark.until(0.2 * step)
        governor.look()
        seen.add(spark.pools["b"].least)
    assert seen <= {0, 4}


def test_slots_come_and_go_with_executors():
    spark = FakeSpark(slots=0)
    governor = governed(spark)
    spark.submit("a", (30, 1.0))
    governor.look()
    assert (governor.slots, spark.pools["a"].least) == (0, 0)
    spark.slots = 6
    governor.look()
    assert (governor.slots, spark.pools["a"].least) == (6, 6)
    spark.slots = 2
    governor.look()
    assert spark.pools["a"].least == 2


def test_a_stage_that_is_tried_again_is_one_more():
    spark = FakeSpark(slots=2)
    governor = governed(spark)
    job = spark.submit("a", (6, 1.0), (4, 1.0))
    spark.until(1.2)
    governor.look()
    (first, _) = job.stages
    first.attempt, first.done, first.tasks = 1, 0, 4  # what one executor had made is gone with it
    spark.until(1.4)
    governor.look()
    assert [work.name for work in governor.jobs][-1] == "a, stage 0.1"
    assert governor.jobs[0].left == 0
    play(spark, governor)
    assert all(work.left == 0 for work in governor.jobs)


def test_jobs_that_are_cancelled_end():
    spark = FakeSpark(slots=2)
    governor = governed(spark)
    job = spark.submit("a", (6, 1.0), (4, 1.0))
    spark.until(1.2)
    governor.look()
    spark.cancel(job)
    governor.look()
    assert [(work.done, work.failed, work.left) for work in governor.jobs] == [(2, 4, 0), (0, 0, 0)]
    assert not governor.busy
    assert spark.pools["a"].least == 0


def test_a_journal_says_what_became_of_stages_and_what_was_learnt(tmp_path):
    spark = FakeSpark()
    with Journal(tmp_path / "journal") as journal:
        run = journal.begin(1, "sum:response", "auto", kind="stages")
        governor = governed(spark, journal=journal, run=run)
        spark.submit("a", (30, 1.0), (4, 2.0), description="etl")
        spark.until(1.3)
        governor.look()
        status = run_status(journal)
        assert [(job.name, job.done, job.running, job.left) for job in status.jobs] == [
            ("etl, stage 0", 8, 8, 22),
            ("etl, stage 1", 0, 0, 4),
        ]
        assert status.slots == 8
        play(spark, governor)
        governor.end_run("done")
        status = run_status(journal)
        assert [(job.done, job.left, job.failed) for job in status.jobs] == [(30, 0, 0), (4, 0, 0)]
        assert [job.seconds for job in status.jobs] == pytest.approx([1.0, 2.0], rel=0.01)
        assert {own["program"] for own in journal.history()["programs"]} == {"etl 0", "etl 1"}
