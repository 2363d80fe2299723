"""Whether a model's answer has the shape that was asked for: JSON Schema, as much of it as one asks a model for.

Keywords: type, properties, required, additionalProperties (true or false), items, enum, const, anyOf, minLength,
maxLength, pattern, minimum, maximum, minItems, maxItems; title, description and default say nothing.  Any other
keyword is an error of the caller: a rule that is silently not checked would be worse than none.

Rejected: `jsonschema`, four packages and a compiled one at run time for a dozen keywords; the tests hold both to the
same verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]

_SILENT = {"title", "description", "default", "$schema", "$id", "examples"}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def faults(value: object, schema: Schema, place: str = "the answer") -> list[str]:
    """Says what is wrong, one sentence each; empty when nothing is.

    Args:
        value: as JSON gives it.
        schema: what it should look like.
        place: what to call it.

    Raises:
        ValueError: the schema uses a keyword that is not checked.
    """
    return list(_faults(value, schema, place))


def _faults(value: object, schema: Schema, place: str) -> Iterator[str]:
    unknown = schema.keys() - _SILENT - _CHECKS.keys() - _BOUNDS.keys() - {"additionalProperties"}
    if unknown:
        raise ValueError(f"the schema of {place} uses {sorted(unknown)}, which is not checked")
    for keyword, wanted in schema.items():
        if keyword in _CHECKS:
            yield from _CHECKS[keyword](value, wanted, place)
        elif keyword in _BOUNDS:
            yield from _bound(value, wanted, place, _BOUNDS[keyword])
    if "additionalProperties" in schema:
        yield from _additional(value, schema, place)


def _is(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[name])


def _type(value: object, wanted: Any, place: str) -> Iterator[str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not any(_is(value, name) for name in names):
        yield f"{place} must be {' or '.join(names)}."


def _properties(value: object, wanted: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in wanted.items():
            if name in value:
                yield from _faults(value[name], inner, f"{place}.{name}")


def _required(value: object, wanted: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{place} lacks {name!r}." for name in wanted if name not in value)


def _additional(value: object, schema: Schema, place: str) -> Iterator[str]:
    allowed = schema["additionalProperties"]
    if allowed not in (True, False):
        raise ValueError(f"the schema of {place}: additionalProperties must be true or false")
    if isinstance(value, dict) and not allowed:
        known = schema.get("properties", {})
        yield from (f"{place} has {name[:40]!r}, which nobody asked for." for name in value if name not in known)


def _items(value: object, wanted: Any, place: str) -> Iterator[str]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _faults(item, wanted, f"{place}[{at}]")


def _enum(value: object, wanted: Any, place: str) -> Iterator[str]:
    if not any(_same(value, choice) for choice in wanted):
        yield f"{place} must be one of {', '.join(map(str, wanted))}."


def _const(value: object, wanted: Any, place: str) -> Iterator[str]:
    if not _same(value, wanted):
        yield f"{place} must be {wanted}."


def _any_of(value: object, wanted: Any, place: str) -> Iterator[str]:
    tried = [faults(value, each, place) for each in wanted]
    if all(tried):
        yield min(tried, key=len)[0]


def _pattern(value: object, wanted: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and re.search(wanted, value) is None:
        yield f"{place} must match {wanted}."


class _Bound(NamedTuple):
    """A limit: for values of which type, whether it is the least, and what is counted."""

    kind: str
    least: bool
    unit: str = ""


def _bound(value: object, wanted: Any, place: str, bound: _Bound) -> Iterator[str]:
    if not _is(value, bound.kind):
        return
    size: Any = len(value) if isinstance(value, str | list) else value
    if size < wanted if bound.least else size > wanted:
        yield f"{place} must have at {'least' if bound.least else 'most'} {wanted}{bound.unit}."


def _same(value: object, other: object) -> bool:
    """Equal as JSON counts it: true is not 1, at any depth."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same(value[name], other[name]) for name in value)
    return value == other


_CHECKS: Mapping[str, Callable[[object, Any, str], Iterator[str]]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "items": _items,
    "enum": _enum,
    "const": _const,
    "anyOf": _any_of,
    "pattern": _pattern,
}
_BOUNDS = {
    "minLength": _Bound("string", True, " characters"),
    "maxLength": _Bound("string", False, " characters"),
    "minimum": _Bound("number", True),
    "maximum": _Bound("number", False),
    "minItems": _Bound("array", True, " items"),
    "maxItems": _Bound("array", False, " items"),
}
