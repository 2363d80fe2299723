"""A store's files as the index reads them: which paths count, their bytes, and the git blob id of those bytes.

Git itself is not asked. A blob id is a hash over a short prefix and the content, so the index can tell by itself
whether a file is what the default branch holds, as long as nobody converts line endings on the way; a converted
file counts as unreviewed, which is the safe mistake.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat as modes
import time
from dataclasses import dataclass, replace

from ctxrepo.asset.frontmatter import FrontmatterError, check_size
from ctxrepo.asset.kinds import kind_of
from ctxrepo.index.documents import Description, describe, unreadable
from ctxrepo.index.scan import State

RACY_NS = 2 * 10**9
"""A file changed less than this before it was read may change again within the same time of modification."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it was read. `data` is None if it could not be, with the reason in `problem`."""

    state: State
    racy: bool
    blob: str
    data: bytes | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one store.

    Args:
        root: its working tree.
        prefix: where that lies in the workspace: `memory/me/`, `tasks/`, or "" for the team store.
        folders: the folders of it that hold assets, `("",)` for all.
        shared: whether a default branch decides what is reviewed.
        algorithm: of the repository's object ids, sha1 or sha256.
        foreign: paths in it that another repository brought; they are taken for absent.
    """

    root: str
    prefix: str
    folders: tuple[str, ...]
    shared: bool
    algorithm: str = "sha1"
    foreign: frozenset[str] = frozenset()

    def is_asset(self, path: str) -> bool:
        """Whether a path in the store can be an asset."""
        inside = any(not folder or path.startswith(folder + "/") for folder in self.folders)
        return inside and path not in self.foreign and kind_of(self.prefix + path) is not None

    def read(self, path: str) -> Content | None:
        """The file at `path` in the store; None if there is none (any more). Never raises OSError."""
        now = time.time_ns()
        if path in self.foreign:
            return None
        try:
            handle = os.open(f"{self.root}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as err:
            return self._refused(path, err)
        try:
            seen = os.fstat(handle)
            if not modes.S_ISREG(seen.st_mode):
                return None
            state = seen.st_mtime_ns, seen.st_size, seen.st_ino
            racy = seen.st_mtime_ns > now - RACY_NS
            try:
                check_size(seen.st_size)
            except FrontmatterError as err:
                return Content(state, racy, "", None, err.message)
            data = _read_all(handle, seen.st_size)
        except OSError as err:
            return self._refused(path, err)
        finally:
            os.close(handle)
        return Content(state, racy, self._blob(data), data)

    def _refused(self, path: str, err: OSError) -> Content | None:
        """A file that is there and does not open is a problem; it is tried again at every scan."""
        try:
            seen = os.lstat(f"{self.root}/{path}")
        except (OSError, ValueError):
            return None
        if not modes.S_ISREG(seen.st_mode) or err.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        state = seen.st_mtime_ns, seen.st_size, seen.st_ino
        return Content(state, True, "", None, f"The file cannot be read: {err.strerror}.")

    def _blob(self, data: bytes) -> str:
        made = hashlib.new(self.algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
        made.update(data)
        return made.hexdigest()

    def describe(self, path: str, content: Content, reviewed: bool) -> Description:
        """What the index keeps of the file; a file that makes our own code stumble hides nothing else either."""
        where = self.prefix + path
        if content.data is None:
            return unreadable(where, content.problem)
        try:
            found = describe(where, content.data, content.state[0] / 10**9, reviewed)
        except Exception as err:
            problem = unreadable(where, f"The file could not be understood: {type(err).__name__}: {err}.")
            return replace(problem, stumbled=True)
        return found or unreadable(where, "The path is not that of an asset.")


def _read_all(handle: int, size: int) -> bytes:
    """Everything, also when the file grows meanwhile; the next scan sees that it did."""
    data = os.read(handle, size + 1)
    if len(data) < size:
        parts = [data]
        while part := os.read(handle, 1 << 20):
            parts.append(part)
        data = b"".join(parts)
    return data
