"""The team's default branch with an upstream: fetch, build on what is there, publish in one push.

    with published(team, "kb.create", actor="me") as tx:
        tx.write("knowledge/eng/KB.md", b"…")

The commit is made on top of the fetched tip, from objects alone. Only when the remote has taken it, in one atomic
push, does anything local move: the default branch, and the person's files when they stand on it and their changes are
not in the way. Refused means that nothing has changed anywhere. The store's lock is not held while the network is
waited for; a kill in between leaves a clone that is merely behind.

Rejected: committing locally first and pushing after, which leaves an unpublished commit under the person's feet
whenever somebody else was quicker; pushing the person's own unpublished commits along, which nobody asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from ctxrepo.errors import Conflict, Refused
from ctxrepo.store import guards, refs
from ctxrepo.store.fastimport import Entry, Import
from ctxrepo.store.files import EXECUTABLE, REGULAR, Change
from ctxrepo.store.git import NETWORK_TIMEOUT, GitFailed
from ctxrepo.store.reviewed import default_branch
from ctxrepo.store.store import Store
from ctxrepo.store.tx import Tx, opening

_LOST_RACE = ("non-fast-forward", "fetch first", "stale info", "cannot lock ref")


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where the default branch is shared: the remote's name, its branch, our branch and our copy of theirs."""

    remote: str
    theirs: str
    ours: str
    tracking: str


def upstream(store: Store) -> Upstream | None:
    """Returns where the team's default branch is shared, None when it has no remote."""
    ours = default_branch(store)
    if ours is None:
        return None
    branch = ours.removeprefix("refs/heads/")
    listing = store.git.run("config", "--get-regexp", "-z", r"^(remote|branch)\..*\.(url|remote|merge)$", ok=(0, 1))
    settings = dict(line.decode("utf-8", "replace").split("\n", 1) for line in listing.split(b"\0") if b"\n" in line)
    remote = settings.get(f"branch.{branch}.remote", "origin")
    if f"remote.{remote}.url" not in settings:
        return None
    theirs = settings.get(f"branch.{branch}.merge", ours)
    return Upstream(remote, theirs, ours, f"refs/remotes/{remote}/{theirs.removeprefix('refs/heads/')}")


def fetch(store: Store, where: Upstream) -> str | None:
    """Fetches the shared branch and returns its tip, None when the remote has no such branch yet.

    Raises:
        GitFailed: the remote cannot be reached.
    """
    try:
        store.git.run(
            "fetch", "--quiet", "--no-tags", where.remote, f"+{where.theirs}:{where.tracking}", timeout=NETWORK_TIMEOUT
        )
    except GitFailed as fault:
        if "couldn't find remote ref" in fault.output:
            return None
        fault.hint = f"git -C {store.root} fetch {where.remote}"
        raise
    return refs.read_ref(store.common_dir, where.tracking)


@contextmanager
def published(
    store: Store,
    op: str,
    *,
    actor: str,
    agent: str | None = None,
    session: str | None = None,
    reason: str | None = None,
    subject: str | None = None,
    trailers: Iterable[tuple[str, str | None]] = (),
    now: datetime | None = None,
) -> Iterator[Tx]:
    """A transaction on the team's default branch that is shared at once when there is an upstream.

    Without an upstream it is `Store.transaction`. `Tx.note` says afterwards when the person's files could not follow.

    Raises:
        Conflict: the remote refused it, or somebody was quicker; nothing was changed.
        Refused: local commits that the remote lacks, or private paths in what was fetched.
        GitFailed: the remote cannot be reached; nothing was changed.
    """
    where = upstream(store)
    if where is None:
        with store.transaction(
            op, actor=actor, agent=agent, session=session, reason=reason, subject=subject, trailers=trailers, now=now
        ) as tx:
            yield tx
        return
    store.recover()
    store.check_writable()
    tip = fetch(store, where)
    base = tip or refs.read_ref(store.common_dir, where.ours)
    _check_base(store, where, tip)
    tx = Tx(lambda path: _at(store, base, path), *opening(op, actor, agent, session, reason, subject, trailers))
    yield tx
    changes = tx.changes()
    if not changes:
        return
    guards.refuse_planted_paths([change.path for change in changes])
    _check_own_paths(store, where, [change.path for change in changes])
    commit = _build(store, base, changes, tx.text(), actor, now)
    _push(store, where, commit)
    tx.commit_id = commit
    tx.note = follow(store, where, commit)


def follow(store: Store, where: Upstream, commit: str) -> str | None:
    """Moves the local default branch forward to `commit`, with the person's files when they stand on it.

    Returns:
        None when it has moved, else a sentence that says why it stays where it is.
    """
    with store.lock:
        old = refs.read_ref(store.common_dir, where.ours)
        if old == commit:
            return None
        short = where.ours.removeprefix("refs/heads/")
        if store.head().ref == where.ours:
            try:
                store.git.run("merge", "--ff-only", "--no-autostash", "--quiet", commit)
            except GitFailed as fault:
                return f"Your files stay as they are, because {short} cannot follow ({fault.message}); run git pull."
            store.announce(_changed(store, old, commit))
            return None
        if where.ours in _checked_out(store):
            return f"{short} is checked out in another worktree and stays behind; run git pull there."
        if not refs.move(store.common_dir, where.ours, old, commit, folder=store.state_dir, token=store.token()):
            return f"{short} was moved by someone else in this moment."
        return None


def _check_base(store: Store, where: Upstream, tip: str | None) -> None:
    """Makes sure that building on the fetched tip loses and plants nothing."""
    if tip is None:
        return
    top = store.git.run("ls-tree", "-z", "--name-only", tip).split(b"\0")
    guards.refuse_planted_paths([os.fsdecode(name) for name in top if name])
    local = refs.read_ref(store.common_dir, where.ours)
    ahead = local is not None and store.git.result(
        "merge-base", "--is-ancestor", local, tip, ok=(0, 1)
    ).returncode  # fmt: skip
    if ahead:
        short = where.ours.removeprefix("refs/heads/")
        raise Refused(
            f"{short} has commits that {where.remote} lacks; publish or drop them first.",
            hint=f"git -C {store.root} pull --rebase && git -C {store.root} push",
        )


def _check_own_paths(store: Store, where: Upstream, paths: list[str]) -> None:
    """Refuses, before anything is shared, when the person has the same paths changed but not committed."""
    if store.head().ref != where.ours:
        return
    edited = store.outside_edits(paths)
    if edited:
        raise Conflict(
            f"{edited[0]} has changes that are not committed; nothing was written.",
            hint=f"git -C {store.root} status",
            details=edited[1:],
        )


def _at(store: Store, base: str | None, path: str) -> tuple[bytes | None, int]:
    """Returns the bytes and the mode of a file in a commit."""
    if base is None:
        return None, REGULAR
    listing = store.git.run("ls-tree", "-z", base, "--", path)
    if not listing:
        return None, REGULAR
    mode, kind, blob = listing.split(b"\t")[0].decode("ascii").split()
    if kind != "blob" or int(mode, 8) not in (REGULAR, EXECUTABLE):
        raise Refused(f"{path} is no ordinary file in the team's repository.")
    return store.git.run("cat-file", "blob", blob), int(mode, 8)


def _build(
    store: Store, base: str | None, changes: Sequence[Change], text: str, actor: str, now: datetime | None
) -> str:
    signature = store.signature(actor, now)
    converted = store.converted({change.path: change.after for change in changes if change.after is not None})
    with store.lock, Import(store.git, store.common_dir, base, store.token()) as stream:
        stream.commit(text, signature, signature)
        for change in sorted(changes, key=lambda item: item.after is not None):
            if change.after is None:
                stream.delete(change.path)
            elif change.path in converted:
                stream.place(change.path, Entry(change.mode, store.filtered_blob(change.path, change.after)))
            else:
                stream.modify(change.path, change.mode, change.after)
        return stream.finish()[-1]


def _push(store: Store, where: Upstream, commit: str) -> None:
    try:
        store.git.run(
            "push", "--quiet", "--atomic", where.remote, f"{commit}:{where.theirs}", timeout=NETWORK_TIMEOUT, hooks=True
        )
    except GitFailed as fault:
        if any(words in fault.output for words in _LOST_RACE):
            raise Conflict(
                f"Somebody else has published to {where.remote} in this moment; nothing was changed.",
                hint="run the same command again",
            ) from None
        if "rejected" in fault.output or "declined" in fault.output:
            raise Conflict(
                f"{where.remote} refused the change; nothing was changed.",
                hint="read its reason below, then try again",
                details=fault.output.splitlines(),
            ) from None
        fault.hint = f"git -C {store.root} push --dry-run {where.remote}"
        raise


def _changed(store: Store, old: str | None, new: str) -> list[str]:
    listing = store.git.run("diff-tree", "-r", "-z", "--no-renames", "--name-only", old, new) if old else b""
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


def _checked_out(store: Store) -> set[str]:
    listing = store.git.run("worktree", "list", "--porcelain").decode("utf-8", "replace")
    return {line.removeprefix("branch ") for line in listing.splitlines() if line.startswith("branch ")}
