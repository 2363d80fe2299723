"""Commits made from a stream, without index, work tree or HEAD.

`git fast-import` reads the trees of the touched folders, writes blobs, trees and commits, and here
never moves a branch: it ends on a scratch reference of its own that is deleted at once, and the caller publishes the
commit. So a fault or a kill in the middle leaves nothing but loose objects for git's garbage collection.
Only the cost of the touched folders shows (about 10 ms at 100,000 files). The same process
answers what the parent commit holds (`ls`), which saves a `cat-file` per transaction.

Rejected: `write-tree` on the real index, which sweeps the person's staged files into our commit;
a temporary index (300 ms at 100,000 files).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from ctxrepo.errors import UsageFault
from ctxrepo.store.git import Git, end, failure

SCRATCH = "refs/ctxrepo/tx"
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_BREAKS = re.compile(r"[\s\x00-\x1f\x7f\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Signature:
    """Who makes a commit, and when (seconds since 1970, UTC)."""

    name: str
    email: str
    when: int

    def line(self) -> str:
        """Returns `Name <mail> seconds +0000`, with nothing in it that could end the line early."""
        return f"{_clean_name(self.name) or 'unknown'} <{_clean_name(self.email)}> {self.when} +0000"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a commit holds at a path."""

    mode: int
    blob: str


def one_line(text: str) -> str:
    """Returns `text` on one line, without control characters: nothing in it can forge a trailer."""
    return _BREAKS.sub(" ", text).strip()


def message(subject: str, trailers: Iterable[tuple[str, str | None]]) -> str:
    """Returns a commit message: subject, blank line, trailers; empty values are left out.

    Raises:
        UsageFault: a trailer's key is not made of letters, digits and hyphens.
    """
    lines = []
    for key, value in trailers:
        if not _KEY.fullmatch(key):
            raise UsageFault(f"{key!r} cannot be the key of a commit trailer.")
        if value and one_line(value):
            lines.append(f"{key}: {one_line(value)}")
    return "\n".join([one_line(subject), "", *lines, ""]) if lines else one_line(subject) + "\n"


class Import:
    """One run of fast-import on top of `base` (None: the branch has no commit yet).

    Use as a context manager; leaving it without `finish` makes nothing. The objects are on disk when `finish` returns:
    loose ones for the few files of an ordinary operation, with `bulk` a pack.
    """

    def __init__(self, git: Git, common_dir: str, base: str | None, token: str, *, bulk: bool = False) -> None:
        self._git = git
        self._scratch = f"{common_dir}/{SCRATCH}/{token}"
        self._ref = f"{SCRATCH}/{token}"
        self._base = base
        self._marks = 0
        self._ids: list[str] = []
        durable = "none,pack,pack-metadata" if bulk else "none,loose-object"
        self._child = git.start(
            "fast-import",
            "--quiet",
            "--force",
            "--date-format=raw-permissive",
            "--done",
            config=(
                f"fastimport.unpackLimit={1 if bulk else 1_000_000}",
                f"core.fsync={durable}",
                "core.fsyncMethod=batch",
            ),
        )

    def __enter__(self) -> Import:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child.returncode is None:
            end(self._child)
        self.forget()

    def forget(self) -> None:
        """Deletes the scratch reference; the commits live on through the branch that was moved to them."""
        with suppress(OSError):
            os.unlink(self._scratch)

    def entry(self, path: str) -> Entry | None:
        """Returns what the base commit holds at `path`, None when nothing."""
        if self._base is None:
            return None
        self._send(f"ls {self._base} {quoted(path)}\n".encode("utf-8", "surrogateescape"))
        answer = self._answer()
        if answer.startswith(b"missing "):
            return None
        mode, _, blob, *_ = answer.split(None, 3)
        return Entry(int(mode, 8), blob.decode("ascii"))

    def commit(self, text: str, author: Signature, committer: Signature) -> None:
        """Begins a commit; the first stands on the base, each further one on the one before it."""
        body = text.encode("utf-8", "replace")
        lines = [
            f"commit {self._ref}",
            f"mark :{self._marks + 1}",
            f"author {author.line()}",
            f"committer {committer.line()}",
            f"data {len(body)}",
        ]
        self._send("\n".join(lines).encode("utf-8", "replace") + b"\n" + body + b"\n")
        before = f":{self._marks}" if self._marks else self._base
        if before:
            self._send(f"from {before}\n".encode())
        self._marks += 1

    def modify(self, path: str, mode: int, data: bytes) -> None:
        """Puts `data` at `path` in the current commit."""
        self._send(
            f"M {mode:o} inline {quoted(path)}\ndata {len(data)}\n".encode("utf-8", "surrogateescape") + data + b"\n"
        )

    def place(self, path: str, entry: Entry) -> None:
        """Puts an existing blob at `path` in the current commit."""
        self._send(f"M {entry.mode:o} {entry.blob} {quoted(path)}\n".encode("utf-8", "surrogateescape"))

    def delete(self, path: str) -> None:
        """Takes `path` out of the current commit."""
        self._send(f"D {quoted(path)}\n".encode("utf-8", "surrogateescape"))

    def finish(self) -> list[str]:
        """Ends the stream and returns the ids of the commits, oldest first.

        Raises:
            GitFailed: git could not make them; nothing was changed.
        """
        for mark in range(1, self._marks + 1):
            self._send(f"get-mark :{mark}\n".encode())
            self._ids.append(self._answer().decode("ascii").strip())
        out, err = self._child.communicate(b"done\n")
        if self._child.returncode != 0:
            raise failure(("fast-import",), self._child.returncode, err + out)
        return self._ids

    def _send(self, data: bytes) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(data)
        except BrokenPipeError:
            raise self._broken() from None

    def _answer(self) -> bytes:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._broken() from None
        line = self._child.stdout.readline()
        if not line:
            raise self._broken()
        return line

    def _broken(self) -> Exception:
        assert self._child.stderr is not None
        said = self._child.stderr.read()
        return failure(("fast-import",), self._child.wait(), said)


def quoted(path: str) -> str:
    """Returns `path` as fast-import wants it: C-style quotes where a plain one would be misread."""
    if path.startswith('"') or "\n" in path or " " in path:
        escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return path


def clear_scratch(common_dir: str, mark: str) -> None:
    """Deletes scratch references beginning with `mark` that killed processes left; call it under the store's lock.

    Work trees of one repository have locks of their own, hence a mark of their own.
    """
    with suppress(OSError), os.scandir(f"{common_dir}/{SCRATCH}") as found:
        for item in found:
            if item.name.startswith(mark):
                with suppress(OSError):
                    os.unlink(item.path)


def _clean_name(text: str) -> str:
    return one_line(re.sub(r"[<>]", "", text))
