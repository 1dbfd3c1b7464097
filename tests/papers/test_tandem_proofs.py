"""Constructions of the proofs of Lin et al. 2013: what they promise, met by simulation."""

from itertools import permutations

import numpy as np
import pytest

import malleable as mb
from malleable.tandem.simulate import POLICIES, batch_guarantee
from tests.papers.tandem_proofs import (
    adversary_jobs,
    corollary4_jobs,
    corollary6_jobs,
    matching_jobs,
    tandem_adversary,
)


def total(jobs, policy, **options):
    return mb.simulate(jobs, policy=policy, **options).summary[policy]["mean_response"] * len(jobs)


@pytest.mark.parametrize("alpha", [1.5, 3.0, 20.0])
def test_corollary_4_is_tight(alpha):
    batch, pairs = corollary4_jobs(4000, alpha)
    assert sorted(zip(batch.map, batch.shuffle, strict=True)) == sorted(
        zip(pairs.map, pairs.shuffle, strict=True)
    )
    ratio = total(batch, "max-srpt") / total(pairs, "fcfs")
    assert ratio == pytest.approx(2 * alpha / (1 + alpha), rel=5e-3)
    assert ratio <= batch_guarantee("max-srpt", batch.map, batch.shuffle)
    # Here SplitSRPT is near the optimum, and so is the better one of both.
    assert total(batch, "best", effort=0) < 1.02 * total(pairs, "fcfs")


@pytest.mark.parametrize("beta", [1.5, 3.0, 20.0])
def test_corollary_6_is_tight(beta):
    batch = corollary6_jobs(4000, beta)
    printed = total(batch, "split-srpt", conserving=False)
    assert printed / total(batch, "fcfs") == pytest.approx(1 + 1 / beta, rel=5e-3)
    assert printed / total(batch, "fcfs") <= batch_guarantee("split-srpt", batch.map, batch.shuffle)
    # Both stations are busy with both classes all the time: there is nothing to hand on.
    assert total(batch, "split-srpt") == pytest.approx(printed)


def test_theorem_1_tells_matchings_apart():
    yes, threshold = matching_jobs([1, 2], [3, 4], [4, 6])
    assert threshold == 102_087
    assert total(yes, "best", effort=20_000) == pytest.approx(threshold, rel=1e-12)
    no, same = matching_jobs([1, 2], [3, 4], [3, 7])
    assert same == threshold
    # No order at both stations meets it.
    best = np.inf
    for front in permutations(range(6)):
        order = [*front, 6, 7]
        mapped = np.cumsum(no.map[order])
        ends = np.empty(8)
        end = 0.0
        for k, row in enumerate(order):
            end = ends[k] = max(end + no.shuffle[row], mapped[k])
        best = min(best, ends.sum())
    assert best > threshold + 0.5
    assert total(no, "best", effort=20_000) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_theorem_2_hurts_every_policy_more_and_more(policy):
    ratios = [tandem_adversary(policy, k).ratio for k in (4, 8, 16)]
    assert ratios == sorted(ratios)
    assert ratios[2] > 3
    assert ratios[2] / ratios[1] > 1.5


def test_theorem_2_instances():
    jobs = adversary_jobs(3, 2)
    assert len(jobs) == 9 + 3 + 28
    assert jobs.arrival[-1] == 18 + 27 * 4.5
    with pytest.raises(ValueError, match="case"):
        adversary_jobs(3, 3)


def test_wrong_generators():
    with pytest.raises(ValueError, match="even"):
        corollary4_jobs(3, 2.0)
    with pytest.raises(ValueError, match="alpha"):
        corollary4_jobs(4, 1.0)
    with pytest.raises(ValueError, match="beta"):
        corollary6_jobs(4, float("nan"))
    with pytest.raises(ValueError, match="h: its sum"):
        matching_jobs([1], [1], [3])
    with pytest.raises(ValueError, match=r"f\[0\] = 0"):
        matching_jobs([0], [3], [3])
