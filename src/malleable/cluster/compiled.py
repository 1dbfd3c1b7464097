"""Policies that a user has compiled with Numba (or gives as an address): a wrapper with the signature that the
core calls, without the interpreter. The core passes an array of addresses: of the time, of the number of jobs,
and of each column of the state (`_FIELDS`)."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import Any

import numpy as np

from malleable.files.advice import library

# Columns of the state: one value a job; a job and a phase; a job and a kind of slots (map, reduce).
_BY_JOB = (
    ("ids", int), ("arrival", float), ("weight", float), ("deadline", float), ("user", int),
    ("size", float), ("attained", float), ("speedup", float),
)  # fmt: skip
_BY_PHASE = (("waiting", int), ("running", int), ("finished", int), ("ready", int))
_BY_POOL = (("work", float), ("spread", float), ("min_slots", int), ("max_slots", int))
_FIELDS = tuple(name for name, _ in (*_BY_JOB, *_BY_PHASE, *_BY_POOL))

_State = namedtuple("_State", (*_FIELDS, "capacity", "free"))  # type: ignore[misc]


def is_compiled(policy: Any) -> bool:
    return hasattr(policy, "address") or hasattr(policy, "py_func")


@functools.lru_cache(maxsize=64)
def compiled(policy: Any, generic: bool) -> Any:
    """An object with the address of the wrapper, a ``malleable_policy`` of scheduler/policy_state.h. Each
    function is compiled once for each kind of cluster; ``generic``: its slots run maps and reduces."""
    if hasattr(policy, "address"):
        return policy
    numba = library("numba", "a compiled policy", "'malleable[custom]'")
    from numba.core.extending import intrinsic

    words = numba.types.CPointer(numba.int64)
    numbers = numba.types.CPointer(numba.float64)

    def pointer(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return builder.inttoptr(given[0], context.get_value_type(signature.return_type))

        return words(numba.int64), generate

    # Slots of maps and of reduces are two pools; generic slots are one.
    pools = "" if generic else ", 2"
    first = 3
    lines = [
        "def call(state, slots):",
        "    count = state[1]",
        "    now = numba.carray(state, 1).view(float64)[0]",
    ]
    shaped = [(name, kind, "count,") for name, kind in _BY_JOB]
    shaped += [(name, kind, "count, 2") for name, kind in _BY_PHASE]
    shaped += [(name, kind, f"count{pools or ','}") for name, kind in _BY_POOL]
    for place, (name, kind, shape) in enumerate(shaped, first):
        view = "" if kind is int else ".view(float64)"
        lines.append(f"    {name} = numba.carray(pointer(state[{place}]), ({shape})){view}")
    last = first + len(shaped)
    for place, name in enumerate(("capacity", "free"), last):
        own = f"numba.carray(pointer(state[{place}]), (2,))"
        lines.append(f"    {name} = {own}[0]" if generic else f"    {name} = {own}")
    lines += [
        f"    answer = policy(State({', '.join(_FIELDS)}, capacity, free), now)",
        f"    out = numba.carray(slots, (count{pools or ','}))",
        "    for row in range(count):",
        "        out[row] = answer[row]",
    ]
    names: dict[str, Any] = {
        "numba": numba, "pointer": intrinsic(pointer), "policy": policy, "State": _State,
        "float64": np.float64,
    }  # fmt: skip
    exec("\n".join(lines), names)
    return numba.cfunc(numba.void(words, numbers))(names["call"])
