"""What one can do with private memory: add, list, show, search, update, delete.

Each verb is one operation and one commit in the owner's own repository; several facts that belong
together (a fact and the one it supersedes) are written in the same commit.  What comes in is screened
here, whoever calls (see `screening`).  A file that a person wrote by hand and that has no id yet is adopted
before it is changed, so that nothing points at a fact without a name.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ctxrepo.asset.check import check
from ctxrepo.asset.fields import Unfit, instant
from ctxrepo.asset.frontmatter import FrontmatterError, Parsed, decode, parse, render
from ctxrepo.asset.ids import tail
from ctxrepo.asset.kinds import values
from ctxrepo.errors import Invalid, NotFound, UsageFault
from ctxrepo.index.catalog import Entry
from ctxrepo.memory import screening
from ctxrepo.memory.facts import (
    EVERYWHERE,
    default_project,
    file_name,
    joined,
    month_folder,
    new_header,
    superseding,
)
from ctxrepo.recall import answers
from ctxrepo.store.files import ABSENT
from ctxrepo.store.tx import Tx
from ctxrepo.text.names import confined
from ctxrepo.workspace import naming
from ctxrepo.workspace.health import losses
from ctxrepo.workspace.workspace import ALL_AGENTS, Found, Workspace

Fact = dict[str, Any]
SUBJECT = 60
"""Characters of a fact's words in the subject of its commit."""


class MemoryVerbs:
    """The memory of a workspace's user."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._store = workspace.memory_store

    def add(
        self,
        text: str,
        *,
        kind: str | None = None,
        project: str | None = None,
        source: str | None = None,
        supersedes: Iterable[str] = (),
        session: str | None = None,
        reason: str | None = None,
        **fields: Any,
    ) -> Fact:
        """Remembers `text`, the user's own words.

        Args:
            kind: preference, rule, decision, correction, fact, experience or task-state; fact when not given.
            project: where it holds, `*` for everywhere; else everywhere for a preference, and the
                workspace's project for anything else.
            source: where it comes from; `cli` or the agent's name when not given.
            supersedes: names of facts that it takes the place of; they get `valid_until` in the same commit.
            session: the session it comes from, with `turn` its place in it.
            reason: why; stands in the commit as well.
            fields: importance, confidence (0 to 1), entities, tags, valid_from, valid_until, turn.

        Returns:
            The fact as `show` gives it, with `commit`, and `notes` that its author should know.

        Raises:
            Refused: it holds a secret.
            Invalid: a field does not fit its table, or the text is empty or holds invisible characters.
        """
        workspace = self._workspace
        screening.refuse_words(text)
        named = {**fields, "source": source, "session": session, "reason": reason}
        screening.refuse_unseen_fields(named)
        sort = kind or "fact"
        holds = _place(project) or default_project(sort, workspace.project)
        listed = {name: joined(fields.pop(name, None) or ()) for name in ("entities", "tags")}
        replaced = [self._adopted(self._find(ref)) for ref in supersedes]
        now = workspace.stamp()
        header = new_header(
            fact_id=workspace.new_id(),
            kind=sort,
            now=now,
            project=holds,
            agent=workspace.agent,
            source=source or ("cli" if workspace.agent == ALL_AGENTS else workspace.agent),
            extra={
                **fields,
                **listed,
                "session": session,
                "reason": reason,
                "supersedes": [hit.entry.id for hit in replaced],
            },
        )
        content = render(None, header, body=_body(text))
        folder = month_folder(now, self._entries, int(str(workspace.settings["memory.folder_entries"])))
        path = f"{folder}/{file_name(text, header['id'])}"
        parsed = parse(content)
        screening.refuse_unfit(check("fact", parsed, f"{self._store}/{path}", new=True))
        subject = f"memory: add {_first_words(text)}"
        with workspace.transaction(self._store, "memory.add", subject=subject, reason=reason, session=session) as tx:
            tx.trailer("Ctx-Id", header["id"])
            tx.write(path, content.encode(), ABSENT)
            for hit in replaced:
                self._rewrite(tx, hit, superseding(header["id"], now))
        return self._fact(path, parsed) | {"commit": tx.commit_id, "notes": _notes(header, workspace.clock())}

    def list(
        self, *, kind: str | None = None, status: str | None = "active", project: str | None = None, limit: int = 100
    ) -> dict[str, Any]:
        """Facts, newest first; an agent that speaks under its name gets its own and everybody's.

        Args:
            kind: only of this kind.
            status: only with this status; None for whatever status.
            project: only those that hold in this project, global ones included.
            limit: how many to return; `total` says how many there are.

        Returns:
            `results`, `total`, and `notes` on what is damaged when there is nothing.
        """
        agent = self._workspace.agent
        self._workspace.fresh(self._store)
        with self._workspace.index(self._store).catalog() as catalog:
            rows = catalog.entries(
                classes=("memory",),
                kinds=(kind,) if kind else (),
                statuses=(status,) if status else (),
                places=(project, EVERYWHERE) if project else (),
                agents=() if agent == ALL_AGENTS else (agent, ALL_AGENTS),
            )
        notes = [] if rows else losses(self._workspace, self._store)
        return {"results": [self._row(entry) for entry in rows[:limit]], "total": len(rows), "notes": notes}

    def show(self, ref: str) -> Fact:
        """One fact with everything its file holds; of a file that cannot be read, its text and `problem`, the reason.

        Raises:
            NotFound: nothing answers to `ref`. UsageFault: several do.
        """
        hit = self._find(ref)
        data = self._workspace.read(hit)
        try:
            return self._fact(hit.entry.path, parse(decode(data)))
        except FrontmatterError as err:
            text = data.decode("utf-8", "replace")
            problem = f"{hit.path}:{err.line}: {err.message}"
            return self._row(hit.entry) | {"text": text, "source_text": text, "problem": problem}

    def search(self, query: str, *, knowledge: bool = False, limit: int = 10) -> dict[str, Any]:
        """Facts that share words with `query`, best first, whatever their relevance. See `answers.recall`."""
        return answers.recall(self._workspace, query, knowledge=knowledge, limit=limit, threshold=0.0)

    def update(
        self,
        ref: str,
        *,
        text: str | None = None,
        project: str | None = None,
        status: str | None = None,
        reason: str | None = None,
        **fields: Any,
    ) -> Fact:
        """Changes a fact; what is not named stays byte for byte.

        Args:
            ref: path, id, or the beginning or tail of the id.
            text: the new words.
            project: where it holds from now on.
            status: active, invalidated (was wrong) or forgotten (out of recall).
            reason: why; stands in the file and in the commit.
            fields: kind, importance, confidence, entities, tags, valid_from, valid_until; an empty text, or a
                list of nothing but empty texts, takes the field out.

        Returns:
            The fact as `show` gives it, with `changed`, `commit` (None when nothing changed) and `notes`.

        Raises:
            Refused: the new text holds a secret.
            Invalid: a field does not fit its table, or the file cannot be read.
            Conflict: the file changed in this moment.
        """
        workspace = self._workspace
        if text is not None:
            screening.refuse_words(text)
        given: Fact = {"project": _place(project), "status": status, "reason": reason, **fields}
        screening.refuse_unseen_fields(given)
        changes, removals = _wanted(given)
        if text is None and not changes and not removals:
            raise UsageFault("Nothing was named that should change.", hint="ctxrepo memory update --help")
        hit = self._adopted(self._find(ref))
        subject = f"memory: update {_first_words(text or hit.entry.title)}"
        with workspace.transaction(self._store, "memory.update", subject=subject, reason=reason or None) as tx:
            tx.trailer("Ctx-Id", hit.entry.id)
            changed = self._rewrite(tx, hit, changes, removals, body=None if text is None else _body(text))
        fact = self.show(hit.path)
        return fact | {"changed": changed, "commit": tx.commit_id, "notes": _notes(fact, workspace.clock())}

    def delete(self, *refs: str, reason: str | None = None) -> dict[str, Any]:
        """Deletes facts in one commit; `undo` of that commit brings them back.

        Raises:
            NotFound: nothing answers to a name; then nothing is deleted.
        """
        if not refs:
            raise UsageFault("Nothing was named that should be deleted.", hint="ctxrepo memory list")
        hits = list({hit.path: hit for hit in map(self._find, refs)}.values())
        what = _first_words(hits[0].entry.title) if len(hits) == 1 else f"{len(hits)} facts"
        if reason:
            screening.refuse_unseen("reason", reason)
        with self._workspace.transaction(
            self._store, "memory.delete", subject=f"memory: delete {what}", reason=reason
        ) as tx:
            for hit in hits:
                if hit.entry.id:
                    tx.trailer("Ctx-Id", hit.entry.id)
                tx.delete(hit.entry.path)
        return {"results": [self._row(hit.entry) for hit in hits], "commit": tx.commit_id}

    def _find(self, ref: str) -> Found:
        found = naming.find(self._workspace, ref, stores=(self._store,))
        if found.entry.cls != "memory":
            raise NotFound(f"{found.path} is no fact.", hint=f"ctxrepo show {found.path}")
        return found

    def _adopted(self, hit: Found) -> Found:
        """The fact once it has an id, also when a person has only just written its file."""
        if hit.entry.id or hit.entry.problem:
            return hit
        self._workspace.snapshot(self._store)
        return self._find(hit.path)

    def _rewrite(
        self,
        tx: Tx,
        hit: Found,
        changes: Mapping[str, Any],
        removals: Collection[str] = (),
        *,
        body: str | None = None,
    ) -> bool:
        """Changes a fact inside a transaction; `updated` follows only when something else changes."""
        data = tx.read(hit.entry.path)
        if data is None:
            raise NotFound(f"{hit.path} is gone.", hint=f"ctxrepo log {hit.path}")
        try:
            parsed = parse(decode(data))
        except FrontmatterError as err:
            raise Invalid(
                f"{hit.path} cannot be read; nothing was written.",
                hint=f"mend line {err.line} in an editor, then: ctxrepo check {hit.path}",
                details=[f"{hit.path}:{err.line}: {err.message}"],
            ) from err
        wanted = {name: value for name, value in changes.items() if parsed.fields.get(name) != value}
        gone = [name for name in removals if name in parsed.fields]
        if not wanted and not gone and (body is None or body == parsed.body.lstrip("\r\n")):
            return False
        gap = parsed.body[: len(parsed.body) - len(parsed.body.lstrip("\r\n"))]
        stamped = {**wanted, "updated": self._workspace.stamp()}
        content = render(parsed, stamped, gone, None if body is None else gap + body)
        screening.refuse_unfit(check("fact", parse(content), hit.path))
        tx.write(hit.entry.path, content.encode())
        return True

    def _entries(self, folder: str) -> int:
        """How many files a folder of the store holds."""
        try:
            return len(os.listdir(os.path.join(self._workspace.layout.store_root(self._store), folder)))
        except OSError:
            return 0

    def _fact(self, path: str, parsed: Parsed) -> Fact:
        """A fact as the command line and the Python API give it."""
        fields = values("fact", parsed.fields)
        return {
            "id": fields["id"] or "",
            "class": "memory",
            "path": f"{self._store}/{path}",
            "tail": tail(str(fields["id"] or "")),
            "text": parsed.body.strip(),
            **{name: value for name, value in fields.items() if name != "id" and value not in (None, (), [])},
            "source_text": parsed.text,
        }

    def _row(self, entry: Entry) -> Fact:
        """A fact as lists give it, from the catalog alone."""
        return {
            "id": entry.id,
            "class": "memory",
            "path": f"{self._store}/{entry.path}",
            "tail": tail(entry.id),
            "title": entry.title,
            "kind": entry.kind,
            "status": entry.status,
            "project": entry.project or EVERYWHERE,
            "agent": entry.agent or ALL_AGENTS,
            "created": entry.created,
        }


def _wanted(given: Mapping[str, Any]) -> tuple[Fact, list[str]]:
    """What an update sets and what it takes out, from what its caller named; None is nothing."""
    changes: Fact = {}
    removals: list[str] = []
    for name, value in given.items():
        if value is None or value == () or value == []:
            continue
        wanted = joined(value) if name in ("entities", "tags") else value
        if wanted == "" or wanted == []:
            removals.append(name)
        else:
            changes[name] = wanted
    return changes, removals


def _place(project: str | None) -> str | None:
    """Where somebody said that a fact holds."""
    return project if project in (None, EVERYWHERE) else confined(str(project), "project")


def _body(text: str) -> str:
    return text.replace("\r\n", "\n").strip() + "\n"


def _first_words(text: str) -> str:
    return " ".join(text.split())[:SUBJECT]


def _notes(fields: Mapping[str, Any], now: float) -> list[str]:
    """Why a fact that was just written is not recalled now, though nothing is wrong with it."""
    notes = []
    try:
        if fields.get("valid_until") and instant(fields["valid_until"], end=True) <= now:
            notes.append(f"It held until {fields['valid_until']}, which is over, so it is not recalled.")
        if fields.get("valid_from") and instant(fields["valid_from"]) > now:
            notes.append(f"It is not recalled before {fields['valid_from']}.")
    except Unfit:
        pass
    return notes
