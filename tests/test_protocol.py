"""One protocol for all epochs: add, update, finish, remove, decide, and what decisions say.

That copies and pickles go on alike, that a second thread is refused, and that every wrong argument changes
nothing is in `test_checkpoints`, `test_threads` and `test_refused_calls`, for all of them, too.
"""

import copy
import inspect
import pickle

import numpy as np
import pytest

import malleable as mb
from tests.stateful import KINDS

UNTOLD = object()
"""No arrival."""


def dated(arrival):
    return {} if arrival is UNTOLD else {"arrival": arrival}


class Jobs:
    """How an epoch is spoken to where models differ."""

    def __init__(self, epoch, few, none=0, **update):
        self.epoch, self.few, self.none, self.changes = epoch, few, none, update

    def add(self, count, arrival=0.0):
        """Ids of new jobs."""
        return self.epoch.add(np.full(count, 4.0), **dated(arrival))

    def update(self, ids):
        self.epoch.update(ids, **self.changes)


class Flows(Jobs):
    def add(self, count, arrival=0.0):
        return self.epoch.add(mb.Flows([[{"work": 4}]] * count, **dated(arrival))).jobs


class Tandem(Jobs):
    def add(self, count, arrival=0.0):
        ones = np.ones(count)
        return self.epoch.add(ones, ones, **dated(arrival), max_map_slots=2)


class Slotted(Jobs):
    def add(self, count, arrival=0.0):
        return self.epoch.add(np.full(count, 2), 1.0, **dated(arrival))


MAKERS = {
    "Epoch": lambda: Jobs(mb.Epoch(6), 3, work=2.0),
    "FlowEpoch": lambda: Flows(mb.FlowEpoch(6), 3, work=2.0),
    "TandemEpoch": lambda: Tandem(mb.TandemEpoch((6, 4)), (3, 2), (0, 0), map=0.5),
    "SlottedEpoch": lambda: Slotted(mb.SlottedEpoch(6), 3, maps=1, running=1),
}


def epochs(methods=None):
    """Cases for all four, or for some methods of each."""
    if methods is None:
        return pytest.mark.parametrize("name", list(MAKERS))
    return pytest.mark.parametrize(
        ("name", "method"), [(name, method) for name in MAKERS for method in methods]
    )


def saved(epoch):
    return pickle.dumps(epoch)


def slots_of(decision):
    """Slots by job, of those that have any."""
    slots = decision.slots
    rows = (slots if slots.ndim == 2 else slots[:, None]).tolist()
    return {k: row for k, row in zip(decision.ids.tolist(), rows, strict=True) if any(row)}


@epochs()
def test_jobs_arrive_at_the_last_decision_or_at_the_first_unless_told(name):
    # As clocks of hosts are: seconds since 1970.
    untold, told = MAKERS[name](), MAKERS[name]()
    untold.add(3, UNTOLD)
    told.add(3, 1.7e9)
    for each in (untold, told):
        each.epoch.decide(1.7e9)
    assert saved(untold.epoch) == saved(told.epoch)
    untold.add(2, UNTOLD)
    told.add(2, 1.7e9)
    again = copy.copy(untold.epoch)
    for each in (untold.epoch, told.epoch, again):
        each.decide(1.7e9 + 5.0)
    assert saved(untold.epoch) == saved(told.epoch) == saved(again)


def test_values_count_from_the_first_decision_where_nobody_tells_an_arrival():
    epoch = mb.Epoch(2)
    epoch.add([4.0, 8.0], max_slots=1)
    table = mb.Jobs([6.0], max_slots=1)
    epoch.add(table.take([0]))
    assert epoch.decide(1.7e9).value == 4.0 + 6.0 + 12.0
    flows = mb.FlowEpoch(2)
    flows.add(mb.Flows([[{"work": 4, "max_slots": 1}]] * 2).take([1]))
    decision = flows.decide(1.7e9)
    assert decision.value == decision.lower_bound == 4.0
    told = mb.Epoch(2)
    told.add(mb.Jobs([4.0], arrival=1.7e9 - 3.0))
    assert told.decide(1.7e9).value == 3.0 + 2.0


@epochs()
def test_the_methods(name):
    epoch = MAKERS[name]().epoch
    first = {"add": None, "update": "ids", "finish": "ids", "remove": "ids", "decide": "now"}
    for method, argument in first.items():
        own = list(inspect.signature(getattr(epoch, method)).parameters.values())
        if argument is not None:
            assert own[0].name == argument
            assert own[0].kind == own[0].POSITIONAL_OR_KEYWORD
        if method in ("update", "remove", "decide"):
            assert all(each.kind == each.KEYWORD_ONLY for each in own[1:])
    assert "slots" in inspect.signature(epoch.decide).parameters
    assert inspect.signature(epoch.decide).parameters["now"].default is inspect.Parameter.empty


@epochs()
def test_ids_are_whole_numbers_that_are_never_used_twice(name):
    one = MAKERS[name]()
    seen = []
    for k in range(6):
        new = one.add(3)
        assert new.dtype == np.int64 and new.shape == (3,)
        seen += new.tolist()
        one.epoch.decide(float(k), slots=one.few)
        if name == "FlowEpoch":
            one.epoch.finish(new)
        else:
            one.epoch.remove(new)
    assert len(set(seen)) == len(seen) == 18


@epochs(methods=["update", "finish", "remove"])
def test_unknown_and_repeated_ids_are_refused_by_name_index_and_value(name, method):
    one = MAKERS[name]()
    gone, ids = one.add(1), one.add(2)
    one.epoch.remove(gone)
    one.epoch.decide(1.0, slots=one.few)
    call = one.update if method == "update" else getattr(one.epoch, method)
    before, size = saved(one.epoch), len(one.epoch)
    for bad, at, fault in (
        ([ids[0], gone[0]], 1, "no such job"),
        ([2**40 + 7, ids[0]], 0, "no such job"),
        ([ids[0], -1], 1, "no such job"),
        ([ids[0], ids[1], ids[0]], 2, "named twice"),
    ):
        with pytest.raises(ValueError, match=rf"^ids\[{at}\] = {bad[at]}: .*{fault}"):
            call(bad)
        assert saved(one.epoch) == before
    call(ids)
    call([])
    one.epoch.decide(2.0, slots=one.few)  # where flows tell that they have ended
    assert len(one.epoch) == (size if method == "update" else 0)


@epochs()
def test_time_never_falls(name):
    one = MAKERS[name]()
    one.add(2)
    one.epoch.decide(5.0, slots=one.few)
    before = saved(one.epoch)
    with pytest.raises(ValueError, match=r"^now = 4\.?5?.*: before 5\.?0*, times never fall"):
        one.epoch.decide(4.5, slots=one.few)
    assert saved(one.epoch) == before
    late = one.add(1, arrival=2.0)  # came before, is told now
    assert len(one.epoch) == 3 and late.shape == (1,)
    one.epoch.decide(5.0, slots=one.few)


@epochs()
def test_no_slots_are_legal(name):
    one = MAKERS[name]()
    one.add(4)
    assert slots_of(one.epoch.decide(0.0, slots=one.none)) == {}
    assert slots_of(one.epoch.decide(1.0, slots=one.few))
    last = one.epoch.decide(2.0, slots=one.none)
    assert not last.slots.any() and last.changed.any()
    assert not one.epoch.decide(3.0).changed.any()
    if name != "TandemEpoch":
        assert one.epoch.slots == 0


@epochs()
@pytest.mark.parametrize("seed", range(5))
def test_a_decision_names_every_job_that_has_or_had_slots(name, seed):
    one, rng = MAKERS[name](), np.random.default_rng(seed)
    epoch, ids, before = one.epoch, [], {}
    for k in range(30):
        now = 0.5 * k
        if rng.random() < 0.5 or len(ids) < 2:
            ids += one.add(int(rng.integers(1, 4)), arrival=now).tolist()
        if rng.random() < 0.3:
            one.update(ids[: rng.integers(len(ids))])
        if rng.random() < 0.4:
            at = int(rng.integers(len(ids)))
            (epoch.finish if rng.random() < 0.5 else epoch.remove)([ids.pop(at)])
        decision = epoch.decide(now, slots=one.few if rng.random() < 0.8 or not k else one.none)
        named = decision.ids.tolist()
        assert decision.now == now
        assert len(set(named)) == len(named) and set(named) <= set(ids)
        assert decision.changed.dtype == np.bool_ and decision.slots.dtype == np.int64
        width = 2 if name == "TandemEpoch" else 1
        assert decision.slots.shape == ((len(named), 2) if width == 2 else (len(named),))
        after, none = slots_of(decision), [0] * width
        had = {job: row for job, row in before.items() if job in ids}
        assert had.keys() <= set(named)
        changed = [after.get(job, none) != had.get(job, none) for job in named]
        assert decision.changed.tolist() == changed
        before = after


@epochs()
def test_decisions_show_explain_copy_and_compare(name):
    one = MAKERS[name]()
    ids = one.add(3)
    decision = one.epoch.decide(1.0, slots=one.few)
    text = repr(decision)
    assert text.startswith(type(decision).__name__ + "(now=1.0, ") and "\n" not in text
    assert "changed" in text
    head, *lines = decision.explain()
    assert head.startswith(f"rule {one.epoch.rule}")
    assert len(lines) == len(decision.ids) and set(decision.ids.tolist()) <= set(ids.tolist())
    assert all(line and "\n" not in line for line in lines)
    for twin in (
        copy.copy(decision),
        copy.deepcopy(decision),
        pickle.loads(pickle.dumps(decision)),
    ):
        assert twin == decision and twin.explain() == [head, *lines]
    assert (
        hasattr(decision, "value") == hasattr(decision, "lower_bound") == hasattr(decision, "gap")
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_epochs_show_themselves_in_a_line(kind):
    epoch, *_ = kind.start(2, steps=10)
    text = repr(epoch)
    assert text.startswith(type(epoch).__name__ + "(") and "\n" not in text
    assert f"{len(epoch):,} " in text


@epochs()
def test_equal_calls_make_equal_bytes(name):
    one, other = MAKERS[name](), MAKERS[name]()
    for each in (one, other):
        ids = each.add(3)
        each.epoch.decide(1.0, slots=each.few)
        each.update(ids[:1])
    assert saved(one.epoch) == saved(other.epoch) and one.epoch == other.epoch
    other.add(1)
    assert saved(one.epoch) != saved(other.epoch) and one.epoch != other.epoch
