"""The operation log is the git log: reading it, and undoing one of its entries.

An undo is a new commit that gives the paths of an earlier one their content from before it, and says so with
`Ctx-Undo`. It is refused when a later change of the same path stands in between: that change would be lost without
anybody having looked at it. So an undo can be undone, and undoing a deletion brings the file back.

Commits are read with GitPython, imported here and only when history is asked for (100 ms of CPU, more than a
whole write). It hands an inherited `GIT_DIR` on to its children and cannot drop a variable, so each one that names a
repository is overridden with this store's value (and it is told the folder, because it reads a relative
`core.worktree` as one of the current folder); walking and diffs go through `store.git`. Rejected: its database in
Python (`GitDB`), which its authors have deprecated and which heeds an inherited `GIT_OBJECT_DIRECTORY`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctxrepo.errors import Conflict, NotFound, Refused, UsageFault
from ctxrepo.store import remote
from ctxrepo.store.fastimport import Entry
from ctxrepo.store.files import EXECUTABLE, REGULAR, etag
from ctxrepo.store.git import GitFailed, pathspecs

if TYPE_CHECKING:
    from ctxrepo.store.store import Store


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit: `op` is empty when a person made it with git, `actor` is then its author."""

    id: str
    time: datetime
    op: str
    actor: str
    agent: str
    session: str
    reason: str
    subject: str
    parents: list[str]
    trailers: list[tuple[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a commit did to a path: its entry before and after (None: no file)."""

    path: str
    old: Entry | None
    new: Entry | None


class Undone(NamedTuple):
    """What an undo did."""

    commit: str | None  # the new commit; None when nothing was left to undo
    note: str | None  # what the person should know, such as files that could not follow a published change


def log(
    store: Store,
    *,
    paths: Sequence[str] = (),
    op: str | None = None,
    limit: int = 50,
    rev: str = "HEAD",
) -> list[LogEntry]:
    """Returns the latest commits, newest first.

    Args:
        paths: only those that touch one of these; of a single path the history goes on beyond its renames.
        op: only this operation (`memory.add`) or this family (`memory`).
        limit: at most so many.
        rev: where to begin.
    """
    if store.head().commit is None:
        return []
    chosen = []
    if op is not None:
        chosen += ["--extended-regexp", f"--grep=^Ctx-Op: {_escaped(op)}(\\.|$)"]
    start: str | None = resolve(store, rev)
    touched: dict[str, list[str]] = {}
    while start is not None and len(touched) < limit:
        touched |= _touched(store, start, paths, [f"--max-count={limit - len(touched)}", *chosen])
        start, paths = _before_rename(store, start, paths) if len(paths) == 1 else (None, paths)
    return [_with_paths(entry, touched[entry.id]) for entry in _entries(store, touched)]


def _touched(store: Store, start: str, paths: Sequence[str], chosen: Sequence[str]) -> dict[str, list[str]]:
    """Returns commit → paths that it touches among the wanted, newest first."""
    listing = store.git.run(
        "log", "--format=%x01%H", "--name-only", "-z", "--diff-merges=first-parent", "--no-renames", *chosen, start,
        "--", *paths,
    )  # fmt: skip
    touched: dict[str, list[str]] = {}
    for block in listing.split(b"\x01")[1:]:
        commit, *names = (part.strip(b"\n") for part in block.split(b"\0"))
        touched[commit.decode("ascii")] = [os.fsdecode(name) for name in names if name]
    return touched


def _before_rename(store: Store, start: str, paths: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Returns where the history of the one path goes on: a commit, and the path it had there; None when nowhere.

    `git log --follow` would do, but it also takes a copy for the past of a file, and two facts of one minute differ in
    less than half of their lines.
    """
    added = store.git.run("log", "--diff-filter=A", "--no-renames", "--format=%H %P", start, "--", *paths)
    commit, *parents = (added.decode("ascii").splitlines() or [""])[-1].split() or [""]
    if len(parents) != 1:
        return None, paths
    listing = store.git.run("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", parents[0], commit)
    words = [os.fsdecode(word) for word in listing.split(b"\0") if word]
    before = {new: old for old, new in zip(words[1::3], words[2::3], strict=False)}
    return (parents[0], [before[paths[0]]]) if paths[0] in before else (None, paths)


def entry(store: Store, ref: str) -> LogEntry:
    """Returns one commit, named by its id, the beginning of it, or any name that git knows.

    Raises:
        NotFound, UsageFault: see `resolve`.
    """
    commit = resolve(store, ref)
    (found,) = _entries(store, [commit])
    return _with_paths(found, [change.path for change in changes(store, found)])


def show(store: Store, ref: str, paths: Sequence[str] = ()) -> str:
    """Returns what a commit changed, as a diff; of a merge, what it brought to the first parent."""
    listing = store.git.run(
        "show", "--format=", "--patch", "--no-ext-diff", "--no-textconv", "--no-color", "--diff-merges=first-parent",
        resolve(store, ref), "--", *paths,
    )  # fmt: skip
    return listing.decode("utf-8", "replace")


def content_at(store: Store, ref: str, path: str) -> bytes | None:
    """Returns a file as a commit holds it, None when it holds none."""
    try:
        return store.git.run("cat-file", "blob", f"{resolve(store, ref)}:{path}")
    except GitFailed:
        return None


def resolve(store: Store, ref: str) -> str:
    """Returns the id of the commit that `ref` names.

    Raises:
        NotFound: none.
        UsageFault: several begin like that; they stand in `details`.
    """
    try:
        found = store.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    except GitFailed:
        candidates = _beginning_with(store, ref)
        if len(candidates) > 1:
            raise UsageFault(f"{ref} is the beginning of several commits.", details=candidates) from None
        raise NotFound(f"{store.name} has no commit {ref}.", hint="ctxrepo log") from None
    return found.decode("ascii").strip()


def changes(store: Store, commit: LogEntry) -> list[FileChange]:
    """Returns what a commit did to each path, against its first parent."""
    sides = [commit.parents[0], commit.id] if commit.parents else ["--root", "--no-commit-id", commit.id]
    listing = store.git.run("diff-tree", "-r", "-z", "--no-renames", *sides).split(b"\0")
    found = []
    for about, name in zip(listing[::2], listing[1::2], strict=False):
        old_mode, new_mode, old, new, _ = about.decode("ascii").lstrip(":").split()
        found.append(FileChange(os.fsdecode(name), _entry_of(old_mode, old), _entry_of(new_mode, new)))
    return found


def undo(
    store: Store,
    ref: str,
    *,
    actor: str,
    agent: str | None = None,
    session: str | None = None,
    reason: str | None = None,
    now: datetime | None = None,
) -> Undone:
    """Takes one commit back with a new commit; in a team store with an upstream, on its tip and published.

    Raises:
        Conflict: one of its paths was changed since, in the history or on disk; nothing was written.
        NotFound: the branch does not hold that commit.
        Refused: a merge, or a change of something that is no ordinary file.
    """
    target = entry(store, ref)
    if len(target.parents) > 1:
        raise Refused(
            f"{target.id[:12]} is a merge; undo the commits that it brought one by one.",
            hint=f"git -C {store.root} revert -m 1 {target.id[:12]}",
        )
    where = None if store.private else remote.upstream(store)
    begin = store.transaction if where is None else partial(remote.published, store)
    with begin(
        "undo", actor=actor, agent=agent, session=session, reason=reason, now=now,
        subject=f"undo: {target.subject}", trailers=[("Ctx-Undo", target.id)],
    ) as tx:  # fmt: skip
        tip = "HEAD" if where is None else where.tracking
        if store.git.result("merge-base", "--is-ancestor", target.id, tip, ok=(0, 1)).returncode:
            raise NotFound(f"The branch of {store.name} does not hold {target.id[:12]}.", hint="ctxrepo log")
        current = _current(store, tip, target.paths)
        todo = [change for change in changes(store, target) if current.get(change.path) != change.old]
        moved = [change.path for change in todo if current.get(change.path) != change.new]
        if moved:
            raise Conflict(
                f"{moved[0]} was changed since {target.id[:12]}; nothing was undone.",
                hint=f"ctxrepo log {moved[0]}",
                details=moved[1:],
            )
        before = _blobs(store, [change.old.blob for change in todo if change.old])
        for change in todo:
            _plain(change)
            _unedited(store, change, tx.read(change.path))
            if change.old is None:
                tx.delete(change.path)
            else:
                tx.write(change.path, before[change.old.blob], executable=change.old.mode == EXECUTABLE)
    return Undone(tx.commit_id, tx.note)


def _plain(change: FileChange) -> None:
    for side in (change.old, change.new):
        if side is not None and side.mode not in (REGULAR, EXECUTABLE):
            raise Refused(f"{change.path} is or was no ordinary file; undo that change with git.")


def _unedited(store: Store, change: FileChange, on_disk: bytes | None) -> None:
    wanted = change.new.blob if change.new else None
    if store.private and (None if on_disk is None else etag(on_disk)) != wanted:
        raise Conflict(
            f"{change.path} was edited outside since its last commit; nothing was undone.", hint="ctxrepo sync"
        )


def _current(store: Store, tip: str, paths: Sequence[str]) -> dict[str, Entry]:
    """Returns what a commit holds at these paths."""
    if not paths:
        return {}
    found = {}
    wanted = set(paths)
    for line in store.git.run("ls-tree", "-r", "-z", tip, "--", *pathspecs(paths)).split(b"\0"):
        about, _, raw = line.partition(b"\t")
        name = os.fsdecode(raw)
        if name in wanted:
            mode, _, blob = about.decode("ascii").split()
            found[name] = Entry(int(mode, 8), blob)
    return found


def _blobs(store: Store, ids: Sequence[str]) -> dict[str, bytes]:
    """Returns the contents of blobs, read by one process."""
    if not ids:
        return {}
    out = store.git.run("cat-file", "--batch", data="".join(f"{blob}\n" for blob in ids).encode())
    found = {}
    at = 0
    for blob in ids:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[-1])
        found[blob] = out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found


def _entry_of(mode: str, blob: str) -> Entry | None:
    return None if int(mode, 8) == 0 else Entry(int(mode, 8), blob)


def _beginning_with(store: Store, ref: str) -> list[str]:
    if not 4 <= len(ref) < 40 or set(ref.lower()) - set("0123456789abcdef"):
        return []
    listed = store.git.run("rev-parse", f"--disambiguate={ref}").decode("ascii").split()
    kinds = store.git.run("cat-file", "--batch-check", data="\n".join(listed).encode()).decode("ascii").splitlines()
    return [line.split()[0] for line in kinds if line.split()[1] == "commit"]


def _entries(store: Store, ids: Iterable[str]) -> list[LogEntry]:
    """Reads commits with GitPython.

    Raises:
        Refused: a repository with SHA-256 names, which GitPython does not know.
    """
    ids = list(ids)
    if ids and len(ids[0]) != 40:
        raise Refused(f"The history of {store.name} has SHA-256 names, which ctxrepo cannot read.", hint="git log")
    import git

    commands = git.Git(store.git_dir)
    commands.update_environment(**_own_variables(store, {"GIT_DIR", *os.environ}))
    with git.Repo(store.git_dir) as repo:
        repo.odb = git.GitCmdObjectDB(f"{store.common_dir}/objects", commands)
        try:
            return [_parsed(git.Commit(repo, bytes.fromhex(commit))) for commit in ids]
        finally:
            commands.clear_cache()


def _own_variables(store: Store, inherited: Iterable[str]) -> dict[str, str]:
    """Returns this store's value for every inherited variable that could name another repository."""
    own = {
        "GIT_DIR": store.git_dir,
        "GIT_COMMON_DIR": store.common_dir,
        "GIT_WORK_TREE": store.root,
        "GIT_INDEX_FILE": f"{store.git_dir}/index",
        "GIT_OBJECT_DIRECTORY": f"{store.common_dir}/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_CONFIG_COUNT": "0",
        "GIT_CONFIG_PARAMETERS": "",
        "GIT_NAMESPACE": "",
        "GIT_PREFIX": "",
    }
    return {name: own[name] for name in own.keys() & set(inherited)}


def _parsed(commit: object) -> LogEntry:
    import git

    assert isinstance(commit, git.Commit)
    text = commit.message if isinstance(commit.message, str) else commit.message.decode("utf-8", "replace")
    subject, _, rest = text.partition("\n")
    trailers = parse_trailers(rest)
    first: dict[str, str] = {}
    for key, value in trailers:
        first.setdefault(key.lower(), value)
    return LogEntry(
        id=commit.hexsha,
        time=datetime.fromtimestamp(commit.authored_date, UTC),
        op=first.get("ctx-op", ""),
        actor=first.get("ctx-actor", commit.author.name or ""),
        agent=first.get("ctx-agent", ""),
        session=first.get("ctx-session", ""),
        reason=first.get("ctx-reason", ""),
        subject=subject,
        parents=[parent.hexsha for parent in commit.parents],
        trailers=trailers,
    )


def parse_trailers(text: str) -> list[tuple[str, str]]:
    """Returns the trailers of a commit message: its last paragraph, if every line of it is one."""
    found: list[tuple[str, str]] = []
    for line in text.rstrip().rpartition("\n\n")[2].strip("\n").split("\n"):
        key, colon, value = line.partition(": ")
        if line.startswith((" ", "\t")) and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif colon and key.replace("-", "").isalnum():
            found.append((key, value.strip()))
        else:
            return []
    return found


def _with_paths(found: LogEntry, paths: list[str]) -> LogEntry:
    return LogEntry(
        found.id, found.time, found.op, found.actor, found.agent, found.session, found.reason, found.subject,
        found.parents, found.trailers, paths,
    )  # fmt: skip


def _escaped(op: str) -> str:
    return op.replace(".", "\\.")
