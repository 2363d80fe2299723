"""Events of the file system: which folders are watched, and what makes up for what the events leave out.

An event becomes (store, path in it), or (store, None) when anything may have changed. The second is said for every
sign that something was missed: a watched folder that is another one than before, more events than anybody wants to
hold, and each complaint of watchdog, of which an overflow of the kernel's queue is the usual one.

**The limit of watches.** watchdog raises if a folder itself cannot be watched, and is silent if one below it cannot.
So the watches are counted, in `/proc/self/fdinfo`, and fewer than there are folders means falling back: no events at
all, and the watcher looks through the stores by itself. Half a picture would be worse, since readers trust it.

watchdog holds back the first half of every rename for 0.5 s to find the second. Nobody here needs the pair, and an
edit saved by renaming must be found in 0.3 s, so that time is shortened.

Rejected: watchdog's polling observer (a second picture of the tree beside the catalog, and slower to compare), and
a watch on the workspace's root (it brings every object that git writes).
"""

from __future__ import annotations

import logging
import os
import stat as modes
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from ctxrepo.index.scan import is_utf8

Queue = SimpleQueue[tuple[str, str | None]]
"""(store, path in it), (store, None) for all of it, ("", None) for all stores."""

QUEUE_MOST = 20_000  # events waiting while a job runs; more become one full look

_KINDS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileClosedEvent,
    FileAttribEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_PAIRING = 0.03  # seconds in which both halves of a rename arrive


@dataclass(frozen=True, slots=True)
class WatchedStore:
    """A store to watch.

    Args:
        name: how the callbacks name it.
        root: its working tree.
        folders: folders of it that hold assets, `("",)` for all.
        signals: absolute folders in which every change, not below them, calls for a full look: where the refs lie.
    """

    name: str
    root: str
    folders: tuple[str, ...] = ("",)
    signals: tuple[str, ...] = ()


@dataclass(slots=True)
class _Target:
    """One watched folder, and which folder it was when it was watched."""

    store: str
    prefix: str
    recursive: bool
    identity: tuple[int, int] | None = None
    watch: ObservedWatch | None = None


class FileEvents:
    """The source of events for a watcher.

    Args:
        queue: where they go.
        fallen: called with the reason, half a sentence, when events cannot be had (any more).
    """

    def __init__(self, queue: Queue, fallen: Callable[[str], None]) -> None:
        self._queue = queue
        self._fallen = fallen
        self._targets: dict[str, _Target] = {}
        self._observer: BaseObserver | None = None
        self._threads: list[threading.Thread] = []
        self._foreign_watches = 0
        self._recount = True

    @property
    def alive(self) -> bool:
        """Whether events arrive."""
        return self._observer is not None

    def start(self) -> None:
        """Ask the system for events."""
        with suppress(ImportError):  # only on Linux; before watchdog 7 it stood elsewhere, and renames stay slow
            from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

            InotifyMoveEventGrouper.delay = _PAIRING
        before = set(threading.enumerate())
        self._foreign_watches = _inotify_watches()
        try:
            observer = Observer()
            observer.start()
        except OSError as err:
            self._fall_back(f"The system gives no file events ({err.strerror})")
            return
        self._observer = observer
        self._threads = [thread for thread in threading.enumerate() if thread not in before]

    def stop(self) -> None:
        """No more events."""
        observer, self._observer = self._observer, None
        self._threads = []
        for target in self._targets.values():
            target.watch = None
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join(5.0)

    def recount(self) -> None:
        """Check at the next `follow` that every folder is watched: new ones may have met the limit."""
        self._recount = True

    def follow(self, stores: Iterable[WatchedStore]) -> None:
        """Watch what should be watched now: folders that appeared, vanished, or are others than before."""
        wanted: dict[str, _Target] = {}
        for store in stores:
            for folder in store.folders:
                wanted[os.path.join(store.root, folder) if folder else store.root] = _Target(store.name, folder, True)
            for folder in store.signals:
                wanted[folder] = _Target(store.name, "", False)
        for path in set(self._targets) - set(wanted):
            self._unwatch(self._targets.pop(path))
        for path, fresh in wanted.items():
            target = self._targets.setdefault(path, fresh)
            identity = folder_identity(path)
            if identity != target.identity:
                self._unwatch(target)
                target.identity = identity
                self._queue.put((target.store, None))
                self._recount = True
                if identity is not None:
                    self._watch(path, target)
        if self._observer is None:
            return
        if not all(thread.is_alive() for thread in self._threads):
            self._fall_back("The thread that receives file events has died")
        elif self._recount:
            self._recount = False
            self._count()

    def _watch(self, path: str, target: _Target) -> None:
        if self._observer is None:
            return
        handler = _Handler(path, target, self._queue)
        try:
            target.watch = self._observer.schedule(handler, path, recursive=target.recursive, event_filter=_KINDS)
        except (FileNotFoundError, NotADirectoryError):
            target.identity = None
        except OSError as err:
            self._fall_back(f"The system's limit of file watches is reached ({err.strerror})")

    def _unwatch(self, target: _Target) -> None:
        watch, target.watch = target.watch, None
        if watch is not None and self._observer is not None:
            with suppress(KeyError):
                self._observer.unschedule(watch)

    def _count(self) -> None:
        if not os.path.isdir("/proc/self/fdinfo"):
            return
        watched = [(path, target) for path, target in self._targets.items() if target.watch is not None]
        folders = sum(sum(1 for _ in os.walk(path)) if target.recursive else 1 for path, target in watched)
        if _inotify_watches() - self._foreign_watches < folders:
            self._fall_back("The system's limit of file watches is reached")

    def _fall_back(self, reason: str) -> None:
        self.stop()
        self._fallen(reason)


class _Handler(FileSystemEventHandler):
    """Turns the events below one folder into paths in its store."""

    def __init__(self, folder: str, target: _Target, queue: Queue) -> None:
        self._folder = folder + os.sep
        self._target = target
        self._queue = queue

    def on_any_event(self, event: FileSystemEvent) -> None:
        target, queue = self._target, self._queue
        waiting = queue.qsize()
        if waiting > QUEUE_MOST:
            if waiting <= QUEUE_MOST + 100:
                queue.put((target.store, None))
            return
        paths = [os.fsdecode(raw) for raw in (event.src_path, event.dest_path) if raw]
        if not target.recursive:
            if not all(path.endswith(".lock") for path in paths):
                queue.put((target.store, None))
            return
        for path in paths:
            if path + os.sep == self._folder:
                queue.put((target.store, None))
            elif path.startswith(self._folder):
                inside = path[len(self._folder) :]
                if _may_be_asset(inside, event.is_directory):
                    known = f"{target.prefix}/{inside}" if target.prefix else inside
                    queue.put((target.store, known if is_utf8(inside) else None))


class Complaints(logging.Handler):
    """Takes what watchdog logs as a warning: it goes to the watcher's log and calls for a full look at everything."""

    def __init__(self, queue: Queue, log: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._queue = queue
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log(f"watchdog: {record.getMessage()}")
        self._queue.put(("", None))


def folder_identity(path: str) -> tuple[int, int] | None:
    """Which folder it is; None if there is no folder, or only a link to one."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if modes.S_ISDIR(seen.st_mode) else None


def _may_be_asset(path: str, is_folder: bool) -> bool:
    """Whether a path can be an asset or hold some; swap files, backups and hidden folders cannot."""
    return (is_folder or path.endswith(".md")) and not path.startswith(".") and "/." not in path


def _inotify_watches() -> int:
    """How many watches this process holds, over all its inotify instances; 0 where there is no inotify."""
    total = 0
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if "inotify" in os.readlink(f"/proc/self/fd/{name}"):
                    with open(f"/proc/self/fdinfo/{name}", encoding="ascii") as handle:
                        total += sum(line.startswith("inotify ") for line in handle)
    return total
