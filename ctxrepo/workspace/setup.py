"""`ctxrepo init`: a new workspace, or what a clone still lacks on this machine.

The first commit of a new team store holds the settings and whatever assets lie in the folder already,
so that a folder of plain files becomes a workspace in one step.  In a clone nothing of the team's is
touched; only the private stores, this machine's settings and the indexes are made.  Running it again
changes nothing.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypedDict

from ctxrepo.asset.frontmatter import decode, parse_plain
from ctxrepo.asset.rewrite import rewrite
from ctxrepo.errors import UsageFault
from ctxrepo.store.fastimport import message
from ctxrepo.store.files import Change, read
from ctxrepo.store.private import create_private, create_team, with_private_ignored
from ctxrepo.store.store import Store
from ctxrepo.text.names import confined, refuse_lookalike
from ctxrepo.workspace.layout import MARKER, MEMORY, TASKS, TEAM, Layout, memory_of
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


class Made(TypedDict):
    """What `init_workspace` did."""

    root: str
    user: str
    created: list[str]


def init_workspace(directory: str, *, user: str | None = None, now: Callable[[], datetime] | None = None) -> Made:
    """Makes `directory` a workspace for `user`; creates only what is missing.

    Args:
        directory: the team store's folder; made if missing.
        user: whose private store; else this clone's user, else the login name.
        now: the clock for the commits.

    Raises:
        Invalid: a user name that is no folder name everywhere, or looks like another user's.
        Refused: the team's repository holds private paths.
    """
    root = os.path.abspath(directory)
    clock = now or (lambda: datetime.now(UTC))
    team = create_team(root)
    layout = Layout(team.root, team.git_dir, team.common_dir)
    name = _user(layout, user)
    existing = os.path.join(layout.private_root, MEMORY)
    others = layout.users() + (os.listdir(existing) if os.path.isdir(existing) else [])
    refuse_lookalike(name, others, "user")
    created = _complete_team(team, name, clock())
    for store, files in ((memory_of(name), {"rules.md": _RULES.encode()}), (TASKS, {})):
        if not os.path.isdir(layout.store_git_dir(store)):
            kept = {path: data for path, data in files.items() if not _exists(layout, store, path)}
            create_private(team, store, kept, actor=name, now=clock())
            created.append(f"{store}/ (a private repository of its own)")
    if _remember_user(layout, name):
        created.append(f"this machine's settings: user {name}")
    with Workspace(layout, user=name, clock=lambda: clock().timestamp()) as workspace:
        for store in (memory_of(name), TASKS):
            workspace.snapshot(store)
        workspace.sync(TEAM)
    return {"root": layout.root, "user": name, "created": created}


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


def _complete_team(team: Store, user: str, now: datetime) -> list[str]:
    """Writes the missing files of the team store; in a store without history, commits all assets with them."""
    fresh = team.head().commit is None
    wanted = {MARKER: _SETTINGS} | ({"access.yaml": _ACCESS.format(user=user)} if fresh else {})
    changes = [Change(path, None, text.encode()) for path, text in wanted.items() if not _has(team, path)]
    if fresh:
        ignored = read(team.root, ".gitignore")[0]
        text = with_private_ignored(ignored.decode("utf-8", "surrogateescape") if ignored else "")
        changes.append(Change(".gitignore", ignored, text.encode("utf-8", "surrogateescape")))
        changes += [_as_it_is(team, path) for path in _assets(team.root)]
    if not changes:
        return []
    text = message("init: workspace", [("Ctx-Op", "init"), ("Ctx-Actor", user)])
    with team.lock:
        team.recover_under_lock()
        team.check_writable()
        team.commit_changes(changes, text, user, now, trusted=True)
    return sorted(change.path for change in changes if change.before is None)


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
    with open(f"{path}.new", "w", encoding="utf-8") as handle:
        handle.write(rewrite(text, {"user": user}))
    os.replace(f"{path}.new", path)
    return True
