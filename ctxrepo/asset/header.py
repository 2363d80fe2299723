"""The YAML between the two rules: text in, plain values and their lines out.

libyaml composes the nodes (0.03 ms for a header of fifteen lines) and this module gives the scalars their values,
because none of PyYAML's own loaders keeps the promise "it comes back as it was written": they read YAML 1.1, in which
`no` is False, `12:30` is 750 and `2025-10-24` is a date.

The rule here is YAML 1.2 core, narrowed so that nothing is lost: an unquoted scalar becomes a number or a boolean
only if that value is spelled exactly so again.  `0.5`, `1.0`, `7` and `true` are typed; `012`, `1.10`, `+1`, `.5`,
`0x1F`, `1_000`, `True`, `no`, `on` and every date stay text, and so does anything in quotes.  Hence `text_of` gives
back what the user wrote whatever type a field turns out to have, and a numeric field may still accept `.5` (see
`fields`).  `null`, `~` and nothing at all are null as in core: they have no text to lose.

Rejected: PyYAML's SafeLoader with other resolvers (no line numbers, later duplicates win silently, 0.07 ms) and
ruamel for reading (3 ms).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import yaml

from ctxrepo.errors import Invalid

try:
    from yaml import CBaseLoader as _Loader
except ImportError:  # PyYAML built without libyaml: the same nodes, ten times slower
    from yaml import BaseLoader as _Loader  # type: ignore[assignment]

MAX_HEADER = 256 * 1024  # characters
MAX_DEPTH = 32  # nested maps and lists
MAX_VALUES = 20_000  # values after aliases are followed, so that an alias bomb ends here

_DEFAULT_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map")}
_WORDS: dict[str, object] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "false": False,
}
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,299}")
_FOREIGN_BREAK = re.compile("[\x85\u2028\u2029]|\r(?!\n)")  # libyaml ends a line here, editors and git do not
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_CURLY = re.compile("[“”‘’„]")
_KEYED = re.compile(r"\s*(?:-\s+)?(?P<key>[^\s:#][^:]*?)\s*:(?P<gap>\s*)(?P<value>.*?)\s*$")


class FrontmatterError(Invalid):
    """A file whose header cannot be read; it stays as it is.

    Args:
        line: 1-based line in the file.
        message: full sentences: what is wrong and, where it can be told, how to mend it.
    """

    def __init__(self, line: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


class Entry(NamedTuple):
    """One `key: value` of the top-level block map, as 0-based lines of the header, `stop` excluded."""

    start: int
    stop: int


class Header(NamedTuple):
    """What a header says."""

    fields: dict[str, object]  # key -> str, int, float, bool, None, list or dict
    lines: dict[str, int]  # "key", "key[0]", "key.inner" -> 1-based line in the file


def resolve(text: str) -> object:
    """Gives the value of an unquoted scalar: the text itself, unless another value is spelled exactly so."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-0123456789":
        if _INTEGER.fullmatch(text):
            return int(text)
        try:
            number = float(text)
        except ValueError:
            return text
        if repr(number) == text and text not in ("-inf", "-nan"):
            return number
    return text


def text_of(value: object) -> str:
    """Gives a scalar as its author wrote it (quotes aside); null is the empty text.

    Raises:
        TypeError: for a list or a map.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise TypeError(f"{type(value).__name__} is no scalar.")


def same(a: object, b: object) -> bool:
    """Tells whether two values are equal and of one type: `1`, `1.0` and `true` are three."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def read_header(text: str, first_line: int = 2) -> Header:
    """Reads the YAML of a header or of a whole YAML file.

    Args:
        text: the lines between the rules.
        first_line: the line of the file at which `text` begins.

    Raises:
        FrontmatterError: not YAML, not a map, a key twice, or larger or deeper than a header may be.
    """
    root = compose(text, first_line)
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        return Header({}, {})
    if not isinstance(root, yaml.MappingNode):
        raise _no_map(text, first_line, root)
    walk = _Walk(first_line)
    fields = walk.map(root, "", 1)
    return Header(fields, walk.lines)


def compose(text: str, first_line: int) -> yaml.Node | None:
    """Composes the nodes of a header; the root is None for a header without content.

    Raises:
        FrontmatterError: not YAML, or too large.
    """
    if len(text) > MAX_HEADER:
        raise FrontmatterError(
            first_line, f"The header has {len(text):,} characters; more than {MAX_HEADER:,} are not read."
        )
    if bad := _FOREIGN_BREAK.search(text) or _CONTROL.search(text):
        line = text.count("\n", 0, bad.start()) + first_line
        raise FrontmatterError(line, f"The header holds the control character U+{ord(bad.group()):04X}; remove it.")
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as err:
        in_quotes = err.context_mark and "quoted scalar" in (err.context or "")
        mark = err.context_mark if in_quotes else err.problem_mark or err.context_mark
        raise _explained(text, first_line, mark.line if mark else 0, err) from err
    except yaml.YAMLError as err:
        raise FrontmatterError(first_line, f"The header is not YAML: {err}.") from err
    finally:
        loader.dispose()


def entries(root: yaml.Node) -> dict[str, Entry] | None:
    """Finds the lines of every top-level entry, comments and blank lines between entries left out.

    Returns:
        None if the map is not in block style at the left margin, so that lines cannot be exchanged one by one.
    """
    if not isinstance(root, yaml.MappingNode) or root.flow_style or root.start_mark.column:
        return None
    found: dict[str, Entry] = {}
    for key, value in root.value:
        line, column = _end(value)
        if (line, column) < (key.end_mark.line, key.end_mark.column):  # an empty value has no place of its own
            line, column = key.end_mark.line, 1
        found[key.value] = Entry(key.start_mark.line, max(line + (column > 0), key.end_mark.line + 1))
    starts = sorted(entry.start for entry in found.values())
    return found if len(set(starts)) == len(starts) else None


def _end(node: yaml.Node) -> tuple[int, int]:
    """Finds where a node's own text ends; libyaml lets a block collection end only where the next token begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        if not isinstance(last, tuple):
            return max(_end(last), (last.start_mark.line, last.start_mark.column))
        key, value = last
        return max(_end(value), (key.end_mark.line, key.end_mark.column))
    return node.end_mark.line, node.end_mark.column


class _Walk:
    """Turns nodes into values, counting what it visits."""

    def __init__(self, first_line: int) -> None:
        self.lines: dict[str, int] = {}
        self.first_line = first_line
        self.visited = 0

    def value(self, node: yaml.Node, path: str, depth: int) -> object:
        self.visited += 1
        if self.visited > MAX_VALUES or depth > MAX_DEPTH:
            what = f"nests deeper than {MAX_DEPTH} levels" if depth > MAX_DEPTH else f"holds over {MAX_VALUES:,} values"
            raise self.fault(node, f"The header {what}, aliases included; that is not read.")
        if node.tag not in _DEFAULT_TAGS:
            raise self.fault(node, f"The tag {node.tag!r} is not allowed in a header; write the value without it.")
        if isinstance(node, yaml.ScalarNode):
            # libyaml reports the style of an unquoted scalar as "", the pure parser as None
            plain = not node.style
            return resolve(node.value) if plain else node.value
        if isinstance(node, yaml.SequenceNode):
            items: list[object] = []
            for number, item in enumerate(node.value):
                inner = f"{path}[{number}]"
                self.lines[inner] = item.start_mark.line + self.first_line
                items.append(self.value(item, inner, depth + 1))
            return items
        return self.map(node, path + ".", depth + 1)

    def map(self, node: yaml.Node, prefix: str, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.fault(key, "A key of the header is not a plain text.")
            name = key.value
            if name in result:
                first = self.lines[prefix + name]
                raise self.fault(key, f"The key {name!r} stands twice, first in line {first}; remove one of them.")
            self.lines[prefix + name] = key.start_mark.line + self.first_line
            result[name] = self.value(value, prefix + name, depth)
        return result

    def fault(self, node: yaml.Node, message: str) -> FrontmatterError:
        return FrontmatterError(node.start_mark.line + self.first_line, message)


def _no_map(text: str, first_line: int, root: yaml.Node) -> FrontmatterError:
    kind = "list" if isinstance(root, yaml.SequenceNode) else "text"
    line = text.split("\n")[root.start_mark.line : root.start_mark.line + 1]
    mend = _mend(line[0].rstrip("\r")) if kind == "text" and line else None
    message = f"The header is not a map of `key: value` lines but a {kind}." + (f" {mend}" if mend else "")
    return FrontmatterError(root.start_mark.line + first_line, message)


def _explained(text: str, first_line: int, at: int, err: yaml.MarkedYAMLError) -> FrontmatterError:
    """Says what a person would see in the line, rather than what the parser was expecting there."""
    lines = text.split("\n")
    if err.context_mark and "while parsing a flow" in (err.context or ""):
        what = "list" if "sequence" in (err.context or "") else "map"
        return FrontmatterError(
            err.context_mark.line + first_line,
            f"The {what} in brackets that begins here is not closed; brackets that are text need quotes.",
        )
    for number in _suspects(lines, at):
        if message := _mend(lines[number].rstrip("\r")):
            return FrontmatterError(number + first_line, message)
    if at < len(lines) and lines[at].startswith(" ") and "mapping values" in (err.problem or ""):
        return FrontmatterError(
            at + first_line, "The line is indented deeper than the one above, which has a value already; align the two."
        )
    detail = " ".join(part for part in (err.context, err.problem) if part)
    return FrontmatterError(min(at, len(lines) - 1) + first_line, f"The header is not YAML: {detail}.")


def _suspects(lines: list[str], at: int) -> Iterator[int]:
    """Yields the reported line and the nearest one above it that has content: the fault often shows one line late."""
    if at < len(lines):
        yield at
    for number in range(min(at, len(lines)) - 1, -1, -1):
        if lines[number].strip():
            yield number
            return


def _mend(line: str) -> str | None:
    """Names the fault of one line and the line that would be right, or None if it looks sound."""
    if line.startswith("\t") or line.lstrip(" ").startswith("\t"):
        return "The line is indented with a tab; YAML wants spaces."
    match = _KEYED.match(line)
    if not match:
        bare = line.strip()
        return f"The line is no `key: value`: {bare[:60]!r}." if bare and bare[0] not in "-#}])\"'" else None
    key, value = match["key"], match["value"]
    if not match["gap"] and value:
        return None if value.startswith("//") else f"A space is missing after the colon; write `{key}: {value}`."
    if value and value[0] in "\"'":
        return _mend_quotes(key, value)
    if _CURLY.match(value):
        return f"Curly quotes do not quote in YAML; write `{key}: {_quoted(_CURLY.sub('', value))}`."
    if ": " in value or value.endswith(":"):
        return f"The value of {key!r} holds a colon; put it in quotes: `{key}: {_quoted(value)}`."
    if value[:1] in "@`%*&!{}[],|>" and value:
        return f"The value of {key!r} begins with {value[0]!r}; put it in quotes: `{key}: {_quoted(value)}`."
    return None


def _mend_quotes(key: str, value: str) -> str | None:
    quote = value[0]
    closed = value.endswith(quote) and len(value) > 1
    inner = value[1:-1] if closed else value[1:]
    if quote not in inner.replace("\\" + quote, "").replace(quote * 2, ""):
        return None if closed else f"The quotes around the value of {key!r} are not closed: {value[:60]}"
    if closed:
        return f"The value of {key!r} has quotes inside quotes; write it as `{key}: {_quoted(inner)}`."
    return f"The value of {key!r} has text after its closing quote; write it as `{key}: {_quoted(value)}`."


def _quoted(value: str) -> str:
    if '"' not in value and "\\" not in value:
        return f'"{value}"'
    return "'" + value.replace("'", "''") + "'"
