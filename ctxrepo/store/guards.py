"""Three accidents that destroy or poison a private store, and what is done about each.

Seen with real git: pulling a commit that holds a *file* `memory` deletes the ignored folder of that name with
everything in it, exit code 0; `git clean -ffdx` does the same; a commit that tracks `memory/me/facts/x.md` overwrites
a hand edit and plants text that a snapshot would take for the user's. So, before a private store is written to:

- if the team's HEAD or index holds a path at or under `memory` or `tasks`, in any spelling that a file system may take
  for these, stop and adopt nothing (the answer is cached per state of HEAD and index);
- if the store's files are gone wholesale, stop: that is never a deletion, and `restore` brings them back.

What to do about it stands in `mend`.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ctxrepo import disk
from ctxrepo.errors import Refused
from ctxrepo.store.repository import Repository

CLAIMED = ("memory", "tasks")
_SEEN = "planted.json"


@dataclass(frozen=True, slots=True)
class Loss:
    """How a store lost its files: `folder` (missing or replaced), `emptied`, `gitfile`; and in words."""

    kind: str
    message: str


def claims_private(path: str) -> bool:
    """Returns whether a path of the team's repository lies at or under a private folder, in any spelling."""
    first = unicodedata.normalize("NFKC", path.partition("/")[0]).casefold()
    return first.rstrip(". ") in CLAIMED


def planted_paths(team: Repository) -> list[str]:
    """Returns the private paths that the team's HEAD or index holds; there should be none."""
    state = _state(team)
    with suppress(OSError, ValueError, KeyError), open(f"{team.state_dir}/{_SEEN}", "rb") as file:
        seen = json.loads(file.read())
        if seen["state"] == state:
            return list(seen["planted"])
    found = sorted(set(_claimed(team)))
    os.makedirs(team.state_dir, exist_ok=True)
    disk.replace(f"{team.state_dir}/{_SEEN}", json.dumps({"state": state, "planted": found}).encode(), shared=True)
    return found


def refuse_planted_paths(paths: Sequence[str]) -> None:
    """Refuses paths that the team's repository may not hold; for hooks, checks and pulls.

    Raises:
        Refused: one of them lies at or under a private folder.
    """
    planted = [path for path in paths if claims_private(path)]
    if planted:
        raise Refused(
            f"The team's repository holds {planted[0]}, which belongs to a private store; nothing is adopted from it.",
            hint="ctxrepo doctor --fix",
            details=planted[1:20],
        )


def refuse_planted(team: Repository) -> None:
    """Refuses to go on while the team's HEAD or index holds private paths.

    Raises:
        Refused: it does.
    """
    refuse_planted_paths(planted_paths(team))


def refuse_unsafe(team: Repository, store: Repository) -> None:
    """The guard of every write to a private store.

    Raises:
        Refused: planted paths in the team's repository, or the store lost its files.
    """
    refuse_planted(team)
    loss = lost_wholesale(store)
    if loss is not None:
        raise Refused(f"{loss.message} Nothing was written.", hint="ctxrepo doctor --fix")


def lost_wholesale(store: Repository) -> Loss | None:
    """Returns how a private store lost its files as a whole, None when it did not.

    A single tracked file that is missing is a deletion. No file left at all where the history holds several is a loss.
    """
    if os.path.islink(store.root) or (os.path.lexists(store.root) and not os.path.isdir(store.root)):
        return Loss("folder", f"Something that is no folder stands where {store.name} should be.")
    if not os.path.isdir(store.root):
        return Loss("folder", f"The folder {store.name} is gone.")
    if _has_files(store.root):
        if gitfile_of(store) != wanted_gitfile(store):
            return Loss("gitfile", f"The folder {store.name} has lost its link to its repository.")
        return None
    if len(_tracked(store, limit=2)) > 1:
        return Loss("emptied", f"The folder {store.name} is empty, though its history holds files.")
    if gitfile_of(store) != wanted_gitfile(store):
        return Loss("gitfile", f"The folder {store.name} has lost its link to its repository.")
    return None


def gitfile_of(store: Repository) -> str | None:
    """Returns the text of the store's gitfile, None when there is none."""
    try:
        with open(f"{store.root}/.git", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def wanted_gitfile(store: Repository) -> str:
    """Returns what the store's gitfile should say."""
    return f"gitdir: {os.path.relpath(store.git_dir, store.root)}\n"


def _has_files(root: str) -> bool:
    """Returns whether any file is there, other than dot files at the top."""
    with os.scandir(root) as found:
        for item in found:
            if item.name.startswith("."):
                continue
            if not item.is_dir(follow_symlinks=False) or _any_file(item.path):
                return True
    return False


def _any_file(folder: str) -> bool:
    """Returns whether a file is anywhere below; looks no further than the first."""
    with suppress(OSError), os.scandir(folder) as found:
        return any(not item.is_dir(follow_symlinks=False) or _any_file(item.path) for item in found)
    return False


def _tracked(store: Repository, limit: int) -> list[str]:
    """Returns up to `limit` paths of the store's last commit, those with a dot at their beginning left out."""
    commit = store.head().commit
    if commit is None:
        return []
    listing = store.git.run("ls-tree", "-r", "-z", "--name-only", commit)
    paths = (os.fsdecode(path) for path in listing.split(b"\0") if path)
    return [path for path in paths if not path.startswith(".")][:limit]


def _claimed(team: Repository) -> Iterator[str]:
    """Yields paths of HEAD and of the index whose top folder claims to be private; looks closer at these only."""
    commit = team.head().commit
    index = [path for path in team.git.run("ls-files", "-z").split(b"\0") if path]
    claimed = {top for top in {path.partition(b"/")[0] for path in index} if claims_private(os.fsdecode(top))}
    if claimed:
        yield from (os.fsdecode(path) for path in index if path.partition(b"/")[0] in claimed)
    if commit is not None:
        tops = team.git.run("ls-tree", "-z", "--name-only", commit).split(b"\0")
        chosen = [os.fsdecode(top) for top in tops if top and claims_private(os.fsdecode(top))]
        if chosen:
            listing = team.git.run("ls-tree", "-r", "-z", "--name-only", commit, "--", *chosen)
            yield from (os.fsdecode(path) for path in listing.split(b"\0") if path)


def _state(team: Repository) -> list[object]:
    try:
        found = os.stat(f"{team.git_dir}/index")
    except FileNotFoundError:
        return [team.head().commit]
    return [team.head().commit, found.st_ino, found.st_size, found.st_mtime_ns]
