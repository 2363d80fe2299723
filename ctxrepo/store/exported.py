"""The stream between `git fast-export` and `git fast-import`, read and written record by record.

A payload is taken by its announced length, never by looking for its end, so a file that holds `data 4` or `commit
refs/heads/main` on a line of its own is just a file.  Only what this program asks for is understood (`COMMAND`);
anything else is an error and not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from ctxrepo.errors import CtxError

COMMAND = (
    *("fast-export", "--signed-tags=strip", "--tag-of-filtered-object=drop", "--show-original-ids"),
    *("--reencode=no", "--use-done-feature", "--no-data"),
)
COMMAND_WITH_DATA = COMMAND[:-1]
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(slots=True)
class Blob:
    """A file's content; `mark` as later records call it."""

    mark: bytes
    oid: str
    data: bytes


@dataclass(slots=True)
class Entry:
    """One change of a commit: `path` gets the blob `mark` (None: goes)."""

    path: str
    mode: bytes = b""
    mark: bytes | None = None


@dataclass(slots=True)
class Commit:
    """A commit; `head` are its lines before the message, `parents` those after it that name commits."""

    ref: bytes
    mark: bytes
    oid: str
    head: list[bytes]
    message: bytes
    parents: list[bytes] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    everything: bool = False  # begins with `deleteall`


@dataclass(slots=True)
class Tag:
    """An annotated tag."""

    head: list[bytes]
    message: bytes


@dataclass(slots=True)
class Line:
    """A record without payload, such as `reset` with its `from`."""

    lines: list[bytes]


Record = Blob | Commit | Tag | Line


class _Lines:
    """A stream of lines that can give one back."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept: bytes | None = None

    def next(self) -> bytes:
        if self._kept is not None:
            line, self._kept = self._kept, None
            return line
        return self._stream.readline()

    def give_back(self, line: bytes) -> None:
        self._kept = line

    def payload(self, line: bytes) -> bytes:
        size = int(line[5:])
        data = self._stream.read(size)
        if len(data) != size:
            raise CtxError("The export of the history ended early; nothing was changed.", hint="git fsck")
        after = self._stream.readline()
        if after != b"\n":
            self.give_back(after)
        return data


def records(stream: IO[bytes]) -> Iterator[Record]:
    """Yields what `COMMAND` prints, up to its `done`.

    Raises:
        CtxError: it ended early, or holds something unknown.
    """
    lines = _Lines(stream)
    while True:
        line = lines.next()
        if line == b"done\n":
            return
        if not line:
            raise CtxError("The export of the history ended early; nothing was changed.", hint="git fsck")
        if line in (b"\n", b"feature done\n"):
            continue
        if line == b"blob\n":
            yield _blob(lines)
        elif line.startswith(b"commit "):
            yield _commit(lines, line)
        elif line.startswith(b"tag "):
            yield _tag(lines, line)
        elif line.startswith(b"reset "):
            after = lines.next()
            if not after.startswith(b"from "):
                lines.give_back(after)
            yield Line([line, after] if after.startswith(b"from ") else [line])
        else:
            raise CtxError(f"The history holds a record that is not understood: {line[:20]!r}.")


def _blob(lines: _Lines) -> Blob:
    blob = Blob(b"", "", b"")
    while True:
        line = lines.next()
        if line.startswith(b"mark "):
            blob.mark = line[5:-1]
        elif line.startswith(b"original-oid "):
            blob.oid = line[13:-1].decode("ascii")
        else:
            blob.data = lines.payload(line)
            return blob


def _commit(lines: _Lines, first: bytes) -> Commit:
    commit = Commit(first[7:-1], b"", "", [], b"")
    while not (line := lines.next()).startswith(b"data "):
        if line.startswith(b"mark "):
            commit.mark = line[5:-1]
        elif line.startswith(b"original-oid "):
            commit.oid = line[13:-1].decode("ascii")
        elif not line:
            raise CtxError("The export of the history ended early; nothing was changed.", hint="git fsck")
        else:
            commit.head.append(line)
    commit.message = lines.payload(line)
    while True:
        line = lines.next()
        if line.startswith((b"from ", b"merge ")):
            commit.parents.append(line)
        elif line.startswith(b"M "):
            mode, mark, path = line[2:-1].split(b" ", 2)
            commit.entries.append(Entry(_path(path), mode, mark))
        elif line.startswith(b"D "):
            commit.entries.append(Entry(_path(line[2:-1])))
        elif line == b"deleteall\n":
            commit.everything = True
        else:
            lines.give_back(line)
            return commit


def _tag(lines: _Lines, first: bytes) -> Tag:
    head = [first]
    while not (line := lines.next()).startswith(b"data "):
        if not line:
            raise CtxError("The export of the history ended early; nothing was changed.", hint="git fsck")
        if not line.startswith(b"original-oid "):
            head.append(line)
    return Tag(head, lines.payload(line))


def written(record: Record) -> bytes:
    """Gives a record as fast-import reads it."""
    if isinstance(record, Blob):
        return b"blob\nmark %s\ndata %d\n%s\n" % (record.mark, len(record.data), record.data)
    if isinstance(record, Line):
        return b"".join(record.lines)
    if isinstance(record, Tag):
        return b"%sdata %d\n%s\n" % (b"".join(record.head), len(record.message), record.message)
    parts = [b"commit %s\nmark %s\n" % (record.ref, record.mark), *record.head]
    parts.append(b"data %d\n%s\n" % (len(record.message), record.message))
    parts += record.parents
    parts += [b"deleteall\n"] * record.everything
    for entry in record.entries:
        path = _quoted(entry.path)
        parts.append(b"D %s\n" % path if entry.mark is None else b"M %s %s %s\n" % (entry.mode, entry.mark, path))
    return b"".join([*parts, b"\n"])


def _path(raw: bytes) -> str:
    if raw.startswith(b'"'):
        raw = _ESCAPE.sub(lambda found: _unescaped(found[1]), raw[1:-1])
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8)]) if code.isdigit() else _LETTERS.get(code, code)


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % escaped
