"""Named things that tasks hold while they run, such as GPUs. A resource is a list of names; each task holds a
number of them, the first free ones, and no two tasks hold the same one."""

from __future__ import annotations

import heapq
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from typing import Any

from malleable.validation import check_whole, shown

_CUDA = "CUDA_VISIBLE_DEVICES"
_MOST = 10**6  # names of a resource


def resource_names(name: str, given: Any) -> list[str]:
    """The names of a resource: those given, or numbers from 0. If ``CUDA_VISIBLE_DEVICES`` is set, names of
    ``gpu`` are from it, and numbers within it."""
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name == "memory":
        raise ValueError(f"resource {shown(name)}: a name has small letters, digits and _")
    where = f"resource {name}"
    if isinstance(given, str) or not isinstance(given, Sequence):
        found = [str(k) for k in range(check_whole(where, given, 1, _MOST))]
    else:
        found = [str(each).strip() for each in given]
        if "" in found or len(set(found)) < len(found) or not found:
            raise ValueError(f"{where} = {','.join(found)}: expected different names")
    allowed = os.environ.get(_CUDA) if name == "gpu" else None
    return found if allowed is None else _within(allowed, found, where)


def _within(allowed: str, found: list[str], where: str) -> list[str]:
    # Names out of the allowed ones, or numbers within these.
    own = [each.strip() for each in allowed.split(",") if each.strip()]
    if set(found) <= set(own):
        return found
    if not all(each.isdecimal() and int(each) < len(own) for each in found):
        told = f"{_CUDA} allows {allowed or 'none'}"
        raise ValueError(f"{where} = {','.join(found)}: {told}")
    return [own[int(each)] for each in found]


class Resources:
    """The names of each resource (names, or how many), and which task holds what."""

    def __init__(self, given: Mapping[str, int | Sequence[Any]]) -> None:
        self._names = {name: resource_names(name, own) for name, own in given.items()}
        self._free = {name: list(range(len(own))) for name, own in self._names.items()}
        self._held: dict[str, dict[str, list[int]]] = {}  # by task

    @property
    def capacity(self) -> dict[str, float]:
        # How many there are of each resource.
        return {name: float(len(own)) for name, own in self._names.items()}

    def take(self, task: str, needs: Mapping[str, float]) -> dict[str, str]:
        """A task begins; returns the environment variables that tell it what it holds."""
        variables = {}
        for name in self._free.keys() & needs.keys():
            held = self._held.setdefault(task, {})
            held[name] = [heapq.heappop(self._free[name]) for _ in range(int(needs[name]))]
            told = ",".join(self._names[name][k] for k in held[name])
            variables[f"MALLEABLE_{name.upper()}"] = told
            if name == "gpu":
                variables[_CUDA] = told
        return variables

    def give_back(self, task: str) -> None:
        for name, numbers in self._held.pop(task, {}).items():
            for number in numbers:
                heapq.heappush(self._free[name], number)


def check_needs(
    where: str, needs: Mapping[str, float], capacity: Mapping[str, float], what: str
) -> None:
    """ValueError if a task needs more than there is of a resource; ``what`` follows the number."""
    for name, need in needs.items():
        if need > capacity.get(name, 0.0):
            there = f"there are {capacity.get(name, 0.0):,.0f}"
            raise ValueError(f"{where}.{name} = {need:,.0f}: {there}{what}")


def packed_holding(variables: Mapping[str, str], packed: bytes) -> bytes:
    """A pickled call that runs with these variables in its environment."""
    return pickle.dumps((call_holding, (variables, packed), {}), pickle.HIGHEST_PROTOCOL)


def call_holding(variables: Mapping[str, str], packed: bytes) -> Any:
    """In a worker: unpickle and run a call with these variables in its environment."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        function, arguments, named = pickle.loads(packed)
        return function(*arguments, **named)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
