"""Keep a store's index equal to its files: `sync` compares everything, `apply` only what is said to have changed.

The index is a cache. It is built when missing, and built anew, without asking, when it is of another version, damaged
or torn; a fault in it never becomes a fault of the write that it follows. Files are the truth, so no caller has to
report what changed: the difference to what the catalog remembers (time of modification, size, inode, and the content
of files that were too young for these to be trusted) is found by one scan.

The lock is the index's own. Whoever holds the store's lock may take it, never the other way round, and a scan that
finds nothing takes none at all; what a scan found is compared again under the lock, file by file, so two processes that
find the same do it once.

Rejected: asking `git status` what changed (it costs more than the scan, knows nothing of files that were indexed
and then ignored, and refreshes the person's index), and listening to the watcher alone (it misses what happened
while it did not run).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from ctxrepo.index import generation as generations
from ctxrepo.index import place
from ctxrepo.index.batch import Batch, Outcome, Progress
from ctxrepo.index.catalog import Catalog
from ctxrepo.index.scan import SUFFIX, Scan, is_utf8, look, scan
from ctxrepo.index.source import Source

_UNKNOWN = "?"  # instead of a tree, while files are judged by a new one
_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}


class DefaultTree(Protocol):
    """The tree of the default branch, told by whoever may ask git."""

    @property
    def id(self) -> str:
        """Object id of the tree; "" = the branch has no commit."""

    def blobs(self) -> Mapping[str, str]:
        """Path → blob id of every file in it."""

    def changed_since(self, old: str) -> Mapping[str, str | None] | None:
        """Path → blob id (None = gone) of what differs from tree `old`; None if that tree is unknown."""


@dataclass(slots=True)
class SyncReport:
    """What a sync or an apply did. Paths are inside the store.

    Attributes:
        added, changed, removed: files whose content the index now has anew, or no more.
        touched: files with a new state and the old content.
        problems: those of the changed files that are not searchable; the catalog has the reasons.
        duplicates: id → paths, for ids of changed files that several files claim.
        rebuilt: why the whole index was built, "" if it was not.
        fault: why the index could not follow, "" if it did; `is_behind` then, until a sync succeeds.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    touched: int = 0
    problems: list[str] = field(default_factory=list)
    duplicates: dict[str, list[str]] = field(default_factory=dict)
    rebuilt: str = ""
    fault: str = ""

    def __bool__(self) -> bool:
        """Whether a search may answer differently now."""
        return bool(self.added or self.changed or self.removed or self.rebuilt)


class StoreIndex:
    """The index of one store.

    Args:
        root: the store's working tree.
        state_dir: its machine-local state; the index lies in `index/` below it.
        prefix: path of the store in the workspace, such as `memory/me`; "" for the team store.
        folders: folders of the store that hold assets.
        shared: True if a default branch decides what is reviewed; `sync` then wants its tree.
        algorithm: of the repository's object ids, sha1 or sha256.
    """

    def __init__(
        self,
        root: str,
        state_dir: str,
        *,
        prefix: str = "",
        folders: tuple[str, ...] = ("",),
        shared: bool = False,
        algorithm: str = "sha1",
    ) -> None:
        self.folder = place.index_dir(state_dir)
        self._source = Source(
            os.fspath(root), f"{prefix}/" if prefix else "", folders, shared=shared, algorithm=algorithm
        )

    def leave_out(self, paths: Iterable[str]) -> None:
        """Take these paths of the workspace for absent from now on, in the place of those named before."""
        prefix = self._source.prefix
        foreign = frozenset(path.removeprefix(prefix) for path in paths if path.startswith(prefix))
        self._source = replace(self._source, foreign=foreign)

    def sync(
        self, base: DefaultTree | None = None, *, progress: Progress | None = None, wait: float = 60.0
    ) -> SyncReport:
        """Make the index equal to what is on disk.

        Args:
            base: the default branch's tree, for a shared store; None leaves what the catalog knows of it.
            progress: called with (files done, files in all) while many files are read.
            wait: seconds to wait for another process that writes the index.

        Raises:
            IndexBusy: another process writes for longer than that.
            OSError, sqlite3.Error: nothing can be written (full disk, no permission).
        """
        behind = place.unmark(self.folder, place.BEHIND)
        damaged = place.unmark(self.folder, place.DAMAGED)
        try:
            found = None if damaged else self._difference(base)
            if found is not None and not found:
                return SyncReport()
            with generations.locked(self.folder, wait):
                return self._sync_locked(base, progress, damaged, found)
        except BaseException as err:
            if behind:
                place.mark(self.folder, place.BEHIND, f"sync: {err}")
            if damaged:
                place.mark(self.folder, place.DAMAGED, f"sync: {err}")
            raise

    def apply(self, paths: Iterable[str], base: DefaultTree | None = None, *, wait: float = 2.0) -> SyncReport:
        """Make the index equal to what is on disk at some paths; a folder stands for what is and was in it.

        Never raises for a fault of the index, because the files have been written: the report says so, the index
        is marked as behind, and the next `sync` finds the difference.

        Args:
            paths: files or folders, inside the store.
            base: the default branch's tree if it may have moved.
            wait: seconds to wait for another process that writes the index.
        """
        try:
            with generations.locked(self.folder, wait):
                return self._apply_locked(list(paths), base)
        except Exception as err:
            return self._failed(err)
        except BaseException as err:
            if type(err).__name__ != "PanicException":
                raise
            return self._failed(err)

    def rebuild(
        self, base: DefaultTree | None = None, *, progress: Progress | None = None, wait: float = 60.0
    ) -> SyncReport:
        """Build the index anew from the files, and only then replace the old one."""
        with generations.locked(self.folder, wait):
            return self._rebuild(base, progress, "it was asked for")

    def is_behind(self) -> bool:
        """Whether a sync is due although a watcher runs: a write was not followed, or a reader met a fault."""
        return place.is_marked(self.folder)

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """The catalog, for reading.

        Raises:
            IndexUnavailable: there is none of this version, or it is damaged; `sync` makes one.
        """
        generation = place.current(self.folder)
        file = os.path.join(generation or "", place.CATALOG)
        if generation is None or not os.path.exists(file):
            raise place.IndexUnavailable("The store has no search index yet.")
        try:
            with Catalog(file) as opened:
                yield opened
        except sqlite3.DatabaseError as err:
            if not _is_damage(err):
                raise
            place.mark(self.folder, place.DAMAGED, f"catalog: {err}")
            raise place.IndexUnavailable("The catalog of the search index is damaged.") from err

    def _failed(self, err: BaseException) -> SyncReport:
        reason = f"{type(err).__name__}: {err}"
        place.mark(self.folder, place.BEHIND, f"apply: {reason}")
        return SyncReport(fault=reason)

    def _sync_locked(
        self, base: DefaultTree | None, progress: Progress | None, damaged: bool, found: _Difference | None
    ) -> SyncReport:
        generations.sweep(self.folder)
        generation = place.current(self.folder)
        if generation is None:
            return self._rebuild(base, progress, "there was none of this version")
        if damaged:
            return self._rebuild(base, progress, "a reader found it damaged")
        try:
            with self._open(generation) as catalog:
                if not generations.is_intact(generation, catalog):
                    return self._rebuild(base, progress, "it was damaged")
                if found is None or found.generation != generation:
                    found = self._compare(generation, catalog, base)
                report = self._change(generation, catalog, found.paths, base, progress)
                catalog.set_outcasts(found.scan.outcasts)
            bloated = generations.is_bloated(generation)
        except BaseException as err:
            if not _is_fault(err):
                raise
            return self._rebuild(base, progress, f"it was damaged: {err}")
        if bloated:
            return self._rebuild(base, progress, "it held more deleted documents than living ones")
        return report

    def _apply_locked(self, paths: list[str], base: DefaultTree | None) -> SyncReport:
        generation = place.current(self.folder)
        if generation is None:
            generations.sweep(self.folder)
            return self._rebuild(base, None, "there was none of this version")
        try:
            with self._open(generation) as catalog:
                if not generations.is_intact(generation, catalog):
                    return self._rebuild(base, None, "it was damaged")
                return self._change(generation, catalog, self._expanded(catalog, paths), base, None)
        except BaseException as err:
            if not _is_fault(err):
                raise
            return self._rebuild(base, None, f"it was damaged: {err}")

    def _open(self, generation: str) -> Catalog:
        file = os.path.join(generation, place.CATALOG)
        if not os.path.exists(file):
            raise sqlite3.DatabaseError("the catalog is missing")
        return Catalog(file)

    def _difference(self, base: DefaultTree | None) -> _Difference | None:
        """What a scan finds different, without the lock; None if there is no index or it is not intact."""
        generation = place.current(self.folder)
        if generation is None:
            return None
        try:
            with self._open(generation) as catalog:
                if not generations.is_intact(generation, catalog):
                    return None
                found = self._compare(generation, catalog, base)
                if not found:
                    catalog.set_outcasts(found.scan.outcasts)
                return found
        except BaseException as err:
            if not _is_fault(err):
                raise
            return None

    def _compare(self, generation: str, catalog: Catalog, base: DefaultTree | None) -> _Difference:
        found = scan(self._source.root, self._source.folders)
        moved = base is not None and base.id != catalog.meta("base")
        paths = self._changed(found, catalog)
        return _Difference(generation, paths, moved, generations.is_bloated(generation), found)

    def _changed(self, found: Scan, catalog: Catalog) -> list[str]:
        """Paths whose state differs, or cannot be trusted, or that are only on one side."""
        unseen = dict(found.files)
        changed = []
        for path, mtime_ns, size, inode, racy in catalog.states():
            if unseen.pop(path, None) != (mtime_ns, size, inode) or racy or path in self._source.foreign:
                changed.append(path)
        changed += [path for path in unseen if self._source.is_asset(path)]
        return changed

    def _expanded(self, catalog: Catalog, paths: list[str]) -> list[str]:
        """Files that `paths` stand for: themselves, or what is and was in a folder."""
        root, source = self._source.root, self._source
        files: dict[str, None] = {}
        for path in filter(is_utf8, paths):
            if path.endswith(SUFFIX) and source.is_asset(path):
                if look(root, path) is not None or catalog.known([path]):
                    files[path] = None
                    continue
            elif path.endswith(SUFFIX):
                continue
            gone = catalog.below(path)
            there = scan(root, (path,)).files if os.path.isdir(os.path.join(root, path)) else {}
            files |= dict.fromkeys([*gone, *(file for file in there if source.is_asset(file))])
        return [path for path in files if is_utf8(path)]

    def _change(
        self, generation: str, catalog: Catalog, paths: list[str], base: DefaultTree | None, progress: Progress | None
    ) -> SyncReport:
        moved = base is not None and base.id != catalog.meta("base")
        if base is not None and moved:
            paths = list(dict.fromkeys([*paths, *_move_base(catalog, base)]))
        outcome = Batch(generation, catalog, self._source, progress).apply(paths)
        if base is not None and moved:
            _remember_base(catalog, base)
        return _report(outcome, catalog)

    def _rebuild(self, base: DefaultTree | None, progress: Progress | None, reason: str) -> SyncReport:
        with generations.system_faults(), generations.building(self.folder) as generation:
            with Catalog(os.path.join(generation, place.CATALOG)) as catalog:
                if base is not None:
                    _move_base(catalog, base)
                found = scan(self._source.root, self._source.folders)
                paths = [path for path in found.files if self._source.is_asset(path)]
                catalog.set_outcasts(found.outcasts)
                outcome = Batch(generation, catalog, self._source, progress).apply(paths)
                if base is not None:
                    _remember_base(catalog, base)
                report = _report(outcome, catalog)
            generations.publish(self.folder, generation)
        generations.sweep(self.folder)
        report.rebuilt = reason
        return report


@dataclass(frozen=True, slots=True)
class _Difference:
    generation: str
    paths: list[str]
    moved: bool
    bloated: bool
    scan: Scan

    def __bool__(self) -> bool:
        return bool(self.paths) or self.moved or self.bloated


def _move_base(catalog: Catalog, base: DefaultTree) -> list[str]:
    """Take the default branch's new tree; returns the files of which another thing is reviewed now.

    Until `_remember_base`, which comes after these were indexed, the catalog counts as knowing no tree: a process
    killed in between leaves no file judged by the old one.
    """
    old = catalog.meta("base")
    moved = base.changed_since(old) if old and old != _UNKNOWN and base.id else None
    with catalog.writing():
        if moved is None:
            catalog.replace_base({path: blob for path, blob in base.blobs().items() if path.endswith(SUFFIX)})
        else:
            catalog.move_base({path: blob for path, blob in moved.items() if path.endswith(SUFFIX)})
        catalog.set_meta("base", _UNKNOWN)
    return catalog.misjudged(None if moved is None else list(moved))


def _remember_base(catalog: Catalog, base: DefaultTree) -> None:
    with catalog.writing():
        catalog.set_meta("base", base.id)


def _report(outcome: Outcome, catalog: Catalog) -> SyncReport:
    fresh = outcome.added + outcome.changed
    return SyncReport(
        outcome.added,
        outcome.changed,
        outcome.removed,
        outcome.touched,
        outcome.problems,
        catalog.duplicates(fresh) if fresh else {},
    )


def _is_damage(err: sqlite3.Error) -> bool:
    """Whether SQLite complains about the file, and not about the moment or the machine."""
    return getattr(err, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _NOT_DAMAGE


def _is_fault(err: BaseException) -> bool:
    """Whether the index itself is at fault: a rebuild may help, and is cheaper than a wrong answer."""
    if isinstance(err, sqlite3.Error):
        return _is_damage(err)
    if isinstance(err, OSError):
        return isinstance(err, FileNotFoundError)
    return isinstance(err, ValueError | RuntimeError | KeyError) or type(err).__name__ == "PanicException"
