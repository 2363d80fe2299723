"""What people edit in a private store becomes a commit of its own.

An editor, a script or an agent with a shell changes files; `snapshot` commits all of it at once with
`Ctx-Op: snapshot`, and lets the caller complete a file that was written by hand (its id and dates) in the same commit.
One odd file never stops the rest: what cannot be read, is no text, is huge, is a link or is half staged
by the person stays where it is and is reported.

A store that has lost its files wholesale is not snapshotted (see `guards`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ctxrepo.errors import CtxError
from ctxrepo.store.fastimport import message
from ctxrepo.store.files import Change, etag, read
from ctxrepo.store.operation import commit_changes, staged_blobs
from ctxrepo.store.repository import Repository

LARGEST = 10 * 1024 * 1024
Adopt = Callable[[str, bytes], bytes | None]


@dataclass(frozen=True, slots=True)
class Report:
    """What a snapshot did: the commit (None: nothing to do), its paths, and what it left alone with the reason."""

    commit: str | None
    paths: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def take(
    store: Repository,
    *,
    adopt: Adopt | None = None,
    paths: Iterable[str] | None = None,
    actor: str = "outside",
    now: datetime | None = None,
) -> Report:
    """Commits the edits from outside; call it under the store's lock, after `check_writable`.

    Args:
        adopt: given a path and its bytes, returns a completed content, or None to leave it as it is.
        paths: look at these only.
        actor: whose edits they are.
    """
    skipped: list[tuple[str, str]] = []
    changes: list[Change] = []
    for path in store.outside_edits(paths):
        reason = _unfit(store.root, path)
        if reason is None:
            try:
                changes.append(_change(store.root, path, adopt))
            except (CtxError, OSError) as fault:
                reason = str(fault)
        if reason is not None:
            skipped.append((path, reason))
    changes, half = _without_half_staged(store, changes)
    skipped.extend((path, "it is staged with other content") for path in half)
    if not changes:
        return Report(None, [], skipped)
    text = message(_subject(changes), [("Ctx-Op", "snapshot"), ("Ctx-Actor", actor)])
    commit = commit_changes(store, changes, text, actor, now, trusted=True)
    return Report(commit, [change.path for change in changes] if commit else [], skipped)


def _subject(changes: Sequence[Change]) -> str:
    if len(changes) == 1:
        return f"snapshot: {changes[0].path} edited outside"
    return f"snapshot: {len(changes)} files edited outside"


def _change(root: str, path: str, adopt: Adopt | None) -> Change:
    before, mode = read(root, path)
    if before is None:
        return Change(path, None, None)
    if b"\0" in before:
        raise CtxError("it is no text: it holds NUL bytes")
    after = adopt(path, before) if adopt else None
    return Change(path, before, before if after is None else after, mode)


def _unfit(root: str, path: str) -> str | None:
    """Returns why a path cannot be committed as it is, None when it can (or is gone)."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if path.endswith("/"):
        return "it is a git repository of its own"
    try:
        found = os.lstat(f"{root}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as fault:
        return str(fault.strerror)
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link"
    if not stat.S_ISREG(found.st_mode):
        return None if stat.S_ISDIR(found.st_mode) else "it is no regular file"
    if found.st_size > LARGEST:
        return f"it is larger than {LARGEST // (1024 * 1024)} MB"
    return None


def _without_half_staged(store: Repository, changes: list[Change]) -> tuple[list[Change], list[str]]:
    """Leaves out what the person has staged with a content that is not the one on disk."""
    staged = store.stage.staged(store.head().commit) & {change.path for change in changes}
    if not staged:
        return changes, []
    held = staged_blobs(store, sorted(staged))
    half = [
        change.path
        for change in changes
        if change.path in staged and held.get(change.path) != (None if change.before is None else etag(change.before))
    ]
    return [change for change in changes if change.path not in set(half)], half
