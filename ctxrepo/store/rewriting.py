"""A history rewritten commit by commit: from `fast-export` through a sieve into a fresh repository.

Two passes. The first finds every version of what shall go and every path it ever had, renames by hand included; the
second leaves these out and cleans the rest. Then every object of the result is read once more: what a sieve missed is
found before anything counts, and the old repository was only read.

A commit that becomes empty stays, with its author and time: the history keeps saying that something was done. Full
ids of commits in messages (`Ctx-Undo`) follow the commits that they name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol

from ctxrepo.errors import CtxError
from ctxrepo.store import exported
from ctxrepo.store.exported import Blob, Commit, Entry, Tag, written
from ctxrepo.store.fastimport import Signature
from ctxrepo.store.git import Git, end, failure

if TYPE_CHECKING:
    import subprocess

_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
_FRESH_MARKS = 1_000_000_000


class Sieve(Protocol):
    """What shall be gone, told by whoever knows what a file means."""

    def learn(self, path: str, data: bytes) -> None:
        """Is shown each version of a file that `suspects`, or that lies where a purged file once lay."""

    def suspects(self, data: bytes) -> bool:
        """Whether this content may be a version of a purged file."""

    def places(self) -> Iterable[str]:
        """Paths at which a purged file is known to have lain."""

    def drops(self, path: str, data: bytes) -> bool:
        """Whether this version of this file leaves the history."""

    def cleaned(self, path: str, data: bytes) -> bytes:
        """The content of another file without the text."""

    def placed(self, path: str) -> str:
        """Where that other file lies from now on: its name may be made of the text too."""

    def message(self, text: str, touched: bool) -> str:
        """A commit's message without the text; `touched`: the commit changed a purged file."""

    def leaks(self, data: bytes) -> bool:
        """Whether a stored object still holds the text."""


@dataclass(slots=True)
class Receipt:
    """What a purge did: counts and hashes, never the text.

    Attributes:
        old_head, new_head: the branch's commit before and after.
        commits: how many commits were written anew; all ids from the first touched one on are new.
        versions: blob ids of the file versions that are gone.
        files: paths of purged files that the branch held until now.
        cleaned: paths of other files from which the text was taken, now or in the past.
        messages: how many commit messages were changed.
        objects: how many objects of the new repository were read through; none holds the text.
        holders: what still holds the old history outside (`remote origin`), when told to go on.
        left: paths that a person edited in that moment; they stayed as they are.
    """

    old_head: str
    new_head: str = ""
    commits: int = 0
    versions: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)
    cleaned: set[str] = field(default_factory=set)
    messages: int = 0
    objects: int = 0
    holders: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class _Importer:
    """`git fast-import` in the fresh repository."""

    def __init__(self, git: Git) -> None:
        durable = "core.fsync=pack,pack-metadata,reference"
        self._child = git.start(
            *("fast-import", "--quiet", "--done", "--date-format=raw-permissive"),
            config=("fastimport.unpackLimit=1", durable, "core.fsyncMethod=batch"),
        )

    def send(self, data: bytes) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(data)
        except BrokenPipeError:
            raise self._broken() from None

    def id_of(self, mark: bytes) -> bytes:
        """The new id of a commit that was sent."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.send(b"get-mark %s\n" % mark)
        self._child.stdin.flush()
        return self._child.stdout.readline().strip()

    def finish(self) -> None:
        _, err = self._child.communicate(b"done\n")
        if self._child.returncode != 0:
            raise failure(("fast-import",), self._child.returncode, err)

    def stop(self) -> None:
        if self._child.returncode is None:
            end(self._child)

    def _broken(self) -> Exception:
        assert self._child.stderr is not None
        said = self._child.stderr.read()
        return failure(("fast-import",), self._child.wait(), said)


@contextmanager
def _export(git: Git, names: list[str]) -> Iterator[IO[bytes]]:
    child: subprocess.Popen[bytes] = git.start(*exported.COMMAND_WITH_DATA, *names, "--")
    try:
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdin.close()
        yield child.stdout
    finally:
        if child.poll() is None:
            end(child)
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()


def _learn(git: Git, sieve: Sieve, names: list[str]) -> dict[str, set[str]]:
    """Shows the sieve what it must know, and returns which paths each blob ever had."""
    uses: dict[str, set[str]] = {}
    known: dict[bytes, tuple[str, bytes | None]] = {}
    with _export(git, names) as stream:
        for record in exported.records(stream):
            if isinstance(record, Blob):
                known[record.mark] = record.oid, record.data if sieve.suspects(record.data) else None
            elif isinstance(record, Commit):
                for entry in record.entries:
                    if entry.mark in known:
                        oid, data = known[entry.mark]
                        uses.setdefault(oid, set()).add(entry.path)
                        if data is not None:
                            sieve.learn(entry.path, data)
    places = set(sieve.places())
    for oid, paths in uses.items():
        for path in paths & places:
            sieve.learn(path, git.run("cat-file", "blob", oid))
    return uses


def rewrite(
    old: Git, new: Git, sieve: Sieve, names: list[str], branch: str, receipt: Receipt, text: str, who: Signature
) -> None:
    """Sends the history of `names` through the sieve, and a commit on `branch` that records it after that.

    Raises:
        CtxError: git failed, or one of the new objects holds the text still; the old repository was only read.
    """
    rewriter = _Rewriter(sieve, _learn(old, sieve, names), receipt)
    importer = _Importer(new)
    rewriter.id_of = importer.id_of
    try:
        with _export(old, names) as stream:
            for record in exported.records(stream):
                for each in rewriter.rewritten(record):
                    importer.send(written(each))
        ref = branch.encode()
        head = [b"author %s\n" % who.line().encode(), b"committer %s\n" % who.line().encode()]
        last = Commit(ref, b":%d" % rewriter.fresh_mark(), "", head, text.encode())
        importer.send(written(last))
        importer.finish()
    finally:
        importer.stop()
    receipt.new_head = new.run("rev-parse", "HEAD").decode("ascii").strip()
    _verify(new, sieve, receipt)


class _Rewriter:
    """Turns each record of the old history into those of the new one."""

    def __init__(self, sieve: Sieve, uses: dict[str, set[str]], receipt: Receipt) -> None:
        self._sieve = sieve
        self._uses = uses
        self._receipt = receipt
        self._special: dict[tuple[bytes, str], bytes | None] = {}  # (mark, path) → another blob, or none
        self._commits: dict[bytes, bytes] = {}  # old id → mark
        self._marks = _FRESH_MARKS
        self._places = frozenset(sieve.places())
        self.id_of: Callable[[bytes], bytes] = lambda mark: mark

    def fresh_mark(self) -> int:
        self._marks += 1
        return self._marks

    def rewritten(self, record: exported.Record) -> Iterator[exported.Record]:
        if isinstance(record, Blob):
            yield from self._blob(record)
        elif isinstance(record, Commit):
            yield self._commit(record)
        elif isinstance(record, Tag):
            record.message = self._message(record.message, touched=False)
            yield record
        else:
            yield record

    def _blob(self, blob: Blob) -> Iterator[Blob]:
        plain = False
        for path in sorted(self._uses.get(blob.oid, ())):
            if self._sieve.drops(path, blob.data):
                self._special[blob.mark, path] = None
                self._receipt.versions.add(blob.oid)
                continue
            data = self._sieve.cleaned(path, blob.data)
            if data == blob.data:
                plain = True
                continue
            mark = b":%d" % self.fresh_mark()
            self._special[blob.mark, path] = mark
            self._receipt.cleaned.add(self._sieve.placed(path))
            yield Blob(mark, "", data)
        if plain:
            yield blob

    def _commit(self, commit: Commit) -> Commit:
        touched = False
        entries = []
        for entry in commit.entries:
            key = (entry.mark or b"", entry.path)
            touched = touched or entry.path in self._places
            if key not in self._special:
                entries.append(Entry(self._sieve.placed(entry.path), entry.mode, entry.mark))
            elif self._special[key] is None:
                touched = True
                entries.append(Entry(entry.path))
            else:
                entries.append(Entry(self._sieve.placed(entry.path), entry.mode, self._special[key]))
        commit.entries = entries
        commit.message = self._message(commit.message, touched)
        self._commits[commit.oid.encode()] = commit.mark
        self._receipt.commits += 1
        return commit

    def _message(self, raw: bytes, touched: bool) -> bytes:
        text = raw.decode("utf-8", "surrogateescape")
        new = self._sieve.message(text, touched).encode("utf-8", "surrogateescape")
        self._receipt.messages += new != raw
        return _ID.sub(lambda found: self._renamed(found[0]), new)

    def _renamed(self, old: bytes) -> bytes:
        mark = self._commits.get(old)
        return old if mark is None else self.id_of(mark)


def _verify(new: Git, sieve: Sieve, receipt: Receipt) -> None:
    """Reads every object of the new repository.

    Raises:
        CtxError: one of them holds the text, or a commit is missing.
    """
    child = new.start("cat-file", "--batch-all-objects", "--unordered", "--batch")
    try:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        while head := child.stdout.readline():
            kind, size = head.split()[1:3]
            data = child.stdout.read(int(size))
            child.stdout.read(1)
            receipt.objects += 1
            if sieve.leaks(data):
                raise CtxError(f"A {kind.decode()} of the new history would still hold the text; nothing was changed.")
    finally:
        end(child)
    count = int(new.run("rev-list", "--all", "--count"))
    if count != receipt.commits + 1:
        raise CtxError(f"{receipt.commits + 1} commits were written, {count} arrived; nothing was changed.")
