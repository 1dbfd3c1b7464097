"""What is read of a Spark, and what it is told; Spark itself is a fake."""

import math

import pytest

from malleable.live.spark.context import Context, Key
from tests.live.fake_spark import FakeSpark


def stages(context):
    return {stage.key.stage: stage for job in context.look().jobs for stage in job.stages}


def test_a_look_shows_jobs_with_the_stages_that_are_left():
    spark = FakeSpark(slots=4)
    context = Context(spark)
    assert context.look() == (4, [])
    spark.submit("etl", (6, 1.0), (2, 3.0), (1, 1.0, (0, 1)), description="the night's load")
    spark.until(1.0)
    (job,) = context.look().jobs
    assert job.pool == "etl"
    first, second, last = job.stages
    assert (first.tasks, first.running, first.done, first.pending) == (6, 2, 4, 0)
    assert (first.mean, first.waits, second.waits) == (1.0, False, True)
    assert math.isnan(second.mean)
    assert second.after == (Key(0, 0),)
    assert last.after == (Key(0, 0), Key(1, 0))
    assert first.name == "the night's load, stage 0"
    spark.until(2.0)
    assert [stage.key.stage for stage in context.look().jobs[0].stages] == [1, 2]
    spark.until(9.0)
    assert context.look().jobs == []
    assert context.ended(Key(1, 0)) == (2, 3.0, True)
    assert context.ended(Key(9, 0)) is None  # which Spark has forgotten
    assert context.ended(Key(1, 1)) == (0, pytest.approx(math.nan, nan_ok=True), False)


def test_stages_that_spark_will_skip_are_no_work():
    spark = FakeSpark()
    context = Context(spark)
    job = spark.submit("p", (9, 1.0), (9, 1.0), (3, 5.0), (2, 1.0))
    job.stages[0].status = job.stages[1].status = "PENDING"  # what they make is there
    job.stages[2].status = "ACTIVE"
    assert stages(context).keys() == {2, 3}


def test_a_name_is_the_description_or_the_pool_where_the_call_is_not_known():
    spark = FakeSpark()
    spark.submit("nightly", (1, 9.0))
    spark.submit("nightly", (1, 9.0), description="totals")
    programs = [stage.program for stage in stages(Context(spark)).values()]
    assert programs == ["nightly 0", "totals 0"]


def test_the_minimum_of_the_owner_is_kept_and_comes_back():
    spark = FakeSpark()
    context = Context(spark)
    context.set_minimum("etl", 3)  # not there yet
    spark.submit("etl", (4, 9.0))
    spark.pools["etl"].least = 2
    context.set_minimum("etl", 5)
    assert (spark.pools["etl"].least, context.changed) == (5, {"etl": 5})
    context.set_minimum("etl", 1)
    assert (spark.pools["etl"].least, context.changed) == (2, {})
    context.set_minimum("etl", 7)
    context.restore()
    assert (spark.pools["etl"].least, context.changed) == (2, {})


def test_a_pool_that_was_taken_away_has_what_it_had_and_the_next_one_of_its_name_is_found():
    spark = FakeSpark()
    context = Context(spark)
    spark.submit("etl", (40, 9.0))
    context.set_minimum("etl", 5)
    old = spark.remove_pool("etl")
    spark.submit("etl", (4, 9.0))
    context.look()
    assert old.least == 0
    context.set_minimum("etl", 3)
    assert spark.pools["etl"].least == 3


def test_a_look_is_a_few_calls_whatever_runs():
    spark = FakeSpark()
    context = Context(spark)
    for k in range(50):
        spark.submit(f"p{k}", (4, 9.0))
    context.look()
    before = spark.calls
    context.look()
    assert spark.calls - before <= 6


class Session:
    __module__ = "pyspark.sql.connect.session"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: FakeSpark(mode="FIFO"), "spark.scheduler.mode is FIFO"),
        (Session, "Spark Connect"),
    ],
)
def test_what_cannot_be_governed_is_told(made, told):
    with pytest.raises(ValueError, match=told):
        Context(made())


def test_a_context_that_was_stopped_is_told():
    spark = FakeSpark()
    spark.stop()
    with pytest.raises(ValueError, match="has been stopped"):
        Context(spark)


def test_a_spark_that_lets_no_minimum_be_set_is_told_before_anything_changes():
    spark = FakeSpark()
    spark.submit("etl", (4, 9.0))
    spark.settable = False
    with pytest.raises(ValueError, match="does not let minShare of a pool be set"):
        Context(spark)
    assert spark.pools["etl"].least == 0
