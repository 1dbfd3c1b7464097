"""The tandem queue against small steps, closed forms, and the paper's printed numbers."""

import _thread
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.replications import replicate
from malleable.tandem.simulate import POLICIES as SIMULATED_POLICIES
from malleable.tandem.simulate import lower_bound
from tests.oracles import tandem_steps

POLICIES = SIMULATED_POLICIES


def completions(jobs, policy, **options):
    return mb.simulate(jobs, policy=policy, **options).records["completion"]


def test_three_jobs_of_section_2_1():
    jobs = mb.MapShuffleJobs([1, 3, 2], [2, 1, 2])
    records = mb.simulate(jobs, policy="fcfs").records
    assert records["map_completion"].tolist() == pytest.approx([1, 4, 6], abs=1e-12)
    assert records["completion"].tolist() == pytest.approx([2, 4, 6], abs=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_summary_says_what_records_do(policy):
    rng = np.random.default_rng(5)
    jobs = mb.MapShuffleJobs(
        rng.exponential(1, 400),
        rng.exponential(1, 400),
        arrival=np.cumsum(rng.exponential(1.3, 400)),
    )
    result = mb.simulate(jobs, policy=policy)
    records, found = result.records, result.summary[policy]
    wait = (records["starting_time"] - records["submission_time"]).max()
    assert found["longest_wait"] == pytest.approx(wait, abs=1e-12)
    response = records["completion"] - records["submission_time"]
    assert found["p95"] == pytest.approx(np.quantile(response, 0.95, method="higher"), rel=0.07)


STEP = 1 / 2000


def few_jobs(seed):
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.integers(0, 300, 7)) / 100
    size = rng.integers(0, 150, 7) / 100
    data = rng.integers(0, 150, 7) / 100
    size[data == 0] += 0.1
    return mb.MapShuffleJobs(size, data, arrival=arrival, weight=rng.integers(1, 6, 7))


def in_small_steps(jobs, policy, **options):
    return tandem_steps.simulate(
        list(zip(jobs.arrival, jobs.map, jobs.shuffle, strict=True)),
        policy,
        STEP,
        k=2 if policy == "k-lps" else 7,
        weight=jobs.weight.tolist(),
        **options,
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_small_steps(policy, overlap, seed):
    jobs = few_jobs(seed)
    expected = in_small_steps(jobs, policy, overlap=overlap)
    found = completions(jobs, policy, overlap=overlap, k=2)
    assert found == pytest.approx(expected, abs=30 * STEP)


@pytest.mark.parametrize("policy", ["fcfs", "max-srpt", "split-srpt"])
@pytest.mark.parametrize("seed", range(6))
def test_as_printed_agrees_with_small_steps(policy, seed):
    jobs = few_jobs(seed)
    expected = in_small_steps(jobs, policy, conserving=False)
    found = completions(jobs, policy, conserving=False)
    assert found == pytest.approx(expected, abs=30 * STEP)


@pytest.mark.parametrize("policy", ["max-srpt", "split-srpt", "two-srpt"])
@pytest.mark.parametrize("seed", range(10, 15))
def test_estimates_agree_with_small_steps(policy, seed):
    jobs = few_jobs(seed)
    rng = np.random.default_rng(seed)
    guess = [column * np.exp2(rng.uniform(-2, 2, 7)) for column in (jobs.map, jobs.shuffle)]
    expected = in_small_steps(jobs, policy, estimates=list(zip(*guess, strict=True)))
    found = completions(jobs, policy, estimates=guess)
    assert found == pytest.approx(expected, abs=30 * STEP)


@st.composite
def tables(draw):
    count = draw(st.integers(1, 12))
    number = st.integers(0, 40).map(lambda n: n / 8)
    column = st.lists(number, min_size=count, max_size=count)
    return mb.MapShuffleJobs(
        draw(column), draw(column), arrival=draw(column), weight=np.arange(1, count + 1)
    )


@given(tables(), st.sampled_from(POLICIES), st.booleans(), st.booleans())
def test_every_path_is_feasible(jobs, policy, overlap, conserving):
    result = mb.simulate(jobs, policy=policy, overlap=overlap, conserving=conserving)
    records, s = result.records, result.summary[policy]
    assert s["jobs"] == len(jobs)
    assert s["map_utilisation"] <= 1 + 1e-12
    assert s["shuffle_utilisation"] <= 1 + 1e-12
    assert s["map_utilisation"] * s["end"] == pytest.approx(jobs.map.sum(), abs=1e-9)
    assert s["shuffle_utilisation"] * s["end"] == pytest.approx(jobs.shuffle.sum(), abs=1e-9)
    alone = np.maximum(jobs.map, jobs.shuffle)
    assert (records["completion"] >= jobs.arrival + alone - 1e-9).all()
    assert (records["starting_time"] >= jobs.arrival).all()
    assert s["mean_response"] >= s["lower_bound"] * (1 - 1e-9)
    # Little's law on every path: jobs-seconds are the sum of responses.
    assert s["mean_jobs"] * s["end"] == pytest.approx(s["mean_response"] * len(jobs), abs=1e-8)


@given(tables())
def test_batch_ratios_hold(jobs):
    batch = mb.MapShuffleJobs(jobs.map + 0.125, jobs.shuffle + 0.125)
    ratio = np.maximum(batch.map / batch.shuffle, batch.shuffle / batch.map)
    bound = lower_bound(batch)
    worst, least = ratio.max(), ratio.min()
    for policy in ("fcfs", "max-srpt", "split-srpt", "ps"):
        assert completions(batch, policy).sum() >= bound * (1 - 1e-9)
    best = min(completions(batch, p).sum() for p in ("fcfs", "max-srpt", "split-srpt", "ps"))
    assert completions(batch, "max-srpt").sum() <= 2 * worst / (1 + worst) * best * (1 + 1e-9)
    assert completions(batch, "split-srpt").sum() <= (1 + 1 / least) * best * (1 + 1e-9)


def test_tight_instances_of_corollaries_4_and_6():
    n, alpha = 4000, 3.0
    half = n // 2
    small = alpha - 1e-3
    mixed = mb.MapShuffleJobs([small] * half + [1] * half, [1] * half + [alpha] * half)
    pairs = mb.MapShuffleJobs([1, small] * half, [alpha, 1] * half)
    ratio = completions(mixed, "max-srpt").sum() / completions(pairs, "fcfs").sum()
    assert ratio == pytest.approx(2 * alpha / (1 + alpha), rel=5e-3)
    beta = 3.0
    split = mb.MapShuffleJobs([beta] * (n - 1) + [n - 1], [1] * (n - 1) + [(n - 1) * beta])
    # As printed: work-conserving stations lend the large job's capacity back.
    printed = completions(split, "split-srpt", conserving=False).sum()
    assert printed / completions(split, "fcfs").sum() == pytest.approx(1 + 1 / beta, rel=5e-3)


def exponential(count, load, seed):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=count), np.cumsum(rng.exponential(1 / load, count))


def srpt_mean_response(load):
    """M/M/1 under SRPT (Schrage and Miller), by a fine trapezoid rule."""
    x = np.linspace(0.0, 40.0, 400_001)
    dx = x[1] - x[0]
    density = np.exp(-x)

    def integral(values):
        return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2) * dx])

    rho = load * integral(x * density)
    waiting = load * (integral(x**2 * density) + x**2 * density) / (2 * (1 - rho) ** 2)
    return integral((waiting + integral(1 / (1 - rho))) * density)[-1]


@pytest.mark.parametrize("which", ["map", "shuffle"])
def test_srpt_alone_is_m_m_1_srpt(which):
    size, arrival = exponential(400_000, 0.7, 3)
    zero = np.zeros(len(size))
    jobs = (
        mb.MapShuffleJobs(size, zero, arrival=arrival)
        if which == "map"
        else mb.MapShuffleJobs(zero, size, arrival=arrival)
    )
    result = mb.simulate(jobs, policy=["max-srpt", "fcfs", "ps"])
    assert result.summary["max-srpt"]["mean_response"] == pytest.approx(
        srpt_mean_response(0.7), rel=0.03
    )
    for policy in ("fcfs", "ps"):
        assert result.summary[policy]["mean_response"] == pytest.approx(1 / 0.3, rel=0.05)
    # A lone station's SRPT is the bound itself.
    s = result.summary["max-srpt"]
    assert s["mean_response"] == pytest.approx(s["lower_bound"], rel=1e-9)


def test_m_g_1_ps_is_insensitive():
    rng = np.random.default_rng(11)
    size = np.where(rng.random(400_000) < 0.9, 0.5, 5.5)  # mean 1
    arrival = np.cumsum(rng.exponential(2.0, len(size)))
    jobs = mb.MapShuffleJobs(size, np.zeros(len(size)), arrival=arrival)
    assert mb.simulate(jobs, policy="ps").summary["ps"]["mean_stretch"] == pytest.approx(
        2, rel=0.03
    )


def test_section_5_3_order_of_policies():
    stream = mb.MapShuffleStream(1_000_000, 0.75)
    s = mb.simulate(stream, policy=["max-srpt", "split-srpt", "k-lps"], rng=2).summary
    # The paper at 5 x 10^7 arrivals: 3.32, 3.55, 6.50.
    assert s["max-srpt"]["mean_response"] == pytest.approx(3.32, rel=0.06)
    assert s["split-srpt"]["mean_response"] == pytest.approx(3.55, rel=0.06)
    assert s["k-lps"]["mean_response"] == pytest.approx(6.50, rel=0.12)


def test_streams_repeat_and_sweeps_agree():
    call = partial(replicate, stream_of, [1, 2], ["max-srpt", "k-lps"], grid={"load": [0.5, 0.8]})
    serial = call()
    with ThreadPoolExecutor(2) as pool:
        assert call(executor=pool) == serial
    assert [row["policy"] for row in serial.rows[:2]] == ["max-srpt", "k-lps"]


def stream_of(seed, load):
    return mb.MapShuffleStream(3000 + seed, load)


def test_overload_warns_and_stops():
    with pytest.warns(RuntimeWarning, match="load of 1 or more"):
        s = mb.simulate(mb.MapShuffleStream(2000, 1.5), policy="fcfs", rng=1).summary["fcfs"]
    assert s["unfinished"] > 0
    assert "lower_bound" not in s


def test_a_table_scaled_to_overload_warns_and_stops():
    jobs = mb.MapShuffleJobs(np.ones(500), np.ones(500), arrival=np.arange(500.0))
    with pytest.warns(RuntimeWarning, match="load of 1 or more"):
        s = mb.simulate(jobs, policy="fcfs", load=1.5).summary["fcfs"]
    assert s["end"] == 499
    assert s["unfinished"] > 100
    with pytest.warns(RuntimeWarning):
        s = mb.simulate(jobs, policy="fcfs", load=1.5, horizon=600).summary["fcfs"]
    assert s["end"] == 600


def test_ctrl_c_keeps_what_is_finished():
    def interrupt(entered, total):
        raise KeyboardInterrupt

    stream = mb.MapShuffleStream(10**9, 0.5)
    result = mb.simulate(stream, policy="max-srpt", rng=1, progress=interrupt)
    assert not result.complete
    assert result.summary["max-srpt"]["jobs"] > 100_000


def test_ctrl_c_is_heard_inside_the_core():
    # Sharing among 100,000 jobs takes minutes.
    jobs = mb.MapShuffleJobs(np.arange(1, 100_001), np.arange(100_000, 0, -1))
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        result = mb.simulate(jobs, policy="ps", bound=False)
    finally:
        timer.cancel()
    assert not result.complete
    assert result.summary["ps"]["unfinished"] > 0


def test_horizon_stops():
    jobs = mb.MapShuffleJobs([1, 1, 1], [1, 1, 1], arrival=[0, 1, 5])
    s = mb.simulate(jobs, policy="fcfs", horizon=1.5).summary["fcfs"]
    assert (s["jobs"], s["unfinished"], s["end"]) == (1, 1, 1.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "lifo"}, "policy = 'lifo'"),
        ({"policy": []}, "policy"),
        ({"model": "fluid"}, "model = 'fluid'"),
        ({"policy": "k-lps", "k": 0}, "k = 0"),
        ({"map_capacity": 0}, "map_capacity"),
        ({"horizon": math.nan}, "horizon"),
        ({"estimates": [1.0]}, "estimates"),
        ({"load": 0.5}, "load"),
        ({"policy": "wps"}, "weight[1] = 0.0"),
    ],
)
def test_wrong_options(change, message):
    jobs = mb.MapShuffleJobs([1, 2], [1, 2], weight=[1, 0])
    with pytest.raises(ValueError, match="^" + message.replace("[", r"\[")):
        mb.simulate(jobs, **{"policy": "fcfs", **change})


def test_capacities_and_order_of_rows():
    jobs = mb.MapShuffleJobs([2, 2], [4, 4], arrival=[10, 0])
    assert completions(jobs, "fcfs", map_capacity=2, shuffle_capacity=4).tolist() == [11, 1]


def test_records_are_written(tmp_path):
    result = mb.simulate(mb.MapShuffleJobs([1, 3], [2, 1]), policy=["fcfs", "ps"])
    result.write_records(tmp_path / "records.csv")
    lines = (tmp_path / "records.csv").read_text().splitlines()
    assert lines[0].startswith("job_id,workload_name,submission_time,")
    assert len(lines) == 5
    with pytest.raises(FileExistsError):
        result.write_records(tmp_path / "records.csv", force=False)
    pytest.importorskip("matplotlib")
    result.plot(tmp_path / "cdf.png")
    assert (tmp_path / "cdf.png").stat().st_size > 1000
