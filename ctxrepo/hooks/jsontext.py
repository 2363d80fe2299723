"""Editing JSON that somebody else wrote, by text surgery: every byte that is not ours stays.

Settings files of agents are strict JSON on paper. In the wild they hold comments, trailing commas, tabs,
CRLF, a BOM, unicode escapes, no final newline. Loading and dumping loses all of that, so this module finds
where things stand (`parse`), and says what to insert or cut there (`append`, `cut`).

Both keep one agreement, so that a cut restores what stood there before the append:

- a child is appended behind the last one, on a line of its own if that one stands so, else behind one
  blank; a comment on the last child's line stays with it; a trailing comma is kept as the file's habit;
- the first child of an *existing* empty container follows its opening bracket directly; in a container
  that came along with the child the bracket is followed by a blank or a line break. `came_along` asks
  which it was, so that an empty `"hooks": {}` of the user's is left and one of ours is not.

Rejected: json-five (keeps the text, but has no notion of where a line goes, reads a megabyte in
seconds and accepts what the hosts refuse), jsonc-edit (starts a JavaScript runtime), and keeping a copy
of the file to restore (loses what the user changed in between).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

BLANKS = " \t\r\n"
# No possessive repetition in these: Python 3.11.0 to 3.11.3 match it wrong.
_TRIVIA = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.+-])")
_SAME_LINE_COMMENT = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/|//[^\r\n]*)")
_CLOSING = {"{": "}", "[": "]"}


class JsonFault(ValueError):
    """The text is not JSON, even with comments and trailing commas allowed."""

    def __init__(self, text: str, position: int, message: str) -> None:
        super().__init__(message)
        self.line = text.count("\n", 0, position) + 1
        self.message = message


class Node:
    """A value and where it stands: `text[start:end]`; only containers have children, only strings a `string`."""

    __slots__ = ("children", "end", "opening", "start", "string")

    def __init__(self, start: int, end: int, opening: str = "", string: str | None = None) -> None:
        self.start = start
        self.end = end
        self.opening = opening  # "{", "[" or "" for a scalar
        self.string = string
        self.children: list[Child] = []

    def get(self, key: str) -> Child | None:
        """The member that counts when a key occurs twice: the last, as in every host's parser."""
        return next((child for child in reversed(self.children) if child.key == key), None)


class Child:
    """A member of an object or an item of an array."""

    __slots__ = ("comma", "key", "start", "value")

    def __init__(self, start: int, key: str | None, value: Node) -> None:
        self.start = start  # of the key in an object
        self.key = key
        self.value = value
        self.comma: int | None = None  # where the comma behind it stands


class Edit(NamedTuple):
    """Replaces `text[start:end]`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Applies edits that do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def parse(text: str) -> Node | None:
    """Reads a whole text; None when it holds nothing but blanks and comments. Raises `JsonFault`."""
    position = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if position == len(text):
        return None
    root = _read_value(text, position)
    open_nodes = [root] if root.opening else []
    position = root.end
    while open_nodes:
        node = open_nodes[-1]
        position = _skip(text, position)
        if text[position : position + 1] == _CLOSING[node.opening]:
            position = node.end = position + 1
            open_nodes.pop()
        elif not node.children or node.children[-1].comma is not None:
            child = _read_child(text, position, node)
            node.children.append(child)
            position = child.value.end
            if child.value.opening:
                open_nodes.append(child.value)
        elif text[position : position + 1] == ",":
            node.children[-1].comma = position
            position += 1
        else:
            wanted = f"`,` or `{_CLOSING[node.opening]}`"
            raise JsonFault(text, position, f"expected {wanted}, found {_shown(text, position)}")
    position = _skip(text, root.end)
    if position < len(text):
        raise JsonFault(text, position, f"expected the end of the file, found {_shown(text, position)}")
    return root


def append(text: str, node: Node, key: str | None, value: Any) -> list[Edit]:
    """Says how to add a child behind the last one of a container, in the style of what stands there."""
    if not node.children:
        return [Edit(node.start + 1, node.start + 1, _render(key, value, None, ""))]
    last = node.children[-1]
    behind = last.value.end if last.comma is None else last.comma + 1
    position, comment = behind, ""
    while match := _SAME_LINE_COMMENT.match(text, position):
        position, comment = match.end(), match[0]
    before = text[text.rfind("\n", 0, last.start) + 1 : last.start]
    own_line = not before.strip() and "\n" in text[: last.start]
    if own_line or comment.lstrip().startswith("//"):
        indent = before if own_line else _indent_at(text, node.start) + indent_unit(text)
        newline = line_break(text)
        added = newline + indent + _render(key, value, indent_unit(text), newline + indent)
    else:
        added = " " + _render(key, value, None, "")
    if last.comma is not None:
        return [Edit(position, position, added + ",")]
    if position == behind:
        return [Edit(behind, behind, "," + added)]
    return [Edit(behind, behind, ","), Edit(position, position, added)]


def cut(text: str, node: Node, child: Child) -> list[Edit]:
    """Says how to take a child out again, with its comma and the blanks that `append` put before it."""
    number = node.children.index(child)
    end = child.value.end if child.comma is None else child.comma + 1
    blank = len(text[: child.start]) - len(text[: child.start].rstrip(BLANKS))
    gap = text[child.start - blank : child.start]
    start = child.start - blank + _last_break(gap) if "\n" in gap else child.start - (gap[-1:] == " ")
    if number + 1 == len(node.children) and number and child.comma is None:
        comma = node.children[number - 1].comma
        return [Edit(comma, comma + 1, ""), Edit(start, end, "")] if comma is not None else [Edit(start, end, "")]
    if number == 0 and "\n" not in gap:
        start = child.start
        end += text[end : end + 1] == " " and len(node.children) > 1
    return [Edit(start, end, "")]


def came_along(text: str, node: Node) -> bool:
    """Whether a container was written together with its child, not there before as an empty one."""
    return text[node.start + 1 : node.start + 2] in tuple(BLANKS)


def one_line(value: Any) -> str:
    """JSON on one line, with blanks inside the brackets: containers that came along with what they hold."""
    if isinstance(value, dict):
        inside = ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {one_line(item)}" for key, item in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[ {', '.join(one_line(item) for item in value)} ]"
    return json.dumps(value, ensure_ascii=False)


def line_break(text: str) -> str:
    """The line break that the text uses first."""
    place = text.find("\n")
    return "\r\n" if place > 0 and text[place - 1] == "\r" else "\n"


def indent_unit(text: str) -> str:
    """The indentation of the first indented line, two blanks if there is none."""
    match = re.search(r'^([ \t]+)["{\[]', text, re.M)
    return match[1] if match else "  "


def _skip(text: str, position: int) -> int:
    match = _TRIVIA.match(text, position)
    return match.end() if match else position


def _read_child(text: str, position: int, node: Node) -> Child:
    if node.opening == "[":
        return Child(position, None, _read_value(text, position))
    match = _STRING.match(text, position)
    if not match:
        raise JsonFault(text, position, f"expected a name in double quotes, found {_shown(text, position)}")
    colon = _skip(text, match.end())
    if text[colon : colon + 1] != ":":
        raise JsonFault(text, colon, f"expected `:`, found {_shown(text, colon)}")
    return Child(position, json.loads(match[0]), _read_value(text, _skip(text, colon + 1)))


def _read_value(text: str, position: int) -> Node:
    first = text[position : position + 1]
    if first in _CLOSING:
        return Node(position, position + 1, opening=first)
    if match := _STRING.match(text, position):
        return Node(position, match.end(), string=json.loads(match[0]))
    if match := _SCALAR.match(text, position):
        return Node(position, match.end())
    raise JsonFault(text, position, f"expected a value, found {_shown(text, position)}")


def _shown(text: str, position: int) -> str:
    if position >= len(text):
        return "the end of the file"
    return f"`{text[position : position + 20].splitlines()[0]}`" if text[position] not in "\r\n" else "a line break"


def _indent_at(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _last_break(gap: str) -> int:
    place = gap.rfind("\n")
    return place - (gap[place - 1 : place] == "\r")


def _render(key: str | None, value: Any, unit: str | None, newline: str) -> str:
    """A child as text: over several lines when `unit` says how to indent them, else on one."""
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if unit is None:
        return name + one_line(value)
    return name + json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline)
