"""Numbers and times in a file's text."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

_EPOCH = datetime(1970, 1, 1)


def parse_number(text: str) -> float:
    """``float(text)`` without Python's digit-grouping underscores; ValueError if not a number."""
    if "_" in text:
        raise ValueError("not a number")
    try:
        return float(text)
    except ValueError:
        raise ValueError("not a number") from None


def parse_moment(text: str) -> float:
    """A time in seconds: a number, or an ISO date as seconds since 1970 (UTC unless it says its zone)."""
    if text[4:5] != "-":
        with suppress(ValueError):
            return parse_number(text)
        text = text.strip()
    try:
        if text[4:5] != "-":
            raise ValueError
        zoned = f"{text[:-1]}+00:00" if text[-1] in "Zz" else text
        moment = datetime.fromisoformat(zoned)
        return moment.timestamp() if moment.tzinfo else (moment - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        raise ValueError("not a number or a date such as 2024-05-01T09:30:00") from None
