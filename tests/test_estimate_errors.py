"""Policies on sizes that err: what they see, what they may not see, and who starves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import malleable as mb
from malleable.cluster.simulate import CLUSTER_POLICIES
from malleable.tandem.simulate import POLICIES as SIMULATED_POLICIES

SIZED = ("max-srpt", "split-srpt", "two-srpt")


def random_table(seed, count=60):
    rng = np.random.default_rng(seed)
    return mb.MapShuffleJobs(
        rng.lognormal(0, 1, count),
        rng.lognormal(0, 1, count),
        arrival=np.cumsum(rng.exponential(1.5, count)),
        weight=rng.integers(1, 4, count),
    )


def completions(jobs, policy, **options):
    return mb.simulate(jobs, policy=policy, **options).records["completion"]


@pytest.mark.parametrize("policy", SIMULATED_POLICIES)
def test_right_estimates_change_nothing(policy):
    jobs = random_table(1)
    for estimates in (0.0, (jobs.map, jobs.shuffle)):
        found = completions(jobs, policy, estimates=estimates)
        assert found == pytest.approx(completions(jobs, policy), rel=1e-9)


@pytest.mark.parametrize("policy", ["fcfs", "ps", "wps", "k-lps"])
def test_policies_that_look_at_no_size_do_as_always(policy):
    jobs = random_table(2)
    assert (completions(jobs, policy, estimates=2.0, rng=1) == completions(jobs, policy)).all()


@pytest.mark.parametrize("policy", SIZED)
def test_estimates_change_what_is_done(policy):
    jobs = random_table(3)
    assert (completions(jobs, policy, estimates=2.0, rng=1) != completions(jobs, policy)).any()
    one, two = (completions(jobs, policy, estimates=2.0, rng=seed) for seed in (1, 2))
    assert (one != two).any()
    assert (one == completions(jobs, policy, estimates=2.0, rng=1)).all()


@given(st.integers(0, 10**6), st.sampled_from(SIZED), st.sampled_from([0.5, 3.0]))
def test_all_work_is_done_whatever_is_estimated(seed, policy, sigma):
    jobs = random_table(seed, 25)
    result = mb.simulate(jobs, policy=policy, estimates=sigma, rng=seed)
    s = result.summary[policy]
    assert s["jobs"] == 25
    assert s["map_utilisation"] * s["end"] == pytest.approx(jobs.map.sum())
    assert s["shuffle_utilisation"] * s["end"] == pytest.approx(jobs.shuffle.sum())
    assert s["mean_jobs"] * s["end"] == pytest.approx(s["mean_response"] * 25)
    alone = np.maximum(jobs.map, jobs.shuffle)
    assert (result.records["completion"] >= jobs.arrival + alone - 1e-9).all()
    assert s["mean_response"] >= s["lower_bound"] * (1 - 1e-9)


@pytest.mark.parametrize("policy", SIZED)
@pytest.mark.parametrize("said", [0.1, 2.0])
def test_a_job_that_is_underestimated_starves_nobody(policy, said):
    # One job of 1,000 s that says it is a small one, and a second of work every two seconds.
    small = 400
    arrival = np.concatenate([[0.0], 1.0 + 2.0 * np.arange(small)])
    size = np.concatenate([[1000.0], np.ones(small)])
    guess = np.concatenate([[said], np.ones(small)])
    jobs = mb.MapShuffleJobs(size, size, arrival=arrival)
    found = completions(jobs, policy, estimates=(guess, guess))
    assert (found[1:] - arrival[1:]).mean() < 5


def test_columns_of_the_table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("map,shuffle,map_estimate,shuffle_estimate\n1,1,9,9\n2,2,1,1\n")
    jobs = mb.read(path).map_shuffle()
    assert completions(jobs, "max-srpt", estimates="column").tolist() == [3, 2]
    assert completions(jobs, "max-srpt").tolist() == [1, 3]
    # Estimates are in the units of the sizes, whatever the capacities.
    assert completions(jobs, "max-srpt", estimates="column", map_capacity=2.0).tolist() == [3, 2]


def test_streams_err_on_the_same_jobs():
    stream = mb.MapShuffleStream(20_000, 0.6)
    right, wrong = (
        mb.simulate(stream, policy=["max-srpt", "fcfs"], rng=5, estimates=sigma).summary
        for sigma in (None, 1.0)
    )
    assert right["fcfs"] == wrong["fcfs"]
    assert right["max-srpt"]["lower_bound"] == wrong["max-srpt"]["lower_bound"]
    assert right["max-srpt"]["mean_response"] < wrong["max-srpt"]["mean_response"]


@pytest.mark.parametrize(
    ("estimates", "message"),
    [
        (-1.0, "estimates = -1.0"),
        (float("nan"), "estimates = nan"),
        ("row", "estimates = 'row'"),
        ("column", "estimates = 'column'"),
        ([1.0, 2.0], "estimates: expected two columns"),
        (([1.0, 2.0], [1.0]), "shuffle_estimate has shape"),
        (([1.0, -2.0], [1.0, 1.0]), "map_estimate[1] = -2.0"),
    ],
)
def test_wrong_estimates(estimates, message):
    jobs = mb.MapShuffleJobs([1, 2], [1, 2])
    with pytest.raises(ValueError, match="^" + message.replace("[", r"\[")):
        mb.simulate(jobs, policy="max-srpt", estimates=estimates)


def test_wrong_words():
    with pytest.raises(ValueError, match="a stream takes"):
        mb.simulate(mb.MapShuffleStream(5, 0.5), estimates=([1.0], [1.0]))
    with pytest.raises(ValueError, match="shuffle_estimate: missing"):
        mb.MapShuffleJobs([1], [1], map_estimate=[1])


_SIZES = np.array([[40.0, 8.0], [2.0, 20.0], [16.0, 4.0], [6.0, 12.0]])
_TASKS = np.array([[8, 2], [1, 5], [4, 1], [2, 3]])
_SECONDS = _SIZES / _TASKS
_MODELS = {
    "tandem": (mb.MapShuffleJobs(*_SIZES.T), {}, _SIZES.T, SIZED),
    "slotted": (
        mb.MapReduceJobs([8, 1, 4, 2], [[8], [10, 10], [4], [6, 6]]),
        {"machines": 2},
        _SIZES[:, 1],
        ("asrpt", "unlock", "dsrpt", "srpt", "lrpt"),
    ),
    "cluster": (
        mb.ClusterJobs(_TASKS[:, 0], _SECONDS[:, 0], _TASKS[:, 1], _SECONDS[:, 1]),
        {"cluster": {"node": [{"map_slots": 2, "reduce_slots": 1}]}, "epoch": 0},
        _SECONDS,
        CLUSTER_POLICIES,
    ),
}  # jobs, options, sizes as `estimates` takes them, policies
_CASES = [
    (model, policy)
    for model, (*_, policies) in _MODELS.items()
    for policy in policies
    if not policy.startswith("flowflex")  # of generic slots
] + [("generic", policy) for policy in CLUSTER_POLICIES]
_MODELS["generic"] = (
    _MODELS["cluster"][0],
    {"cluster": {"node": [{"slots": 3}]}, "epoch": 0},
    *_MODELS["cluster"][2:],
)


def _ends(model, policy, estimates):
    jobs, options, *_ = _MODELS[model]
    return (
        mb.simulate(jobs, policy, rng=1, estimates=estimates, **options)
        .records["completion"]
        .tolist()
    )


@pytest.mark.parametrize(("model", "policy"), _CASES)
def test_columns_in_every_model(model, policy):
    sizes = _MODELS[model][2]
    truth = _ends(model, policy, None)
    # Whatever holds the numbers, and of whatever kind they are.
    for same in (sizes, sizes.tolist(), tuple(sizes), np.asfortranarray(sizes, np.float32)):
        assert _ends(model, policy, same) == truth
    wrong = sizes[..., ::-1] if model == "tandem" else sizes[::-1]
    assert _ends(model, policy, wrong) == _ends(model, policy, wrong.tolist())
    assert (sizes > 0).all()  # nothing was written to them


@pytest.mark.parametrize(
    ("model", "policy"),
    [("tandem", "max-srpt"), ("slotted", "asrpt"), ("cluster", "srpt"), ("generic", "flowflex")],
)
def test_columns_tell_policies(model, policy):
    sizes = _MODELS[model][2]
    opposite = sizes.max() + sizes.min() - sizes
    assert _ends(model, policy, opposite) != _ends(model, policy, None)


@pytest.mark.parametrize("model", _MODELS)
@pytest.mark.parametrize("as_list", [False, True])
def test_wrong_columns_in_every_model(model, as_list):
    sizes, policies = _MODELS[model][2:]
    place = (1, 0) if sizes.ndim == 2 else (1,)
    named = {"tandem": r"shuffle_estimate\[0\]", "slotted": r"estimates\[1\]"}
    for bad in (np.nan, np.inf, -np.inf, -1.0):
        wrong = sizes.copy()
        wrong[place] = bad
        field = named.get(model, r"estimates\[1, 0\]")
        with pytest.raises(ValueError, match=rf"^{field} = {bad}: must be finite and at least 0"):
            _ends(model, policies[0], wrong.tolist() if as_list else wrong)
    for wrong in (sizes[..., :-1], sizes[:0], sizes[None], sizes[..., None], np.array(["x"] * 4)):
        with pytest.raises(ValueError, match="estimate"):
            _ends(model, policies[0], wrong.tolist() if as_list else wrong)
    for wrong in (True, [[1.0], [1.0, 2.0]], object(), {"a": 1}, np.array(1.0), 1j):
        with pytest.raises(ValueError, match="estimate"):
            _ends(model, policies[0], wrong)
