"""Files of a store: read safely, written whole or not at all.

A new content goes to a temporary file beside its target, is forced to disk and then takes the
target's name in one step, so that a reader, an editor or a power cut sees the old file or the new one.
A file that should be new is *linked* into place, which fails when somebody was quicker; a file that
should be replaced is compared with what the caller saw once more, just before.

Paths are relative to the store, with `/`. They never lead out of it: no `..`, nothing under `.git`,
no symbolic link on the way (one that leads outside would let a checked-out commit choose where we write).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ctxrepo.disk import sync_folders, write_whole
from ctxrepo.errors import Conflict, Invalid, Refused

ABSENT = ""
REGULAR = 0o100644
EXECUTABLE = 0o100755
_MANY = 64


@dataclass(frozen=True, slots=True)
class Change:
    """One file of an operation: what is on disk now and what shall be (None: no file).

    `mode` is what it shall be in git; `mode_before`, where it differs, what it is now.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = REGULAR
    mode_before: int | None = None

    @property
    def writes(self) -> bool:
        """Whether the file on disk has to change."""
        return self.before != self.after or self.mode_before not in (None, self.mode)


def etag(data: bytes | None) -> str:
    """Returns the hash by which a caller names the bytes it saw: git's blob id, in SHA-1; `ABSENT` for no file."""
    if data is None:
        return ABSENT
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def check_path(path: str) -> str:
    """Returns `path` if it can name a file of a store.

    Raises:
        Invalid: empty or absolute, with `.`, `..`, `.git`, a backslash or a control character.
    """
    parts = path.split("/")
    odd = any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts)
    if odd or "\\" in path or any(ord(char) < 32 or ord(char) == 127 for char in path):
        raise Invalid(f"{path!r} cannot name a file of a store.")
    return path


def locate(root: str, path: str) -> str:
    """Returns the absolute path of a store's file after making sure that no link stands on the way.

    Raises:
        Invalid: see `check_path`.
        Refused: a folder on the way, or the file itself, is a symbolic link or no folder.
    """
    full = root
    parts = check_path(path).split("/")
    for number, part in enumerate(parts):
        full = f"{full}/{part}"
        try:
            kind = os.lstat(full).st_mode
        except FileNotFoundError:
            return f"{root}/{path}"
        except NotADirectoryError:
            raise Refused(f"{path} lies under something that is no folder.") from None
        except OSError as fault:
            raise Invalid(f"{path} cannot name a file here: {fault.strerror}.") from None
        last = number == len(parts) - 1
        if not (stat.S_ISREG(kind) if last else stat.S_ISDIR(kind)):
            what = "a symbolic link" if stat.S_ISLNK(kind) else "no file" if last else "no folder"
            raise Refused(f"{'/'.join(parts[: number + 1])} is {what}; nothing is read or written through it.")
        if not last and os.path.lexists(f"{full}/.git"):
            raise Refused(f"{'/'.join(parts[: number + 1])} is a git repository of its own.")
    return full


def read(root: str, path: str) -> tuple[bytes | None, int]:
    """Returns the bytes and the git mode of a file; (None, 0o100644) when there is none.

    Raises:
        Invalid, Refused: see `locate`.
    """
    try:
        fd = os.open(locate(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, REGULAR
    except PermissionError:
        raise Refused(f"{path} may not be read.", hint=f"ls -l {path}") from None
    with os.fdopen(fd, "rb") as file:
        mode = EXECUTABLE if os.fstat(fd).st_mode & stat.S_IXUSR else REGULAR
        return file.read(), mode


def link_exclusively(source: str, target: str) -> None:
    """Gives `source` a second name that must not exist yet, content and all in one step.

    On file systems without hard links the name is taken first and filled in a second step.

    Raises:
        FileExistsError: the name is taken; nothing was changed.
    """
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as fault:
        if fault.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV):
            raise
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        with open(source, "rb") as file:
            write_whole(f"{target}.new", file.read())
        os.replace(f"{target}.new", target)


def apply(root: str, changes: Sequence[Change], token: str) -> None:
    """Brings the files to their new content; all of them, or none when one cannot be.

    Args:
        token: names the temporary files, so that `sweep` finds those of a killed process.

    Raises:
        Conflict: a file is no longer what the caller saw; what was written is taken back.
        OSError: no space, no permission … ; what was written is taken back.
    """
    work = [change for change in changes if change.writes]
    done: list[Change] = []
    try:
        ready = [
            (change, _prepare(root, change, _temporary(root, change, token, number), len(work) <= _MANY))
            for number, change in enumerate(work)
        ]
        if len(work) > _MANY:
            os.sync()
        for change, temporary in ready:
            _put(root, change, temporary)
            done.append(change)
    except BaseException:
        sweep(root, work, token)
        revert(root, done, token)
        raise
    sync_folders({os.path.dirname(f"{root}/{change.path}") for change in work})


def revert(root: str, changes: Sequence[Change], token: str) -> None:
    """Takes `apply` back, as far as nobody has edited the files since."""
    for change in reversed(changes):
        if not change.writes:
            continue
        back = Change(change.path, change.after, change.before, change.mode_before or change.mode, change.mode)
        with suppress(Conflict, OSError):
            temporary = _temporary(root, back, token, 0)
            _put(root, back, _prepare(root, back, temporary, True))


def sweep(root: str, changes: Sequence[Change], token: str) -> None:
    """Removes the temporary files that an interrupted `apply` left."""
    for number, change in enumerate(changes):
        with suppress(OSError):
            os.unlink(_temporary(root, change, token, number))


def _temporary(root: str, change: Change, token: str, number: int) -> str:
    return f"{root}/{change.path.rpartition('/')[0]}/.{token}-{number}.ctxrepo-tmp"


def _prepare(root: str, change: Change, temporary: str, sync: bool) -> str:
    target = locate(root, change.path)
    if change.after is None:
        return temporary
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Conflict(f"{change.path} cannot be written: a file stands where its folder should be.") from None
    mode = 0o777 if change.mode == EXECUTABLE else 0o666
    write_whole(temporary, change.after, mode=mode, sync=sync)
    if change.before is not None:
        with suppress(FileNotFoundError):
            bits = stat.S_IMODE(os.stat(target).st_mode)
            runs = (bits & 0o444) >> 2 if change.mode == EXECUTABLE else 0
            os.chmod(temporary, (bits & ~0o111) | runs)
    return temporary


def _put(root: str, change: Change, temporary: str) -> None:
    target = f"{root}/{change.path}"
    found, _ = read(root, change.path)
    if found != change.before:
        raise Conflict(f"{change.path} was changed by someone else in this moment; nothing was written.")
    if change.after is None:
        os.unlink(target)
        _prune(root, os.path.dirname(change.path))
    elif change.before is None:
        try:
            link_exclusively(temporary, target)
        except FileExistsError:
            raise Conflict(f"{change.path} was made by someone else in this moment; nothing was written.") from None
        os.unlink(temporary)
    else:
        os.replace(temporary, target)


def _prune(root: str, folder: str) -> None:
    """Removes folders that a deletion left empty, as git does."""
    while folder:
        try:
            os.rmdir(f"{root}/{folder}")
        except OSError:
            return
        folder = os.path.dirname(folder)
