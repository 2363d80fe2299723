"""What every layer asks of the disk: a file that is the old one or the new one, and a lock that ends with its holder.

A new content goes to a file beside the target, which then takes the target's name in one step.  The lock is a
`flock` on a file that is never deleted, so the system releases it when its holder dies, and nobody has to guess from
a time stamp whether the holder still lives.  `store.lock` is one of its own: it names its holder, waits with growing
naps and is let go by a forked child.

Only `os` and what is as light is imported, because hooks load this.
"""

from __future__ import annotations

import fcntl
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NAP = 0.01  # seconds between two looks at a held lock


def replace(path: str, data: bytes, *, shared: bool = False, sync: bool = False) -> None:
    """Gives a file a new content, whole or not at all.

    Args:
        shared: whether several processes may write it at once; else the caller holds a lock.
        sync: whether to force it to disk before it takes the place of the old one.

    Raises:
        OSError: it could not be written; the old content stays.
    """
    scratch = f"{path}.{os.getpid()}.new" if shared else f"{path}.new"
    write_whole(scratch, data, sync=sync)
    os.replace(scratch, path)


def write_whole(path: str, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
    """Writes a file that nobody else looks at yet (a temporary one) and forces it to disk."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode & 0o777 | 0o222)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(fd)


def sync_folders(folders: Iterable[str]) -> None:
    """Forces the names in these folders to disk, where the file system can."""
    for folder in folders:
        try:
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            os.fsync(fd)
        except OSError:
            continue
        finally:
            os.close(fd)


class Lock:
    """A lock as a context: True once it is held, False when somebody else kept it for too long.

    Args:
        path: the lock file, made when missing; its folder is there.
        wait: seconds to wait for another holder.
    """

    def __init__(self, path: str, wait: float = 0.0) -> None:
        self._path = path
        self._wait = wait
        self._fd = -1

    def __enter__(self) -> bool:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            return self._taken()
        except BaseException:
            os.close(self._fd)
            raise

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def _taken(self) -> bool:
        deadline = time.monotonic() + self._wait
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_NAP)
            else:
                return True
