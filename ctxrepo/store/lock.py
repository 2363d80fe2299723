"""One lock per store, which the kernel releases when its holder dies.

`flock` on a file that is never deleted: a `kill -9` leaves no stale lock, two threads block each
other because each opens the file anew, and nobody has to guess from a time stamp whether the holder
still lives (a lock file with an age limit let two writers in while the first waited for a language
model). The file's text names the holder, for the message only. Waiting is bounded and backs off.

Rejected: `filelock`, the same call behind a dependency, without the holder's name; a lock held
by git itself (`index.lock`), which covers milliseconds and not the whole operation.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from types import TracebackType

from ctxrepo.errors import Conflict, Refused

PATIENCE = 60.0
_LONGEST_NAP = 0.05

_held: dict[str, tuple[int, int]] = {}


class StoreLock:
    """The right to change one store; a context manager that may be used many times, not re-entered.

    Args:
        path: the lock file; its folder is made when missing.
        what: the store's name, for messages.
        patience: seconds to wait for another holder.
    """

    def __init__(self, path: str, what: str, patience: float = PATIENCE) -> None:
        self._path = path
        self._what = what
        self._patience = patience
        self._fd = -1

    def __enter__(self) -> StoreLock:
        if _held.get(self._path, (-1, -1))[1] == threading.get_ident():
            raise RuntimeError(f"the lock of {self._what} is already held by this thread")
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as fault:
            raise Refused(
                f"The store {self._what} cannot be written here: {fault.strerror}.", hint=f"ls -ld {self._path}"
            ) from None
        try:
            self._wait(fd)
            os.ftruncate(fd, 0)
            os.pwrite(fd, b"%d\n" % os.getpid(), 0)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        _held[self._path] = (fd, threading.get_ident())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        fd, self._fd = self._fd, -1
        if _held.pop(self._path, None) is None:
            return
        os.ftruncate(fd, 0)
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _wait(self, fd: int) -> None:
        deadline = time.monotonic() + self._patience
        nap = 0.001
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise self._busy(fd) from None
                time.sleep(nap * (0.5 + random.random()))  # noqa: S311
                nap = min(nap * 1.5, _LONGEST_NAP)
            else:
                return

    def _busy(self, fd: int) -> Conflict:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        who = f"process {holder}" if holder else "another process"
        return Conflict(
            f"The store {self._what} is being written by {who}, and {self._patience:.0f} seconds were not enough.",
            hint=f"ps -p {holder}" if holder else None,
        )


def _forget_in_child() -> None:
    """A forked child closes its copies: the lock belongs to the parent and must end with it."""
    for fd, _ in _held.values():
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_forget_in_child)
