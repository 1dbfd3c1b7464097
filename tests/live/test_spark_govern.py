"""``govern_spark``: a block in which a context is governed; Spark is a fake."""

import logging
import sys

import pytest

import malleable as mb
from malleable.live.journal import Journal
from malleable.live.status import run_status
from tests.live.fake_spark import FakeSpark
from tests.live.waiting import until


def looked(governed):
    """Two whole looks from now on."""
    before = governed.looks
    until(lambda: governed.looks > before + 1)


def test_minima_are_set_within_the_block_and_set_back_at_its_end():
    spark = FakeSpark()
    spark.submit("long", (80, 1.0))
    spark.submit("short", (20, 1.0))
    with mb.govern_spark(spark, every=0.02) as governed:
        until(lambda: governed.minima == {"short": 8})
        assert spark.claims
    assert {pool.least for pool in spark.pools.values()} == {0}
    assert not spark.claims


def test_an_error_in_the_block_goes_on_and_everything_is_set_back():
    spark = FakeSpark()
    spark.submit("short", (20, 1.0))
    with pytest.raises(KeyboardInterrupt), mb.govern_spark(spark, every=0.02) as governed:
        until(lambda: governed.minima)
        raise KeyboardInterrupt
    assert spark.pools["short"].least == 0


def test_two_governors_of_one_context_are_refused():
    spark = FakeSpark()
    with (
        mb.govern_spark(spark),
        pytest.raises(ValueError, match="process .* already governs this context"),
    ):
        mb.govern_spark(spark)
    mb.govern_spark(spark).close()


def test_wrong_arguments_claim_nothing(tmp_path):
    spark = FakeSpark()
    for wrong, told in [
        ({"every": 0.0}, "every = 0.0"),
        ({"pools": {"etl": {"wieght": 2}}}, "weight"),
        ({"objective": "sum:nothing"}, "nothing"),
        ({"policy": "flexx"}, "flex"),
        ({"journal": tmp_path}, "is no file"),
    ]:
        with pytest.raises(ValueError, match=told):
            mb.govern_spark(spark, **wrong)
        assert not spark.claims


@pytest.mark.parametrize(
    "pools",
    [{"kept": {"min_slots": 3}}, lambda name: {"min_slots": 3} if name == "kept" else None],
    ids=["dict", "function"],
)
def test_what_is_wanted_of_pools_is_a_dict_or_a_function(pools):
    spark = FakeSpark()
    spark.submit("kept", (80, 1.0))
    spark.submit("short", (20, 1.0))
    with mb.govern_spark(spark, every=0.02, pools=pools) as governed:
        until(lambda: governed.minima == {"kept": 3, "short": 5})


def test_a_function_that_fails_is_told_once_and_counts_as_nothing(caplog):
    spark = FakeSpark()
    spark.submit("a", (80, 1.0))
    caplog.set_level(logging.WARNING, "malleable")
    with mb.govern_spark(spark, every=0.02, pools={}.__getitem__) as governed:
        until(lambda: governed.minima == {"a": 8})
        looked(governed)
    assert len(caplog.records) == 1
    assert "what is wanted of pool 'a' failed" in caplog.text


def test_a_block_has_a_pool_of_its_own_which_is_used_again():
    spark = FakeSpark()
    spark.setLocalProperty("spark.scheduler.pool", "mine")
    with mb.govern_spark(spark, every=0.02) as governed:
        with governed.pool() as first:
            assert spark.getLocalProperty("spark.scheduler.pool") == first
            with governed.pool("etl", min_slots=2) as second:
                assert second == "etl"
                spark.submit(second, (80, 1.0))
                spark.submit(first, (20, 1.0))
                until(lambda: governed.minima == {"etl": 2, first: 6})
            assert spark.getLocalProperty("spark.scheduler.pool") == first
        assert spark.getLocalProperty("spark.scheduler.pool") == "mine"
        with governed.pool() as again:
            assert again == first
        with pytest.raises(ValueError, match="weight"), governed.pool(weight=-1):
            pass


def test_users_have_their_minimum():
    spark = FakeSpark()
    people = [{"name": "ann", "minimum": 3}, {"name": "bob", "minimum": 0}]
    spark.submit("ann", (80, 1.0))
    spark.submit("bob", (20, 1.0))
    with mb.govern_spark(spark, every=0.02, users=people) as governed:
        until(lambda: governed.minima.get("ann", 0) >= 3)


def test_a_look_that_fails_is_told_once_and_tried_again(caplog):
    spark = FakeSpark()
    spark.submit("a", (80, 1.0))
    with (
        caplog.at_level(logging.WARNING, "malleable"),
        mb.govern_spark(spark, every=0.02) as governed,
    ):
        until(lambda: governed.minima == {"a": 8})
        spark.failing = "the JVM is busy"
        until(lambda: governed.trouble)
        before = spark.calls
        until(lambda: spark.calls > before + 1)
        spark.failing = ""
        until(lambda: not governed.trouble)
        looked(governed)
    assert [record.getMessage() for record in caplog.records] == [
        "a look at Spark's jobs failed, it is tried again: RuntimeError: the JVM is busy"
    ]
    assert spark.pools["a"].least == 0


def test_a_context_that_is_stopped_in_the_block_ends_it_quietly(caplog):
    spark = FakeSpark()
    spark.submit("a", (80, 1.0))
    with (
        caplog.at_level(logging.WARNING, "malleable"),
        mb.govern_spark(spark, every=0.02) as governed,
    ):
        until(lambda: governed.minima)
        spark.stop()
        until(lambda: not governed.alive)
    assert not caplog.records
    assert not spark.claims


def test_a_journal_of_it_can_be_read_while_it_goes_on(tmp_path):
    spark = FakeSpark()
    spark.submit("a", (16, 1.0), description="etl")
    path = tmp_path / "journal"
    with mb.govern_spark(spark, every=0.02, journal=path) as governed:
        until(lambda: governed.minima)
        with Journal(path, write=False) as journal:
            status = until(lambda: (seen := run_status(journal)).jobs and seen)
        assert (status.status, status.jobs[0].name) == ("running", "etl, stage 0")
        spark.until(9.0)
        looked(governed)
    with Journal(path, write=False) as journal:
        status = run_status(journal)
    assert (status.status, status.jobs[0].done, status.jobs[0].left) == ("done", 16, 0)


def test_what_is_no_context_is_told_with_how_to_install_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ImportError, match=r"pip install 'malleable\[spark\]'"):
        mb.govern_spark(object())


def test_jobs_that_end_after_the_last_look_have_ended(tmp_path):
    spark = FakeSpark()
    spark.submit("a", (8, 1.0))
    with mb.govern_spark(spark, every=60.0, journal=tmp_path / "journal") as governed:
        until(lambda: governed.minima)
        spark.until(100.0)
    with Journal(tmp_path / "journal", write=False) as journal:
        status = run_status(journal)
    assert status.status == "done"
    assert [(job.done, job.left) for job in status.jobs] == [(8, 0)]
