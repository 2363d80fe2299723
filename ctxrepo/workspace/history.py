"""What happened, and why something is believed: views of the git logs of a workspace's stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse
from ctxrepo.asset.ids import tail
from ctxrepo.errors import NotFound, UsageFault
from ctxrepo.store import history
from ctxrepo.store.history import LogEntry
from ctxrepo.workspace.layout import TEAM
from ctxrepo.workspace.workspace import Found, Workspace


def log(workspace: Workspace, ref: str | None = None, *, limit: int = 20) -> dict[str, Any]:
    """Operations, newest first.

    Args:
        ref: an asset's name or a path, also of a file that is gone; None for the whole workspace.
        limit: how many at most.

    Raises:
        NotFound: no operation touched anything of that name.
    """
    if ref is None:
        rows = [
            _row(name, entry) for name in workspace.store_names() for entry in _entries(workspace, name, limit=limit)
        ]
        rows.sort(key=lambda row: row["time"], reverse=True)
        return {"results": rows[:limit]}
    store, path = _named_path(workspace, ref)
    rows = [_row(store, entry) for entry in _entries(workspace, store, path, limit=limit)]
    if not rows:
        raise NotFound(f"Nothing is recorded about {ref!r}.", hint="ctxrepo log")
    return {"results": rows}


def show(workspace: Workspace, ref: str) -> dict[str, Any]:
    """An asset by its name, or an operation by its commit id, with the diff.

    Raises:
        NotFound: neither answers to `ref`.
    """
    try:
        found = workspace.find(ref)
    except NotFound:
        store, entry = _operation(workspace, ref)
        diff = history.show(workspace.store(store), entry.id)
        return _row(store, entry) | {"class": "operation", "trailers": dict(entry.trailers), "diff": diff}
    return asset(workspace, found)


def asset(workspace: Workspace, found: Found) -> dict[str, Any]:
    """An asset with everything its file holds; a file that cannot be read shows why."""
    entry = found.entry
    result: dict[str, Any] = {
        "id": entry.id,
        "class": entry.cls,
        "path": found.path,
        "tail": tail(entry.id),
        "title": entry.title,
        "status": entry.status,
        "reviewed": entry.reviewed or found.store != TEAM,
    }
    data = workspace.read(found)
    try:
        parsed = parse(decode(data))
    except FrontmatterError as err:
        text = data.decode("utf-8", "replace")
        return result | {
            "problem": f"{found.path}:{err.line}: {err.message}",
            "fields": {},
            "text": text,
            "source_text": text,
        }
    return result | {"fields": parsed.fields, "text": parsed.body.strip(), "source_text": parsed.text}


def why(workspace: Workspace, ref: str) -> dict[str, Any]:
    """Why an asset is believed: source, age, validity, what it replaced, and every change of its file.

    Raises:
        NotFound: nothing answers to `ref`. UsageFault: several do.
    """
    found = workspace.find(ref)
    shown = asset(workspace, found)
    fields = shown["fields"]
    entries = _entries(workspace, found.store, found.entry.path, limit=1000)
    return {
        **{name: shown[name] for name in ("id", "class", "path", "tail", "title", "status")},
        "because": _because(fields, found),
        "history": [_row(found.store, entry) for entry in entries],
    }


def undo(workspace: Workspace, op: str) -> dict[str, Any]:
    """Undoes one operation by a new commit; `commit` is None when nothing of it was left to undo.

    Args:
        op: its commit id, or the beginning of it.

    Raises:
        NotFound: no such operation.
        Conflict: what it changed was changed again since; nothing was undone.
    """
    name, entry = _operation(workspace, op)
    commit = history.undo(
        workspace.store(name),
        entry.id,
        actor=workspace.user,
        agent=None if workspace.agent == "*" else workspace.agent,
        now=workspace.now,
    )
    return {"undone": entry.id, "subject": entry.subject, "store": name, "commit": commit}


def _entries(workspace: Workspace, name: str, *paths: str, limit: int) -> list[LogEntry]:
    return history.log(workspace.store(name), paths=paths, limit=limit)


def _named_path(workspace: Workspace, ref: str) -> tuple[str, str]:
    """The store and the path in it that `ref` means, whether the file is still there or not."""
    try:
        found = workspace.find(ref)
    except NotFound:
        for name in workspace.store_names():
            if name != TEAM and ref.startswith(f"{name}/"):
                return name, ref[len(name) + 1 :]
        return TEAM, ref
    return found.store, found.entry.path


def _operation(workspace: Workspace, ref: str) -> tuple[str, LogEntry]:
    """The store and the commit that a commit id means.

    Raises:
        NotFound: none. UsageFault: commits of several stores begin like that.
    """
    found = []
    for name in workspace.store_names():
        try:
            found.append((name, history.entry(workspace.store(name), ref)))
        except NotFound:
            continue
    if not found:
        raise NotFound(f"No asset and no operation is called {ref!r}.", hint="ctxrepo log")
    if len(found) > 1:
        raise UsageFault(
            f"{ref!r} means {len(found)} operations.", details=[f"{entry.id}  {name}" for name, entry in found]
        )
    return found[0]


def _row(store: str, entry: LogEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "time": entry.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "store": store,
        "op": entry.op,
        "actor": entry.actor,
        "agent": entry.agent,
        "session": entry.session,
        "reason": entry.reason,
        "subject": entry.subject,
        "paths": entry.paths if store == TEAM else [f"{store}/{path}" for path in entry.paths],
    }


def _because(fields: Mapping[str, Any], found: Found) -> list[str]:
    """The sentences that answer the question, from the file's header."""
    said = []
    source = [f"source {fields['source']}"] if fields.get("source") else []
    source += (
        [f"session {fields['session']}" + (f", turn {fields['turn']}" if "turn" in fields else "")]
        if fields.get("session")
        else []
    )
    source += [f"{fields['sources']}"] if fields.get("sources") else []
    said.append("Comes from " + "; ".join(source) + "." if source else "Was written by hand: it names no source.")
    if fields.get("created"):
        said.append(f"Created {fields['created']}, last changed {fields.get('updated') or fields['created']}.")
    validity = [f"from {fields['valid_from']}"] if fields.get("valid_from") else []
    validity += [f"until {fields['valid_until']}"] if fields.get("valid_until") else []
    said.append(f"Status {found.entry.status}; holds {' '.join(validity) or 'without limit'}.")
    if fields.get("reason"):
        said.append(f"Reason: {fields['reason']}.")
    if fields.get("supersedes"):
        said.append(f"Takes the place of {', '.join(map(str, fields['supersedes']))}.")
    if fields.get("superseded_by"):
        said.append(f"Was true until {fields['superseded_by']} took its place.")
    if found.store == TEAM:
        said.append(
            "The default branch holds it so: reviewed."
            if found.entry.reviewed
            else "Not reviewed: the default branch does not hold it so."
        )
    return said
