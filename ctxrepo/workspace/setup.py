"""`ctxrepo init`: a new workspace, or what a clone still lacks on this machine.

The first commit of a new team store holds the settings and whatever assets lie in the folder already,
so that a folder of plain files becomes a workspace in one step.  A repository that has a history but no
settings gets them in one commit; where its branch is shared, that commit is published at once, or nothing
happens.  In a clone of a workspace nothing of the team's is touched: only the private stores, this machine's
settings and the indexes are made.  Running it again changes nothing.

Rejected: a workspace inside a workspace (its files would belong to two), and committing other files that
happen to lie in the folder (nobody asked for that).
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TypedDict

from ctxrepo import access, disk
from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse_plain
from ctxrepo.asset.rewrite import rewrite
from ctxrepo.errors import Invalid, Refused, UsageFault
from ctxrepo.store.fastimport import message
from ctxrepo.store.files import Change, read
from ctxrepo.store.operation import commit_changes
from ctxrepo.store.private import create_private, create_team, with_private_ignored
from ctxrepo.store.remote import published, upstream
from ctxrepo.store.store import Store
from ctxrepo.store.tx import Tx
from ctxrepo.text.names import confined, refuse_lookalike
from ctxrepo.workspace.layout import MARKER, MEMORY, TASKS, TEAM, Layout, current_folder, find_root, memory_of
from ctxrepo.workspace.workspace import Workspace, load_settings

_SETTINGS = """\
# Settings of this workspace. They come with every clone, so they may set numbers, never commands or paths outside.
recall:
  threshold: 0.4   # relevance from 0 to 1 below which a memory stays out of the prompt
  limit: 3         # facts for one prompt
"""
_ACCESS = """\
# Who belongs to this workspace, and what each may do with a knowledge base: read, write or control.
members:
  {user}: admin
groups: {{}}
grants: {{}}
"""
_RULES = """\
---
rules: []
---

What agents may remember about my work, and what not.
"""


_SUBJECT = "init: workspace"


class Made(TypedDict):
    """What `init_workspace` did; `notes` are sentences for the person."""

    root: str
    user: str
    created: list[str]
    notes: list[str]


def init_workspace(directory: str, *, user: str | None = None, now: Callable[[], datetime] | None = None) -> Made:
    """Makes `directory` a workspace for `user`; creates only what is missing.

    Args:
        directory: the team store's folder; made if missing.
        user: whose private store; else this clone's user, else the login name.
        now: the clock for the commits.

    Raises:
        Invalid: a user name that is no folder name everywhere, or looks like another user's.
        Refused: the folder is a file, or lies in another workspace; the team's repository holds private paths.
        Conflict: the settings could not be published; nothing was changed.
    """
    root = os.path.normpath(os.path.join(current_folder(), directory))
    clock = now or (lambda: datetime.now(UTC))
    if user is not None:
        confined(user, "user")
    _refuse_place(root)
    team = create_team(root)
    layout = Layout(team.root, team.git_dir, team.common_dir)
    name = _user(layout, user)
    existing = os.path.join(layout.private_root, MEMORY)
    others = layout.users() + (os.listdir(existing) if os.path.isdir(existing) else [])
    refuse_lookalike(name, others, "user")
    notes = _notes_on_place(layout)
    created = _complete_team(team, name, clock(), notes)
    for store, files in ((memory_of(name), {"rules.md": _RULES.encode()}), (TASKS, {})):
        if not os.path.isdir(layout.store_git_dir(store)):
            kept = {path: data for path, data in files.items() if not _exists(layout, store, path)}
            create_private(team, store, kept, actor=name, now=clock())
            created.append(f"{store}/ (a private repository of its own)")
    before = load_settings(layout)[0]["user"]
    if _remember_user(layout, name):
        created.append(f"this machine's settings: user {name}")
        if before:
            notes.append(f"This clone worked as {before} before; `ctxrepo init --user {before}` goes back to that.")
    notes += _notes_on_access(layout, name)
    with Workspace(layout, user=name, clock=lambda: clock().timestamp()) as workspace:
        for store in (memory_of(name), TASKS):
            workspace.snapshot(store)
        workspace.sync(TEAM)
    return {"root": layout.root, "user": name, "created": created, "notes": notes}


def _refuse_place(root: str) -> None:
    """Refuses a folder that cannot become a workspace, before anything is made."""
    try:
        root.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid(f"The path {root!r} is not UTF-8; its workspace could not be named anywhere.") from None
    if os.path.lexists(root) and not os.path.isdir(root):
        raise Refused(f"{root} is a file, so no workspace can be made of it.", hint="ctxrepo init another-folder")
    above = find_root(os.path.dirname(root))
    if above is not None and Layout.of(above) is not None and not os.path.exists(os.path.join(root, MARKER)):
        raise Refused(f"{root} lies in the workspace {above}.", hint=f"ctxrepo init {above}")


def _notes_on_place(layout: Layout) -> list[str]:
    """What a person should know who makes a repository inside another one."""
    here = os.path.dirname(layout.root)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            inner = os.path.relpath(layout.root, here).replace(os.sep, "/")
            return [
                f"It lies inside the git repository {here}, which should ignore it: add /{inner}/ to its .gitignore."
            ]
        parent = os.path.dirname(here)
        if parent == here:
            return []
        here = parent


def _notes_on_access(layout: Layout, user: str) -> list[str]:
    path = os.path.join(layout.root, "access.yaml")
    try:
        with open(path, "rb") as handle:
            members = access.load(decode(handle.read()))[0].members
    except (OSError, FrontmatterError):
        return []
    return [] if user in members else [f"access.yaml does not name {user}; an admin may add `{user}: member` there."]


def _user(layout: Layout, user: str | None) -> str:
    if user is not None:
        return confined(user, "user")
    named = load_settings(layout)[0]["user"] or os.environ.get("CTXREPO_USER")
    if named:
        return confined(str(named), "user")
    try:
        login = re.sub(r"[^\w-]+", "-", getpass.getuser()).strip("-")
        return confined(login, "user")
    except Exception as fault:
        raise UsageFault("Whose memory? The login name cannot be used.", hint="ctxrepo init DIR --user NAME") from fault


def _exists(layout: Layout, store: str, path: str) -> bool:
    return os.path.lexists(os.path.join(layout.store_root(store), path))


def _complete_team(team: Store, user: str, now: datetime, notes: list[str]) -> list[str]:
    """Gives the team store its settings if it has none; what else it says to the person goes to `notes`.

    Returns:
        The paths that were made.
    """
    fresh = team.head().commit is None
    if _has(team, MARKER) and not fresh:
        return []
    wanted = {MARKER: _SETTINGS, "access.yaml": _ACCESS.format(user=user)}
    missing = {path: text.encode() for path, text in wanted.items() if not _has(team, path)}
    lying = fresh and any(_assets(team.root))
    shared = upstream(team)
    if fresh and shared is None:
        return _first_commit(team, missing, user, now)
    is_shared = shared is not None and team.head().ref == shared.ours
    started: AbstractContextManager[Tx] = (
        published(team, "init", actor=user, subject=_SUBJECT, now=now)
        if is_shared
        else team.transaction("init", actor=user, subject=_SUBJECT, now=now)
    )
    with started as tx:
        if tx.read(MARKER) is not None:
            raise Refused("The remote holds a workspace that is not here yet.", hint=f"git -C {team.root} pull")
        made = [path for path in missing if tx.read(path) is None]
        for path in made:
            tx.write(path, missing[path])
        if not team.outside_edits([".gitignore"]):
            ignored = tx.read(".gitignore")
            made += [".gitignore"] if ignored is None else []
            tx.write(".gitignore", _ignoring(ignored))
    if is_shared and tx.commit_id:
        notes.append(f"Published to {shared.remote}." if shared and tx.note is None else str(tx.note))
    if lying:
        notes.append("Files that lay here already are yours to commit: git add, git commit, git push.")
    return sorted(made)


def _first_commit(team: Store, missing: dict[str, bytes], user: str, now: datetime) -> list[str]:
    """Commits the settings and the assets that lie there already."""
    changes = [Change(path, None, data) for path, data in missing.items()]
    ignored = read(team.root, ".gitignore")[0]
    changes.append(Change(".gitignore", ignored, _ignoring(ignored)))
    changes += [_as_it_is(team, path) for path in _assets(team.root)]
    text = message(_SUBJECT, [("Ctx-Op", "init"), ("Ctx-Actor", user)])
    with team.lock:
        team.recover_under_lock()
        team.check_writable()
        commit_changes(team, changes, text, user, now, trusted=True)
    return sorted(change.path for change in changes if change.before is None)


def _ignoring(ignored: bytes | None) -> bytes:
    text = ignored.decode("utf-8", "surrogateescape") if ignored else ""
    return with_private_ignored(text).encode("utf-8", "surrogateescape")


def _has(team: Store, path: str) -> bool:
    return os.path.lexists(os.path.join(team.root, path))


def _as_it_is(team: Store, path: str) -> Change:
    data, mode = read(team.root, path)
    return Change(path, data, data, mode)


def _assets(root: str) -> Iterator[str]:
    """Regular files of the team store that lie there already."""
    for path in (MARKER, "access.yaml", "README.md"):
        if os.path.isfile(os.path.join(root, path)) and not os.path.islink(os.path.join(root, path)):
            yield path
    for folder in ("knowledge", "skills"):
        for here, folders, files in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(name for name in folders if name != ".git")
            for name in sorted(files):
                full = os.path.join(here, name)
                if os.path.isfile(full) and not os.path.islink(full):
                    yield os.path.relpath(full, root).replace(os.sep, "/")


def _remember_user(layout: Layout, user: str) -> bool:
    """Writes whose clone this is; the rest of this machine's settings stays as it is."""
    path = layout.machine_settings
    try:
        with open(path, "rb") as handle:
            text = decode(handle.read())
    except FileNotFoundError:
        text = ""
    if parse_plain(text).fields.get("user") == user:
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    disk.replace(path, rewrite(text, {"user": user}).encode())
    return True
