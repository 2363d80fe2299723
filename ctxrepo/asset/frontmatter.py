"""A Markdown file with a YAML header: the one reader and the one writer of the whole project.

python-frontmatter gives the interface, not the code: `HeaderHandler` is a handler for it, so that
`frontmatter.loads(text, handler=HeaderHandler())` understands what this package writes, but `parse` does without
`frontmatter.loads`.  That strips bodies, splits at any line of three or more dashes, reads YAML 1.1, decodes bytes
without saying where they are broken, and dies on keys named `content` or `handler`.  None of it can be had right from
outside.

Where a header ends and a body begins:

* A rule is a line of exactly three dashes (white space may follow); the header runs from the first line to the next
  rule.
* A file may begin with a thematic break instead.  It is one if no closing rule follows, or an empty line follows it,
  and its first line of text is no `key: value`.  (Pandoc draws the line at the same place.)
* `----`, `---` with text behind it and `---` inside a value end nothing.

The body is whatever stands behind the closing rule, to the byte; nothing is stripped.  New files are UTF-8, LF,
without BOM; a rewritten file keeps its own BOM and line endings.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from frontmatter.default_handlers import YAMLHandler

from ctxrepo.asset.header import FrontmatterError, read_header

__all__ = [
    "MAX_BYTES",
    "FrontmatterError",
    "HeaderHandler",
    "Parsed",
    "check_size",
    "decode",
    "parse",
    "parse_plain",
    "render",
]

MAX_BYTES = 8 * 1024 * 1024  # of one asset file

_BOM = "\ufeff"
_LEAD = re.compile(rf"{_BOM}?(?:[ \t]*\r?\n)*")  # above the header only we accept empty lines, see `check`
_RULE = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"""(?:[^\s#\-"'][^\n]*?|"[^"\n]*"|'[^'\n]*'|-[^\s-][^\n]*?):(?:[ \t\r\n]|\Z)|[{?]""")
_EMPTY_LINES = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*")
_WIDE_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Parsed(NamedTuple):
    """What a file says."""

    fields: dict[str, object]  # header key -> str, int, float, bool, None, list, dict (see `header`)
    lines: dict[str, int]  # "key", "key[0]", "key.inner" -> 1-based line
    body: str  # all behind the closing rule, or the whole text of a file without header
    body_line: int  # 1-based line at which the body begins; 1 = there is no header
    text: str  # the whole file


class _Span(NamedTuple):
    """Where a header stands in its text, as offsets."""

    start: int
    stop: int
    body: int


def check_size(size: int) -> None:
    """Refuses a file for its size, before anybody reads it.

    Raises:
        FrontmatterError: over `MAX_BYTES`.
    """
    if size > MAX_BYTES:
        raise FrontmatterError(
            1,
            f"The file has {size:,} bytes; Markdown files of more than {MAX_BYTES:,} are not read.",
            hint="Split it, or keep it under originals/ and write a short document about it.",
        )


def decode(data: bytes) -> str:
    """Decodes a file; a BOM stays as the first character and line endings stay as they are.

    Raises:
        FrontmatterError: too large, not UTF-8, or with NUL bytes; says which encoding it seems to be and how to
        convert it.
    """
    check_size(len(data))
    for mark, name in _WIDE_MARKS.items():
        if data.startswith(mark):
            raise _foreign(1, f"The file is {name}, not UTF-8.", name)
    if (nul := data.find(b"\x00")) >= 0:
        if wide := _wide_without_mark(data):
            raise _foreign(1, f"The file seems to be {wide} without a byte order mark, not UTF-8.", wide)
        line = data.count(b"\n", 0, nul) + 1
        raise FrontmatterError(line, f"The file holds a NUL byte (offset {nul}); it is not a text file.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        broken = f"The file is not UTF-8: byte 0x{data[err.start]:02X} at offset {err.start}."
        for name in ("GB18030", "CP1252"):
            try:
                data.decode(name)
            except UnicodeDecodeError:
                continue
            raise _foreign(line, f"{broken} It could be {name}.", name) from err
        raise FrontmatterError(line, broken) from err


def parse(text: str) -> Parsed:
    """Reads a Markdown file.

    Raises:
        FrontmatterError: the header is not closed, not YAML, or not a map; nothing is guessed.
    """
    span = _find(text)
    if span is None:
        body = text[1:] if text.startswith(_BOM) else text
        return Parsed({}, {}, body, 1, text)
    header = text[span.start : span.stop]
    first = text.count("\n", 0, span.start) + 1
    fields, lines = read_header(header, first)
    return Parsed(fields, lines, text[span.body :], first + header.count("\n") + 1, text)


def parse_plain(text: str) -> Parsed:
    """Reads a YAML file such as ctxrepo.yaml, by the same rules as a header.

    Raises:
        FrontmatterError: not YAML, or not a map.
    """
    fields, lines = read_header(text.removeprefix(_BOM), 1)
    return Parsed(fields, lines, "", text.count("\n") + 1, text)


def render(
    parsed: Parsed | None,
    changes: Mapping[str, object],
    removals: Collection[str] = (),
    body: str | None = None,
) -> str:
    """Writes a file anew; whatever is not named stays byte for byte.

    Args:
        parsed: the file as it was read, or None for a new one.
        changes: header keys to set, new ones in the given order behind the others; None is written as `null`.
        removals: header keys to take out.
        body: a new body, or None to keep the old one; gets a final line break if it lacks one, and the file's line
            endings.

    Raises:
        FrontmatterError: an entry cannot be changed without changing another (see `rewrite`).
        TypeError: a value that cannot be written so that it is read back.
    """
    # ruamel takes 20 ms to import and readers never need it
    from ctxrepo.asset.rewrite import rewrite

    if parsed is None:
        return f"---\n{rewrite('', changes)}---\n{_with_final_break(body or '')}"
    text = parsed.text
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    new_body = parsed.body if body is None else _with_newlines(_with_final_break(body), newline)
    span = _find(text)
    if span is None:
        head = _BOM if text.startswith(_BOM) else ""
        header = rewrite("", changes).replace("\n", newline)
        return f"{head}---{newline}{header}---{newline}{new_body}" if header else head + new_body
    old = text[span.start : span.stop]
    header = rewrite(old, changes, removals) if old else rewrite("", changes).replace("\n", newline)
    closing = text[span.stop : span.body]
    return text[: span.start] + header + (closing if closing.endswith("\n") else closing + newline) + new_body


class HeaderHandler(YAMLHandler):
    """The rules of this module as a handler of python-frontmatter, for tools that are built on it."""

    def detect(self, text: str) -> bool:
        """Tells whether the text has a header."""
        return _find(text) is not None

    def split(self, text: str) -> tuple[str, str]:
        """Splits a text into header and body."""
        span = _find(text)
        return ("", text) if span is None else (text[span.start : span.stop], text[span.body :])

    def load(self, fm: str, **_: object) -> dict[str, object]:
        """Reads a header."""
        return read_header(fm).fields

    def export(self, metadata: dict[str, object], **_: object) -> str:
        """Writes a new header."""
        from ctxrepo.asset.rewrite import rewrite

        return rewrite("", metadata).rstrip("\n")


def _find(text: str) -> _Span | None:
    """Finds the header.

    Raises:
        FrontmatterError: it has no closing rule.
    """
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    opening = _RULE.match(text, start)
    if opening is None:
        return None
    inside = opening.end()
    content = _EMPTY_LINES.match(text, inside)
    keyed = _KEY_LINE.match(text, content.end() if content else inside)
    closing = _CLOSING.search(text, inside) if opening.group().endswith("\n") else None
    if closing is None:
        if keyed is None:
            return None
        line = text.count("\n", 0, start) + 1
        raise FrontmatterError(line, "The header that begins here has no closing `---` line.")
    block = text[inside : closing.start()]
    if keyed is None and block.strip() and not block.split("\n", 1)[0].strip():
        return None
    return _Span(inside, closing.start(), closing.end())


def _with_final_break(body: str) -> str:
    return body if not body or body.endswith("\n") else body + "\n"


def _with_newlines(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _foreign(line: int, message: str, encoding: str) -> FrontmatterError:
    return FrontmatterError(line, message, hint=f"`iconv -f {encoding} -t UTF-8 FILE > NEW` converts it.")


def _wide_without_mark(data: bytes) -> str | None:
    """Names the UTF-16 form in which most of the text would be Latin, if there is one."""
    head = data[:4096]
    half = len(head) // 2
    if half and head[1::2].count(0) > half * 0.4 and not head[0::2].count(0):
        return "UTF-16LE"
    if half and head[0::2].count(0) > half * 0.4 and not head[1::2].count(0):
        return "UTF-16BE"
    return None
