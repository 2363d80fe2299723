"""Where HEAD and a branch stand, and how a branch moves: compare and set.

Read and written as files: a process would cost 2 ms at each, and a lock that is *ours* can be told from
a person's only if we make it. `main.lock` appears with its final content (a hard link to a prepared file), so
a lock that is the same file as one in our folder was left by our own killed process and may go; any other lock is
somebody's and stays. The lock lives for two system calls.

Repositories in the reftable format are refused with the command that converts them; nothing else about a branch
(symbolic refs, packed refs, reflogs of linked worktrees) differs from what git does.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass

from ctxrepo.disk import write_whole
from ctxrepo.errors import Conflict, Refused
from ctxrepo.store.files import link_exclusively

PATIENCE = 5.0
PREPARED = "ref-"


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD stands: `ref` is None when detached, `commit` is None on a branch without commits."""

    ref: str | None
    commit: str | None


def common_dir_of(git_dir: str) -> str:
    """Returns the git directory that all worktrees of a repository share."""
    text = _content(f"{git_dir}/commondir")
    return os.path.normpath(os.path.join(git_dir, text)) if text else git_dir


def read_head(git_dir: str, common_dir: str) -> Head:
    """Returns where HEAD stands.

    Raises:
        Refused: there is no repository, or one in the reftable format.
    """
    text = _content(f"{git_dir}/HEAD")
    if text is None:
        raise Refused(f"There is no git repository at {git_dir}.", hint="ctxrepo doctor --fix")
    if os.path.isdir(f"{common_dir}/reftable"):
        raise Refused(
            f"The repository at {common_dir} keeps its references in the reftable format.",
            hint="git refs migrate --ref-format=files",
        )
    if text.startswith("ref: "):
        ref = text[5:].strip()
        return Head(ref, read_ref(common_dir, ref))
    return Head(None, text)


def read_ref(common_dir: str, ref: str) -> str | None:
    """Returns the commit at which a reference stands, None when there is no such reference."""
    for _ in range(3):
        loose = _content(f"{common_dir}/{ref}")
        if loose:
            return read_ref(common_dir, loose[5:].strip()) if loose.startswith("ref: ") else loose
        packed = _packed(common_dir, ref)
        if packed:
            return packed
        if not os.path.exists(f"{common_dir}/{ref}"):
            return None
    return None


def move(
    common_dir: str,
    ref: str,
    old: str | None,
    new: str,
    *,
    folder: str,
    token: str,
    patience: float = PATIENCE,
) -> bool:
    """Moves a branch from `old` (None: it must not exist) to `new`.

    Args:
        folder: where the prepared file is made, on the same file system; `token` names it.
        patience: seconds to wait for somebody else's lock on it.

    Returns:
        False when the branch no longer stands at `old`; nothing was changed then.

    Raises:
        Conflict: somebody else holds its lock all the time.
    """
    target = f"{common_dir}/{ref}"
    lock = f"{target}.lock"
    scratch = f"{folder}/{PREPARED}{token}"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    write_whole(scratch, new.encode("ascii") + b"\n")
    try:
        _take(scratch, lock, time.monotonic() + patience)
        if read_ref(common_dir, ref) != old:
            os.unlink(lock)
            return False
        os.rename(lock, target)
    finally:
        os.unlink(scratch)
    return True


def log_move(git_dir: str, common_dir: str, ref: str, old: str | None, new: str, who: str, subject: str) -> None:
    """Adds the move to the reflogs of HEAD and of the branch, as git does; never fails."""
    line = f"{old or '0' * len(new)} {new} {who}\t{subject}\n".encode("utf-8", "replace")
    for log in (f"{git_dir}/logs/HEAD", f"{common_dir}/logs/{ref}"):
        with suppress(OSError):
            os.makedirs(os.path.dirname(log), exist_ok=True)
            fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)


def drop_own_lock(common_dir: str, ref: str, folder: str) -> None:
    """Removes what a killed process of ours left in `folder`, and the lock of the branch if it is one of these."""
    lock = f"{common_dir}/{ref}.lock"
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for item in found:
            if not item.name.startswith(PREPARED):
                continue
            with suppress(OSError):
                if os.path.samefile(item.path, lock):
                    os.unlink(lock)
            with suppress(OSError):
                os.unlink(item.path)


def _take(scratch: str, lock: str, deadline: float) -> None:
    while True:
        try:
            link_exclusively(scratch, lock)
        except FileExistsError:
            if time.monotonic() >= deadline:
                raise Conflict(
                    f"Another git process holds {lock}; nothing was written.",
                    hint=f"remove it if no git is running: rm {lock}",
                ) from None
            time.sleep(0.01)
        else:
            return


def _packed(common_dir: str, ref: str) -> str | None:
    ending = f" {ref}\n"
    with suppress(FileNotFoundError), open(f"{common_dir}/packed-refs", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.endswith(ending):
                return line.partition(" ")[0]
    return None


def _content(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None
