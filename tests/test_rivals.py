"""Benchmarks against rivals: its loops and rivals on cases done by hand, and its tables."""

import json

import numpy as np
import pytest

import malleable as mb
from benchmarks import instances
from benchmarks.rivals import keep, loops, sections, table  # noqa: F401
from benchmarks.rivals import rules as rivals
from tests.full import in_full


def state(work, most, slots, period=1.0, **more):
    """What a rule sees."""
    count = len(work)
    plain = {
        "ids": np.arange(count),
        "work": np.asarray(work, dtype=float),
        "size": np.asarray(work, dtype=float),
        "attained": np.zeros(count),
        "arrival": np.zeros(count),
        "weight": np.ones(count),
        "deadline": np.full(count, np.inf),
        "min_slots": np.zeros(count, dtype=np.int64),
        "max_slots": np.asarray(most),
        "capacity": slots,
        "period": period,
    }
    return plain | {name: np.asarray(value) for name, value in more.items()}


@pytest.mark.parametrize(
    ("most", "slots", "given"),
    [
        ([5, 5], 4, [2, 2]),
        ([1, 9, 9], 7, [1, 3, 3]),
        ([1, 2], 9, [1, 2]),
        ([9, 9, 9], 2, [1, 1, 0]),
    ],
)
def test_equal_shares(most, slots, given):
    assert rivals.equal_shares(state([9.0] * len(most), most, slots), 0.0).tolist() == given


def test_equal_shares_are_those_of_fair():
    rng = np.random.default_rng(3)
    for _ in range(50):
        count, slots = int(rng.integers(1, 12)), int(rng.integers(0, 40))
        most = rng.integers(1, 15, count)
        epoch = mb.Epoch(slots, policy="fair")
        epoch.add(np.ones(count), max_slots=most)
        found = rivals.equal_shares(state(np.ones(count), most, slots), 0.0)
        assert found.tolist() == epoch.decide(0.0).slots.tolist()


def test_caps_and_left_over_slots():
    # Works 3 and 10, P = 2: they need 2 and 5 slots to end in time, and 11 slots are there.
    case = state([3.0, 10.0], [4, 8], 11, period=2.0)
    assert rivals.fair_capped(case, 0.0).tolist() == [2, 5]
    assert rivals.srpt_capped(case, 0.0).tolist() == [2, 5]
    # Gains of the next slot: 3 / (2 x 3) and 10 / (5 x 6), then 3 / (3 x 4) against 10 / 30, 10 / 42 ...
    assert rivals.srpt_left_over(case, 0.0).tolist() == [4, 7]
    assert rivals.srpt(case, 0.0).tolist() == [4, 7]
    assert rivals.srpt(state([10.0, 3.0], [8, 4], 9), 0.0).tolist() == [5, 4]
    # A job that outlived its estimate is taken to have a quarter of what it had.
    late = state([0.0], [9], 9, period=2.0, attained=[24.0])
    assert rivals.fair_capped(late, 0.0).tolist() == [3]


def test_deadlines():
    case = state([4.0, 4.0], [4, 4], 4, deadline=[9.0, 5.0])
    assert rivals.edf(case, 0.0).tolist() == [0, 4]
    # Both have ages of slack; the heavier one costs more.
    alike = case | {"deadline": np.array([9.0, 9.0]), "weight": np.array([1.0, 3.0])}
    assert rivals.apparent_cost(alike, 0.0).tolist() == [0, 4]
    assert rivals.apparent_cost(alike | {"deadline": np.array([5.0, 99.0])}, 0.0).tolist() == [4, 0]
    # Only one of two can end by 1.5; the lighter one waits, however early it is due.
    tight = state([4.0, 4.0], [4, 4], 4, deadline=[1.5, 1.4], weight=[2.0, 1.0])
    assert rivals.latest_start(tight, 0.0).tolist() == [4, 0]
    assert rivals.edf(tight, 0.0).tolist() == [0, 4]
    both = state([4.0, 4.0], [4, 4], 4, deadline=[2.0, 1.4], weight=[2.0, 1.0])
    assert rivals.latest_start(both, 0.0).tolist() == [0, 4]


def test_a_periodic_loop_by_hand():
    """Works 3 and 1 on one slot each of two, P = 2: the second comes at 0.5 and waits until 2."""
    jobs = mb.Jobs([3.0, 1.0], arrival=[0.0, 0.5], max_slots=1)
    done = loops.hold_jobs(jobs, 2, rivals.equal_shares, 2.0)
    assert done.tolist() == [3.0, 3.0]
    between = mb.Jobs([1.0, 2.0], max_slots=2)
    assert loops.hold_jobs(between, 2, rivals.srpt, 5.0).tolist() == [0.5, 6.0]
    assert loops.hold_jobs(between, 2, rivals.srpt, 5.0, between=True).tolist() == [0.5, 1.5]
    with pytest.raises(ValueError, match="hands out"):
        loops.hold_jobs(jobs, 1, lambda state, now: np.ones(len(state["ids"]) + 1), 2.0)


def test_a_periodic_loop_asks_our_epoch():
    jobs, slots = instances.periodic_jobs(0, jobs=30)
    plain = jobs._replaced(weight=np.ones(30))
    fair = loops.hold_jobs(plain, slots, loops.JobEpoch(slots, "sum:response", "fair"), 1.0)
    # The two may give the last slot of a tie to another job.
    assert fair == pytest.approx(loops.hold_jobs(plain, slots, rivals.equal_shares, 1.0), rel=0.01)


def test_flows_by_hand():
    """A chain of works 2 and 2 and a job of 6 on two slots, P = 1."""
    chain = [
        {"name": "a", "work": 2.0, "max_slots": 2},
        {"name": "b", "work": 2.0, "max_slots": 2, "after": ["a"]},
    ]
    flows = mb.Flows([chain, [{"name": "c", "work": 6.0, "max_slots": 2}]])
    assert loops.hold_flows(flows, 2, rivals.srwf, 1.0).tolist() == [2.0, 5.0]
    assert loops.hold_flows(flows, 2, rivals.equal_one_by_one, 1.0).tolist() == [4.0, 5.0]
    # With a period of 3 the chain's first job needs one slot, and ends earlier on the one that is left.
    chain_alone = mb.Flows([chain])
    assert loops.hold_flows(chain_alone, 2, rivals.srwf_capped, 3.0).tolist() == [5.0]
    assert loops.hold_flows(chain_alone, 2, rivals.srwf_left_over, 3.0).tolist() == [4.0]
    ours = loops.FlowEpochRule(flows, 2, "sum:response")
    assert loops.hold_flows(flows, 2, ours, 1.0).tolist() == [2.0, 5.0]


def test_a_rival_that_wins_is_marked():
    values = {"ours": 3.0, "more": 1.9, "rival": 2.0, "floor": 1.0}
    row = table.Row(
        "made up", lambda rule, seed: values[rule], ["ours", "more"], ["rival"], floors=["floor"]
    )
    table.SECTIONS["made-up"] = table.Section("made-up", "by hand", lambda quick: [row])
    try:
        ((each, found),) = table.measure(["made-up"], workers=1)
    finally:
        del table.SECTIONS["made-up"]
    text = "\n".join(table.lines(each, found))
    assert "3 (1.500!)" in text
    assert "1.9 (0.950)" in text
    assert "2 *" not in text  # the best of ours wins
    values["more"] = 2.5
    found[0].cells["more"] = table.Cell(2.5, 0.0)
    assert "2 *" in "\n".join(table.lines(each, found))
    assert json.loads(json.dumps(table.as_data([(each, found)])))["made-up"]["made up"][
        "value"
    ] == {
        "ours": 3.0,
        "more": 2.5,
        "rival": 2.0,
        "floor": 1.0,
    }


def test_a_section_without_traces_says_why():
    def rows(quick):
        raise table.SkippedError("no traces")

    table.SECTIONS["made-up"] = table.Section("made-up", "by hand", rows)
    try:
        ((each, found),) = table.measure(["made-up"], workers=1)
    finally:
        del table.SECTIONS["made-up"]
    assert "skipped: no traces" in "\n".join(table.lines(each, found))


FEW = ("loops", "small-runs", "dags")  # of every kind of loop one


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in FEW else in_full) for n in table.SECTIONS]
)
def test_each_section_prints(name):
    """The first row of each, one seed: all rules run and give a number."""
    try:
        row = next(iter(table.SECTIONS[name].rows(True)))
    except table.SkippedError as reason:
        pytest.skip(str(reason))
    row.seeds = row.seeds[:1]
    small = table.Section(name, table.SECTIONS[name].title, lambda quick: [row])
    known, table.SECTIONS[name] = table.SECTIONS[name], small
    try:
        ((each, found),) = table.measure([name], quick=True, workers=1)
    finally:
        table.SECTIONS[name] = known
    assert [row.errors() for row in found] == [[]]
    assert all(np.isfinite(cell.value) for cell in found[0].cells.values())
    text = list(table.lines(each, found))
    assert text[0].startswith(f"{name}: ")
    for rule in (*row.ours, *row.rivals):
        assert rule in text[1]
    # Marks stand where a rival wins, and nowhere else.
    assert ("!)" in text[2]) == any(found[0].loses(rule) for rule in row.ours)


def test_a_rule_that_crashes_is_seen():
    def one(rule, seed):
        if rule == "bad":
            raise ZeroDivisionError("by hand")
        return 2.0

    row = table.Row("made up", one, ["ours"], ["bad", "good"])
    table.SECTIONS["made-up"] = table.Section("made-up", "by hand", lambda quick: [row])
    try:
        ((each, found),) = table.measure(["made-up"], workers=1)
    finally:
        del table.SECTIONS["made-up"]
    text = "\n".join(table.lines(each, found))
    assert "CRASHED: made up, bad: ZeroDivisionError: by hand" in text
    assert "2 (1.000)" in text


def test_fresh_draws_have_other_seeds():
    row = table.Row("made up", lambda rule, seed: float(seed), ["ours"], ["rival"], range(3))
    table.SECTIONS["made-up"] = table.Section("made-up", "by hand", lambda quick: [row])
    try:
        ((_, found),) = table.measure(["made-up"], workers=1, seeds=700)
    finally:
        del table.SECTIONS["made-up"]
    assert found[0].cells["ours"].draws == (700.0, 701.0, 702.0)


def test_first_figures_stay(tmp_path):
    def data(value):
        cells = {"ours": value, "rival": 2.0}
        row = {
            "ours": ["ours"],
            "rivals": ["rival"],
            "floors": [],
            "value": cells,
            "seconds": cells,
            "worst": None,
            "draws": 1,
        }
        return {"made-up": {"made up": row}}

    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    for value in (3.0, 1.0, 1.5):
        keep.keep(data(value), kept, page)
        keep.keep({"made-up": {"skipped": "no traces"}}, kept, page)
    assert "| made up | 3 (1.500 **!**) | 1.5 (0.750) |  |  |  | rival 2 |" in page.read_text()
    keep.keep(data(4.0), kept, page, fresh=True)
    assert "| 3 (1.500 **!**) | 1.5 (0.750) |  | 2.000 |  | rival 2 |" in page.read_text()
    assert json.loads(kept.read_text())["first"]["made-up"]["made up"]["value"]["ours"] == 3.0


def test_the_page_is_what_was_kept():
    if keep.KEPT.exists():
        assert keep.PAGE.read_text() == keep.as_page(json.loads(keep.KEPT.read_text()))


def test_orders_of_a_cluster():
    state = {
        "ids": np.arange(3),
        "waiting": np.array([[4, 0], [1, 0], [2, 0]]),
        "running": np.array([[0, 0], [1, 0], [0, 0]]),
        "finished": np.array([[2, 0], [1, 0], [0, 0]]),
        "attained": np.array([2.0, 9.0, 0.0]),  # means 1, 9; of all 11 / 3
        "max_slots": np.array([4, 2, 2]),
        "capacity": 5,
    }
    assert rivals.cluster_fair(state, 0.0).tolist() == [2, 2, 1]
    # 4 x 1, 2 x 9 and 2 x 11 / 3 seconds are left.
    assert rivals.ended_mean(state, 0.0).tolist() == [4, 0, 1]
    right = rivals.RightSizes(np.array([[9.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), 0.5)
    assert right.srpt(state, 0.0).tolist() == [1, 2, 2]
    # Of 5 slots the smallest of three gets 5 (1 - (2/3)^2), the two smallest 5 (1 - (1/3)^2).
    assert right.hesrpt(state, 0.0).tolist() == [1, 2, 2]
    assert right.price(state, 0.0).tolist() == [2, 2, 1]
    mixed = rivals.RightSizes(right.seconds, np.array([0.8, 0.5, 0.5]))
    assert mixed.price(state, 0.0).tolist() == [3, 1, 1]  # 4, 1, 1 of 6


def test_fair_of_the_package_is_the_rival():
    jobs, cluster = instances.two_phase(0, 1.0, jobs=60)
    means = [
        next(iter(mb.simulate(jobs, rule, cluster=cluster, records=False).summary.values()))
        for rule in ("fair", rivals.cluster_fair)
    ]
    assert means[0]["mean_response"] == pytest.approx(means[1]["mean_response"], rel=0.02)


def test_srwf_on_a_cluster():
    """A chain of one task of 5 s and two of 1 s; a flow of three tasks of 2 s; one slot, then two."""
    rule = rivals.Srwf([0, 0, 1], [1, 2, 3], [5.0, 1.0, 2.0], [[], [0], []])
    assert rule.path.tolist() == [6.0, 1.0, 2.0]
    count = np.zeros((2, 2), dtype=np.int64)
    state = {
        "ids": np.array([0, 2]),
        "waiting": np.array([[1, 0], [3, 0]]),
        "running": count,
        "finished": count,
        "max_slots": np.array([1, 3]),
        "capacity": 1,
    }
    assert rule(state, 0.0).tolist() == [0, 1]  # 7 against 6
    later = state | {
        "ids": np.array([1, 2]),
        "max_slots": np.array([2, 3]),
        "waiting": np.array([[2, 0], [2, 0]]),
        "capacity": 3,
        "finished": np.array([[0, 0], [1, 0]]),
    }
    assert rule(later, 5.0).tolist() == [2, 1]  # 2 against 4


def test_packing_by_hand():
    # Works 4, 6 and 3 on 3 slots, maxima 2, 3, 3, in this order: (2, 1), then (0, 3), then 3.
    done = rivals.pack(np.arange(3), np.array([4.0, 6.0, 3.0]), [0, 0, 0], [2, 3, 3], 3)
    assert done == pytest.approx([2.0, 2 + 4 / 3, 2 + 4 / 3 + 1])
    # Minima of 1: the last job runs on one slot from the start, and ends before its turn.
    done = rivals.pack(np.arange(2), np.array([6.0, 2.0]), [1, 1], [2, 3], 3)
    assert done == pytest.approx([3.0, 2.0])


def test_packing_is_that_of_fifo():
    for seed in range(5):
        jobs, slots = instances.section41_larger(30, seed)
        most = np.minimum(jobs.max_slots, slots)
        found = rivals.pack(np.arange(30), jobs.work, np.zeros(30, dtype=int), most, slots)
        assert found == pytest.approx(mb.plan(jobs, slots, policy="fifo").completion)


def test_elastic_shares_by_hand():
    tables = [np.array([0.0, 1.0, 1.8, 2.0]), np.array([0.0, 1.0, 1.5, 1.6])]
    state = {"work": np.array([2.0, 9.0]), "max_slots": np.array([3, 3]), "tables": tables}
    # The short job first; then 1 of 1 for the other against 0.8 of 1; then 0.8 of 1 against 0.5 of 1.5; then
    # the other's 0.5 of 1.5 against 0.2 of 1.8.
    shares = [rivals.elastic_shares(state | {"capacity": slots}, 0.0) for slots in (1, 2, 3, 4)]
    assert shares == [[1, 0], [1, 1], [2, 1], [2, 2]]
    more = {"arrival": np.array([1.0, 0.0]), "capacity": 4}
    assert rivals.first_come(state | more, 0.0).tolist() == [1, 3]
    # GPU-time left: 2 / 2 x 3 and 9 / 1.6 x 3.
    assert rivals.smallest_service(state | more, 0.0).tolist() == [3, 1]


def test_shares_by_price_by_hand():
    # At the price 0.6 one slot is best for the job with p = 0, three for the linear one.
    tables = [np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0])]
    state = {"work": np.array([9.0, 2.0]), "max_slots": np.array([3, 3]), "tables": tables}
    assert rivals.shares_by_price(state | {"capacity": 4}, 0.0).tolist() == [3, 1]
    late = {"arrival": np.array([0.0, 0.0]), "size": np.array([9.0, 2.0]), "capacity": 4}
    # After 3 s: (3 + 3) / 3 of its time alone, and (3 + 2) / 2.
    assert rivals.furthest_behind(state | late, 3.0).tolist() == [1, 3]


def test_published_figures_of_gpu_jobs():
    """Digit by digit as PCS prints them, over AFS; on a workload of 956 jobs."""
    if instances.traces() is None:
        pytest.skip("no folder of traces")
    name = "2869ce"
    jobs, slots = instances.gpu_jobs(name)
    rules = (rivals.elastic_shares, rivals.smallest_service, rivals.first_come)
    afs, *others = [loops.share_gpus(*jobs, slots, rule).mean() for rule in rules]
    assert round(others[0] / afs, 3) == instances.PUBLISHED[name]["SRSF"]
    assert round(others[1] / afs, 2) == instances.PUBLISHED[name]["FIFO"]
    ours = loops.share_gpus(*jobs, slots, loops.GpuEpoch(slots)).mean()
    assert ours <= afs


def test_promised_ends_err_as_accepted_and_less_than_published_in_less_time():
    """The errors of PCS's two settings, on a workload of 956 jobs."""
    if instances.traces() is None:
        pytest.skip("no folder of traces")
    jobs, slots = instances.gpu_jobs("2869ce")
    afs = loops.share_gpus(*jobs, slots, rivals.elastic_shares).mean()
    table, _ = instances.gpu_table("2869ce")
    for time, error in instances.PUBLISHED_ERRORS["2869ce"].values():
        found = mb.simulate(table, policy="flex", slots=slots, predictable=error / 100)
        assert found.summary["flex"]["mean_response"] < time * afs
        assert 100 * found.summary["flex"]["end_error"] < error


def test_programs_are_learnt_in_a_loop():
    """Told which jobs run the same program it nearly keeps up with FLEX that is told the tables."""
    jobs, slots = instances.speedup_stream("mixed", 4, 200)
    told, learnt, linear = (
        loops.share_gpus(*jobs, slots, rule).mean()
        for rule in (
            loops.GpuEpoch(slots),
            loops.GpuEpoch(slots, told=False, programs=True),
            loops.GpuEpoch(slots, told=False),
        )
    )
    assert learnt <= 1.15 * told
    assert learnt < 0.5 * linear


@pytest.mark.parametrize("kind", instances.SPEEDUP_STREAMS)
def test_flex_keeps_up_where_tables_have_other_shapes(kind):
    """Told the tables it is not behind AFS, on 200 jobs; told nothing of them it is."""
    jobs, slots = instances.speedup_stream(kind, 4, 200)
    afs, told, linear = (
        loops.share_gpus(*jobs, slots, rule).mean()
        for rule in (
            rivals.elastic_shares,
            loops.GpuEpoch(slots),
            loops.GpuEpoch(slots, told=False),
        )
    )
    assert told <= 1.03 * afs
    assert told < linear
