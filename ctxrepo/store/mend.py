"""What `doctor` finds in the stores of a workspace, and how it is mended without losing anything.

Nothing is deleted that is not also in a history: a file in the way is removed only if the team's repository holds
exactly its bytes, otherwise it is moved aside under a new name. Files come back from the store's own repository;
those that exist stay as they are, edits included.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from ctxrepo.errors import CtxError, Refused
from ctxrepo.store import guards, operation, private
from ctxrepo.store.fastimport import message
from ctxrepo.store.files import etag
from ctxrepo.store.git import GitFailed
from ctxrepo.store.store import Store

OLD_LOCK = 600.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        code: `planted`, `folder`, `emptied`, `gitfile`, `repository`, `index`, `exclude`, `lock`, `head`.
        message: what is wrong, a full sentence.
        fix: the command that mends it.
        fixable: whether `mend` can.
        store: the name of the store concerned.
    """

    code: str
    message: str
    fix: str
    fixable: bool
    store: str


def diagnose(team: Store) -> list[Finding]:
    """Returns everything that is wrong with the team's repository and its private stores; changes nothing."""
    return [*_team_findings(team), *(found for name in private.private_names(team) for found in _findings(team, name))]


def mend(team: Store, findings: Sequence[Finding], *, actor: str, now: datetime | None = None) -> list[str]:
    """Mends what `diagnose` found fixable; returns a sentence for each thing done.

    Raises:
        CtxError: something stands in the way; what was mended before it stays mended.
    """
    done: list[str] = []
    order = ["exclude", "planted", "repository", "folder", "emptied", "gitfile", "index"]
    for finding in sorted((item for item in findings if item.fixable), key=lambda item: order.index(item.code)):
        if finding.code == "exclude":
            private.ignore_private(team)
            done.append("The private folders stand in info/exclude again.")
        elif finding.code == "planted":
            done.extend(evict(private.main_team(team), actor=actor, now=now))
        elif finding.code == "repository":
            private.rebuild_repository(team, finding.store, actor=actor, now=now)
            done.append(f"{finding.store} has a repository again, with all its files.")
        elif finding.code == "index":
            _renew_index(private.open_private(team, finding.store))
            done.append(f"{finding.store} has a new git index.")
        else:
            back = restore(private.open_private(team, finding.store))
            done.append(f"{finding.store} is restored: {len(back)} files came back from its repository.")
    return done


def restore(store: Store) -> list[str]:
    """Gives a private store its folder, gitfile and missing files back; returns the paths that came back.

    What stands in the way is moved aside (`….found-1`). Existing files are left as they are.
    """
    with store.lock:
        os.makedirs(store.state_dir, exist_ok=True)
        _clear_way(store)
        private.attach(store)
        commit = store.head().commit
        if commit is None:
            return []
        store.stage.wait()
        if not os.path.exists(f"{store.git_dir}/index"):
            store.git.run("read-tree", commit)
        tracked = store.git.run("ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")
        missing = [
            path for path in tracked if path and not os.path.lexists(os.path.join(os.fsencode(store.root), path))
        ]
        if missing:
            staged = b"\0".join(missing) + b"\0"
            store.git.run(
                "restore",
                f"--source={commit}",
                "--staged",
                "--worktree",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
                data=staged,
            )
        return [os.fsdecode(path) for path in missing]


def evict(team: Store, *, actor: str, now: datetime | None = None) -> list[str]:
    """Takes planted paths out of the team's repository; what they overwrote comes back from the private stores.

    Makes one commit on the team's branch when its last commit holds them, and clears the index of them.

    Raises:
        Refused: a merge is under way, or HEAD is detached.
    """
    planted = guards.planted_paths(team)
    if not planted:
        return []
    with team.lock:
        team.recover_under_lock()
        team.check_writable()
        blobs = _blobs(team)
        committed = [path for path in planted if path in blobs["head"]]
        text = message(
            f"doctor: take {len(planted)} private path{'s' * (len(planted) > 1)} out of the team's repository",
            [("Ctx-Op", "doctor.fix"), ("Ctx-Actor", actor)],
        )
        if committed:
            operation.commit_changes(team, [], text, actor, now, untracked=planted)
        else:
            team.stage.wait()
            team.stage.put([], team.token(), forced=planted)
    for path in planted:
        _yield_place(team, path, {blobs[place][path] for place in blobs if path in blobs[place]})
    return [f"{path} is no longer part of the team's repository." for path in planted]


def _team_findings(team: Store) -> list[Finding]:
    found: list[Finding] = []
    main = private.main_team(team)
    planted = guards.planted_paths(main)
    if planted:
        names = ", ".join(planted[:3]) + (" …" if len(planted) > 3 else "")
        found.append(
            Finding(
                "planted",
                f"The team's repository holds private paths: {names}.",
                "ctxrepo doctor --fix",
                True,
                team.name,
            )
        )
    exclude = f"{team.common_dir}/info/exclude"
    text = ""
    with suppress(OSError), open(exclude, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    if private.with_private_ignored(text) != text:
        found.append(
            Finding(
                "exclude",
                "The private folders do not stand in the team's info/exclude.",
                "ctxrepo doctor --fix",
                True,
                team.name,
            )
        )
    return [*found, *_state_findings(team)]


def _findings(team: Store, name: str) -> list[Finding]:
    fix = "ctxrepo doctor --fix"
    try:
        store = private.open_private(team, name)
        head = store.head()
        loss = guards.lost_wholesale(store)
        if loss is None and head.commit is not None:
            store.git.run("ls-tree", "-z", head.commit)
    except CtxError as fault:
        return [Finding("repository", f"The repository of {name} cannot be read. {fault.message}", fix, True, name)]
    if loss is not None:
        return [Finding(loss.kind, loss.message, fix, True, name)]
    if head.commit is not None and not os.path.lexists(f"{store.git_dir}/index"):
        what = f"Git's index of {name} is missing, so a commit by hand would delete everything."
        return [Finding("index", what, fix, True, name)]
    try:
        store.git.run("ls-files", "-z")
    except GitFailed as fault:
        return [Finding("index", f"Git's index of {name} is damaged. {fault.message}", fix, True, name)]
    return _state_findings(store)


def _renew_index(store: Store) -> None:
    """Makes the index anew from the last commit; what was staged is on disk as well."""
    with store.lock:
        store.stage.wait()
        if os.path.lexists(f"{store.git_dir}/index"):
            private.move_aside(f"{store.git_dir}/index")
        head = store.head().commit
        if head is not None:
            store.git.run("read-tree", head)
            store.git.run("update-index", "-q", "--refresh", ok=(0, 1))


def _state_findings(store: Store) -> list[Finding]:
    found = []
    lock = f"{store.git_dir}/index.lock"
    with suppress(OSError):
        if time.time() - os.lstat(lock).st_mtime > OLD_LOCK:
            found.append(
                Finding(
                    "lock",
                    f"{lock} is more than ten minutes old; its git may have been killed.",
                    f"rm {lock}",
                    False,
                    store.name,
                )
            )
    try:
        store.check_state()
    except Refused as fault:
        found.append(Finding("head", fault.message, fault.hint or f"git -C {store.root} status", False, store.name))
    return found


def _clear_way(store: Store) -> None:
    """Moves aside what stands where the store's folder, or the one above it, should be."""
    above = os.path.dirname(store.root)
    for folder in (above, store.root) if store.name.startswith("memory/") else (store.root,):
        if os.path.lexists(folder) and (os.path.islink(folder) or not os.path.isdir(folder)):
            private.move_aside(folder)


def _blobs(team: Store) -> dict[str, dict[str, str]]:
    """Returns path → blob id of planted paths, in the team's HEAD and in its index."""
    commit = team.head().commit
    listings = {"index": team.git.run("ls-files", "-s", "-z")}
    listings["head"] = team.git.run("ls-tree", "-r", "-z", commit) if commit else b""
    found: dict[str, dict[str, str]] = {"index": {}, "head": {}}
    for place, listing in listings.items():
        for line in listing.split(b"\0"):
            about, _, raw = line.partition(b"\t")
            path = os.fsdecode(raw)
            if path and guards.claims_private(path):
                found[place][path] = about.split()[1 if place == "index" else 2].decode("ascii")
    return found


def _yield_place(team: Store, path: str, blobs: set[str]) -> None:
    """Removes the planted file from disk, or moves it aside when it is not exactly what git holds."""
    full = f"{team.root}/{path}"
    try:
        kind = os.lstat(full).st_mode
    except OSError:
        return
    if stat.S_ISDIR(kind):
        return
    private_path = _owner(team, path)
    if stat.S_ISLNK(kind):
        data = os.fsencode(os.readlink(full))
    else:
        with open(full, "rb") as file:
            data = file.read()
    if etag(data) in blobs:
        os.unlink(full)
        if private_path is not None:
            store, inner = private_path
            if store.head().commit and store.git.run("ls-tree", "-z", store.head().commit or "", "--", inner):
                store.git.run("restore", "--source=HEAD", "--worktree", "--", inner)
    elif private_path is None:
        private.move_aside(full)


def _owner(team: Store, path: str) -> tuple[Store, str] | None:
    """Returns the private store in whose folder a team path lies, and the path inside it."""
    for name in private.private_names(team):
        if path.startswith(f"{name}/"):
            with suppress(CtxError):
                return private.open_private(team, name), path[len(name) + 1 :]
    return None
