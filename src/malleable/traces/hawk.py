"""Traces in Hawk's form (Yahoo): arrival [s], tasks, mean time [s], then the time of every task [s].

Source: Delgado et al., "Hawk: hybrid datacenter scheduling" (USENIX ATC 2015). Lines of numbers with
spaces between them; the jobs have one phase.
"""

from __future__ import annotations

import math

import numpy as np

from malleable.files.numbers import parse_number
from malleable.traces.formats import File, Head, register
from malleable.traces.phases import Phase
from malleable.traces.trace import Trace


def _looks(head: Head) -> bool:
    words = head.line.split()
    try:  # the head may end within the last number
        return len(words) >= 4 and all(math.isfinite(parse_number(word)) for word in words[:-1])
    except ValueError:
        return False


def _parse(line: str) -> tuple[float, list[float]]:
    cells = line.split()
    try:
        numbers = [parse_number(cell) for cell in cells]
    except ValueError:
        raise ValueError("not numbers") from None
    if len(numbers) < 3 or numbers[1] != len(numbers) - 3:
        told = cells[1] if len(cells) > 1 else "?"
        raise ValueError(f"{max(0, len(numbers) - 3)} task times, {told} tasks")
    if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
        raise ValueError("must be finite and not negative")
    return numbers[0], numbers[3:]


def _read(file: File) -> Trace:
    jobs = list(file.records(_parse))
    file.settle(len(jobs))
    jobs.sort(key=lambda job: job[0])
    arrival, seconds = zip(*jobs, strict=True)
    return Trace(arrival=np.array(arrival), map=Phase.of_seconds(seconds))


register("Hawk trace", _looks, _read)
