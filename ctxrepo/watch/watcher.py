"""The loop of the watcher: lock, heartbeat, events in, callbacks out.

Everything happens in the thread that called `run`, so callbacks never run side by side and nothing here needs a
lock; watchdog's threads only put events into a queue. It beats between its jobs and not from a thread of its own,
so readers stop trusting it exactly when it hangs, and not before every store has been looked through once.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from types import FrameType

from ctxrepo import disk
from ctxrepo.errors import Refused
from ctxrepo.index import heartbeat
from ctxrepo.watch.events import Complaints, FileEvents, Queue, WatchedStore, folder_identity
from ctxrepo.watch.jobs import Job

REVIEW_EVERY = 1.0  # seconds between two looks at which folders there are
LOOK_EVERY = 60.0  # seconds between full looks that nothing called for
POLL_EVERY = 2.0  # the same without events
POLL_SHARE = 20  # so many times as long as it took, at least, is a full look waited for
READER = 1.0  # seconds for which somebody who asks whether there is a watcher may hold its lock
LOG_MOST = 1_000_000  # bytes of the log; then it starts anew


class Watcher:
    """Watches the stores of one workspace.

    Args:
        stores: tells which there are now; asked again and again, since stores appear and vanish.
        local: folder of the workspace's machine-local state, for lock, heartbeat and log.
        on_change: called with a store's name and the paths in it to look at, None = all of it; returns whether the
            index changed. What it raises is logged, and it is called again later.
        on_quiet: called with a store's name when nothing has changed in it for `quiet` seconds.
        on_tick: called about once a second between jobs, for what has its own clock; must be quick.
        say: called with sentences for the person who started the watcher.
        quiet: seconds.
        poll: True never asks for events.
    """

    def __init__(
        self,
        stores: Callable[[], Iterable[WatchedStore]],
        local: str,
        on_change: Callable[[str, list[str] | None], bool],
        on_quiet: Callable[[str], None],
        say: Callable[[str], None] = lambda _: None,
        *,
        on_tick: Callable[[], None] = lambda: None,
        quiet: float = 10.0,
        poll: bool = False,
    ) -> None:
        self._stores = stores
        self._local = local
        self._on_change = on_change
        self._on_quiet = on_quiet
        self._on_tick = on_tick
        self._say = say
        self._quiet = quiet
        self._poll = poll
        self._queue: Queue = SimpleQueue()
        self._events = FileEvents(self._queue, self._fallen)
        self._stopping = threading.Event()
        self._jobs: dict[str, Job] = {}
        self._since = time.time()
        self._beaten = self._reviewed = -LOOK_EVERY

    def stop(self) -> None:
        """Make `run` return soon; may be called from any thread and from a signal handler."""
        self._stopping.set()
        self._queue.put(("", ""))

    def run(self) -> None:
        """Watch until stopped.

        Raises:
            Refused: another watcher watches this workspace.
        """
        with self._held(), self._stopped_by_signals(), self._complaints_heard():
            try:
                if not self._poll:
                    self._events.start()
                while not self._stopping.is_set():
                    self._collect(self._keep_house())
                    self._work()
                self._flush()
            finally:
                self._events.stop()

    def _keep_house(self) -> float:
        """What is done between jobs; returns the seconds until the next one."""
        now = time.monotonic()
        if now - self._reviewed >= REVIEW_EVERY:
            self._reviewed = now
            stores = list(self._stores())
            self._jobs = {store.name: self._jobs.get(store.name) or Job() for store in stores}
            self._events.follow(stores)
            self._tick()
        trusted = bool(self._jobs) and all(job.caught_up and not job.delay for job in self._jobs.values())
        if trusted and now - self._beaten >= heartbeat.BEAT_EVERY:
            self._beaten = now
            self._beat()
        soon = min((job.ready(self._quiet) for job in self._jobs.values()), default=now + REVIEW_EVERY)
        return max(0.0, min(soon - now, REVIEW_EVERY))

    def _tick(self) -> None:
        try:
            self._on_tick()
        except Exception:
            self._log(f"tick: {traceback.format_exc()}")

    def _collect(self, wait: float) -> None:
        """Take events until the queue is empty, the first within `wait` seconds."""
        try:
            event = self._queue.get(timeout=wait) if wait > 0 else self._queue.get_nowait()
            while True:
                self._note(*event)
                event = self._queue.get_nowait()
        except Empty:
            return

    def _note(self, store: str, path: str | None) -> None:
        now = time.monotonic()
        for name in [store] if store else list(self._jobs) if path is None else []:
            if name in self._jobs:
                self._jobs[name].note(path, now)

    def _work(self) -> None:
        for name, job in self._jobs.items():
            now = time.monotonic()
            if now < job.ready(self._quiet):
                continue
            if now >= min(job.due, job.settled()):
                self._look(name, job)
            else:
                job.changed = 0.0
                self._guarded(name, job, partial(self._rest, name))

    def _look(self, name: str, job: Job) -> None:
        begun = time.monotonic()
        paths = job.take(begun)

        def look() -> None:
            if self._on_change(name, paths):
                job.changed = time.monotonic()

        if self._guarded(name, job, look) and paths is None:
            now = time.monotonic()
            job.caught_up = True
            job.due = now + max(LOOK_EVERY if self._events.alive else POLL_EVERY, POLL_SHARE * (now - begun))
            self._events.recount()

    def _rest(self, name: str) -> None:
        """Report that a store has come to rest, unless its folder is gone: nobody may take that for an edit."""
        if any(store.name == name and folder_identity(store.root) for store in self._stores()):
            self._on_quiet(name)

    def _guarded(self, name: str, job: Job, work: Callable[[], None]) -> bool:
        """Do a job; what it raises is logged, and the store is looked through again later."""
        try:
            work()
        except Exception:
            self._log(f"{name}: {traceback.format_exc()}")
            job.failed(time.monotonic())
            return False
        job.succeeded()
        return True

    def _flush(self) -> None:
        """On the way out: what was seen is not lost, quiet or not."""
        self._collect(0)
        for name, job in self._jobs.items():
            if job.caught_up and (job.paths or job.everything):
                self._look(name, job)

    def _fallen(self, reason: str) -> None:
        message = (
            f"{reason}; the files are looked through every few seconds instead. "
            "`sysctl fs.inotify.max_user_watches` shows the limit, and root can raise it."
        )
        self._log(message)
        self._say(message)
        for job in self._jobs.values():
            job.due = min(job.due, time.monotonic() + POLL_EVERY)

    def _beat(self) -> None:
        about = {
            "pid": os.getpid(),
            "since": self._since,
            "mode": "events" if self._events.alive else "poll",
            "stores": sorted(self._jobs),
        }
        path = os.path.join(self._local, heartbeat.BEAT)
        with suppress(OSError):
            disk.replace(path, json.dumps(about).encode())

    @contextmanager
    def _held(self) -> Iterator[None]:
        os.makedirs(self._local, exist_ok=True)
        with disk.Lock(os.path.join(self._local, heartbeat.LOCK), READER) as held:
            if not held:
                raise Refused("Another watcher watches this workspace.", hint="ctxrepo status")
            try:
                yield
            finally:
                with suppress(OSError):
                    os.unlink(os.path.join(self._local, heartbeat.BEAT))

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT stop the watcher in order; elsewhere than in the main thread they are not ours."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(_number: int, _frame: FrameType | None) -> None:
            self.stop()

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _complaints_heard(self) -> Iterator[None]:
        logger = logging.getLogger("watchdog")
        handler = Complaints(self._queue, self._log)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)

    def _log(self, text: str) -> None:
        path = os.path.join(self._local, "watch.log")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with suppress(OSError):
            full = os.path.exists(path) and os.path.getsize(path) > LOG_MOST
            with open(path, "w" if full else "a", encoding="utf-8", errors="backslashreplace") as handle:
                handle.write(f"{stamp} {text.rstrip()}\n")
