"""JSON of files that others have written: each value is checked, and a fault is a ValueError of one line."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar

from malleable.validation import shown

Kind = TypeVar("Kind")

_DIGITS = 300  # a whole number with more digits counts as infinite


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


# A whole number of hundreds of digits is infinite, like 1e999.
_DECODER = json.JSONDecoder(parse_int=_whole_number)
# A decoder of JSON values; NaN and Infinity are errors.
STRICT_DECODER = json.JSONDecoder(parse_int=_whole_number, parse_constant=_no_constant)


def parse_json(text: str, where: str = "") -> Any:
    """The value of a JSON text; ValueError, beginning with ``where`` if given, if it is none."""
    place = f"{where}: " if where else ""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{place}not JSON: {error}") from None
    except RecursionError:
        raise ValueError(f"{place}JSON nested too deeply") from None


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value of JSON or TOML is a finite number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def text_of(value: object, field: str) -> str:
    """A name as text, which may be a number in the file; ValueError naming ``field`` otherwise."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{field} = {shown(value)}: not a text")
    return str(value)


def amount_of(value: object, field: str, end: float = math.inf) -> float:
    """A finite number from 0 to below ``end``; ValueError naming ``field`` otherwise."""
    if not is_number(value) or not 0 <= value < end:
        limits = "finite and at least 0" if end == math.inf else f"from 0 to below {end:.0f}"
        raise ValueError(f"{field} = {shown(value)}: must be {limits}")
    return float(value)


def of_kind(value: Any, kind: type[Kind], told: str) -> Kind:
    """The value if it is of this kind (an object, a list); otherwise a ValueError that shows it at ``{}``."""
    if not isinstance(value, kind):
        raise ValueError(told.format(shown(value)))
    return value


def list_of(entry: Mapping[str, Any], field: str, kind: type[Kind]) -> list[Kind]:
    """A list of values of a kind in a field of an object, empty if the field is missing."""
    found = entry.get(field)
    if found is not None and not (
        isinstance(found, list) and all(isinstance(one, kind) for one in found)
    ):
        named = {dict: "objects", object: "values"}[kind]
        raise ValueError(f"{field} = {shown(found)}: expected a list of {named}")
    return found or []


def texts_of(entry: Mapping[str, Any], field: str) -> list[str]:
    """A list of names in a field of an object, empty if the field is missing."""
    found = of_kind(entry.get(field) or [], list, f"{field} = {{}}: expected a list of names")
    return [text_of(name, field) for name in found]
