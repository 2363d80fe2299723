"""How one operation becomes files, index and branch, in an order in which no kill loses anything.

    objects (fast-import, nothing visible) → journal → files → index → branch → journal gone

Index before branch is deliberate: the other way round, a kill between the two leaves a commit whose file the index does
not know, and the person's next `git commit -a` deletes it. Everything that can refuse (a stale parent, a foreign
lock, a file that changed) does so while it can still be taken back; what a killed process left is finished by
the next one from the journal, on top of wherever the branch stands by then.

An edit from outside that our operation would write over becomes a commit of its own first, made by the same
fast-import, so that no version of a file is ever lost.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from ctxrepo.errors import Conflict, CtxError, Refused
from ctxrepo.store import files, journal
from ctxrepo.store.fastimport import Entry, Import, Signature, message
from ctxrepo.store.files import Change, etag
from ctxrepo.store.git import pathspecs
from ctxrepo.store.repository import Repository

SNAPSHOT_SUBJECT = "snapshot: edits made outside"
ATTEMPTS = 8
BULK = 500


@dataclass(frozen=True, slots=True)
class Operation:
    """What shall be committed, and as what.

    `trusted` says that the content now on disk is known to be ours or to be the content to commit, so that it is no
    edit from outside; `rescued` are contents from outside that must become a commit first all the same.
    `untracked` are paths that leave git although their file stays; `journaled` is what the journal of a resumed
    operation said.
    """

    text: str
    author: Signature
    committer: Signature
    changes: Sequence[Change]
    prior: str
    trusted: bool = False
    rescued: Sequence[Change] = ()
    untracked: Sequence[str] = ()
    journaled: Sequence[Change] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """Commits of one operation, not yet on the branch: their ids, oldest first, and the edits that were rescued."""

    ids: list[str]
    rescued: list[Change] = field(default_factory=list)


def commit_changes(
    store: Repository,
    changes: Sequence[Change],
    text: str,
    actor: str,
    now: datetime | None = None,
    *,
    trusted: bool = False,
    untracked: Sequence[str] = (),
) -> str | None:
    """Commits changes whose content before is known; call it under the store's lock, after `check_writable`.

    Args:
        trusted: what is on disk is what shall be committed, so it is no edit from outside.
        untracked: paths that leave git although their file stays.

    Returns:
        The id of the commit, None when the branch holds it all already.
    """
    signature = store.signature(actor, now)
    prior = message(SNAPSHOT_SUBJECT, [("Ctx-Op", "snapshot"), ("Ctx-Actor", actor)])
    return carry_out(store, Operation(text, signature, signature, changes, prior, trusted=trusted, untracked=untracked))


def carry_out(store: Repository, operation: Operation) -> str | None:
    """Makes the files, the index and the branch what the operation says; call it under the store's lock.

    Returns:
        The id of the commit, None when the branch already holds it all.

    Raises:
        Conflict: the branch, the index or a file is held or was changed by someone else; nothing was written.
    """
    store.stage.wait()
    progress = _Progress(store.token())
    try:
        commit = _attempt(store, operation, progress)
    except OSError as fault:
        _take_back(store, operation, progress)
        where = fault.filename or store.root
        raise Refused(
            f"{where} could not be written: {fault.strerror}; nothing was changed.", hint="df -h ."
        ) from fault
    except Exception:
        _take_back(store, operation, progress)
        raise
    if commit is not None:
        journal.clear(store.state_dir)
    return commit


@dataclass(slots=True)
class _Progress:
    """How far an operation has come; `token` names everything temporary."""

    token: str
    written: bool = False
    indexed: bool = False


def _attempt(store: Repository, operation: Operation, progress: _Progress) -> str | None:
    """Moves files, index and branch; does it anew on a branch that moved meanwhile."""
    paths = [change.path for change in operation.changes]
    token = progress.token
    for _ in range(ATTEMPTS):
        head = store.head()
        if not progress.written:
            _check_staged(store, operation, head.commit)
        made = _make(store, operation, head.commit, token, again=progress.written)
        if made is None:
            return None
        journal.save(store.state_dir, _intent(operation, made, token, store.branch(), head.commit))
        if not progress.written:
            files.apply(store.root, operation.changes, token)
            progress.written = True
        store.stage.put(paths, token, old=head.commit, new=made.ids[-1], forced=operation.untracked)
        progress.indexed = True
        if store.move_branch(head.commit, made.ids[-1], operation.committer, operation.text, token):
            return made.ids[-1]
    raise Conflict(f"The branch of {store.name} kept moving; nothing was written.")


def recover(store: Repository) -> list[str]:
    """Finishes what a killed process began and tells of it; call it under the store's lock.

    Returns:
        The paths that it brought up to date.
    """
    os.makedirs(store.state_dir, exist_ok=True)
    paths = _finish_interrupted(store)
    if paths:
        store.announce(paths)
    return paths


def _finish_interrupted(store: Repository) -> list[str]:
    """Brings files, index and branch to what the journal says, and returns its paths.

    A file that holds neither the content before nor the one after was edited since the kill: it stays as it is. On
    another branch than the one it was meant for nothing is committed.
    """
    store.clear_scratch()
    intent = journal.load(store.state_dir)
    if intent is None:
        return []
    store.check_guards()
    files.sweep(store.root, intent.changes, intent.token)
    head = store.head()
    same_branch = head.ref in (None, intent.ref)
    if same_branch and (head.commit is None or not _contains(store, head.commit, intent.new)):
        _resume(store, intent, head.commit)
    journal.clear(store.state_dir)
    return [change.path for change in intent.changes]


def _resume(store: Repository, intent: journal.Intent, head: str | None) -> None:
    untouched, edited = [], []
    for change in intent.changes:
        try:
            found, _ = files.read(store.root, change.path)
        except CtxError:
            edited.append(change)
            continue
        if found in (change.before, change.after):
            untouched.append(Change(change.path, found, change.after, change.mode))
        else:
            edited.append(change)
    _unstage(store, edited, head)
    if not untouched:
        return
    ours = {change.path for change in untouched}
    resumed = Operation(
        intent.text,
        intent.author,
        intent.committer,
        untouched,
        intent.prior,
        trusted=True,
        rescued=[
            Change(item.path, item.before, item.before, item.mode)
            for item in intent.changes
            if item.path in intent.snapshot and item.path in ours
        ],
        journaled=intent.changes,
    )
    carry_out(store, resumed)


def _unstage(store: Repository, edited: Sequence[Change], head: str | None) -> None:
    """Takes out of the index what the killed process put there and the person has edited since."""
    staged = store.stage.staged(head)
    suspects = [change for change in edited if change.path in staged]
    if not suspects:
        return
    held = staged_blobs(store, [change.path for change in suspects])
    ours = [item.path for item in suspects if held.get(item.path) == _blob_of(store, item.path, item.after)]
    if ours and head is not None:
        store.git.run("restore", "--staged", f"--source={head}", "--", *ours)


def _make(store: Repository, operation: Operation, base: str | None, token: str, *, again: bool) -> Made | None:
    bulk = len(operation.changes) > BULK
    with Import(store.git, store.common_dir, base, token, bulk=bulk) as stream:
        paths = [change.path for change in operation.changes]
        known = _listed(store, base) if bulk else {path: stream.entry(path) for path in paths}
        rescued = _rescued(store, operation, known)
        wanted = [change for change in operation.changes if not _same(store, known.get(change.path), change)]
        converted = store.converted({change.path: change.after for change in wanted if change.after is not None})
        if not (wanted or rescued or again or operation.untracked):
            return None
        if rescued:
            stream.commit(operation.prior, operation.author, operation.committer)
            for change in sorted(rescued, key=lambda item: item.before is not None):
                _put(store, stream, change.path, change.before, change.mode, converted)
        if wanted or again or operation.untracked:
            stream.commit(operation.text, operation.author, operation.committer)
            for change in sorted(wanted, key=lambda item: item.after is not None):
                _put(store, stream, change.path, change.after, change.mode, converted)
            for path in operation.untracked:
                stream.delete(path)
        return Made(stream.finish(), rescued)


def _listed(store: Repository, commit: str | None) -> Mapping[str, Entry | None]:
    """Returns everything that a commit holds: for thousands of paths cheaper than asking for each."""
    found: dict[str, Entry | None] = {}
    if commit is not None:
        for line in store.git.run("ls-tree", "-r", "-z", commit).split(b"\0"):
            if line:
                about, _, name = line.partition(b"\t")
                mode, _, blob = about.decode("ascii").split()
                found[os.fsdecode(name)] = Entry(int(mode, 8), blob)
    return found


def _rescued(store: Repository, operation: Operation, known: Mapping[str, Entry | None]) -> list[Change]:
    """Returns what is on disk, is not in the branch, and is about to be written over."""
    if not store.private:
        return []
    candidates = operation.rescued if operation.trusted else operation.changes
    return [
        change
        for change in candidates
        if _blob(known.get(change.path)) != (None if change.before is None else etag(change.before))
    ]


def _blob(entry: Entry | None) -> str | None:
    return None if entry is None else entry.blob


def _same(store: Repository, entry: Entry | None, change: Change) -> bool:
    if entry is None or change.after is None:
        return entry is None and change.after is None
    return store.private and entry.mode == change.mode and entry.blob == etag(change.after)


def _put(store: Repository, stream: Import, path: str, data: bytes | None, mode: int, converted: set[str]) -> None:
    if data is None:
        stream.delete(path)
    elif path in converted:
        stream.place(path, Entry(mode, store.filtered_blob(path, data)))
    else:
        stream.modify(path, mode, data)


def _check_staged(store: Repository, operation: Operation, head: str | None) -> None:
    paths = {change.path for change in operation.changes}
    clashes = store.stage.staged(head) & paths
    if not clashes:
        return
    held = staged_blobs(store, sorted(clashes))
    for change in operation.changes:
        if change.path not in clashes:
            continue
        if held.get(change.path) not in [_blob_of(store, change.path, data) for data in (change.before, change.after)]:
            raise Conflict(
                f"{change.path} is staged with other content; nothing was written.",
                hint=f"git -C {store.root} commit -- {change.path}",
            )


def _blob_of(store: Repository, path: str, data: bytes | None) -> str | None:
    if data is None:
        return None
    return etag(data) if store.private else store.filtered_blob(path, data)


def staged_blobs(store: Repository, paths: Sequence[str]) -> dict[str, str]:
    """Returns the blob that the index holds for each of these paths; deleted ones are absent."""
    found: dict[str, str] = {}
    wanted = set(paths)
    for line in store.git.run("ls-files", "-s", "-z", "--", *pathspecs(paths)).split(b"\0"):
        about, _, raw = line.partition(b"\t")
        name = os.fsdecode(raw)
        if name in wanted:
            found[name] = about.split()[1].decode("ascii")
    return found


def _intent(operation: Operation, made: Made, token: str, ref: str, old: str | None) -> journal.Intent:
    return journal.Intent(
        token=token,
        ref=ref,
        old=old,
        new=made.ids[-1],
        text=operation.text,
        author=operation.author,
        committer=operation.committer,
        changes=list(operation.journaled) or [change for change in operation.changes if change.writes],
        prior=operation.prior,
        snapshot=[change.path for change in made.rescued],
    )


def _take_back(store: Repository, operation: Operation, progress: _Progress) -> None:
    """Undoes a failed operation; one interrupted by Ctrl-C keeps its journal instead and is finished later."""
    if progress.written:
        files.revert(store.root, operation.changes, progress.token)
    if progress.indexed:
        with suppress(CtxError):
            store.stage.put([change.path for change in operation.changes], progress.token)
    if not operation.journaled:
        journal.clear(store.state_dir)


def _contains(store: Repository, tip: str, commit: str) -> bool:
    if tip == commit:
        return True
    done: subprocess.CompletedProcess[bytes] = store.git.result(
        "merge-base", "--is-ancestor", commit, tip, ok=(0, 1, 128)
    )
    return done.returncode == 0
