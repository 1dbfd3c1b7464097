"""Python calls on other machines. A call is pickled by value: functions that its worker cannot import are
contained themselves. Bundles of calls run one after the other, until the rest should rather start elsewhere.
Large results stay there until fetched."""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NoReturn, TypeVar

GRAIN = 0.05  # seconds of calls in one bundle
_SENT = 1 << 16  # bytes of results that a bundle sends at once; further ones stay on the worker
_PROTOCOL = pickle.HIGHEST_PROTOCOL

Packed = TypeVar("Packed")

# A pickled function, the same object for all its calls, and pickled arguments and named arguments.
Call = tuple[bytes, bytes]

# Whether a call returned; its result, or its exception with the text of the traceback, pickled; its seconds.
Outcome = tuple[bool, bytes, float]

# The same of a call whose result may have stayed on its worker: then it is no bytes.
Reply = tuple[bool, Any, float]


def by_value(value: Any) -> bytes:
    """Pickled; objects of ``__main__`` and objects without a name are contained, not referred to by name."""
    try:
        packed = pickle.dumps(value, _PROTOCOL)
    except Exception:
        packed = b""
    if packed and b"__main__" not in packed:
        return packed
    import cloudpickle  # every engine that needs this depends on cloudpickle

    contained: bytes = cloudpickle.dumps(value, _PROTOCOL)
    return contained


class Packing:
    """Packs calls (function, arguments, named arguments) by value. A function is pickled once, as it was at
    its first call."""

    def __init__(self) -> None:
        self._known: tuple[Any, bytes] = (None, b"")

    def __call__(self, call: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> Call:
        function, *rest = call
        known, packed = self._known
        if known is not function:
            packed = by_value(function)
            self._known = function, packed
        return packed, by_value(rest)


_function = lru_cache(maxsize=8)(pickle.loads)


def outcome(call: Call) -> Outcome:
    """Run a packed call. Imports do not count into its seconds, because later calls do not repeat them."""
    return outcome_of(lambda: (_function(call[0]), *pickle.loads(call[1])), by_value)


def worded(error: BaseException) -> str:
    """Class and text of an error; the class alone if its text raises."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:
        return type(error).__name__


def outcome_of(
    load: Callable[[], tuple[Any, ...]], pack: Callable[[Any], Packed]
) -> tuple[bool, Packed, float]:
    """Run the call that ``load`` returns: function, arguments, named arguments. If the call forks, its child
    ends here, because a call has one answer."""
    began = time.monotonic()
    process = os.getpid()
    good, status = True, 0
    try:
        function, arguments, named = load()
        began = time.monotonic()
        result = pack(function(*arguments, **named))
    except BaseException as error:
        good, status = False, exit_code(error)
        result = _packed_error(error, pack)
    if os.getpid() != process:
        leave(status)
    return good, result, time.monotonic() - began


def exit_code(error: BaseException) -> int:
    # The code with which Python would end because of this error.
    code = error.code if isinstance(error, SystemExit) else 1
    return code & 255 if isinstance(code, int) else int(code is not None)


def leave(status: int) -> NoReturn:
    """End this process, which a call has forked, after its output is written."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    os._exit(status)


def _packed_error(error: BaseException, pack: Callable[[Any], Packed]) -> Packed:
    # The error and the text of its traceback, packed; its text alone if it does not pickle.
    try:
        text = traceback.format_exc()
    except BaseException:  # making its text raised an error
        text = worded(error)
    with suppress(BaseException):  # the exception may not pickle
        # The text has the frames, because packages that pickle tracebacks fail if these are deep.
        return pack((error.with_traceback(None), text))
    return pack((RuntimeError(worded(error)), text))


def run_bundle(
    calls: Sequence[Call], function: bytes, keep: Callable[[bytes], Any]
) -> tuple[list[Outcome], list[Reply]]:
    """On a worker: run the first of these calls; after some time no more are begun. Returns their outcomes,
    and the same with large results replaced by what ``keep`` returns for them. ``function`` is for calls
    without one."""
    until = time.monotonic() + 2.0 * GRAIN
    found: list[Outcome] = []
    told: list[Reply] = []
    left = _SENT
    for own, rest in calls:
        good, result, took = outcome((own or function, rest))
        left -= len(result)
        found.append((good, result, took))
        told.append((good, result if left >= 0 or not good else keep(result), took))
        if time.monotonic() >= until:
            break
    return found, told
