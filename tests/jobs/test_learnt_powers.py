"""An epoch corrects stated speed-ups s^p by the work that jobs really did."""

import copy

import numpy as np
import pytest

import malleable as mb

SLOTS = 64


def loop(p, stated, seed, told_again=False, off=0.0):
    """Mean response of jobs that come one by one, and the slots of all decisions.

    Estimates of work are wrong by factors whose logarithms have the deviation ``off``.
    """
    rng, n = np.random.default_rng(seed), len(p)
    left = rng.lognormal(3.0, 1.5, n)
    arrival = np.cumsum(rng.exponential(60.0 / (2.2 * SLOTS ** p.mean()), n))
    told = np.exp(np.random.default_rng(seed + 1).normal(0.0, off, n))
    epoch, row_of, now, come, slots = mb.Epoch(SLOTS), {}, 0.0, 0, []
    response = np.zeros(n)
    while come < n or row_of:
        while come < n and (not row_of or arrival[come] <= now):
            now = max(now, arrival[come])
            (made,) = epoch.add((left * told)[[come]], arrival=arrival[come], speedup=stated[come])
            row_of[int(made)] = come
            come += 1
        decision = epoch.decide(now)
        rows = np.array([row_of[made] for made in decision.ids.tolist()])
        slots.append(dict(zip(rows.tolist(), decision.slots.tolist(), strict=True)))
        rate = np.where(decision.slots > 0, decision.slots.astype(float) ** p[rows], 0.0)
        ends = np.divide(left[rows], rate, out=np.full(len(rows), np.inf), where=rate > 0)
        step = min(ends.min(), arrival[come] - now if come < n else np.inf)
        now += step
        left[rows] -= rate * step
        done = ends <= step * (1 + 1e-12)
        response[rows[done]] = now - arrival[rows[done]]
        again = {"speedup": stated[rows[~done]]} if told_again else {}
        work = np.maximum(left[rows[~done]] * told[rows[~done]], 1e-9)
        epoch.update(decision.ids[~done], work=work, **again)
        epoch.finish(decision.ids[done])
        for made in decision.ids[done].tolist():
            del row_of[made]
        epoch = copy.deepcopy(epoch)
        now = max(now, arrival[come]) if come < n and arrival[come] - now < 1e-9 else now
    return response.mean(), slots


@pytest.mark.parametrize(
    ("spread", "off", "least"), [(0.0, 0.0, 1.05), (0.25, 0.0, 1.05), (0.25, 0.7, 1.12)]
)
def test_wrong_powers_cost_little(spread, off, least):
    """Without learning the mean is 1.2 times as long, and more."""
    wrong = learnt = known = 0.0
    for seed in (51000, 51001, 51002):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.65 - spread, 0.65 + spread, 120)
        stated = np.clip(p + rng.normal(0.0, 0.25, 120), 0.1, 1.0)
        known += loop(p, p, seed, off=off)[0]
        learnt += loop(p, stated, seed, off=off)[0]
        wrong += loop(p, stated, seed, told_again=True, off=off)[0]
    assert learnt <= least * known
    assert learnt <= 0.9 * wrong


def test_right_powers_stay():
    p = np.random.default_rng(51003).uniform(0.4, 1.0, 100)
    assert loop(p, p, 51003) == loop(p, p, 51003, told_again=True)


def test_one_corrected_estimate_is_no_speed():
    epochs = [mb.Epoch(8), mb.Epoch(8)]
    left = np.full(3, 100.0)
    for epoch in epochs:
        epoch.add(left, speedup=[0.9, 0.8, 0.7])
    for now in range(12):
        one, other = (epoch.decide(float(now)) for epoch in epochs)
        assert one.slots.tolist() == other.slots.tolist()
        left = left - np.where(one.slots > 0, one.slots ** np.array([0.9, 0.8, 0.7]), 0.0)
        if now == 4:
            left = left - 0.3 * one.slots**0.5  # it was less than they thought
        epochs[0].update(one.ids, work=left)
        epochs[1].update(one.ids, work=left, speedup=[0.9, 0.8, 0.7])
