"""Epoch objects in several threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import malleable as mb
from tests.epoch_model import check_slots_given, rows_of
from tests.strategies import random_jobs


def steps_of_a_run(seed):
    """Everything that a busy loop on one object decides."""
    rng = np.random.default_rng(seed)
    epoch = mb.Epoch(40, "sum:tardiness" if seed % 2 else "sum:stretch")
    said = []
    for now in range(25):
        jobs = random_jobs(rng, 60, 40, minima="small")
        epoch.add(
            jobs=mb.Jobs(jobs.work, min_slots=0, max_slots=jobs.max_slots, deadline=jobs.deadline)
        )
        decision = epoch.decide(float(now))
        said.append((decision.ids.tolist(), decision.slots.tolist(), decision.plan().value))
        epoch.remove(decision.ids[decision.slots > 0])
    return said


def test_objects_in_different_threads_do_not_meet():
    alone = [steps_of_a_run(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(steps_of_a_run, range(4))) == alone


def test_one_object_in_several_threads_refuses_or_waits_but_never_breaks():
    epoch = mb.Epoch(200, "sum:tardiness")
    rng = np.random.default_rng(108)
    epoch.add(jobs=random_jobs(rng, 3000, 200, minima="none"))
    added, surprises = [], []
    begin = threading.Barrier(4)

    def hammer(seed):
        mine = np.random.default_rng(seed)
        begin.wait()
        for _ in range(60):
            call = mine.integers(4)
            try:
                if call == 0:
                    added.extend(epoch.add(mine.uniform(1, 5, 3), deadline=4.0).tolist())
                elif call == 1:
                    epoch.update(mine.integers(0, 3000, 5), work=mine.uniform(1, 9, 5))
                elif call == 2:
                    epoch.decide(5.0)
                else:
                    epoch.decide(5.0).plan()
            except RuntimeError:
                continue
            except Exception as error:
                surprises.append(error)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert surprises == []
    assert len(set(added)) == len(added)
    decision = epoch.decide(5.0)
    assert sorted(decision.ids.tolist()) == [*range(3000), *sorted(added)]
    rows = rows_of(decision.plan().jobs)
    check_slots_given(decision.slots.tolist(), rows, 200, "flex", "guarantee")
    decision.plan().validate()
