"""Whatever keeps state copies and pickles, and goes on as the original does."""

import copy
import pickle

import numpy as np
import pytest

import malleable as mb
from malleable import _core
from tests.full import part
from tests.stateful import KINDS

COPIES = {
    "pickle": lambda kept: pickle.loads(pickle.dumps(kept)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_decides_as_the_original_ever_after(kind, how):
    for seed in range(part(4, 2)):
        kept, memory, rng = kind.start(seed, steps=int(np.random.default_rng(seed).integers(1, 40)))
        twin, twin_memory, twin_rng = COPIES[how](kept), copy.deepcopy(memory), copy.deepcopy(rng)
        assert twin is not kept and twin == kept
        for _ in range(40):
            said = kind.step(kept, memory, rng)
            assert kind.step(twin, twin_memory, twin_rng) == said
            assert twin == kept


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_equal_means_equal_state(kind):
    one, memory, rng = kind.start(3, steps=12)
    two, *_ = kind.start(3, steps=12)
    assert one == two
    assert one != "another thing"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    before, size = copy.deepcopy(one), len(one)
    while len(one) == size:
        kind.step(one, memory, rng)
    assert one != two and two == before


def test_epochs_of_other_options_differ():
    assert mb.Epoch(4) != mb.Epoch(5)
    assert mb.Epoch(4) != mb.Epoch(4, "max:response")
    assert mb.SlottedEpoch(4) != mb.SlottedEpoch(4, "srpt")
    assert mb.TandemEpoch((1, 1)) != mb.TandemEpoch((2, 1))
    assert mb.FlowEpoch(4) != mb.FlowEpoch(4, hysteresis=0.1)
    cluster = {"node": [{"slots": 2}]}
    assert mb.Scheduler(cluster, "adaptive-literal") != mb.Scheduler(
        cluster, mb.AdaptiveLiteral(patience=2.0)
    )
    assert mb.Epoch(4) != mb.TandemEpoch((4, 1))


def test_a_decision_takes_its_epoch_along():
    for effort in (None, 10):
        for objective in ("sum:response", "sum:tardiness"):
            epoch = mb.Epoch(5, objective, effort=effort)
            epoch.add([3.0, 8.0, 2.0], max_slots=3, deadline=[1.0, 2.0, 9.0])
            decision = epoch.decide(0.0)
            twin = pickle.loads(pickle.dumps(decision))
            assert twin == decision
            epoch.update([0], work=[1.0])
            assert twin.value == twin.plan().value
            with pytest.raises(RuntimeError, match="moved on"):
                decision.plan()
            kept, again = pickle.loads(pickle.dumps((epoch, epoch.decide(1.0))))
            assert again.plan().value == epoch.decide(1.0).plan().value
            kept.decide(2.0)
            with pytest.raises(RuntimeError, match="moved on"):
                again.plan()


CORES = {
    "Epoch": lambda: mb.Epoch(3)._core,
    "TandemEpoch": lambda: mb.TandemEpoch((1, 1))._core,
    "SlottedEpoch": lambda: mb.SlottedEpoch(3)._core,
}


def restored(kind, saved):
    """What the core makes of these bytes."""
    made = getattr(_core, kind).__new__(getattr(_core, kind))
    made.__setstate__(saved)
    return made


@pytest.mark.parametrize("kind", CORES)
def test_other_bytes_are_refused(kind):
    saved = CORES[kind]().__getstate__()
    assert restored(kind, saved) == CORES[kind]()
    for end in range(len(saved)):
        with pytest.raises(ValueError, match="state: "):
            restored(kind, saved[:end])
    with pytest.raises(ValueError, match="damaged"):
        restored(kind, saved + b"x")
    rng = np.random.default_rng(5)
    for _ in range(300):
        spoilt = bytearray(saved)
        spoilt[rng.integers(len(saved))] ^= 1 << int(rng.integers(8))
        with pytest.raises(ValueError, match="state: "):
            restored(kind, bytes(spoilt))
        with pytest.raises(ValueError, match="state: "):
            restored(kind, rng.bytes(int(rng.integers(1, 200))))
    for other, make in CORES.items():
        if other != kind:
            with pytest.raises(ValueError, match=f"of '{other}', not of '{kind}'"):
                restored(kind, make().__getstate__())
    version = mb.__version__.encode()
    assert saved.count(version) == 1
    with pytest.raises(ValueError, match="only that version reads"):
        restored(kind, saved.replace(version, b"9.9.9"))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_pickle_of_another_version_is_refused(kind):
    kept, *_ = kind.start(1, steps=5)
    state = kept.__getstate__()
    name = type(kept).__name__
    with pytest.raises(
        ValueError, match=rf"this {name} was pickled by version 0\.0\.9 of malleable"
    ):
        type(kept).__new__(type(kept)).__setstate__({**state, "version": "0.0.9"})
    with pytest.raises(ValueError, match=f"not that of an object of class {name}"):
        type(kept).__new__(type(kept)).__setstate__({})


def test_the_core_is_of_this_version():
    assert _core.__version__ == mb.__version__
