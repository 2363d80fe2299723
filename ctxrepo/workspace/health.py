"""The state of a workspace: what is here, what waits for attention, what is damaged; and bringing it up to date."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ctxrepo.errors import CtxError
from ctxrepo.index.heartbeat import watcher
from ctxrepo.store import guards
from ctxrepo.store.mend import diagnose, mend
from ctxrepo.store.private import team_store
from ctxrepo.store.store import Store
from ctxrepo.workspace.layout import TEAM
from ctxrepo.workspace.workspace import Workspace

_LOG = "hook-errors.log"
_LOST = ("repository", "folder", "emptied")  # what leaves nothing else to say of a store
_NAMED = 20
"""Unsaved edits that `status` names; of more it tells the number."""


def sync_all(workspace: Workspace, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
    """Brings every index up to date and commits what was edited by hand in the private stores.

    A store that cannot be written now (a guard, a merge under way) is reported with the reason and stops no other.
    """
    return {"results": [_synced(workspace, name, progress) for name in workspace.store_names()]}


def _synced(workspace: Workspace, name: str, progress: Callable[[str, int, int], None] | None) -> dict[str, Any]:
    """One row of `sync_all`."""
    row: dict[str, Any] = {"name": name, "added": 0, "changed": 0, "removed": 0, "rebuilt": "", "snapshot": None}
    problems: list[str] = []
    try:
        report = workspace.sync(name, progress and partial(progress, name))
        row |= {kind: len(getattr(report, kind)) for kind in ("added", "changed", "removed")}
        row["rebuilt"] = report.rebuilt
        with workspace.index(name).catalog() as catalog:
            problems += [f"{_place(name, each.path)}:{each.line}: {each.message}" for each in catalog.problems()]
        if name != TEAM:
            taken = workspace.snapshot(name, scan=False)
            row["snapshot"] = taken.commit
            problems += [f"{name}/{path} was not committed: {reason}." for path, reason in taken.skipped]
    except CtxError as fault:
        problems.append(f"{name}: {fault.message}" + (f" Run: {fault.hint}" if fault.hint else ""))
    return row | {"problems": problems}


def status(workspace: Workspace) -> dict[str, Any]:
    """Whose workspace this is, its stores with counts and unsaved edits, and what waits for attention."""
    stores = []
    attention = [str(problem) for problem in workspace.settings_problems]
    findings = diagnose(_team(workspace))
    lost = {finding.store for finding in findings if finding.code in _LOST}
    for name in workspace.store_names():
        if name in lost:
            continue
        try:
            workspace.fresh(name)
            store = workspace.store(name)
            with workspace.index(name).catalog() as catalog:
                counts = {"assets": len(catalog.entries()), "problems": len(catalog.problems())}
            edits = store.outside_edits()
        except CtxError as fault:
            attention.append(f"{fault.message} Run: {fault.hint or 'ctxrepo doctor'}")
            continue
        head = store.head()
        branch = (head.ref or "detached").removeprefix("refs/heads/")
        named = [_place(name, path) for path in sorted(edits)[:_NAMED]]
        counts |= {"outside_edits": len(edits)}
        stores.append({"name": name, **counts, "edits": named, "branch": branch, "commit": head.commit})
    attention += [f"{finding.message} Run: {finding.fix}" for finding in findings]
    log = os.path.join(workspace.layout.local, _LOG)
    if os.path.exists(log) and os.path.getsize(log):
        attention.append(f"The recall hook has failed before; see {log}")
    return {
        "workspace": workspace.layout.root,
        "user": workspace.user,
        "agent": workspace.agent,
        "project": workspace.project,
        "watching": watcher(workspace.layout.local) is not None,
        "stores": stores,
        "attention": attention,
    }


def losses(workspace: Workspace, name: str) -> list[str]:
    """What an empty answer from a private store should say: its files are gone as a whole, which is no deletion."""
    store = workspace.store(name)
    loss = guards.lost_wholesale(store) if store.private else None
    return [f"{loss.message} Run: ctxrepo doctor --fix"] if loss is not None else []


def doctor(workspace: Workspace, *, fix: bool = False) -> dict[str, Any]:
    """What is damaged; with `fix`, mends what can be mended without losing anything.

    A broken index is no finding: it heals itself, here as well.
    """
    team = _team(workspace)
    before = diagnose(team)
    done = mend(team, before, actor=workspace.user, now=workspace.now) if fix else []
    left = {(finding.code, finding.store) for finding in diagnose(team)} if fix else None
    results = [
        {
            "code": finding.code,
            "store": finding.store,
            "message": finding.message,
            "fix": finding.fix,
            "fixed": left is not None and (finding.code, finding.store) not in left,
        }
        for finding in before
    ]
    for name in workspace.store_names():
        try:
            workspace.sync(name)
        except CtxError as fault:
            row = {"code": "index", "store": name, "message": fault.message, "fix": fault.hint or "", "fixed": False}
            if not any(known["store"] == name for known in results):
                results.append(row)
    return {"results": results, "done": done}


def _team(workspace: Workspace) -> Store:
    return team_store(workspace.layout.root, workspace.layout.git_dir)


def _place(name: str, path: str) -> str:
    return path if name == TEAM else f"{name}/{path}"
