"""What tables, results and epochs (loops of decisions) have in common: equality by content, checkpoints
(pickles from which a loop goes on), one thread at a time."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from malleable import _core
from malleable.display import as_html, brief

if TYPE_CHECKING:
    from typing_extensions import Self

Class = TypeVar("Class", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])


def same(a: Any, b: Any) -> bool:
    """Whether two values have equal content: arrays by shape and entries, NaN equal to NaN.

    O(entries).
    """
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return _same_rows(a, b)
    both_nan = isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    return both_nan or bool(a == b)


def _same_rows(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or len(a) != len(b):
        return False
    if set(map(type, a)) <= {str, int}:
        return bool(a == b)
    return all(same(x, y) for x, y in zip(a, b, strict=True))


def _same_arrays(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "O":
        return same(a.tolist(), b.tolist())
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _fields(value: Any) -> list[str]:
    if hasattr(value, "_fields"):
        return list(value._fields)
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
    columns = getattr(type(value), "COLUMNS", ())
    return sorted({*slots, *columns, *getattr(value, "__dict__", ())})


def by_value(without: tuple[str, ...] = (), also: tuple[str, ...] = ()) -> Callable[[Class], Class]:
    """Let instances of a class be equal if their content is; they have no hash then.

    Named tuples show themselves as one brief line, too, and in notebooks as HTML.

    Parameters
    ----------
    without : tuple of str
        Attributes that do not count: wall-clock times, caches, links to other objects.
    also : tuple of str
        Properties that do, compared last.
    """

    def equal(self: Any, other: object) -> Any:
        if type(self) is not type(other):
            return NotImplemented
        names = [name for name in _fields(self) if name not in without]
        if names != [name for name in _fields(other) if name not in without]:
            return False
        return all(same(getattr(self, n), getattr(other, n)) for n in (*names, *also))

    def unequal(self: Any, other: object) -> Any:
        answer = equal(self, other)
        return answer if answer is NotImplemented else not answer

    def decorate(cls: Class) -> Class:
        methods: dict[str, Any] = {"__eq__": equal, "__ne__": unequal, "__hash__": None}
        if hasattr(cls, "_fields"):
            methods |= {"__repr__": brief, "_repr_html_": getattr(cls, "_repr_html_", as_html)}
        for name, method in methods.items():
            setattr(cls, name, method)
        return cls

    return decorate


class Checkpointed:
    """An object that keeps state between calls.

    It pickles (for the version that wrote it), and copies go on as the original would. Objects are equal if
    their states are. A second thread gets a RuntimeError.
    """

    __hash__ = None  # type: ignore[assignment]

    # Refuses a second thread in methods in Python; what the core keeps has its own.
    _guard: _core.UseGuard

    def __new__(cls, *args: Any, **options: Any) -> Self:
        self = super().__new__(cls)
        self._guard = _core.UseGuard()
        return self

    def __getstate__(self) -> dict[str, Any]:
        with self._guard:
            # Callers may change this object before the returned state has been read.
            state = {
                name: copy.copy(value) for name, value in vars(self).items() if name != "_guard"
            }
        return {"version": _core.__version__, **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        name = type(self).__name__
        if not isinstance(state, dict) or "version" not in state:
            raise ValueError(f"state: not that of an object of class {name}")
        if state["version"] != _core.__version__:
            raise ValueError(
                f"state: this {name} was pickled by version {state['version']} of malleable, which "
                f"only that version reads; this is {_core.__version__}"
            )
        vars(self).update({key: value for key, value in state.items() if key != "version"})

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Checkpointed):
            return NotImplemented
        return same(self.__getstate__(), other.__getstate__())


def guarded(method: Method) -> Method:
    """Let a method of a `Checkpointed` that keeps state in Python serve one thread at a time."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with self._guard:
            return method(self, *args, **options)

    return cast("Method", call)
