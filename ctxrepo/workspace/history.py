"""What happened, and why something is believed: views of the git logs of a workspace's stores.

One list of operations over all stores this person sees, newest first; an operation is named by its commit id.
The reasons behind an asset are read from three places: its header (source, validity), the chain of facts that took
each other's place, and the commits that touched its file, which go on when the file is renamed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxrepo.asset.fields import DAY, Unfit, instant, stamp
from ctxrepo.asset.frontmatter import FrontmatterError, decode, parse
from ctxrepo.asset.ids import tail
from ctxrepo.errors import Conflict, NotFound, Refused, UsageFault
from ctxrepo.index.catalog import Entry
from ctxrepo.store import history
from ctxrepo.store.history import LogEntry
from ctxrepo.workspace import naming
from ctxrepo.workspace.layout import MARKER, TEAM, current_folder
from ctxrepo.workspace.naming import place
from ctxrepo.workspace.workspace import ALL_AGENTS, Found, Workspace

_MOST_COMMITS = 1000


def log(workspace: Workspace, ref: str | None = None, *, limit: int = 20) -> dict[str, Any]:
    """Operations, newest first.

    Args:
        ref: an asset's name or a path, also of a file or folder that is gone; None for the whole workspace.
        limit: how many at most.

    Raises:
        NotFound: no operation touched anything of that name.
    """
    if ref is None:
        rows = [row for name in workspace.store_names() for row in _rows(workspace, name, limit=limit)]
        rows.sort(key=lambda row: row["time"], reverse=True)
        return {"results": rows[:limit]}
    for store, path in _places(workspace, ref):
        rows = _rows(workspace, store, path, limit=limit)
        if rows:
            return {"results": rows}
    raise NotFound(f"Nothing is recorded about {ref!r}.", hint="ctxrepo log")


def show(workspace: Workspace, ref: str) -> dict[str, Any]:
    """An asset by its name, or an operation by its commit id, with the diff.

    Raises:
        NotFound: neither answers to `ref`. UsageFault: several do.
    """
    try:
        found = naming.find(workspace, ref)
    except NotFound as missing:
        try:
            store, entry = _operation(workspace, ref)
        except NotFound:
            raise NotFound(
                f"No asset and no operation is called {ref!r}.", hint=missing.hint, details=missing.details
            ) from None
        diff = history.show(workspace.store(store), entry.id)
        return _row(store, entry) | {"class": "operation", "trailers": dict(entry.trailers), "diff": diff}
    return asset(workspace, found)


def asset(workspace: Workspace, found: Found) -> dict[str, Any]:
    """An asset with everything its file holds; of a file that cannot be read, its text and `problem`, the reason."""
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
        problem = f"{found.path}:{err.line}: {err.message}"
        return result | {"problem": problem, "fields": {}, "text": text, "source_text": text}
    return result | {"fields": parsed.fields, "text": parsed.body.strip(), "source_text": parsed.text}


def why(workspace: Workspace, ref: str) -> dict[str, Any]:
    """Why an asset is believed.

    Returns:
        The asset with `because` (sentences), `chain` (facts that took each other's place, oldest first; empty when
        it stands alone) and `history` (the commits that touched its file, newest first).

    Raises:
        NotFound: nothing answers to `ref`. UsageFault: several do.
    """
    found = naming.find(workspace, ref)
    shown = asset(workspace, found)
    chain = _chain(workspace, found, shown["fields"])
    unreadable = [f"It cannot be read: {shown['problem']}"] if "problem" in shown else []
    because = unreadable or _because(shown["fields"], found, workspace.clock())
    return {
        **{name: shown[name] for name in ("id", "class", "path", "tail", "title", "status")},
        "because": because,
        "chain": chain,
        "history": _rows(workspace, found.store, found.entry.path, limit=_MOST_COMMITS),
    }


def undo(workspace: Workspace, op: str) -> dict[str, Any]:
    """Undoes one operation by a new commit; `commit` is None when nothing of it was left to undo.

    Args:
        op: its commit id, or the beginning of it.

    Raises:
        NotFound: no such operation.
        Conflict: what it changed was changed again since; nothing was undone.
        Refused: it made the workspace what it is.
    """
    try:
        name, entry = _operation(workspace, op)
    except NotFound as fault:
        try:
            found = naming.find(workspace, op)
        except (NotFound, UsageFault):
            raise fault from None
        raise UsageFault(
            f"{op!r} is {found.path}, an asset; what is undone is an operation.",
            hint=f"ctxrepo log {tail(found.entry.id) or found.path}",
        ) from None
    _refuse_ending(workspace, name, entry)
    try:
        undone = history.undo(
            workspace.store(name),
            entry.id,
            actor=workspace.user,
            agent=None if workspace.agent == ALL_AGENTS else workspace.agent,
            now=workspace.now,
        )
    except Conflict as fault:
        raise _placed(fault, name, entry.paths) from None
    return {
        "undone": entry.id,
        "subject": entry.subject,
        "store": name,
        "paths": [place(name, path) for path in entry.paths],
        "commit": undone.commit,
        "note": undone.note,
    }


def _refuse_ending(workspace: Workspace, name: str, entry: LogEntry) -> None:
    """Keeps the settings file, without which no command, no undo of the undo either, would find the workspace."""
    if name != TEAM or MARKER not in entry.paths:
        return
    store = workspace.store(name)
    if not entry.parents or history.content_at(store, entry.parents[0], MARKER) is None:
        raise Refused(
            f"{entry.id[:12]} made this folder a workspace; undoing it would end that.",
            hint=f"git -C {workspace.layout.root} revert {entry.id[:12]}",
        )


def _placed(fault: Conflict, store: str, paths: Iterable[str]) -> Conflict:
    """The same fault with the paths that a person can type, where the store named its own."""

    def named(text: str) -> str:
        for path in paths:
            full = place(store, path).replace("\\", r"\\")
            text = re.sub(rf"(?<![\w/]){re.escape(path)}(?![\w/])", full, text)
        return text

    hint = None if fault.hint is None else named(fault.hint)
    return Conflict(named(fault.message), hint=hint, details=[named(detail) for detail in fault.details])


def _rows(workspace: Workspace, name: str, *paths: str, limit: int) -> list[dict[str, Any]]:
    """Commits of a store; one that does not exist here (a team clone without private stores) has none."""
    try:
        store = workspace.store(name)
    except NotFound:
        return []
    return [_row(name, entry) for entry in history.log(store, paths=paths, limit=limit)]


def _places(workspace: Workspace, ref: str) -> Iterator[tuple[str, str]]:
    """(store, path in it) that `ref` may mean, whether the file is still there or not, private stores first."""
    try:
        found = naming.find(workspace, ref)
    except NotFound:
        pass
    else:
        yield found.store, found.entry.path
        return
    layout = workspace.layout
    for base in (current_folder(), layout.private_root, layout.root):
        full = os.path.realpath(os.path.join(base, ref))
        for name in workspace.store_names():
            path = os.path.relpath(full, os.path.realpath(layout.store_root(name))).replace(os.sep, "/")
            if path != ".." and not path.startswith("../"):
                yield name, path


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
        raise NotFound(f"No operation is called {ref!r}.", hint="ctxrepo log")
    if len(found) > 1:
        raise UsageFault(
            f"{ref!r} means {len(found)} operations.",
            hint="name it by more characters of its id",
            details=[f"{entry.id}  {name}  {entry.subject}" for name, entry in found],
        )
    return found[0]


def _row(store: str, entry: LogEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "time": stamp(entry.time),
        "store": store,
        "op": entry.op,
        "actor": entry.actor,
        "agent": entry.agent,
        "session": entry.session,
        "reason": entry.reason,
        "subject": entry.subject,
        "paths": [place(store, path) for path in entry.paths],
    }


def _because(fields: Mapping[str, Any], found: Found, now: float) -> list[str]:
    """The sentences that answer the question, from the file's header."""
    said = [_origin(fields), *_age(fields, now)]
    status = fields.get("status") or found.entry.status
    said.append(f"Status {status}; {_validity(fields, now)}.")
    if found.entry.cls == "memory":
        project, agent = found.entry.project or "*", found.entry.agent or "*"
        where = "in every project" if project == "*" else f"in project {project}"
        said.append(f"Holds {where}, for {'every agent' if agent == '*' else f'agent {agent}'}.")
        said += _use(fields)
    if fields.get("reason"):
        said.append(f"Reason: {str(fields['reason']).rstrip('.。')}.")
    if found.store == TEAM:
        said.append(
            "The default branch holds it so: reviewed."
            if found.entry.reviewed
            else "Not reviewed: the default branch does not hold it so."
        )
    return said


def _origin(fields: Mapping[str, Any]) -> str:
    parts = [f"source {fields['source']}"] if fields.get("source") else []
    if fields.get("session"):
        parts.append(f"session {fields['session']}" + (f", turn {fields['turn']}" if "turn" in fields else ""))
    if fields.get("sources"):
        parts.append(", ".join(map(str, fields["sources"])) if isinstance(fields["sources"], list) else "its sources")
    return f"Comes from {'; '.join(parts)}." if parts else "Was written by hand: it names no source."


def _age(fields: Mapping[str, Any], now: float) -> list[str]:
    created = fields.get("created")
    if not created:
        return []
    age = ""
    try:
        days = int((now - instant(created)) // DAY)
        age = f", {days} day{'s' * (days != 1)} ago" if days > 0 else ", today" if days == 0 else ""
    except Unfit:
        pass
    updated = fields.get("updated")
    changed = f"; last changed {updated}" if updated and updated != created else ""
    return [f"Created {created}{age}{changed}."]


def _use(fields: Mapping[str, Any]) -> list[str]:
    """How often a fact was said and recalled, as the last consolidation counted it."""
    said = [f"Said {fields['seen']} times."] if fields.get("seen", 1) not in (1, "1") else []
    if fields.get("uses"):
        last = f", last {fields['last_used']}" if fields.get("last_used") else ""
        said.append(f"Recalled {fields['uses']} time{'s' * (fields['uses'] != 1)}{last}.")
    return said


def _validity(fields: Mapping[str, Any], now: float) -> str:
    start = fields.get("valid_from") or fields.get("effective_from")
    end = fields.get("valid_until") or fields.get("effective_until")
    if not start and not end:
        return "holds without limit"
    limits = [f"from {start}"] if start else []
    limits += [f"until {end}"] if end else []
    tense = "holds"
    try:
        if end and instant(end, end=True) <= now:
            tense = "held"
        elif start and instant(start) > now:
            tense = "will hold"
    except Unfit:
        pass
    return f"{tense} {' '.join(limits)}"


def _chain(workspace: Workspace, found: Found, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The facts before and after this one, as far as they are here; each once, oldest first."""
    with workspace.index(found.store).catalog() as catalog:
        replaced = catalog.entries(classes=(found.entry.cls,), statuses=("superseded",))

        def named(ident: object) -> Entry | None:
            return next(iter(catalog.find(str(ident))), None) if ident else None

        def before(entry: Entry) -> list[Entry]:
            return [older for older in replaced if entry.id and older.superseded_by == entry.id]

        listed = fields.get("supersedes")
        earlier = [entry for ident in listed if (entry := named(ident))] if isinstance(listed, list) else []
        seen = {found.entry.key: found.entry}
        ahead = [*earlier, *before(found.entry)]
        while ahead:
            entry = ahead.pop()
            if entry.key not in seen:
                seen[entry.key] = entry
                ahead += before(entry)
        later = named(fields.get("superseded_by"))
        while later is not None and later.key not in seen:
            seen[later.key] = later
            later = named(later.superseded_by)
    if len(seen) == 1:
        return []
    rows = sorted(seen.values(), key=lambda entry: (entry.created, entry.key))
    return [_link(found.store, entry) for entry in rows]


def _link(store: str, entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "class": entry.cls,
        "path": place(store, entry.path),
        "tail": tail(entry.id),
        "title": entry.title,
        "status": entry.status,
        "created": entry.created,
        "superseded_by": entry.superseded_by,
    }
