"""What a reader of a foreign format gives: statements with the place they come from, and what it left out and why.

Readers are pure of ctxrepo's stores: a path in, a stream of `Item` and `Left` out.  Nothing is left out silently;
a file that cannot be read is a `Left` and stops nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ctxrepo.asset import fields
from ctxrepo.asset.frontmatter import FrontmatterError, decode
from ctxrepo.errors import Invalid, NotFound

LARGEST = 500_000_000
"""Bytes of one file that is read."""

LARGEST_NOTE = 2_000_000
"""Bytes of one Markdown file that is read."""


class Item(NamedTuple):
    """One statement.

    Attributes:
        text: in its author's words.
        where: path of its file as the user would name it, with `/`.
        line: in that file; 0 where a format has no lines, and `where` then ends in what names the entry.
        kind: of the fact, "" to let the words decide.
        created: when it was written down, as assets write times; "" if nobody noted it.
        everywhere: about the person, so that it holds in every project.
    """

    text: str
    where: str
    line: int = 0
    kind: str = ""
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    created: str = ""
    everywhere: bool = False
    reason: str = ""


class Left(NamedTuple):
    """Something that was not taken, and why."""

    where: str
    line: int
    why: str
    text: str = ""


Found = Iterator[Item | Left]


def markdown_files(path: str, skipped: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yields (file, name to show) of the Markdown files at or below a path, in order; links are not followed.

    Args:
        skipped: names of folders that are passed over, beside those with a dot at their beginning.

    Raises:
        NotFound: nothing is there.
    """
    if not os.path.lexists(path):
        raise NotFound(f"There is no file or folder {path}.", hint=f"ls {os.path.dirname(path) or '.'}")
    top = os.path.basename(os.path.normpath(path))
    if not os.path.isdir(path):
        yield path, top
        return
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith(".") and name not in skipped)
        for name in sorted(names):
            full = os.path.join(folder, name)
            if name.endswith(".md") and os.path.isfile(full) and not os.path.islink(full):
                yield full, os.path.relpath(full, path).replace(os.sep, "/")


def read_text(path: str, where: str) -> str | Left:
    """The text of a note, or why it cannot be read."""
    try:
        if os.path.getsize(path) > LARGEST_NOTE:
            return Left(where, 0, "it is larger than a note ever is")
        with open(path, "rb") as handle:
            return decode(handle.read()).replace("\r\n", "\n")
    except OSError as fault:
        return Left(where, 0, f"it cannot be read: {fault.strerror}")
    except FrontmatterError as fault:
        return Left(where, fault.line, f"it cannot be read: {fault.message}")


def read_json(data: bytes, where: str) -> Any:
    """The value of a JSON file, or a list of the values of its lines.

    Raises:
        Invalid: it is neither; `details` says where.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{where} is not UTF-8.", hint=f"iconv -t UTF-8 {where}") from None
    try:
        return json.loads(text)
    except RecursionError:
        raise Invalid(f"{where} is nested too deeply.") from None
    except json.JSONDecodeError as fault:
        first = fault
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (json.JSONDecodeError, RecursionError):
                at = number if values else first.lineno
                raise Invalid(f"{where} is no JSON.", details=[f"{where}:{at}: {first.msg}"]) from None
    return values


def read_file(path: str) -> bytes:
    """The bytes of an export.

    Raises:
        NotFound: nothing is there. Invalid: it is a folder, too large, or may not be read.
    """
    try:
        if os.path.getsize(path) > LARGEST:
            raise Invalid(f"{path} has more than {LARGEST:,} bytes.")
        with open(path, "rb") as handle:
            return handle.read()
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.", hint=f"ls {os.path.dirname(path) or '.'}") from None
    except OSError as fault:
        raise Invalid(f"{path} cannot be read: {fault.strerror}.") from None


def stamp(value: object) -> str:
    """A time as assets write it, from Unix seconds or any ISO text; "" for anything else."""
    try:
        if isinstance(value, bool):
            return ""
        if isinstance(value, int | float):
            when = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            when = datetime.fromisoformat(str(value).strip())
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return fields.stamp(when) if when.year >= 1990 else ""


def texts(value: object) -> tuple[str, ...]:
    """A list of texts, or one; anything else is none."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    return tuple(str(each) for each in value if str(each).strip()) if isinstance(value, list | tuple) else ()
