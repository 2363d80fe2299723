"""What a field of an asset or a setting may hold: its type, its bounds, and how a hand-written value is understood.

A `Field` is a row of the tables in `kinds`.  Checking, JSON Schema, the documentation and every reader go by the same
row. Reading is generous where nothing can be misunderstood (a single value where a list is due, `.5` for 0.5, a date
without time), because people write these files; writing is uniform.

Rejected: pydantic (150 ms to import, and its messages know no lines) and validating with the generated JSON Schema (a
hundred times slower, and blind to order and dates).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from ctxrepo.asset.header import text_of
from ctxrepo.asset.ids import is_id

DAY = 86_400  # seconds


class Unfit(ValueError):
    """A value that a field cannot hold; the message completes a sentence that begins with the field's name."""


class Field(NamedTuple):
    """One field: what it is called, what it holds, what it means."""

    name: str
    type: str  # a key of TYPES
    meaning: str  # one phrase for people
    default: object = None  # what a missing field stands for; None = nothing
    need: str = ""  # "required" = an error when missing, "wanted" = a warning
    choices: tuple[str, ...] = ()
    low: float | None = None  # smallest number
    high: float | None = None  # largest number
    longest: int | None = None  # characters of a text
    pattern: str | None = None  # for the schema, of a text that `check` examines more closely


class Type(NamedTuple):
    """How values of one type are described and read."""

    title: str  # for people
    schema: Mapping[str, object]  # JSON Schema of what may stand in a file
    read: Callable[[Field, object], object]  # raises Unfit with the end of a sentence: "must be …"


def read_value(field: Field, value: object) -> object:
    """Gives the value of a field as its type has it; null is the default.

    Raises:
        Unfit: it does not fit.
    """
    return field.default if value is None else TYPES[field.type].read(field, value)


def instant(value: object, *, end: bool = False) -> float:
    """Gives the moment a date or a date-time means, in seconds since 1970.

    Args:
        value: `2026-11-29`, `2026-11-29T10:00:00Z`, with an offset or without (then UTC), with `T` or a space.
        end: a date without time means the end of that day, not its beginning.

    Raises:
        Unfit: no such date.
    """
    text = text_of(value)
    if not text[:1].isdigit() or "W" in text or len(text) < 10 or text[4] != "-":
        raise Unfit("must be a date such as 2026-11-29 or 2026-11-29T10:00:00Z")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Unfit(f"is no date: {text[:40]!r}; write 2026-11-29 or 2026-11-29T10:00:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() + (DAY if end and len(text) == 10 else 0)


def stamp(moment: datetime) -> str:
    """Gives a moment as assets write it: UTC, whole seconds, `2026-11-29T10:00:00Z`; `instant` reads it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def nearest(name: str, known: tuple[str, ...] | list[str]) -> str:
    """Gives ` Did you mean …?` for the known name that comes closest, or nothing."""
    close = difflib.get_close_matches(name.casefold(), known, 1, 0.6)
    return f" Did you mean {close[0]!r}?" if close else ""


def _text(field: Field, value: object) -> str:
    if isinstance(value, list | dict):
        raise Unfit(f"must be text, not a {_name_of(value)}; put it in quotes")
    text = text_of(value)
    if field.longest and len(text) > field.longest:
        raise Unfit(f"has {len(text):,} characters; at most {field.longest:,} are allowed")
    return text


def _line(field: Field, value: object) -> str:
    text = _text(field, value)
    if "\n" in text:
        raise Unfit("must be one line")
    return text


def _choice(field: Field, value: object) -> str:
    text = _line(field, value)
    if text not in field.choices:
        raise Unfit(f"is {text[:40]!r}, not one of {', '.join(field.choices)}.{nearest(text, field.choices)}")
    return text


def _number(field: Field, value: object) -> float:
    try:
        number = float(text_of(value)) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise Unfit("must be a number")
    if (field.low is not None and number < field.low) or (field.high is not None and number > field.high):
        raise Unfit(f"is {number:g}, {_bounds(field)}")
    return number


def _integer(field: Field, value: object) -> int:
    number = _number(field, value)
    if number != int(number):
        raise Unfit("must be a whole number")
    return int(number)


def _boolean(_: Field, value: object) -> bool:
    words: dict[object, bool] = {True: True, False: False, "True": True, "TRUE": True, "False": False, "FALSE": False}
    if isinstance(value, bool | str) and value in words:
        return words[value]
    raise Unfit("must be true or false")


def _id(_: Field, value: object) -> str:
    if not is_id(value):
        raise Unfit("must be a ULID (26 letters and digits); take the line out and one is made")
    return str(value).upper()


def _time(_: Field, value: object) -> str:
    if isinstance(value, list | dict):
        raise Unfit("must be a date such as 2026-11-29 or 2026-11-29T10:00:00Z")
    instant(value)
    return text_of(value)


def _lines(field: Field, value: object) -> list[str]:
    return [_line(field, item) for item in _items(value)]


def _ids(field: Field, value: object) -> list[str]:
    return [_id(field, item) for item in _items(value)]


def _map(_: Field, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Unfit("must be a map of `key: value` lines")
    return value


def _maps(field: Field, value: object) -> list[dict[str, object]]:
    if not isinstance(value, list):
        raise Unfit("must be a list of maps")
    return [_map(field, item) for item in value]


def _text_map(field: Field, value: object) -> dict[str, str]:
    return {key: "" if item is None else _text(field, item) for key, item in _map(field, value).items()}


def _members(field: Field, value: object) -> object:
    return _lines(field, value) if isinstance(value, list) else _text_map(field, value)


def _items(value: object) -> list[object]:
    """Understands a single value as a list of one; an item that YAML made a map or nothing of is a slip."""
    items = value if isinstance(value, list) else [value]
    for number, item in enumerate(items, 1):
        if item is None or item == "":
            raise Unfit(f"has nothing in item {number}")
        if isinstance(item, list | dict):
            raise Unfit(f"must hold texts, and item {number} is a {_name_of(item)}; put it in quotes")
    return items


def _name_of(value: object) -> str:
    return "map" if isinstance(value, dict) else "list"


def _bounds(field: Field) -> str:
    if field.low is not None and field.high is not None:
        return f"not between {field.low:g} and {field.high:g}"
    return f"less than {field.low:g}" if field.low is not None else f"more than {field.high:g}"


_SCALAR = {"type": ["string", "number", "boolean"]}
_ULID_SCHEMA = {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"}

TYPES: dict[str, Type] = {
    "text": Type("text", _SCALAR, _text),
    "line": Type("one line", _SCALAR, _line),
    "choice": Type("one of a list", {"type": "string"}, _choice),
    "number": Type("number", {"type": "number"}, _number),
    "integer": Type("whole number", {"type": "integer"}, _integer),
    "boolean": Type("true or false", {"type": "boolean"}, _boolean),
    "id": Type("ULID", _ULID_SCHEMA, _id),
    "time": Type("date or date-time", {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}"}, _time),
    "lines": Type("list of texts", {"type": "array", "items": {**_SCALAR, "minLength": 1}}, _lines),
    "ids": Type("list of ULIDs", {"type": "array", "items": _ULID_SCHEMA}, _ids),
    "map": Type("map", {"type": "object"}, _map),
    "maps": Type("list of maps", {"type": "array", "items": {"type": "object"}}, _maps),
    "text_map": Type("map of texts", {"type": "object", "additionalProperties": _SCALAR}, _text_map),
    "members": Type(
        "list, or map of texts",
        {"type": ["array", "object"], "items": _SCALAR, "additionalProperties": _SCALAR},
        _members,
    ),
}
