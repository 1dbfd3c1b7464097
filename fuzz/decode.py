"""Bytes as choices, for targets in Python: what decode.hpp is for those in C++."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LATEST = 1e12
WORK = (1e-12, 1e15)
WEIGHT = (1e-12, 1e12)
MOST_SLOTS = 1 << 50


class Bytes:
    """Any bytes mean something, and bytes that end early mean zeros."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.seen: list[float] = []

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def integer(self, low: int, high: int) -> int:
        value, reach = 0, high - low
        while reach > 0:
            value = value << 8 | self.byte()
            reach >>= 8
        return low + value % (high - low + 1)

    def chance(self, of_256: int) -> bool:
        return self.byte() >= 256 - of_256

    def pick(self, values: Sequence[Any]) -> Any:
        return values[self.integer(0, len(values) - 1)]

    def unit(self) -> float:
        return self.integer(0, 65535) / 65535

    def amount(self, domain: tuple[float, float] = WORK) -> float:
        """0, or from the least to the most: ends, ties, small whole numbers, every power between."""
        least, most = domain
        how = self.byte()
        if how < 96:
            value = float(how % 16)
        elif how < 128:
            value = self.seen[how % len(self.seen)] if self.seen else 1.0
        elif how < 144:
            value = (0.0, least, most, 1.0, 0.1, 1 / 3, 2.0**31, most / 2)[how % 8]
        elif how < 200:
            value = 20 * self.unit()
        else:
            value = math.exp(math.log(least) + (math.log(most) - math.log(least)) * self.unit())
        if value and not least <= value <= most:
            value = most if value > most else least
        if len(self.seen) < 16:
            self.seen.append(value)
        return value

    def time(self) -> float:
        how = self.byte()
        size = self.amount((1e-12, LATEST))
        return size if how < 192 else -size

    def slots(self) -> int:
        how = self.byte()
        if how < 160:
            return 1 + how % 32
        return self.integer(1, 1000 if how < 230 else MOST_SLOTS)

    def wrong(self) -> Any:
        """What no number may be, whatever it is for."""
        return self.pick(
            [
                math.nan,
                math.inf,
                -math.inf,
                1e300,
                -1e300,
                1e16,
                -5e-324,
                10**400,
                "x",
                None,
                [1],
                1j,
            ]
        )
