"""Git's index, changed for exactly our paths without ever holding its lock for long.

`update-index` works on a private copy (a hard link to the index, which git always replaces and never edits) while
the real one stays free. The result then appears as `index.lock` and becomes `index`, two system
calls later, if the index is still the one that was copied; otherwise all of it is done again. So a kill can
hardly leave a lock, and one that it leaves is told from a person's by being the same file as our private copy.
A lock that somebody else holds is waited for, never deleted.

What a person has staged is never swept into our commit and never overwritten: those paths are known per state
of HEAD and index, so that the usual transaction pays nothing for the question. In the same way it is known whether the
files were last seen to agree with both (`settle`): our own operations carry that knowledge on, anybody else's end it.

From about 10,000 entries on, a private store's index is split: writing 7 MB per fact is most of what a
transaction costs there (38 ms against 17 at 100,000 files). Small stores and the team's repository keep
the plain format, which every git library reads.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ctxrepo import disk
from ctxrepo.errors import Conflict
from ctxrepo.store.files import link_exclusively
from ctxrepo.store.git import Git

PATIENCE = 5.0
SPLIT_FROM = 700_000
_SEEN = "staged.json"
_COPY = "index-"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A private copy of the index with our paths in it, and the state of the index it was made from."""

    copy: str
    source: list[int] | None


class Stage:
    """The index of one work tree.

    Args:
        git: git for the store.
        scratch: a folder on the same file system for the private copies.
        split: whether a large index may be split.
        patience: seconds to wait while someone else holds the index's lock.
    """

    def __init__(self, git: Git, scratch: str, *, split: bool, patience: float = PATIENCE) -> None:
        self._git = git
        self._index = f"{git.git_dir}/index"
        self._lock = f"{git.git_dir}/index.lock"
        self._scratch = scratch
        self._split = split
        self.patience = patience

    def wait(self) -> None:
        """Waits until nobody holds the index's lock.

        Raises:
            Conflict: somebody holds it all the time.
        """
        deadline = time.monotonic() + self.patience
        while os.path.lexists(self._lock):
            if time.monotonic() >= deadline:
                raise Conflict(
                    f"Another git command holds {self._lock}; nothing was written.",
                    hint=f"wait for it to end, or if no git is running: rm {self._lock}",
                )
            time.sleep(0.02)

    def staged(self, head: str | None) -> set[str]:
        """Returns the paths whose staged content differs from the commit `head`."""
        state = _state(self._index)
        if state is None:
            return set()
        seen = self._seen(state, head)
        if seen is not None:
            return set(seen["staged"])
        if head is None:
            listing = self._git.run("ls-files", "-z")
        else:
            listing = self._git.run("diff-index", "--cached", "--name-only", "--no-renames", "-z", head)
        paths = {os.fsdecode(path) for path in listing.split(b"\0") if path}
        if _state(self._index) == state:
            self._remember(state, head, paths)
        return paths

    def settle(self, head: str, note: str) -> None:
        """Remembers that all files agreed with index and `head` when the latest note of an edit was `note`."""
        state = _state(self._index)
        if state is not None and not self.staged(head):
            self._remember(state, head, set(), note)

    def settled(self, head: str) -> str | None:
        """Returns the `note` of `settle` if nobody but us has moved HEAD or index since, else None."""
        state = _state(self._index)
        seen = None if state is None else self._seen(state, head)
        return None if seen is None else seen.get("settled")

    def put(
        self,
        paths: Sequence[str],
        token: str,
        *,
        old: str | None = None,
        new: str | None = None,
        forced: Sequence[str] = (),
    ) -> None:
        """Makes the index agree with the files at `paths`; nothing else in it moves.

        Args:
            token: names the private copy.
            old, new: the branch's commit now and soon, which will hold the same; for `staged`.
            forced: paths that leave the index although their file stays.

        Raises:
            Conflict: somebody else held the index's lock, or changed it, all the time; it is untouched.
        """
        deadline = time.monotonic() + self.patience
        while True:
            prepared = self._prepare(paths, forced, token)
            try:
                if self._publish(prepared, deadline):
                    self._settle(prepared, {*paths, *forced}, old, new)
                    return
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(prepared.copy)
            if time.monotonic() >= deadline:
                raise Conflict("Another git command kept changing the index; nothing was written.")

    def drop_own_lock(self) -> None:
        """Removes what a killed process of ours left: its private copies, and `index.lock` if it is one of them."""
        with suppress(FileNotFoundError), os.scandir(self._scratch) as found:
            for item in found:
                if not item.name.startswith(_COPY):
                    continue
                with suppress(OSError):
                    if os.path.samefile(item.path, self._lock):
                        os.unlink(self._lock)
                with suppress(OSError):
                    os.unlink(item.path)

    def _prepare(self, paths: Iterable[str], forced: Iterable[str], token: str) -> Prepared:
        copy = f"{self._scratch}/{_COPY}{token}"
        source = _duplicate(self._index, copy)
        split = ["--split-index"] if self._split and source is not None and source[1] > SPLIT_FROM else []
        env = {"GIT_INDEX_FILE": copy}
        for mode, chosen in (("--force-remove", forced), ("--remove", paths)):
            listing = b"".join(os.fsencode(path) + b"\0" for path in chosen)
            if listing:
                self._git.run(
                    "update-index", "--add", "--replace", mode, *split, "-z", "--stdin", data=listing, env=env
                )
        return Prepared(copy, source)

    def _publish(self, prepared: Prepared, deadline: float) -> bool:
        if _state(prepared.copy) == prepared.source:
            return _state(self._index) == prepared.source
        while True:
            try:
                link_exclusively(prepared.copy, self._lock)
            except FileExistsError:
                self.wait() if time.monotonic() < deadline else self._give_up()
            else:
                break
        if _state(self._index) != prepared.source:
            os.unlink(self._lock)
            return False
        os.rename(self._lock, self._index)
        return True

    def _give_up(self) -> None:
        raise Conflict(f"Another git command holds {self._lock}; nothing was written.")

    def _settle(self, prepared: Prepared, ours: set[str], old: str | None, new: str | None) -> None:
        """Carries the knowledge about staged paths over to the index that we just published."""
        state = _state(self._index)
        if state is None or new is None:
            return
        if prepared.source is None and old is None:
            self._remember(state, new, set())
            return
        seen = self._seen(prepared.source, old)
        if seen is not None:
            self._remember(state, new, set(seen["staged"]) - ours, seen.get("settled"))

    def _seen(self, state: list[int] | None, head: str | None) -> dict[str, Any] | None:
        """Returns what is remembered about this state of index and HEAD."""
        with suppress(FileNotFoundError, ValueError, KeyError), open(f"{self._scratch}/{_SEEN}", "rb") as file:
            seen: dict[str, Any] = json.loads(file.read())
            if seen["index"] == state and seen["head"] == head:
                return seen
        return None

    def _remember(self, state: list[int], head: str | None, paths: set[str], settled: str | None = None) -> None:
        value = {"index": state, "head": head, "staged": sorted(paths), "settled": settled}
        disk.replace(f"{self._scratch}/{_SEEN}", json.dumps(value).encode("utf-8", "surrogatepass"))


def _state(index: str) -> list[int] | None:
    """Returns what tells one state of the index from another: git replaces the file, never edits it."""
    try:
        found = os.stat(index)
    except FileNotFoundError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]


def _duplicate(index: str, copy: str) -> list[int] | None:
    """Makes `copy` the index as it is, and returns that state."""
    with suppress(FileNotFoundError):
        os.unlink(copy)
    try:
        os.link(index, copy)
    except FileNotFoundError:
        return None
    except OSError:
        before = _state(index)
        shutil.copy2(index, copy)
        return before
    return _state(copy)
