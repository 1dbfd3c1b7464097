"""Objectives: sums and maxima of the penalties of single jobs. A penalty says what it costs that a job ends at
a given time; its kind (`KINDS`: response, tardiness ...) is coded as a number for the core."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from malleable import _core
from malleable.arrays import check_length
from malleable.checkpoints import by_value
from malleable.files.advice import library
from malleable.policies import ObjectiveName
from malleable.validation import check_count, near, shown

# Kinds of penalties, in the order of the core's codes.
KINDS: tuple[str, ...] = tuple(kind.name for kind in _core.KINDS)

# Usual names of objectives, for the hint of an error.
_OTHER_WORDS = {
    "makespan": "max:completion", "min makespan": "max:completion", "cmax": "max:completion",
    "flow time": "sum:response", "jct": "sum:response", "average jct": "sum:response",
    "mean response": "sum:response", "latency": "sum:response", "response time": "sum:response",
    "slowdown": "sum:stretch", "bounded slowdown": "sum:stretch", "max slowdown": "max:stretch",
    "deadline": "sum:tardy", "deadlines": "sum:tardy", "late jobs": "sum:tardy",
    "total tardiness": "sum:tardiness", "max lateness": "max:lateness", "lmax": "max:lateness",
}  # fmt: skip
_OF_DEADLINES = ("tardy", "tardiness", "strict")

ObjectiveLike = ObjectiveName | str | Sequence[ObjectiveName | str]
PenaltyLike = Callable[[int, float], float] | Any
Priced: TypeAlias = "_core.Jobs | _core.Flows"  # tables that penalties are of


def _parse_one(text: object) -> tuple[str, int]:
    if not isinstance(text, str):
        raise ValueError(f"objective = {text!r}: expected text such as 'sum:response'")
    aggregate, colon, kind = text.partition(":")
    if not colon or aggregate not in ("sum", "max") or kind not in KINDS:
        known = [f"{a}:{k}" for a in ("sum", "max") for k in KINDS]
        other = _OTHER_WORDS.get(text.lower().replace("_", " ").replace("-", " "))
        hint = f"; did you mean {other!r}?" if other else near(text, known)
        raise ValueError(
            f"objective = {text!r}: expected sum: or max: and one of {', '.join(KINDS)}{hint}"
        )
    return aggregate, KINDS.index(kind)


def of_deadlines(objective: str) -> bool:
    return objective.partition(":")[2] in (*_OF_DEADLINES, "lateness")


def warn_without_deadlines(objective: Objective, jobs: Priced, stacklevel: int = 3) -> None:
    """Warn if an objective depends on deadlines, or steps of an SLA, and no job has any."""
    kinds = {KINDS[code] for code in set(objective.kinds.tolist())}
    if not len(jobs.deadline) or not kinds <= {*_OF_DEADLINES, "sla"}:
        return
    deadlines = kinds.isdisjoint(_OF_DEADLINES) or not np.isfinite(jobs.deadline).any()
    if deadlines and ("sla" not in kinds or not len(jobs.sla_time)):
        what = "steps of an SLA" if kinds == {"sla"} else "a deadline"
        told = f"objective = {objective.text!r}: no job has {what}, so all plans are equally good"
        warnings.warn(told, UserWarning, stacklevel=stacklevel)


def kinds_of(
    kind: str | Sequence[str | None], count: int, default: int, noun: str = "job"
) -> npt.NDArray[np.uint8]:
    """Codes of kinds, one for each job or one for all; None is the default."""
    named: Sequence[Any] = [kind] * count if isinstance(kind, str) else kind
    if isinstance(named, (bytes, dict)) or not hasattr(named, "__len__"):
        raise ValueError(f"kind = {shown(kind)}: expected a name or one a {noun}")
    check_length("kind", named, count, noun=noun)
    codes = np.full(count, default, dtype=np.uint8)
    for row, name in enumerate(named):
        if name is None:
            continue
        if not isinstance(name, str) or name not in KINDS:
            where = "kind" if isinstance(kind, str) else f"kind[{row}]"
            known = ", ".join(KINDS)
            raise ValueError(f"{where} = {shown(name)}: expected one of {known}{near(name, KINDS)}")
        codes[row] = KINDS.index(name)
    return codes


@by_value()
class Objective:
    """A parsed objective: sum or max, and the kind of penalty of every job."""

    __slots__ = ("aggregate", "kinds", "text")

    def __init__(self, text: str, aggregate: str, kinds: np.ndarray[Any, np.dtype[np.uint8]]):
        self.text = text
        self.aggregate = aggregate
        self.kinds = kinds

    @classmethod
    def of_codes(cls, aggregate: str, codes: npt.NDArray[np.uint8]) -> Objective:
        if len(codes) == 1 or len(set(codes.tolist())) == 1:
            return cls(f"{aggregate}:{KINDS[int(codes[0])]}", aggregate, codes[:1].copy())
        return cls(f"{aggregate}:mixed", aggregate, codes)

    def kind(self) -> _core.Kind | None:
        return _core.KINDS[int(self.kinds[0])] if len(self.kinds) == 1 else None

    @property
    def first_kind(self) -> int:
        """The code of the first kind; 0 if there is none."""
        return int(self.kinds[0]) if len(self.kinds) else 0

    @property
    def custom(self) -> bool:
        return any(_core.KINDS[code].custom for code in set(self.kinds.tolist()))

    @property
    def is_max(self) -> bool:
        return self.aggregate == "max"

    def penalties(self, jobs: Priced, penalty: PenaltyLike | None = None) -> _core.Penalties:
        """The penalty functions of the rows of a table of the core, of jobs or of flows. ``penalty`` is the
        caller's own (see `Penalty`) for kind ``custom``."""
        custom = 0
        if self.custom:
            custom = _kept(penalty).address
        elif penalty is not None:
            raise ValueError("penalty: only the objective 'custom' takes a function")
        return _core.Penalties(jobs, self.kinds, custom)


def parse_objective(objective: ObjectiveLike, count: int | None = None) -> Objective:
    """Parse ``'sum:KIND'``, ``'max:KIND'``, or one such text per job with a common aggregate. ValueError for
    an unknown objective (with the nearest known one) or mixed aggregates."""
    if isinstance(objective, str):
        aggregate, kind = _parse_one(objective)
        return Objective(objective, aggregate, np.array([kind], dtype=np.uint8))
    try:
        parsed = [_parse_one(text) for text in objective]
    except TypeError:
        raise ValueError(f"objective = {objective!r}: expected text or one text per job") from None
    if count is not None:
        check_length("objective", parsed, count)
    aggregates = {aggregate for aggregate, _ in parsed} or {"sum"}
    if len(aggregates) > 1:
        raise ValueError("objective: sum and max cannot be mixed in one call")
    aggregate = aggregates.pop()
    kinds = np.array([kind for _, kind in parsed], dtype=np.uint8)
    return Objective.of_codes(aggregate, kinds)


class Penalty:
    """The caller's own penalty, compiled: ``float64(int64 job, float64 completion)``, non-decreasing in the
    completion.

    ``function`` is a numba cfunc, a plain function, which Numba compiles, or a `Penalty`. It pickles by name,
    so a pickle needs a function at the top level of a module; copies are the object itself."""

    __slots__ = ("_compiled", "address", "function")

    function: Any
    _compiled: Any
    address: int  # of the machine code that the core calls

    def __init__(self, function: PenaltyLike) -> None:
        if isinstance(function, Penalty):
            self.function, self._compiled = function.function, function._compiled
            self.address = function.address
            return
        if not callable(function):  # a CFunc is not callable
            kind = type(function).__name__
            raise ValueError(
                f"penalty: expected a Numba cfunc or a function of (job, completion), not {kind}"
            )
        numba = library("numba", "a custom penalty", "'malleable[custom]'")
        from numba.core.ccallback import CFunc

        wanted = numba.float64(numba.int64, numba.float64)
        compiled: Any = function
        if not isinstance(function, CFunc):
            compiled = numba.cfunc(wanted, cache=False)(function)
        if compiled._sig != wanted:
            raise ValueError(f"penalty: a cfunc of {compiled._sig}, expected {wanted}")
        self.function = function
        self._compiled = compiled
        self.address = int(compiled.address)

    def __call__(self, job: int, completion: float) -> float:
        return float(self._compiled.ctypes(job, completion))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Penalty) and other.function is self.function

    def __hash__(self) -> int:
        return hash(id(self.function))

    def __deepcopy__(self, memo: object = None) -> Penalty:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> tuple[Any, tuple[Any, Any]]:
        # the Python function of a CFunc
        made_of = getattr(self.function, "__wrapped__", self.function)
        module = getattr(made_of, "__module__", None)
        name = getattr(self.function, "__qualname__", None)
        found = _named(module, name) if module and name else None
        if isinstance(found, Penalty):  # the decorated name
            found = found.function
        if found is None or found is not self.function:
            raise ValueError(
                f"penalty: {shown(self.function)} does not pickle: only a function at the top level"
                " of a module does"
            )
        return _penalty_named, (module, name)


def penalty(function: PenaltyLike | None = None, *, jobs: int = 1) -> Any:
    """Decorator: a Python function of (job, completion) becomes a penalty, compiled and checked.

    The result is for ``penalty=`` arguments, and pickles by the function's name.

    Parameters
    ----------
    function : callable
        ``float64(int64 job, float64 completion)`` in the part of Python that Numba compiles. The core
        inverts it by secants and bisection.
    jobs : int
        It is checked for jobs (rows or ids) 0 to ``jobs - 1``, which it must know.

    Raises
    ------
    ImportError
        Without numba, with what to install.
    ValueError
        If it falls, or is not a number, at one of the times tried, up to 1e12 seconds on both sides of 0.

    Examples
    --------
    >>> @penalty  # doctest: +SKIP
    ... def late(job, completion):
    ...     return max(0.0, completion - 60.0) ** 2
    """
    if function is None:
        return lambda decorated: penalty(decorated, jobs=jobs)
    made = Penalty(function)
    later = np.geomspace(1e-6, 1e12, 145)
    times = np.concatenate([-later[::-1], [0.0], later])
    for job in range(check_count("jobs", jobs)):
        paid = [made(job, at) for at in times.tolist()]
        for before, at, low, high in zip(times, times[1:], paid, paid[1:], strict=False):
            if not low <= high:  # also for NaN
                raise ValueError(
                    f"penalty: must not fall, but job {job} pays {low} at {before} s and {high} at {at} s"
                )
    return made


def _named(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module) or importlib.import_module(module), name, None)


def _penalty_named(module: str, name: str) -> Penalty:
    return Penalty(_named(module, name))


def _kept(penalty: PenaltyLike | None) -> Penalty:
    # compiled code must live as long as tables of the core have its address
    if penalty is None:
        raise ValueError("objective custom needs penalty=, a function of (job, completion)")
    made = Penalty(penalty)
    if made._compiled is not penalty:
        _COMPILED.append(made)
    return made


_COMPILED: list[Penalty] = []


def met_deadlines(
    deadline: npt.NDArray[np.float64],
    completion: npt.NDArray[np.float64],
    penalty: npt.NDArray[np.float64],
) -> npt.NDArray[np.bool_]:
    """Which completions are within the tolerance of their deadlines and cost less than infinity."""
    met = completion <= deadline + 1e-9 * np.maximum(1.0, np.abs(deadline))
    return met & (penalty < np.inf)


def relative_gap(value: float, lower_bound: float) -> float | None:
    """Relative distance between a value and its bound; None if only the bound is 0."""
    if value == lower_bound:
        return 0.0
    if lower_bound == 0.0:
        return None
    return (value - lower_bound) / abs(lower_bound)
