"""A workflow as arrays: jobs, what waits for what, and which jobs make one flow.

A flow is what people wait for, such as a sample. Flows are the connected parts of the DAG once the jobs that
are about all of it are left out (no wildcards, the only job of their rule, or, where most of it still hangs
together, what all jobs of a rule wait for or what waits for all), or the values of a wildcard. A
job that was left out joins a flow if all that waits for it, or all that it waits for, is of that flow; of
the others those that flows wait for (an index) are as urgent as the most urgent of these, and what remains
(a report of all samples) are flows of their own. O((jobs + edges) log jobs), in bulk where NumPy can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from itertools import chain, filterfalse, repeat
from typing import Any

import numpy as np

__all__ = ["Jobs", "Workflow", "rule_of"]

_NONE, _MANY = -1, -2


class Jobs:
    """Jobs and what they wait for.

    Attributes
    ----------
    jobs : list
    row : dict
        Their places.
    rules : list of str
    rule : ndarray of int, shape (n,)
        Rows of ``rules``.
    child, parent : ndarray of int, shape (e,)
        Edges.
    children, parents : _Grouped
        Rows by row.
    level : ndarray of int, shape (n,)
        The most jobs on a path that ends here, less one.
    """

    def __init__(self, jobs: Iterable[Any], dependencies: Callable[[Any], Iterable[Any]]) -> None:
        self.jobs = list(jobs)
        self.row: dict[Any, int] = {job: k for k, job in enumerate(self.jobs)}
        self.rules, self.rule = rules_of(self.jobs)
        # Half a million jobs: what is done for each of them is left to functions written in C.
        above = list(map(dependencies, self.jobs))
        if above and not isinstance(above[0], Sized):
            above = list(map(tuple, above))
        counts = np.fromiter(map(len, above), np.int64, len(above))
        places = map(self.row.get, chain.from_iterable(above), repeat(-1))
        self.parent = np.fromiter(places, np.int64, int(counts.sum()))
        self.child = np.repeat(np.arange(len(above)), counts)
        here = self.parent >= 0
        self.child, self.parent = self.child[here], self.parent[here]
        self._rank()

    def __len__(self) -> int:
        return len(self.jobs)

    def _rank(self) -> None:
        n = len(self.jobs)
        self.level = np.zeros(n, np.int64)
        self.children = _grouped(self.parent, self.child, n)
        self.parents = _grouped(self.child, self.parent, n)
        waits = np.bincount(self.child, minlength=n)
        front, level = np.flatnonzero(waits == 0), 0
        while len(front):
            self.level[front] = level
            after, told = np.unique(self.children.of(front), return_counts=True)
            waits[after] -= told
            front, level = after[waits[after] == 0], level + 1
        order = np.argsort(self.level[self.parent], kind="stable")
        self.child, self.parent = self.child[order], self.parent[order]
        # Edges by the level of their parents, the last ones first.
        bounds = np.searchsorted(self.level[self.parent], np.arange(level + 1))
        self._layers = [
            slice(a, b) for a, b in zip(bounds[-2::-1], bounds[:0:-1], strict=True) if b > a
        ]

    def tails(self, seconds: np.ndarray) -> np.ndarray:
        """Seconds from the start of each job to the end of all that waits for it, slots being free."""
        after = np.zeros(len(seconds))
        for layer in self._layers:
            child = self.child[layer]
            np.maximum.at(after, self.parent[layer], seconds[child] + after[child])
        return seconds + after

    def sums(self, own: np.ndarray, without: np.ndarray) -> np.ndarray:
        """Each job's own with that of all that it waits for, on every path, leaving out some edges."""
        total = own.copy()
        for layer in reversed(self._layers):
            rows = np.arange(layer.start, layer.stop)[~without[layer]]
            np.add.at(total, self.child[rows], total[self.parent[rows]])
        return total

    def wholes(self, own: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of each edge, how many of the rule of its one job have one to its other job, and that rule's jobs."""
        edges = np.ones(len(own), np.int64)
        more = np.bincount(own, minlength=len(self.jobs))[own] > 1
        key = own[more] * len(self.rules) + self.rule[other[more]]
        _, at, counts = np.unique(key, return_inverse=True, return_counts=True)
        edges[more] = counts[at]
        return edges, np.bincount(self.rule, minlength=len(self.rules))[self.rule[other]]


class Workflow(Jobs):
    """The jobs of a DAG that have not ended, and their flows.

    Attributes
    ----------
    flow : ndarray of int, shape (n,)
        Of each job; -1: of a job that several flows wait for.
    flows : int
    leads : list of (row, flows, rows)
        Jobs without a flow, last ones first, and what waits for each.
    """

    def __init__(
        self, jobs: Iterable[Any], dependencies: Any, finished: Any, wildcards: Sequence[str] = ()
    ) -> None:
        super().__init__(filterfalse(finished, jobs), dependencies)
        self._part(wildcards)

    def _part(self, wildcards: Sequence[str]) -> None:
        n = len(self.jobs)
        if wildcards:
            values: dict[str, int] = {}
            known = map(wildcards_of, self.jobs)
            first = [next((w[name] for name in wildcards if name in w), None) for w in known]
            label = np.array(
                [_NONE if v is None else values.setdefault(v, len(values)) for v in first], np.int64
            )
        else:
            counts = np.bincount(self.rule, minlength=len(self.rules))
            # All jobs of a rule have the same wildcards.
            first = np.unique(self.rule, return_index=True)[1].tolist()
            common = np.array([not wildcards_of(self.jobs[k]) for k in first], bool)[self.rule]
            if len(counts) and counts.max() > 1:
                common |= counts[self.rule] == 1
            label = self._parts(~common if not common.all() else np.ones(n, bool))
            sizes = np.unique(label[label != _NONE], return_counts=True)[1]
            if 2 * sizes.max(initial=0) > sizes.sum():
                shared = common | self._shared()
                label = label if shared.all() else self._parts(~shared)
        self.flow, self.leads = label, []
        for rows, neighbours in (
            (np.argsort(-self.level, kind="stable"), self.children),
            (np.argsort(self.level, kind="stable"), self.parents),
        ):
            self._join(rows[label[rows] == _NONE], neighbours)
        self._lead(np.flatnonzero(self.flow == _NONE))
        used, self.flow[self.flow >= 0] = np.unique(self.flow[self.flow >= 0], return_inverse=True)
        self.flows = len(used)
        self.leads = [(row, np.searchsorted(used, of), rows) for row, of, rows in self.leads]
        self.names: list[set[str]] | None = None

    def _shared(self) -> np.ndarray:
        """Whether all jobs of a rule wait for a job, or a job waits for all of a rule; of three at least."""
        found = np.zeros(len(self.jobs), bool)
        for own, other in ((self.parent, self.child), (self.child, self.parent)):
            edges, whole = self.wholes(own, other)
            found[own[(edges >= whole) & (whole >= 3)]] = True
        return found

    def _parts(self, inside: np.ndarray) -> np.ndarray:
        """The least row of each connected part of these jobs; -1 for others."""
        label = np.arange(len(self.jobs))
        both = inside[self.child] & inside[self.parent]
        child, parent = self.child[both], self.parent[both]
        while True:
            least = np.minimum(label[child], label[parent])
            new = label.copy()
            np.minimum.at(new, label[child], least)
            np.minimum.at(new, label[parent], least)
            new = new[new]
            if (new == label).all():
                return np.where(inside, label, _NONE)
            label = new

    def _join(self, rows: np.ndarray, neighbours: _Grouped) -> None:
        """Jobs without a flow get that of all their neighbours, these being seen before them."""
        reach = self.flow.copy()
        for row in rows.tolist():
            found = np.unique(reach[neighbours.at(row)])
            found = found[found != _NONE]
            reach[row] = _NONE if not len(found) else found[0] if len(found) == 1 else _MANY
        alone = rows[(reach[rows] >= 0) & (self.flow[rows] == _NONE)]
        self.flow[alone] = reach[alone]

    def _lead(self, rows: np.ndarray) -> None:
        """Who flows wait for; all others without a flow are flows by their connected parts."""
        leading = np.zeros(len(self.jobs), bool)
        for row in rows[np.argsort(-self.level[rows], kind="stable")].tolist():
            after = self.children.at(row)
            flows, own = np.unique(self.flow[after]), after[leading[after]]
            flows = flows[flows >= 0]
            if len(flows) or len(own):
                leading[row] = True
                self.leads.append((row, flows, own))
        rest = rows[~leading[rows]]
        if len(rest):
            inside = np.zeros(len(self.jobs), bool)
            inside[rest] = True
            above = self.flow.max(initial=0) + 1
            self.flow[rest] = above + self._parts(inside)[rest]

    def named(self, name: str) -> np.ndarray:
        """Flows with a job that has a wildcard of this value."""
        if self.names is None:
            self.names = [set() for _ in range(self.flows)]
            for job, flow in zip(self.jobs, self.flow.tolist(), strict=True):
                if flow >= 0:
                    self.names[flow].update(wildcards_of(job).values())
        return np.array([k for k, names in enumerate(self.names) if name in names], np.int64)


class _Grouped:
    """Values by key: rows ``offset[k]:offset[k + 1]`` of ``values``."""

    def __init__(self, offset: np.ndarray, values: np.ndarray) -> None:
        self.offset, self.values = offset, values

    def at(self, key: int) -> np.ndarray:
        return self.values[self.offset[key] : self.offset[key + 1]]

    def of(self, keys: np.ndarray) -> np.ndarray:
        counts = self.offset[keys + 1] - self.offset[keys]
        begin = np.repeat(self.offset[keys] - np.cumsum(counts) + counts, counts)
        return self.values[begin + np.arange(len(begin))]


def _grouped(keys: np.ndarray, values: np.ndarray, n: int) -> _Grouped:
    order = np.argsort(keys, kind="stable")
    offset = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=n), out=offset[1:])
    return _Grouped(offset, values[order])


def rules_of(jobs: Sequence[Any]) -> tuple[list[str], np.ndarray]:
    """The rules of jobs, and the place of each job's rule among them."""
    try:
        names = [job.rule.name for job in jobs]
    except AttributeError:
        names = list(map(rule_of, jobs))
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    rows = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
    return list(map(str, numbers)), rows


def rule_of(job: Any) -> str:
    """The name of a job's rule; jobs of tests have none."""
    return str(getattr(getattr(job, "rule", None), "name", ""))


def wildcards_of(job: Any) -> Mapping[str, str]:
    """Values of a job's wildcards by name."""
    found = getattr(job, "wildcards_dict", None)
    return found if isinstance(found, Mapping) else {}
