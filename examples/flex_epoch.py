"""A scheduler's loop: every epoch, ask for the slots now and let the cluster follow."""

import numpy as np

import malleable as mb

EPOCH = 10.0  # seconds between two decisions

rng = np.random.default_rng(1)
epoch = mb.Epoch(slots=100, objective="sum:stretch", hysteresis=0.2, period=EPOCH)
left: dict[int, float] = {}  # id -> slot-seconds still to do

for now in np.arange(0.0, 400.0, EPOCH):
    if now < 300.0:  # what a cluster would report: new jobs ...
        work = rng.lognormal(6.0, 1.0, 2)
        ids = epoch.add(work=work, min_slots=1, max_slots=60, arrival=now)
        left.update(zip(ids.tolist(), work.tolist(), strict=True))
    if left:  # ... and how much is left of the others
        epoch.update(list(left), work=list(left.values()))

    decision = epoch.decide(now=now)

    moved = int(np.count_nonzero(decision.changed))
    print(f"{now:4.0f} s: {len(left)} jobs on {decision.slots.sum()} slots, {moved} changed")
    for job, slots in zip(decision.ids.tolist(), decision.slots.tolist(), strict=True):
        left[job] -= slots * EPOCH
    done = [job for job, work in left.items() if work <= 0]
    epoch.finish(done)
    for job in done:
        del left[job]
