"""Changing a header so that only what changed, changes.

ruamel.yaml keeps comments, order and quoting, but it re-indents lists, realigns values and re-breaks long ones in
lines that nobody touched.  So a header is changed entry by entry: the lines of the entries that change go through
ruamel's round trip, each on its own, and every other line stays byte for byte.  Only a header in flow style, one that
is indented as a whole, or one whose entries share an anchor goes through ruamel in one piece.  What comes out is read
again with the fast reader and must say exactly what was asked for, or nothing is changed.

ruamel works without a schema here: every scalar is text to it, unquoted ones are given their value by
`header.resolve`, as in the fast reader.  Two readers with one table of values cannot drift apart, and `012` or
`12:30` are written back as they stood.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    LiteralScalarString,
    PlainScalarString,
    ScalarString,
    SingleQuotedScalarString,
)

from ctxrepo.asset.header import FrontmatterError, compose, entries, read_header, resolve, same, text_of

_NO_WRAP = 1 << 30
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Beyond what needs quotes for the sake of syntax, whatever other tools might take for something else than text.
_BARE = re.compile(r"\w(?:[^\x00-\x1f\x7f-\xa0:#\u2028\u2029\ufeff]|:(?=\S)|(?<=\S)#)*(?<!:)(?<!\s)")
_CORE_NUMBER = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_ODD = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff"
_LITERAL = re.compile(rf"(?:[^\s{_ODD}](?:[^{_ODD}]*\S)?\n+)+")
# How ruamel says that it cannot read a header; a tab inside a bare text, which libyaml accepts, is one such case.
REFUSALS = (YAMLError, AssertionError, AttributeError, NotImplementedError, ValueError)

_yaml_1_1: Any = yaml.SafeLoader("")


class _TextOnly(VersionedResolver):
    """Every scalar is text; only an empty one is null, since text could not be written as nothing."""

    @property
    def versioned_resolver(self) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
        return {"": [("tag:yaml.org,2002:null", re.compile(r"\Z"))]}


def read(text: str) -> dict[str, object]:
    """Reads a header through ruamel; the tests hold it to `header.read_header`."""
    data = _yaml().load(text)
    plain = _plain(CommentedMap() if data is None else data)
    assert isinstance(plain, dict)
    return plain


def rewrite(text: str, changes: Mapping[str, object], removals: Collection[str] = ()) -> str:
    """Writes a header anew with some entries set and some taken out.

    Args:
        text: the lines between the rules as they are, in either line ending; "" makes a new header.
        changes: keys and their values; an equal value is no change, None is written as `null`.
        removals: keys to take out; one that is not there is no fault.

    Raises:
        FrontmatterError: the header cannot be read, or an entry cannot change without changing another.
        TypeError: a value that YAML's text, number, boolean, null, list and map do not hold.
    """
    before = read_header(text).fields
    dropped = [key for key in removals if key in before and key not in changes]
    changed = {key: value for key, value in changes.items() if key not in before or not same(before[key], value)}
    if not dropped and not changed:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    wanted = {key: value for key, value in before.items() if key not in dropped} | changed
    for attempt in (_by_entry, _whole):
        result = attempt(text, changed, dropped, newline)
        if result is not None and _says(result, wanted):
            return result
    raise FrontmatterError(
        2, f"The entries {', '.join([*changed, *dropped])} cannot be changed alone, because of their anchors or tabs."
    )


def _says(text: str, wanted: Mapping[str, object]) -> bool:
    try:
        return same(read_header(text).fields, wanted)
    except FrontmatterError:
        return False


def _by_entry(text: str, changes: Mapping[str, object], removals: Sequence[str], newline: str) -> str | None:
    """Exchanges the lines of single entries, or gives None where lines and entries do not match."""
    root = compose(text, 2)
    spans = {} if root is None else entries(root)
    if spans is None:
        return None
    lines = _LINE.findall(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    fresh = {key: value for key, value in changes.items() if key not in spans}
    for key, span in sorted(spans.items(), key=lambda item: item[1].start, reverse=True):
        if key in removals:
            lines[span.start : span.stop] = []
        elif key in changes:
            old = "".join(lines[span.start : span.stop])
            new = _round_trip(old.replace("\r\n", "\n"), {key: changes[key]}, ())
            if new is None:
                new = _fresh({key: changes[key]})
            lines[span.start : span.stop] = [new.replace("\n", newline)]
    if fresh:
        lines.append(_fresh(fresh).replace("\n", newline))
    return "".join(lines)


def _whole(text: str, changes: Mapping[str, object], removals: Sequence[str], newline: str) -> str | None:
    result = _round_trip(text.replace("\r\n", "\n"), changes, removals)
    return None if result is None else result.replace("\n", newline)


def _fresh(changes: Mapping[str, object]) -> str:
    return _round_trip("", changes, ()) or ""


def _round_trip(text: str, changes: Mapping[str, object], removals: Collection[str]) -> str | None:
    """Changes a header through ruamel, or gives None for the rare one that it cannot read though libyaml can."""
    machine = _yaml(text)
    try:
        data = (machine.load(text) if text.strip() else None) or CommentedMap()
    except REFUSALS:
        return None
    for key in removals:
        data.pop(key, None)
    for key, value in changes.items():
        data[_key(data, key)] = _merged(data.get(key), value)
    out = io.StringIO()
    machine.dump(data, out)
    return "" if not data else out.getvalue()


def _yaml(text: str = "") -> YAML:
    machine = YAML(typ="rt")
    machine.Resolver = _TextOnly
    machine.preserve_quotes = True
    machine.allow_unicode = True
    machine.width = _NO_WRAP
    flush_left = re.search(r"^( *)[^\s#-][^\n]*:[ \t]*\n\1- ", text, re.MULTILINE)
    machine.indent(mapping=2, sequence=2 if flush_left else 4, offset=0 if flush_left else 2)
    return machine


def _plain(value: object) -> object:
    """Gives the values of a tree that ruamel loaded."""
    if isinstance(value, Mapping):
        return {"" if key is None else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, ScalarString) and not isinstance(value, PlainScalarString):
        return str(value)
    return resolve(str(value)) if isinstance(value, str) else value


def _merged(old: object, new: object) -> object:
    """Puts a new value in the place of an old one, keeping the comments and quotes of all that stays."""
    if isinstance(old, CommentedMap) and isinstance(new, Mapping) and new:
        for key in [key for key in old if key not in new]:
            del old[key]
        for key, value in new.items():
            if key not in old or not same(_plain(old[key]), value):
                old[_key(old, key)] = _merged(old.get(key), value)
        return old
    if isinstance(old, CommentedSeq) and isinstance(new, list | tuple) and old and new:
        _merge_items(old, new)
        return old
    if (
        isinstance(new, str)
        and "\n" not in new
        and isinstance(old, DoubleQuotedScalarString | SingleQuotedScalarString)
    ):
        return type(old)(new)
    return _spelled(new)


def _merge_items(old: CommentedSeq, new: Sequence[object]) -> None:
    """Exchanges only the middle in which two lists differ."""
    values = [_plain(item) for item in old]
    head = 0
    while head < min(len(values), len(new)) and same(values[head], new[head]):
        head += 1
    tail = 0
    while tail < min(len(values), len(new)) - head and same(values[-1 - tail], new[-1 - tail]):
        tail += 1
    for _ in range(len(values) - head - tail):
        del old[head]
    for number, value in enumerate(new[head : len(new) - tail]):
        old.insert(head + number, _spelled(value))


def _key(data: CommentedMap, key: str) -> str:
    return key if key in data else _spelled_text(key)


def _spelled(value: object) -> object:
    """Gives ruamel's object for a value: text that could be taken for something else in quotes, the rest bare."""
    if isinstance(value, str):
        return _spelled_text(value)
    if isinstance(value, Mapping):
        result = CommentedMap((_spelled_text(key), _spelled(item)) for key, item in value.items())
        if not result:
            result.fa.set_flow_style()
        return result
    if isinstance(value, list | tuple):
        items = CommentedSeq(_spelled(item) for item in value)
        if not items:
            items.fa.set_flow_style()
        return items
    bare = "null" if value is None else text_of(value)
    if not same(resolve(bare), value):
        raise TypeError(f"{value!r} cannot be written into a header so that it is read back.")
    return _bare(bare)


def _bare(text: str) -> str:
    """Marks a text as unquoted; else ruamel gives it the quotes of the value in whose place it comes."""
    bare: str = PlainScalarString(text)
    return bare


def _spelled_text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text; keys and dates are written as text.")
    if _BARE.fullmatch(text) and _is_text_everywhere(text):
        return _bare(text)
    quoted: str = LiteralScalarString(text) if _LITERAL.fullmatch(text) else DoubleQuotedScalarString(text)
    return quoted


def _is_text_everywhere(text: str) -> bool:
    """Tells whether every YAML reader, of 1.1 as of 1.2, takes the bare scalar for text."""
    if not isinstance(resolve(text), str) or _CORE_NUMBER.fullmatch(text):
        return False
    return bool(_yaml_1_1.resolve(yaml.ScalarNode, text, (True, False)).endswith(":str"))
